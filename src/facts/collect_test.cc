#include <gtest/gtest.h>

#include "facts/capture.h"
#include "facts/collectors.h"
#include "facts/facts.h"
#include "host/tree.h"

namespace railbed {
namespace {

std::unique_ptr<Host> machine(std::string_view lines) {
  auto tree =
      parse_tree("railbed-tree 1\n" + std::string(lines), "test",
                 [](const std::string&) -> Result<Tree> { return fail(ErrorKind::kBadInput, "no bases"); });
  EXPECT_TRUE(tree) << tree.error().text;
  return open_tree(tree ? std::move(*tree) : Tree{});
}

// As cuda-keyring 1.1-1 writes it on Ubuntu 22.04, as Ubuntu 24.04 comes, as NVIDIA's cuda-rhel9.repo is, and as a site
// with a mirror has it.
TEST(CollectPackageSources, AreThoseThatAreSwitchedOn) {
  const auto apt = machine(R"(
/etc/apt/sources.list <<END
# deb cdrom:[Ubuntu-Server 22.04]/ jammy main
deb http://archive.ubuntu.com/ubuntu jammy main restricted
deb-src http://archive.ubuntu.com/ubuntu jammy main
END
/etc/apt/sources.list.d/cuda-ubuntu2204-x86_64.list <<END
deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/ /
END
/etc/apt/sources.list.d/site.sources <<END
Types: deb
URIs: https://ci:s3cret@mirror.example/cuda
 https://other.example/cuda
Suites: /

Enabled: no
Types: deb
URIs: https://off.example/x
END
/etc/apt/sources.list.d/old.list.save = deb http://gone.example/ x
)");
  const auto sources = collect_package_sources(*apt);
  ASSERT_TRUE(sources.ok());
  ASSERT_EQ(sources->size(), 4U);
  EXPECT_EQ((*sources)[0].uri, "http://archive.ubuntu.com/ubuntu");
  EXPECT_EQ((*sources)[1].uri, "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/");
  EXPECT_EQ((*sources)[1].file, "/etc/apt/sources.list.d/cuda-ubuntu2204-x86_64.list");
  EXPECT_EQ((*sources)[2].uri, "https://mirror.example/cuda");
  EXPECT_EQ((*sources)[3].uri, "https://other.example/cuda");
  const auto dnf = machine(R"(
/etc/yum.repos.d/cuda-rhel9.repo <<END
[cuda-rhel9-x86_64]
name=cuda-rhel9-x86_64
baseurl=https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64
enabled=1
gpgcheck=1
gpgkey=https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/D42D0685.pub
[off]
baseurl = https://off.example/x
enabled = 0
END
)");
  const auto rhel = collect_package_sources(*dnf);
  ASSERT_TRUE(rhel.ok());
  ASSERT_EQ(rhel->size(), 1U);
  EXPECT_EQ((*rhel)[0].uri, "https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64");
  EXPECT_TRUE(collect_package_sources(*machine("")).absent());
  EXPECT_FALSE(collect_package_sources(*machine("/etc/apt/sources.list.d/x.list ! EACCES\n")).ok());
}

TEST(CollectPackageSources, AreKeptInACaptureWithoutPasswords) {
  const std::string_view text =
      "Types: deb\nURIs: https://ci:s3cret@mirror.example/cuda\nSuites: /\nTrusted: yes\n";
  for (const std::string_view path :
       {"/etc/apt/sources.list.d/x.sources", "/etc/apt/sources.list.d/x.list", "/etc/yum.repos.d/x.repo"}) {
    const std::string kept =
        used_package_sources(path, path.ends_with(".list") ? "deb https://u:s3cret@m.example/x /\n" : text);
    EXPECT_EQ(kept.find("s3cret"), std::string::npos) << kept;
  }
  EXPECT_EQ(used_package_sources("/etc/apt/sources.list.d/x.sources", text),
            "URIs: https://mirror.example/cuda\n\n");
  EXPECT_EQ(used_package_sources("/etc/apt/sources.list.d/x.sources", text,
                                 "https://developer.download.nvidia.com/"),
            "");
}

// "[-[" as an address would be read as options where the capture is read again.
TEST(CollectPackageSources, ASecondListOfOptionsIsNoAddress) {
  EXPECT_TRUE(parse_package_sources("deb [arch=amd64][-[ /\n", "/etc/apt/sources.list").empty());
  EXPECT_EQ(used_package_sources("/etc/apt/sources.list", "deb [][-[ /\n"), "");
}

// As nvidia-ctk 1.17 wrote it on an EC2 g4dn.xlarge (Docker's documentation, build/building/cdi), cut down.
constexpr std::string_view kCdiSpec = R"(cdiVersion: 0.6.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidia-uvm
  hooks:
  - args:
    - nvidia-cdi-hook
    - create-symlinks
    - --link
    - libcuda.so.1::/usr/lib/x86_64-linux-gnu/libcuda.so
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  - containerPath: /run/nvidia-persistenced/socket
    hostPath: /run/nvidia-persistenced/socket
  - containerPath: /usr/bin/nvidia-smi
    hostPath: /usr/bin/nvidia-smi
  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20
    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20
    options:
    - ro
  - containerPath: /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.133.20
    hostPath: /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.133.20
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/dri/card1
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: GPU-08b3c2e8-cb7b-ea3f-7711-a042c580b3e8
kind: nvidia.com/gpu
)";

TEST(CollectEngines, FindTheDriverThatCdiDescribes) {
  const auto spec = parse_cdi_spec(kCdiSpec);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->driver_version, "570.133.20");
  EXPECT_EQ(spec->gone.size(), 2U);  // sockets and programs come and go
  EXPECT_EQ(spec->gpus, std::vector<int>{0});
  EXPECT_EQ(spec->uuids, std::vector<std::string>{"GPU-08b3c2e8-cb7b-ea3f-7711-a042c580b3e8"});
  const auto kept = parse_cdi_spec(used_cdi_spec(kCdiSpec));
  EXPECT_EQ(kept->gone, spec->gone);
  EXPECT_EQ(kept->gpus, spec->gpus);
  EXPECT_EQ(kept->uuids, spec->uuids);
  EXPECT_FALSE(parse_cdi_spec("kind: vendor1.com/device\n- hostPath: /usr/lib/libcuda.so.1.2\n"));
  const auto json = parse_cdi_spec(R"({
  "kind": "nvidia.com/gpu",
    "hostPath": "/usr/lib64/libcuda.so.580.95.05",
})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->driver_version, "580.95.05");
  EXPECT_TRUE(parse_cdi_spec("kind: nvidia.com/gpu\nhostPath: /x/../etc/shadow.so.1\n")->gone.empty());
  // Libraries of CDI write JSON in this form.
  const auto line = parse_cdi_spec(
      R"({"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0"}]}},)"
      R"({"name":"all","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0"},{"path":"/dev/nvidia11"}]}}],)"
      R"("containerEdits":{"mounts":[{"hostPath":"/usr/lib64/libcuda.so.580.95.05","containerPath":"/usr/lib64/libcuda.so.580.95.05"}]}})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->gpus, (std::vector<int>{0, 11}));
  EXPECT_EQ(line->driver_version, "580.95.05");
}

TEST(CollectEngines, SayWhatIsGone) {
  const std::string tree =
      "/etc/cdi/nvidia.yaml <<END\n" + std::string(kCdiSpec) + "END\n" +
      "/usr/bin/nvidia-ctk =\n"
      "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.133.20 =\n"
      "/etc/docker/daemon.json = {\"data-root\": \"/mnt\", \"runtimes\": {\"nvidia\": {}, \"kata\": {}}}\n";
  const ContainerEngines engines = collect_engines(*machine(tree));
  ASSERT_TRUE(engines.cdi.ok());
  ASSERT_EQ(engines.cdi->size(), 1U);
  EXPECT_EQ(engines.cdi->at(0).file, "/etc/cdi/nvidia.yaml");
  EXPECT_EQ(engines.cdi->at(0).gone,
            std::vector<std::string>{"/usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20"});
  EXPECT_EQ(engines.toolkit.value_or(false), true);
  EXPECT_TRUE(engines.hook.absent());
  EXPECT_EQ(*engines.docker_runtimes, (std::vector<std::string>{"nvidia", "kata"}));
  EXPECT_TRUE(collect_engines(*machine("")).cdi.absent());
  EXPECT_EQ(used_docker_runtimes(
                R"({"proxies": {"http-proxy": "http://u:s3cret@p"}, "runtimes": {"nvidia": {"path": "x"}}})"),
            "{\"runtimes\":{\"nvidia\":{}}}\n");
}

TEST(CollectMemoryGuards, AreServicesThatRun) {
  EXPECT_EQ(*collect_memory_guards(*machine("/sys/fs/cgroup/system.slice/earlyoom.service/cgroup.procs = 7\n"
                                            "/sys/fs/cgroup/system.slice/ssh.service/cgroup.procs = 8\n")),
            std::vector<std::string>{"earlyoom"});
  EXPECT_TRUE(collect_memory_guards(*machine("")).absent());
}

TEST(CollectMpsDaemon, IsItsUnitAndNeverTheWordOfAFileThatAnybodyWrites) {
  const std::string slice = "/sys/fs/cgroup/system.slice/ssh.service/cgroup.procs = 8\n";
  const auto runs = [](const std::string& tree) { return collect_mps_daemon(*machine(tree)); };
  EXPECT_EQ(runs("/sys/fs/cgroup/system.slice/railbed-mps.service/cgroup.procs = 7\n").value_or(false), true);
  EXPECT_EQ(runs(slice).value_or(true), false);
  EXPECT_TRUE(runs(slice + "/tmp/nvidia-mps/nvidia-cuda-mps-control.pid = 7\n").unknown())
      << "somebody may have started one by hand";
  EXPECT_EQ(runs(slice + "/tmp/nvidia-mps/control = x\n").value_or(true), false)
      << "what a daemon leaves behind";
  EXPECT_FALSE(runs("").ok()) << "nobody looked";
}

TEST(CollectRdma, OneOddCounterCostsNoOther) {
  const auto host = machine(R"(
/sys/class/infiniband/mlx4_0/ports/1/state = 4: ACTIVE
/sys/class/infiniband/mlx4_0/ports/1/phys_state = 5: LinkUp
/sys/class/infiniband/mlx4_0/ports/1/rate = 40 Gb/sec (4X FDR10)
/sys/class/infiniband/mlx4_0/ports/1/lid = 0x1f
/sys/class/infiniband/mlx4_0/ports/1/counters/symbol_error = 3
/sys/class/infiniband/mlx4_0/ports/1/counters/port_xmit_wait = N/A (no PMA)
/sys/class/infiniband/mlx4_0/ports/1/counters/VL15_dropped ! EINVAL
/sys/class/infiniband/mlx4_0/ports/1/counters/link_downed = garbage
)");
  const Rdma rdma = collect_rdma(*host);
  const RdmaPort& port = rdma.devices->at(0).ports->at(0);
  EXPECT_EQ(*port.state, "ACTIVE");
  EXPECT_EQ(*port.physical_state, "LinkUp");
  EXPECT_EQ(*port.rate, BitRate::gigabits(40));
  EXPECT_EQ(*port.rate_text, "4X FDR10");
  EXPECT_EQ(*port.lid, 31);
  EXPECT_EQ(*port.counters.at("symbol_error"), 3u);
  EXPECT_EQ(port.counters.at("port_xmit_wait").miss().missing, Missing::kUnsupported);
  EXPECT_EQ(port.counters.at("VL15_dropped").miss().missing, Missing::kUnsupported);
  EXPECT_EQ(port.counters.at("link_downed").miss().missing, Missing::kGarbled);
  EXPECT_TRUE(port.hw_counters.empty());
  EXPECT_TRUE(port.gids.absent());
}

TEST(CollectRdma, LeavesEmptyGidSlotsOut) {
  const auto host = machine(R"(
/sys/class/infiniband/rxe0/ports/1/gids/0 = fe80:0000:0000:0000:5054:00ff:fe00:0001
/sys/class/infiniband/rxe0/ports/1/gids/1 = 0000:0000:0000:0000:0000:ffff:0a00:0001
/sys/class/infiniband/rxe0/ports/1/gids/2 = 0000:0000:0000:0000:0000:0000:0000:0000
/sys/class/infiniband/rxe0/ports/1/gids/10 ! EIO
/sys/class/infiniband/rxe0/ports/1/gid_attrs/types/1 = RoCE v2
/sys/class/infiniband/rxe0/ports/1/gid_attrs/types/2 ! EINVAL
/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1 = eth1
)");
  const Rdma rdma = collect_rdma(*host);
  const auto& gids = *rdma.devices->at(0).ports->at(0).gids;
  ASSERT_EQ(gids.size(), 3u);
  EXPECT_EQ(gids[1].gid->to_text(), "10.0.0.1");
  EXPECT_EQ(*gids[1].type, "RoCE v2");
  EXPECT_EQ(*gids[1].netdev, "eth1");
  EXPECT_TRUE(gids[0].type.absent());
  EXPECT_EQ(gids[2].index, 10);
  EXPECT_EQ(gids[2].gid.miss().missing, Missing::kUnsupported);
}

TEST(CollectRdma, NoFolderMeansNoDevicesWhereTheOthersAre) {
  const auto host = machine("/sys/class/net/lo/mtu = 65536\n");
  const Rdma rdma = collect_rdma(*host);
  ASSERT_TRUE(rdma.devices.ok());
  EXPECT_TRUE(rdma.devices->empty());
  EXPECT_TRUE(collect_rdma(*machine("/proc/meminfo = MemTotal: 1 kB\n")).devices.absent())
      << "a copy of a part of a machine says nothing of its devices";
  EXPECT_TRUE(rdma.verbs_library.absent());
  const auto denied = machine("/sys/class/infiniband ! EACCES\n");
  EXPECT_EQ(collect_rdma(*denied).devices.miss().missing, Missing::kDenied);
}

TEST(CollectRdma, TakesMtuFromVerbs) {
  const auto host = machine(R"(
/sys/class/infiniband/rxe0/ports/1/state = 4: ACTIVE
/sys/class/infiniband/rxe1/ports/1/state = 4: ACTIVE
/sys/class/infiniband/rxe2/ports/1/state = 4: ACTIVE
@ verbs <<END
{"library":"libibverbs.so.1","error":"","devices":[
 {"name":"rxe0","error":"","ports":[{"number":1,"active_mtu":4096,"max_mtu":4096}]},
 {"name":"rxe1","error":"Permission denied","ports":[]}]}
END
)");
  const Rdma rdma = collect_rdma(*host);
  EXPECT_EQ(*rdma.verbs_library, "libibverbs.so.1");
  EXPECT_EQ(*rdma.devices->at(0).ports->at(0).active_mtu, 4096);
  EXPECT_EQ(rdma.devices->at(1).ports->at(0).active_mtu.miss().why, "Permission denied");
  EXPECT_TRUE(rdma.devices->at(2).ports->at(0).active_mtu.absent());
}

TEST(CollectRdma, DoesNotReadTheCountersOfManagementFunctions) {
  const auto host = machine(R"(
/sys/class/infiniband/mlx5_0/device/vpd = hex:535f57535f4d4e4753575f4d4e47
/sys/class/infiniband/mlx5_0/ports/1/link_layer = InfiniBand
/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error = 3
/sys/class/infiniband/mlx5_1/device/vpd = hex:436f6e6e656374582d37
/sys/class/infiniband/mlx5_1/ports/1/link_layer = InfiniBand
/sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error = 3
)");
  const Rdma rdma = collect_rdma(*host);
  EXPECT_TRUE(*rdma.devices->at(0).management);
  EXPECT_TRUE(rdma.devices->at(0).ports->at(0).counters.empty());
  EXPECT_FALSE(*rdma.devices->at(1).management);
  EXPECT_EQ(rdma.devices->at(1).ports->at(0).counters.size(), 1u);
}

constexpr std::string_view kDualPort = R"(
/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0/infiniband/mlx4_0/ports/1/state = 4: ACTIVE
/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0/infiniband/mlx4_0/ports/2/state = 1: DOWN
/sys/class/infiniband/mlx4_0 -> /sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0/infiniband/mlx4_0
/sys/class/infiniband/mlx4_0/device -> ../..
/sys/class/infiniband/rxe0/parent = eth1
/sys/class/infiniband/rxe0/ports/1/state = 4: ACTIVE
/sys/class/net/ens6/device -> /sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0
/sys/class/net/ens6/dev_port = 0
/sys/class/net/ens6d1/device -> /sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0
/sys/class/net/ens6d1/dev_port = 1
/sys/class/net/eth1/mtu = 1500
/sys/class/net/lo/mtu = 65536
)";

TEST(RdmaPortOf, TellsTwoPortsOfOneFunctionApart) {
  const auto host = machine(kDualPort);
  const Rdma rdma = collect_rdma(*host);
  const Net net = collect_net(*host);
  EXPECT_EQ(rdma_port_of(rdma, net, "ens6").port->number, 1);
  EXPECT_EQ(rdma_port_of(rdma, net, "ens6d1").port->number, 2);
  EXPECT_EQ(rdma_port_of(rdma, net, "ens6d1").device->name, "mlx4_0");
  EXPECT_EQ(rdma_port_of(rdma, net, "eth1").device->name, "rxe0");
  EXPECT_FALSE(rdma_port_of(rdma, net, "lo"));
  EXPECT_FALSE(rdma_port_of(rdma, net, "none"));
}

TEST(RdmaPortOf, BelievesTheGidTableFirst) {
  const auto host = machine(std::string(kDualPort) + R"(
/sys/class/infiniband/mlx4_0/ports/2/gids/0 = 0000:0000:0000:0000:0000:ffff:0a00:0001
/sys/class/infiniband/mlx4_0/ports/2/gid_attrs/ndevs/0 = bond0
)");
  EXPECT_EQ(rdma_port_of(collect_rdma(*host), collect_net(*host), "bond0").port->number, 2);
}

TEST(CollectNet, ReadsInterfacesAndAddresses) {
  const auto host = machine(R"(
/sys/class/net/ens6/mtu = 9000
/sys/class/net/ens6/speed = 40000
/sys/class/net/ens6/flags = 0x1003
/sys/class/net/ens6/carrier = 1
/sys/class/net/ens6/device -> /sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0
/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0/driver -> /sys/bus/pci/drivers/mlx4_core
/sys/bus/pci/drivers/mlx4_core/
/sys/class/net/ens7/speed = -1
/sys/class/net/ens7/flags = 0x1002
/sys/class/net/ens7/carrier ! EINVAL
/sys/class/net/bond0/bonding/mode = 802.3ad 4
/sys/class/net/bond0/bonding/slaves = ens8 ens9
/sys/class/net/bonding_masters = bond0
$ ip -j address show <<END
[{"ifname":"ens6","addr_info":[{"family":"inet","local":"10.0.0.1","prefixlen":24},{"local":"junk"}]},{}]
END
$ ip -j route show default <<END
[{"dst":"default","gateway":"192.0.2.1","dev":"ens7"},{"dst":"default","dev":"ens7"}]
END
)");
  const Net net = collect_net(*host);
  ASSERT_EQ(net.interfaces->size(), 3u);
  const NetInterface& ens6 = *find_interface(net, "ens6");
  EXPECT_EQ(*ens6.speed_mbps, 40000);
  EXPECT_TRUE(*ens6.administratively_up);
  EXPECT_EQ(*ens6.driver, "mlx4_core");
  EXPECT_EQ(*ens6.pci_address, "0000:02:00.0");
  EXPECT_EQ(*ens6.addresses, (std::vector<InterfaceAddress>{{*IpAddress::parse("10.0.0.1"), 24}}));
  const NetInterface& ens7 = *find_interface(net, "ens7");
  EXPECT_EQ(ens7.speed_mbps.miss().missing, Missing::kUnsupported);
  EXPECT_FALSE(*ens7.administratively_up);
  EXPECT_EQ(ens7.carrier.miss().missing, Missing::kUnsupported);
  EXPECT_TRUE(ens7.addresses->empty());
  EXPECT_EQ(*find_interface(net, "bond0")->bond_mode, "802.3ad");
  EXPECT_EQ(find_interface(net, "bond0")->bond_members->size(), 2u);
  EXPECT_EQ(*net.default_routes, std::vector<std::string>{"ens7"});
}

TEST(CollectNet, AsksTheKernelBeforeIproute) {
  const auto host = machine(R"(
/sys/class/net/eth0/mtu = 1500
@ default-routes <<END
["eth1","a/b"]
END
@ addresses <<END
[{"ifname":"eth0","addr_info":[{"local":"192.0.2.1","prefixlen":24},{"local":"?","prefixlen":1}]}]
END
$ ip -j address show <<END
[]
END
$ ip -j route show default <<END
[{"dev":"eth9"}]
END
)");
  const Net net = collect_net(*host);
  EXPECT_EQ(*find_interface(net, "eth0")->addresses,
            (std::vector<InterfaceAddress>{{*IpAddress::parse("192.0.2.1"), 24}}));
  EXPECT_EQ(*net.default_routes, std::vector<std::string>{"eth1"});
}

TEST(CollectNet, AnswersWithoutIproute) {
  const auto host = machine("/sys/class/net/lo/mtu = 65536\n$ ip -j route show default ! 1 <<END\nEND\n");
  const Net net = collect_net(*host);
  EXPECT_EQ(*net.interfaces->at(0).mtu, 65536);
  EXPECT_TRUE(net.interfaces->at(0).addresses.absent());
  EXPECT_EQ(net.default_routes.miss().missing, Missing::kUnsupported);
}

TEST(CollectNet, ReadsThePartitionOfIpoib) {
  const auto host = machine(
      "/sys/class/net/ib0/mode = datagram\n/sys/class/net/ib0/pkey = 0x8002\n/sys/class/net/eno1/mtu = 1500\n");
  const Net net = collect_net(*host);
  EXPECT_EQ(*find_interface(net, "ib0")->ipoib_pkey, 0x8002);
  EXPECT_TRUE(find_interface(net, "eno1")->ipoib_pkey.absent());
}

TEST(CollectCpu, FlagsSayTheLevel) {
  const std::string v2 = "fpu sse2 pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm avx f16c";  // Ivy Bridge
  const std::string v3 = v2 + " fma movbe bmi1 avx2 bmi2 abm xsave";
  const auto level_by = [](const std::string& flags) {
    return collect_cpu(*machine("/proc/cpuinfo <<END\nprocessor\t: 0\n" + flags + "END\n")).x86_level;
  };
  EXPECT_EQ(*level_by("flags\t\t: fpu sse2 pni\n"), 1);
  EXPECT_EQ(*level_by("flags\t\t: " + v2 + "\n"), 2);
  EXPECT_EQ(*level_by("flags\t\t: " + v3 + "\nvmx flags\t: vnmi\n"), 3);
  EXPECT_EQ(*level_by("flags\t\t: " + v3 + " avx512f avx512bw avx512cd avx512dq avx512vl\n"), 4);
  EXPECT_TRUE(level_by("Features\t: fp asimd\n").absent());  // arm64
}

TEST(CollectCpu, NamesTheCoresOfArm) {
  const auto model = [](const std::string& cpuinfo) {
    return collect_cpu(*machine("/proc/cpuinfo <<END\n" + cpuinfo + "END\n")).model;
  };
  const std::string arm = "CPU implementer\t: 0x41\n";
  EXPECT_EQ(*model("processor\t: 0\n" + arm + "CPU part\t: 0xd85\n\nprocessor\t: 1\n" + arm +
                   "CPU part\t: 0xd87\n\nprocessor\t: 2\n" + arm + "CPU part\t: 0xd85\n"),
            "Arm Cortex-X925, Arm Cortex-A725");
  EXPECT_EQ(*model(arm + "CPU part\t: 0xfff\n"), "implementer 0x41 part 0xfff");
  EXPECT_EQ(*model("CPU implementer\t: 0x48\nCPU part\t: 0xd08\n"), "implementer 0x48 part 0xd08");
  EXPECT_FALSE(model("CPU part\t: 0xd08\n"));
}

// hwloc's nvidiagpunumanodes: six GPUs of a POWER9 of which the copy has the class alone.
TEST(CollectGpus, ADisplayWithoutAMakerMayBeOne) {
  const auto host = machine("/sys/bus/pci/devices/0004:05:00.0/class = 0x030000\n");
  EXPECT_TRUE(collect_gpus(*host, collect_pcie(*host)).devices.unknown());
  const auto other = machine(
      "/sys/bus/pci/devices/0004:05:00.0/class = 0x030000\n/sys/bus/pci/devices/0004:05:00.0/vendor = 0x1a03\n");
  const Gpus none = collect_gpus(*other, collect_pcie(*other));
  ASSERT_TRUE(none.devices.ok());
  EXPECT_TRUE(none.devices->empty());
}

TEST(CollectGpus, ReadsBothDriverFlavours) {
  const std::string pci = R"(
/sys/bus/pci/devices/0000:02:00.0/vendor = 0x10de
/sys/bus/pci/devices/0000:02:00.0/class = 0x030200
/proc/driver/nvidia/gpus/0000:02:00.0/information <<END
Model: 		 Tesla V100-PCIE-16GB
GPU UUID: 	 GPU-8e7c6a7a-b369-507c-d18c-6f863b333027
END
/dev/nvidia0/
/dev/nvidia10/
/dev/nvidiactl/
)";
  const auto open =
      machine(pci +
              "/proc/driver/nvidia/version <<END\nNVRM version: NVIDIA UNIX Open Kernel Module for "
              "x86_64  580.95.05  Release Build  (dvs-builder@U22)\nGCC version: gcc 12.3.0\nEND\n");
  const Gpus gpus = collect_gpus(*open, collect_pcie(*open));
  ASSERT_EQ(gpus.devices->size(), 1u);
  EXPECT_EQ(*gpus.devices->at(0).model, "Tesla V100-PCIE-16GB");
  EXPECT_EQ(*gpus.devices->at(0).uuid, "GPU-8e7c6a7a-b369-507c-d18c-6f863b333027");
  EXPECT_EQ(*gpus.driver_version, "580.95.05");
  EXPECT_TRUE(*gpus.open_module);
  EXPECT_EQ(*gpus.device_nodes, (std::vector<int>{0, 10}));
  const auto closed = machine(
      "/proc/driver/nvidia/version = NVRM version: NVIDIA UNIX x86_64 Kernel Module  "
      "535.54.03  Tue Jun  6 22:20:39 UTC 2023\n");
  const Gpus old = collect_gpus(*closed, collect_pcie(*closed));
  EXPECT_EQ(*old.driver_version, "535.54.03");
  EXPECT_FALSE(*old.open_module);
  EXPECT_TRUE(old.devices.absent());
}

const Reading<std::vector<Service>> kNoServices{Miss{Missing::kAbsent, "none"}, "systemctl show"};

TEST(CollectGpus, ReadsTheModuleOnTheDisk) {
  const std::string gpu =
      "/sys/bus/pci/devices/0000:17:00.0/vendor = 0x10de\n"
      "/sys/bus/pci/devices/0000:17:00.0/class = 0x030200\n";
  const auto file_on = [&](const std::string& tree) {
    const auto host = machine(gpu + tree);
    return collect_gpus(*host, collect_pcie(*host)).module_file;
  };
  const std::string info =
      "filename:       /lib/modules/6.8.0-87-generic/updates/dkms/nvidia.ko.zst\n"
      "version:        570.124.06\nlicense:        Dual MIT/GPL\n"
      "vermagic:       6.8.0-87-generic SMP preempt mod_unload modversions\n";
  const auto plain = file_on("$ modinfo nvidia <<END\n" + info + "END\n");
  ASSERT_TRUE(plain) << plain.miss().why;
  EXPECT_EQ(plain->path, "/lib/modules/6.8.0-87-generic/updates/dkms/nvidia.ko.zst");
  EXPECT_EQ(plain->version, "570.124.06");
  EXPECT_EQ(plain->kernel, "6.8.0-87-generic");
  EXPECT_EQ(plain->license, "Dual MIT/GPL");
  EXPECT_FALSE(plain->is_signed);
  // Debian's name for it, and a signature
  const auto debian = file_on("$ modinfo nvidia ! 1 <<END\nEND\n$ modinfo nvidia-current <<END\n" + info +
                              "sig_id:         PKCS#7\nEND\n");
  EXPECT_TRUE(debian->is_signed);
  EXPECT_EQ(debian.from(), "modinfo nvidia-current");
  // "there is none" is a fact, "could not look" is not
  EXPECT_EQ(file_on("$ modinfo nvidia ! 1 <<END\nEND\n$ modinfo nvidia-current ! 1 <<END\nEND\n")->path, "");
  EXPECT_EQ(file_on("$ modinfo nvidia ! 2 <<END\nEND\n").miss().missing, Missing::kGarbled);
  EXPECT_TRUE(file_on("").absent());
}

TEST(CollectGpus, KnowsTheKindOfTheModuleOnTheDisk) {
  const auto on_disk = [](const std::string& tree) {
    const auto host = machine(
        "/sys/bus/pci/devices/0000:17:00.0/vendor = 0x10de\n"
        "/sys/bus/pci/devices/0000:17:00.0/class = 0x030200\n" +
        tree);
    return collect_gpus(*host, collect_pcie(*host)).open_on_disk;
  };
  const auto licensed = [&](const std::string& license) {
    return on_disk("$ modinfo nvidia <<END\nfilename:       /lib/modules/6.8.0/nvidia.ko\nlicense:        " +
                   license + "\nEND\n");
  };
  EXPECT_TRUE(*licensed("Dual MIT/GPL"));
  EXPECT_FALSE(*licensed("NVIDIA"));
  EXPECT_FALSE(licensed("GPL"));  // nobody's: neither
  EXPECT_TRUE(on_disk("$ modinfo nvidia ! 1 <<END\nEND\n$ modinfo nvidia-current ! 1 <<END\nEND\n").absent());
  // a report that holds the one field
  const auto field =
      on_disk("$ modinfo nvidia ! 2 <<END\nEND\n$ modinfo -F license nvidia <<END\nNVIDIA\nEND\n");
  ASSERT_TRUE(field) << field.miss().why;
  EXPECT_FALSE(*field);
  EXPECT_EQ(field.from(), "modinfo -F license nvidia");
}

TEST(CollectGpus, CapturesKeepNoSignersName) {
  const CommandOutput kept = used_modinfo({0,
                                           "signer:         gpu01 Secure Boot Module Signature key\n"
                                           "sig_id:         PKCS#7\nalias:          pci:v000010DE\n",
                                           ""});
  EXPECT_EQ(kept.output, "sig_id:         PKCS#7\n");
  EXPECT_EQ(used_modinfo({1, "", "modinfo: ERROR: Module nvidia not found."}).exit_code, 1);
  EXPECT_EQ(used_modinfo({1, "", "modinfo: ERROR: could not get modinfo"}).exit_code, 2);
}

TEST(CollectKernel, FindsWhatKeepsModulesOut) {
  const auto host = machine(R"(
/proc/cmdline = ro modprobe.blacklist=nouveau,floppy module_blacklist=nvidia-drm
/etc/modprobe.d/nouveau.conf <<END
# blacklist nvidia
blacklist nouveau  # it takes the GPUs
options nouveau modeset=0
END
/etc/modprobe.d/hold.conf <<END
install nvidia-uvm /bin/false
install nvidia modprobe -i nvidia-current $CMDLINE_OPTS
blacklist pcspkr
END
/etc/modprobe.d/masked.conf -> /dev/null
/dev/null =
/usr/lib/modprobe.d/masked.conf = blacklist nvidia
/usr/lib/modprobe.d/mlx4.conf = install mlx4_core /bin/true
/usr/lib/modprobe.d/readme = blacklist nvidia
)");
  const Reading<std::vector<BlockedModule>> blocked = collect_kernel(*host).blocked_modules;
  ASSERT_TRUE(blocked) << blocked.miss().why;
  std::vector<std::string> found;
  for (const BlockedModule& module : *blocked)
    found.push_back(module.how + " " + module.name + " " + module.file);
  EXPECT_EQ(found, (std::vector<std::string>{"install nvidia_uvm /etc/modprobe.d/hold.conf",
                                             "blacklist nouveau /etc/modprobe.d/nouveau.conf",
                                             "install mlx4_core /usr/lib/modprobe.d/mlx4.conf",
                                             "modprobe.blacklist nouveau /proc/cmdline",
                                             "module_blacklist nvidia_drm /proc/cmdline"}));
  EXPECT_EQ(used_modprobe("blacklist pcspkr\n blacklist nouveau # x\ninstall nvidia /bin/false\n"),
            "blacklist nouveau\ninstall nvidia /bin/false\n");
  EXPECT_TRUE(collect_kernel(*machine("/proc/cmdline = ro\n")).blocked_modules.absent());
}

// sysctl.d(5): by name over all folders, the last wins; a folder hides files of the same name behind it.
TEST(CollectSysctl, SaysWhatTheNextBootSets) {
  const auto host = machine(R"(
/usr/lib/sysctl.d/10-default.conf <<END
net.core.rmem_max = 1
net.core.wmem_max = 1
kernel.panic = 10
END
/usr/lib/sysctl.d/50-hidden.conf = vm.swappiness = 1
/etc/sysctl.d/50-hidden.conf -> /dev/null
/dev/null =
/etc/sysctl.d/90-rdma.conf <<END
# net.core.rmem_max = 2
-net/core/rmem_max=268435456
net.core.[rw]mem_default = 3
net.core.wmem_default=4
net.ipv4.tcp_rmem = 4096  131072 6291456
net.ipv4.conf.*.rp_filter = 2
-net.ipv4.conf.default.rp_filter
kernel.hostname = other
END
/etc/sysctl.d/99-sysctl.conf -> ../sysctl.conf
/etc/sysctl.conf = net.core.wmem_max=5
/etc/sysctl.d/notes = vm.swappiness = 2
/run/sysctl.d/95-run.conf <<END
kernel.panic = 20
-kernel.panic
END
)");
  const auto settings = collect_sysctl_at_boot(*host);
  ASSERT_TRUE(settings) << settings.miss().why;
  std::vector<std::string> found;
  for (const BootSetting& setting : *settings)
    found.push_back(setting.key + " " + setting.value + " " + setting.file);
  EXPECT_EQ(found,
            (std::vector<std::string>{"net.core.rmem_max 268435456 /etc/sysctl.d/90-rdma.conf",
                                      "net.core.wmem_max 5 /etc/sysctl.d/99-sysctl.conf",
                                      "net.core.rmem_default 3 /etc/sysctl.d/90-rdma.conf",
                                      "net.core.wmem_default 4 /etc/sysctl.d/90-rdma.conf",
                                      "net.ipv4.tcp_rmem 4096 131072 6291456 /etc/sysctl.d/90-rdma.conf",
                                      "net.ipv4.conf.all.rp_filter 2 /etc/sysctl.d/90-rdma.conf"}));
  EXPECT_EQ(used_sysctl("# a secret\nkernel.hostname = x\n net.core.rmem_max = 1 \n"),
            "net.core.rmem_max = 1\n");
  EXPECT_TRUE(collect_sysctl_at_boot(*machine("/etc/sysctl.conf = vm.swappiness=1\n")).absent());
  EXPECT_EQ(collect_sysctl_at_boot(*machine("/etc/sysctl.d/9.conf ! EACCES\n")).miss().missing,
            Missing::kDenied);
}

TEST(CollectKernel, KnowsWhetherSignaturesAreRequired) {
  const auto required = [](const char* tree) { return collect_kernel(*machine(tree)).signatures_required; };
  EXPECT_TRUE(*required("/sys/kernel/security/lockdown = none [integrity] confidentiality\n"));
  EXPECT_FALSE(*required("/sys/kernel/security/lockdown = [none] integrity confidentiality\n"));
  EXPECT_TRUE(*required("/sys/module/module/parameters/sig_enforce = Y\n"));
  EXPECT_FALSE(*required("/sys/module/module/parameters/sig_enforce = N\n"));
  EXPECT_TRUE(required("").absent());
  EXPECT_EQ(required("/sys/kernel/security/lockdown ! EACCES\n").miss().missing, Missing::kDenied);
}

TEST(CollectNccl, TheNearestSettingWins) {
  const auto host = machine(R"(
/etc/nccl.conf <<END
# rails
NCCL_IB_HCA=mlx4_0
NCCL_DEBUG=INFO
NCCL_IB_TC=104
NCCL_IB_TC=106
END
/home/ann/.nccl.conf = NCCL_DEBUG=WARN
/etc/profile.d/nccl.sh <<END
export NCCL_IB_HCA="=mlx4_0:1"  # exactly
export NCCL_ALGO=Tree NCCL_PROTO=LL
NCCL_ALGO=Ring; export NCCL_ALGO
PATH=/x
END
@ environment NCCL <<END
{"NCCL_SOCKET_IFNAME":"ens6","NCCLX":"1"}
END
@ environment UCX_ <<END
{"UCX_TLS":"rc"}
END
@ environment HOME <<END
{"HOME":"/home/ann"}
END
)");
  const Nccl nccl = collect_nccl(*host, kNoServices);
  EXPECT_EQ(nccl.system_file->size(), 4u);
  EXPECT_EQ(*effective(nccl, "NCCL_IB_HCA"),
            (NcclVariable{"NCCL_IB_HCA", "=mlx4_0:1", "/etc/profile.d/nccl.sh:1"}));
  EXPECT_EQ(*effective(nccl, "NCCL_DEBUG"), (NcclVariable{"NCCL_DEBUG", "WARN", "/home/ann/.nccl.conf:1"}));
  // In a file of NCCL's own the first line wins, in a shell's the last.
  EXPECT_EQ(*effective(nccl, "NCCL_IB_TC"), (NcclVariable{"NCCL_IB_TC", "104", "/etc/nccl.conf:4"}));
  EXPECT_EQ(*effective(nccl, "NCCL_ALGO"), (NcclVariable{"NCCL_ALGO", "Ring", "/etc/profile.d/nccl.sh:3"}));
  EXPECT_EQ(effective(nccl, "NCCL_SOCKET_IFNAME")->from, "environment");
  EXPECT_EQ(effective(nccl, "UCX_TLS")->value, "rc");
  EXPECT_EQ(effective(nccl, "NCCLX"), nullptr);
  EXPECT_EQ(effective(nccl, "PATH"), nullptr);
  EXPECT_TRUE(nccl.library.absent());
}

TEST(CollectNccl, ReadsNcclsOwnFilesToTheLetter) {
  const auto host = machine(R"(
/etc/nccl.conf <<END
NCCL_IB_HCA="=mlx5_0"
export NCCL_DEBUG=WARN
NCCL_IB_TC = 104
 # NCCL_ALGO=Ring
SECRET=NCCL_
END
)");
  const Nccl nccl = collect_nccl(*host, kNoServices);
  EXPECT_EQ(*nccl.system_file, (std::vector<NcclVariable>{
                                   {"NCCL_IB_HCA", "\"=mlx5_0\"", "/etc/nccl.conf:1"},
                                   {"export NCCL_DEBUG", "WARN", "/etc/nccl.conf:2"},
                                   {"NCCL_IB_TC ", " 104", "/etc/nccl.conf:3"},
                               }));
}

TEST(CollectNccl, ReadsWhatServicesHandToTheirJobsAndNothingSecret) {
  const auto host = machine(R"(
$ systemctl show --property=Id,Environment,EnvironmentFiles slurmd.service docker.service <<END
Id=slurmd.service
Environment=NCCL_IB_TC=96 "NCCL_TOPO_FILE=/a b.xml" TOKEN=x
EnvironmentFiles=/etc/default/slurmd (ignore_errors=yes)
EnvironmentFiles=/etc/nccl.d/*.env (ignore_errors=yes)

Id=docker.service
Environment=
END
/etc/default/slurmd <<END
NCCL_IB_TC='104'
SLURM_TOKEN=abc
END
)");
  std::vector<Service> found(3);
  found[0].name = "docker";
  found[1].name = "slurmd";
  found[2].name = "ssh";
  const Reading<std::vector<Service>> services{found, "systemctl show"};
  const Nccl nccl = collect_nccl(*host, services);
  ASSERT_EQ(nccl.services.size(), 2u);
  EXPECT_EQ(nccl.services[0].name, "slurmd");
  EXPECT_EQ(*nccl.services[0].variables,
            (std::vector<NcclVariable>{{"NCCL_IB_TC", "96", "slurmd.service"},
                                       {"NCCL_TOPO_FILE", "/a b.xml", "slurmd.service"},
                                       {"NCCL_IB_TC", "104", "/etc/default/slurmd:1"}}));
  EXPECT_TRUE(nccl.services[1].variables->empty());
}

TEST(CollectNccl, FindsTheLibrarysVersionInItsName) {
  const auto version = [](const char* tree) {
    const Nccl nccl = collect_nccl(*machine(tree), kNoServices);
    return nccl.library.ok() ? nccl.library->version : "none";
  };
  EXPECT_EQ(version("/usr/lib/x86_64-linux-gnu/libnccl.so.2 -> libnccl.so.2.28.9\n"
                    "/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9 = x\n"),
            "2.28.9");
  EXPECT_EQ(version("/usr/lib64/libnccl.so.2 = x\n"), "none");
}

TEST(Capture, CanBeReadAgainWhereASettingIsALink) {
  const auto host = machine(R"(
/etc/sysctl.conf <<END
net.core.rmem_max = 7
# a secret
END
/etc/sysctl.d/99-sysctl.conf -> ../sysctl.conf
)");
  const auto again = parse_tree(write_tree(capture(*host)), "again", nullptr);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->find("/etc/sysctl.d/99-sysctl.conf")->content, "/etc/sysctl.conf");
  EXPECT_EQ(again->find("/etc/sysctl.conf")->content, "net.core.rmem_max = 7\n");
}

TEST(CollectNccl, CapturesKeepNoOtherVariable) {
  const auto host = machine(R"(
/run/systemd/system/
$ systemctl show --property=Id,LoadState,ActiveState,UnitFileState,MainPID <<END
END
/etc/environment <<END
TOKEN=secret
NCCL_DEBUG=WARN
END
)");
  const Tree tree = capture(*host);
  EXPECT_EQ(tree.find("/etc/environment")->content, "\nNCCL_DEBUG=WARN\n");
  EXPECT_EQ(only_nccl_environment(
                "Id=docker.service\nEnvironment=HTTP_PROXY=u:p@h NCCL_DEBUG=WARN \"NCCL_X=a b\"\n"),
            "Id=docker.service\nEnvironment=\"NCCL_DEBUG=WARN\" \"NCCL_X=a b\"\n");
}

std::vector<Shaper> shapers_of(const std::string& json) {
  const auto host = machine("$ tc -j qdisc show <<END\n" + json + "\nEND\n");
  return collect_shapers(*host).value_or({});
}

// The first as iproute2 6.1 printed it, the others as its q_netem.c and q_cake.c print theirs.
TEST(CollectShapers, RatesAreBitsAndTimesMilliseconds) {
  const auto found = shapers_of(
      R"([{"kind":"tbf","handle":"80c2:","dev":"rail0","root":true,"options":{"rate":1250000,"burst":32767,"lat":50000}},
          {"kind":"netem","dev":"rail1","options":{"limit":1000,"delay":{"delay":0.02,"jitter":0},
           "loss-random":{"loss":0.01},"rate":{"rate":12500000}}},
          {"kind":"htb","dev":"rail2","options":{"r2q":10}}])");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].interface, "rail0");
  EXPECT_DOUBLE_EQ(found[0].bits_per_second, 10e6);
  EXPECT_DOUBLE_EQ(found[1].bits_per_second, 100e6);
  EXPECT_DOUBLE_EQ(found[1].delay_ms, 20);
  EXPECT_DOUBLE_EQ(found[1].loss, 0.01);
  EXPECT_EQ(found[2].kind, "htb") << "its classes limit";
}

TEST(CollectShapers, WhatHoldsNothingBackIsNone) {
  EXPECT_TRUE(
      shapers_of(R"([{"kind":"pfifo_fast","dev":"eth0","options":{"bands":3}}, {"kind":"noqueue","dev":"lo"},
                             {"kind":"netem","dev":"eth1","options":{"limit":1000}},
                             {"kind":"cake","dev":"eth2","options":{"bandwidth":"unlimited"}}])")
          .empty());
  EXPECT_TRUE(shapers_of(R"([7, {"kind":"tbf"}, {"kind":"tbf","dev":"a/b","options":{"rate":9}},
                             {"kind":"tbf","dev":"eth0","options":{"rate":-9}}])")
                  .empty());
  EXPECT_FALSE(collect_shapers(*machine("$ tc -j qdisc show <<END\nnot JSON\nEND\n")));
  const auto with_queues = [](const std::string& kinds) {
    return collect_shapers(
        *machine("@ queues <<END\n" + kinds + "\nEND\n$ tc -j qdisc show ! 1 <<END\nEND\n"));
  };
  EXPECT_TRUE(with_queues(R"([{"dev":"lo","kind":"noqueue"},{"dev":"eth0","kind":"fq"}])"));
  EXPECT_FALSE(with_queues(R"([{"dev":"lo","kind":"noqueue"},{"dev":"eth0","kind":"tbf"}])"))
      << "tc is asked";
  EXPECT_FALSE(with_queues("7")) << "tc is asked";
  EXPECT_FALSE(collect_shapers(*machine("")));
}

TEST(CollectLldp, HearsWhatSwitchesSay) {
  const auto heard = collect_lldp(*machine(R"($ lldpcli -f json0 show neighbors details <<END
{"lldp":[{"interface":[
 {"name":"ens1","via":"LLDP","rid":"1","age":"0 day, 00:00:41",
  "chassis":[{"id":[{"type":"mac","value":"9c:05:91:00:00:01"}],"name":[{"value":"leaf1"}]}],
  "port":[{"id":[{"type":"ifname","value":"swp7"}],"ttl":[{"value":"120"}],"mfs":[{"value":"9216"}]}],
  "unknown-tlvs":[{"unknown-tlv":[{"oui":"00,80,C2","subtype":"9","len":"1","value":"00"},
                                  {"oui":"00,80,C2","subtype":"11","len":"2","value":"08,0A"}]}]},
 {"name":"ens2","via":"CDPv2","chassis":[],"port":[]},
 {"name":"../ens3","via":"LLDP","chassis":[],"port":[]},
 {"name":"ens4","via":"LLDP","chassis":[{"id":[{"type":"mac","value":"9c:05:91:00:00:02"}]}],"port":[]}]}]}
END
)"));
  ASSERT_TRUE(heard);
  ASSERT_EQ(heard->size(), 2U);
  EXPECT_EQ((*heard)[0].name, "leaf1");
  EXPECT_EQ((*heard)[0].port, "swp7");
  EXPECT_EQ((*heard)[0].max_frame, 9216);
  EXPECT_EQ((*heard)[0].lossless, (std::vector<int>{1, 3}));
  EXPECT_EQ((*heard)[1].interface, "ens4");
  EXPECT_EQ((*heard)[1].max_frame, std::nullopt);
  EXPECT_EQ((*heard)[1].lossless, std::nullopt);
  const auto nobody =
      collect_lldp(*machine("$ lldpcli -f json0 show neighbors details <<END\n{\"lldp\":[{}]}\nEND\n"));
  ASSERT_TRUE(nobody);
  EXPECT_TRUE(nobody->empty());
  EXPECT_FALSE(collect_lldp(*machine("$ lldpcli -f json0 show neighbors details <<END\n[\nEND\n")));
}

// As Debian 12's kernel 6.1 shows a target of two subsystems.
TEST(CollectNvmeTargets, ReadsWhatIsServedWhereAndToWhom) {
  const auto host = machine(R"(
/sys/kernel/config/nvmet/hosts/nqn.2014-08.org.nvmexpress:uuid:11111111-2222-8333-8444-555555555555/
/sys/kernel/config/nvmet/ports/44200/addr_trtype = tcp
/sys/kernel/config/nvmet/ports/44200/addr_adrfam = ipv4
/sys/kernel/config/nvmet/ports/44200/addr_traddr = 10.77.0.1
/sys/kernel/config/nvmet/ports/44200/addr_trsvcid = 4420
/sys/kernel/config/nvmet/ports/44200/subsystems/nqn.2026-01.com.example:a -> ../../../../nvmet/subsystems/nqn.2026-01.com.example:a
/sys/kernel/config/nvmet/subsystems/nqn.2026-01.com.example:a/attr_allow_any_host = 0
/sys/kernel/config/nvmet/subsystems/nqn.2026-01.com.example:a/allowed_hosts/nqn.2014-08.org.nvmexpress:uuid:11111111-2222-8333-8444-555555555555 -> ../../../../nvmet/hosts/nqn.2014-08.org.nvmexpress:uuid:11111111-2222-8333-8444-555555555555
/sys/kernel/config/nvmet/subsystems/nqn.2026-01.com.example:a/namespaces/1/device_path = /dev/vdb
/sys/kernel/config/nvmet/subsystems/nqn.2026-01.com.example:a/namespaces/1/enable = 1
/sys/kernel/config/nvmet/subsystems/nqn.2026-01.com.example:b/attr_allow_any_host = 1
/sys/kernel/config/nvmet/subsystems/nqn.2026-01.com.example:b/namespaces/7/device_path = (null)
/sys/kernel/config/nvmet/subsystems/nqn.2026-01.com.example:b/namespaces/7/enable = 0
)");
  const auto targets = collect_nvme_targets(*host);
  ASSERT_TRUE(targets);
  ASSERT_EQ(targets->size(), 2U);
  const NvmeTarget& a = (*targets)[0];
  EXPECT_EQ(a.nqn, "nqn.2026-01.com.example:a");
  EXPECT_FALSE(a.any_host);
  EXPECT_EQ(a.hosts,
            std::vector<std::string>{"nqn.2014-08.org.nvmexpress:uuid:11111111-2222-8333-8444-555555555555"});
  ASSERT_EQ(a.namespaces.size(), 1U);
  EXPECT_EQ(a.namespaces[0].device, "/dev/vdb");
  EXPECT_TRUE(a.namespaces[0].enabled);
  ASSERT_EQ(a.listeners.size(), 1U);
  EXPECT_EQ(a.listeners[0].transport, "tcp");
  EXPECT_EQ(a.listeners[0].address, "10.77.0.1");
  EXPECT_EQ(a.listeners[0].service, "4420");
  const NvmeTarget& b = (*targets)[1];
  EXPECT_TRUE(b.any_host);
  EXPECT_TRUE(b.hosts.empty());
  EXPECT_TRUE(b.listeners.empty());
  EXPECT_FALSE(b.namespaces.at(0).enabled);
  EXPECT_TRUE(collect_nvme_targets(*machine("/sys/")).absent());
}

TEST(CollectExportDevice, SaysWhatUsesADeviceOrAPartOfIt) {
  const std::string drive = R"(
/dev/vdb = x
/dev/disk/by-id/virtio-1 -> ../../vdb
/sys/class/block/vdb -> ../../devices/virtual/block/vdb
/sys/devices/virtual/block/vdb/dev = 254:16
/sys/devices/virtual/block/vdb/holders/
/sys/devices/virtual/block/vdb/vdb1/partition = 1
/sys/devices/virtual/block/vdb/vdb1/dev = 254:17
/sys/class/block/vdb1 -> ../../devices/virtual/block/vdb/vdb1
/sys/devices/virtual/block/vdb/vdb1/holders/
)";
  const std::string root = "/proc/self/mountinfo <<END\n22 1 254:1 / / rw - ext4 /dev/vda1 rw\n";
  const auto use = [&](const std::string& mounts, const std::string& more,
                       const std::string& path = "/dev/vdb") {
    return collect_export_device(*machine(drive + root + mounts + "END\n" + more), path);
  };
  const ExportDevice free = use("", "", "/dev/disk/by-id/virtio-1");
  EXPECT_EQ(free.device.value_or(""), "vdb");
  EXPECT_TRUE(free.used_by.absent());
  EXPECT_EQ(*use("30 22 254:16 / /srv rw - xfs /dev/vdb rw\n", "").used_by, "it is mounted at /srv");
  EXPECT_EQ(*use("30 22 254:17 / /srv\\040x rw - xfs /dev/vdb1 rw\n", "").used_by,
            "vdb1 is mounted at /srv x");
  // Btrfs has a number of its own.
  EXPECT_EQ(*use("30 22 0:40 / /data rw - btrfs /dev/vdb1 rw\n", "").used_by, "vdb1 is mounted at /data");
  EXPECT_EQ(*use("", "/proc/swaps <<END\nFilename Type Size Used Priority\n/dev/vdb1 partition 8 0 -2\nEND\n")
                 .used_by,
            "vdb1 is swap");
  EXPECT_EQ(*use("", "/sys/devices/virtual/block/vdb/vdb1/holders/md0/").used_by, "md0 is on vdb1");
  // Of a file system on several devices mountinfo names one.
  EXPECT_EQ(
      *use("", "/sys/fs/btrfs/1f2e/devices/vdb1 -> ../../../../devices/virtual/block/vdb/vdb1\n").used_by,
      "vdb1 is part of a btrfs file system");
  for (const char* unread : {"/proc/swaps ! EACCES", "/sys/devices/virtual/block/vdb/vdb1/holders ! EACCES",
                             "/sys/fs/btrfs ! EACCES", "/sys/fs/btrfs/1f2e/devices ! EACCES",
                             "/sys/devices/virtual/block/vdb/vdb1/partition ! EIO",
                             "/sys/devices/virtual/block/vdb/vdb1/dev ! EIO"}) {
    const auto used_by = use("", unread).used_by;
    EXPECT_FALSE(used_by.ok() || used_by.absent()) << unread;
  }
  EXPECT_TRUE(use("", "", "/dev/vdc").device.absent());
  EXPECT_FALSE(use("", "/dev/tty9 = x", "/dev/tty9").device.ok());
  // Nobody knows that nothing uses it if the mounts cannot be read.
  const ExportDevice unread = collect_export_device(*machine(drive), "/dev/vdb");
  EXPECT_FALSE(unread.used_by.ok() || unread.used_by.absent());
}

TEST(CollectStorage, TellsControllersOverAFabricFromDrives) {
  const Storage storage = collect_storage(*machine(R"(
/sys/class/nvme/nvme0 -> ../../devices/virtual/nvme-fabrics/ctl/nvme0
/sys/devices/virtual/nvme-fabrics/ctl/nvme0/state = live
/sys/devices/virtual/nvme-fabrics/ctl/nvme0/transport = tcp
/sys/devices/virtual/nvme-fabrics/ctl/nvme0/address = traddr=10.77.0.1,trsvcid=4420,host_traddr=10.77.0.2,src_addr=10.77.0.2
/sys/devices/virtual/nvme-fabrics/ctl/nvme0/subsysnqn = nqn.2026-01.com.example:a
/sys/class/nvme/nvme1 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme1
/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme1/transport = pcie
)"));
  ASSERT_EQ(storage.nvme->size(), 2U);
  EXPECT_TRUE(is_over_fabric((*storage.nvme)[0]));
  EXPECT_EQ(*(*storage.nvme)[0].subsystem, "nqn.2026-01.com.example:a");
  EXPECT_FALSE(is_over_fabric((*storage.nvme)[1]));
}

TEST(CollectOwnUnits, AreThoseOfRailbed) {
  const auto units = collect_own_units_at_boot(*machine(
      "/etc/systemd/system/multi-user.target.wants/railbed-nvmet.service -> ../railbed-nvmet.service\n"
      "/etc/systemd/system/multi-user.target.wants/cron.service -> /lib/systemd/system/cron.service\n"));
  EXPECT_EQ(*units, std::vector<std::string>{"railbed-nvmet.service"});
}

TEST(CoreThrottleCount, SumsOverAllCpusAndIsAbsentWhereNothingCounts) {
  const auto count = core_throttle_count(
      *machine("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count = 3\n"
               "/sys/devices/system/cpu/cpu11/thermal_throttle/core_throttle_count = 4\n"
               "/sys/devices/system/cpu/cpufreq/thermal_throttle/core_throttle_count = 100\n"));
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 7u);
  EXPECT_TRUE(core_throttle_count(*machine("/sys/devices/system/cpu/cpu0/online = 1\n")).absent());
}

}  // namespace
}  // namespace railbed
