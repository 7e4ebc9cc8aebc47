#include "facts/mask/mask.h"

#include <gtest/gtest.h>

#include "base/ip.h"
#include "facts/software/nccl.h"

namespace railbed {
namespace {

TEST(Mask, HidesMacsGuidsAndTheAddressesMadeFromThemAlike) {
  Mask mask;
  EXPECT_EQ(mask("52:54:00:12:34:56"), "02:00:00:00:00:01");
  EXPECT_EQ(mask("52:54:00:12:34:57 52:54:00:12:34:56"), "02:00:00:00:00:02 02:00:00:00:00:01");
  // The EUI-64 of the first address: as link-local address, as GID, as GUID, as an octet string.
  EXPECT_EQ(mask("fe80::5054:ff:fe12:3456/64"), "fe80::ff:fe00:1/64");
  EXPECT_EQ(mask("fe80:0000:0000:0000:5054:00ff:fe12:3456"), "fe80:0000:0000:0000:0000:00ff:fe00:0001");
  EXPECT_EQ(mask("5054:00ff:fe12:3456"), "0000:00ff:fe00:0001");
  EXPECT_EQ(mask("50:54:00:ff:fe:12:34:56"), "00:00:00:ff:fe:00:00:01");
  EXPECT_EQ(mask("00:00:00:00:00:00 ff:ff:ff:ff:ff:ff"), "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff");
}

TEST(Mask, HidesGuidsOfAdaptersInEveryForm) {
  Mask mask;
  const std::string guid = mask("248a:0703:00a8:1234");
  EXPECT_EQ(guid, "0200:0001:0000:0001");
  EXPECT_EQ(mask("fe80:0000:0000:0000:248a:0703:00a8:1234"), "fe80:0000:0000:0000:0200:0001:0000:0001");
  EXPECT_EQ(mask("20:00:10:8b:fe:80:00:00:00:00:00:00:24:8a:07:03:00:a8:12:34"),
            "20:00:10:8b:fe:80:00:00:00:00:00:00:02:00:00:01:00:00:00:01");
}

TEST(Mask, KeepsPrivateAddressesAndTheSubnetsOfPublicOnes) {
  Mask mask;
  for (const char* kept :
       {"10.0.0.1", "192.168.1.7/24", "172.16.0.1", "127.0.0.1", "169.254.1.1", "224.0.0.1", "0.0.0.0", "::1",
        "::", "fd00:1::5", "2001:db8::1", "100.64.0.1", "0000:0000:0000:0000:0000:ffff:0a00:0001"})
    EXPECT_EQ(mask(kept), kept);
  for (const char* kept : {"192.0.0.8", "192.0.2.1", "198.51.100.9", "203.0.113.200"})
    EXPECT_EQ(mask(kept), kept);
  for (const char* hidden : {"192.0.78.9", "198.51.7.1", "203.0.112.1"}) EXPECT_NE(mask(hidden), hidden);
  const auto a = IpAddress::parse(mask("8.8.4.4"));
  const auto b = IpAddress::parse(mask("8.8.5.5"));
  const auto c = IpAddress::parse(mask("9.9.9.9"));
  ASSERT_TRUE(a && b && c);
  EXPECT_NE(a->to_text(), "8.8.4.4");
  EXPECT_EQ(Subnet::of(*a, 22), Subnet::of(*b, 22));
  EXPECT_NE(Subnet::of(*a, 24), Subnet::of(*b, 24));
  EXPECT_NE(Subnet::of(*a, 22), Subnet::of(*c, 22));
  EXPECT_EQ(mask("::ffff:8.8.4.4"), "::ffff:" + a->to_text());
  EXPECT_EQ(IpAddress::parse(mask("0000:0000:0000:0000:0000:ffff:0808:0404")), a);
  EXPECT_EQ(mask("2a01:4f8:1:2::1"), "2001:db8:0:1::1");
  EXPECT_EQ(mask("2a01:4f8:1:2::3"), "2001:db8:0:1::3");
}

TEST(Mask, HidesUuidsSecretsHomesAndNames) {
  Mask mask;
  mask.hide("gpu01");
  mask.hide("gpu01.example.org");
  EXPECT_EQ(mask("GPU-8e7c6a7a-b369-507c-d18c-6f863b333027"), "GPU-00000000-0000-4000-8000-000000000001");
  EXPECT_EQ(mask("root=UUID=8E7C6A7A-b369-507c-d18c-6f863b333027 ro"),
            "root=UUID=00000000-0000-4000-8000-000000000001 ro");
  EXPECT_EQ(mask("quiet ks.token=abc123 luks_password=x y"), "quiet ks.token=masked luks_password=masked y");
  EXPECT_EQ(mask("/home/ann.lee/.nccl.conf"), "/home/user/.nccl.conf");
  EXPECT_EQ(mask("gpu01 gpu01.example.org gpu010 xgpu01"), "host1 host2 gpu010 xgpu01");
}

TEST(Mask, LeavesWhatOnlyLooksSimilar) {
  Mask mask;
  for (const char* kept : {"0000:02:00.0", "12:34:56", "2.42.5000", "580.159.04", "4X FDR10",
                           "6.1.0-31-amd64", "NCCL_IB_HCA=mlx5_0:1,mlx5_1:1", "aa:bb:cc:dd:ee",
                           "aa:bb:cc:dd:ee:ff:11", "deadbeef", "0x15b3", "00ff", "2026-11-21T06:00:00Z"})
    EXPECT_EQ(mask(kept), kept);
}

TEST(MaskTree, KeepsOfTheCommandLineWhatIsKnown) {
  for (const char* kept :
       {"iommu=pt intel_iommu=on,sm_on",
        "mitigations=auto,no_guest_host,no_guest_guest console=ttyS0,115200n8 quiet",
        "pci=realloc=off,pcie_bus_perf",
        "hugepagesz=1G hugepages=64 default_hugepagesz=2M isolcpus=managed_irq,2-7",
        "modprobe.blacklist=nouveau nvidia-drm.modeset=1 crashkernel=512M", "processor.max_cstate=1 ro"})
    EXPECT_EQ(masked_command_line(kept), std::string(kept) + "\n");
  EXPECT_EQ(masked_command_line("iommu_secret=hunter2 console_pw=x numatoken=1 rootkey=y idle_password=z"),
            "masked masked masked masked masked\n")
      << "a name that only begins like a known one";
  EXPECT_EQ(masked_command_line("root=/dev/mapper/acme-root crashkernel=hunter2 iommu=pt,hunter2"),
            "root=masked crashkernel=masked iommu=pt,masked\n");
  EXPECT_EQ(masked_command_line("nvidia.NVreg_RegistryDwords=Key=0x1;Site=acme"),
            "nvidia.NVreg_RegistryDwords=masked=0x1;masked=masked\n");
}

TEST(Mask, HidesTokensAndTrailingComments) {
  Mask mask;
  EXPECT_EQ(mask("NCCL_AUTH=abc NCCL_API_KEY=abc NCCL_X_COOKIE=y"),
            "NCCL_AUTH=masked NCCL_API_KEY=masked NCCL_X_COOKIE=masked");
  EXPECT_EQ(
      only_nccl_lines("NCCL_DEBUG=INFO # ask ann, her password is x\nexport NCCL_A=1\t#y\nNCCL_B=a#b\n"),
      "NCCL_DEBUG=INFO # masked\nexport NCCL_A=1\t# masked\nNCCL_B=a#b\n");
  EXPECT_EQ(
      only_nccl_lines("NCCL_X=ghp_16C7e42F292c6912E7710c838347Ae178B4a\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n"),
      "NCCL_X=masked\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n");
}

TEST(MaskTree, NodesCallEachOtherByTheSameWords) {
  const auto hosts_of = [](const std::string& own, const std::string& hosts) {
    Tree tree;
    EXPECT_TRUE(tree.set("/proc/sys/kernel/hostname", {TreeEntry::Kind::kFile, own + "\n", 0}));
    EXPECT_TRUE(tree.set("/etc/hosts", {TreeEntry::Kind::kFile, hosts, 0}));
    Mask mask;
    const Tree hidden = masked(tree, mask);
    return std::pair(hidden.find("/proc/sys/kernel/hostname")->content, hidden.find("/etc/hosts")->content);
  };
  const std::string rails = "10.0.0.1 gpu01-mesh\n10.0.0.2 gpu02-mesh\n";
  const auto [first, hosts1] = hosts_of("gpu01", "127.0.1.1 gpu01\n192.168.0.2 gpu02\n" + rails);
  const auto [second, hosts2] = hosts_of("gpu02", "127.0.1.1 gpu02\n192.168.0.1 gpu01\n" + rails);
  EXPECT_EQ(first, "host1\n");
  EXPECT_EQ(second, "host3\n");
  EXPECT_EQ(hosts1, "127.0.1.1 host1\n192.168.0.2 host3\n10.0.0.1 host2\n10.0.0.2 host4\n");
  EXPECT_EQ(hosts2, "127.0.1.1 host3\n192.168.0.1 host1\n10.0.0.1 host2\n10.0.0.2 host4\n");
  EXPECT_EQ(hosts_of("x1", "").first, "host\n");
}

TEST(MaskTree, CutsFilesThatHoldMoreThanFacts) {
  Tree tree;
  const auto put = [&](const std::string& path, std::string text) {
    ASSERT_TRUE(tree.set(path, {TreeEntry::Kind::kFile, std::move(text), 0}));
  };
  put("/proc/sys/kernel/hostname", "gpu01.example.org\n");
  put("/proc/cmdline", "root=/dev/sda1 iommu=pt ip=10.0.0.1 console=gpu01 -- --key x\n");
  put("/proc/modules", "gpu01 16384 0 - Live\n");
  put("/etc/environment", "PATH=/bin\nMY_SECRET=abc\nNCCL_IB_HCA=mlx5_0\n");
  put("/proc/cpuinfo", "model name\t: X\nSerial\t\t: 100000001234\n");
  put("/sys/devices/a/vpd", "SN 12345 SW_MNG");
  put("/sys/devices/b/vpd", "SN 12345");
  std::string config(4096, '\0');
  const std::string capability("\x03\x00\x01\x00\x11\x22\x33\x44\x55\x66\x77\x88", 12);
  config.replace(0x100, capability.size(), capability);
  put("/sys/devices/a/config", config);
  tree.calls.emplace("environment HOME", Reading<std::string>(R"({"HOME":"/home/ann"})", "environment HOME"));
  Mask mask;
  const Tree hidden = masked(tree, mask);
  const auto content = [&](const char* path) { return hidden.find(path)->content; };
  EXPECT_EQ(content("/proc/sys/kernel/hostname"), "host1\n");
  EXPECT_EQ(content("/proc/cmdline"), "root=masked iommu=pt masked console=masked\n");
  EXPECT_EQ(content("/proc/modules"), "gpu01 16384 0 - Live\n");
  EXPECT_EQ(content("/etc/environment"), "\n\nNCCL_IB_HCA=mlx5_0\n");
  EXPECT_EQ(content("/proc/cpuinfo"), "model name\t: X\nSerial\t\t: masked\n");
  EXPECT_EQ(content("/sys/devices/a/vpd"), "SW_MNG\n");
  EXPECT_EQ(content("/sys/devices/b/vpd"), "\n");
  EXPECT_EQ(content("/sys/devices/a/config").substr(0x100, 12),
            capability.substr(0, 4) + std::string(8, '\0'));
  EXPECT_EQ(hidden.calls.find("environment HOME")->second.value(), R"({"HOME":"/home/user"})");
}

// Inputs of collectors, with a secret in every place where users may write.
TEST(MaskTree, AHomeIsHiddenWhereverItIs) {
  Tree tree;
  ASSERT_TRUE(tree.set("/srv/ann.lee/.nccl.conf", {TreeEntry::Kind::kFile, "NCCL_DEBUG=INFO\n", 0}));
  tree.calls.emplace("environment HOME",
                     Reading<std::string>(R"({"HOME":"/srv/ann.lee"})", "environment HOME"));
  Mask mask;
  const Tree hidden = masked(tree, mask);
  const std::string home = hidden.calls.at("environment HOME").value_or("");
  EXPECT_EQ(home.find("ann"), std::string::npos) << home;
  hidden.each([](const std::string& path, const TreeEntry&) {
    EXPECT_EQ(path.find("ann"), std::string::npos) << path;
  });
}

TEST(MaskTree, KeepsNobodysWords) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"/etc/profile.d/nccl.sh",
       "export NCCL_IB_HCA=mlx5_0 S=S3CR3T\nNCCL_IB_HCA=S3CR3T,mlx5_1:1\nNCCL_DEBUG=INFO; S=S3CR3T\n"
       "NCCL_X='a S3CR3T'\nexport NCCL_Y=$(S3CR3T)\nNCCL_S S3CR3T=1\nexport S=S3CR3T NCCL_DEBUG=INFO\n"
       "export NCCL_DEBUG=INFO # S3CR3T\nNCCL_DEBUG_FILE=/opt/S3CR3T/x\nNCCL_DEBUG=\"INFO\"S3CR3T\n# S3CR3T\n"
       "NCCL_COMM_ID=S3CR3T.example.org:4711\nUCX_NET_DEVICES=S3CR3T\nCUDA_VISIBLE_DEVICES=0,S3CR3T\n"
       "NCCL_DEBUG=INFO\tS3CR3T\nNCCL_DEBUG=INFO&&S3CR3T\nNCCL_DEBUG=INFO|S3CR3T\n"},
      {"/etc/environment", "NCCL_DEBUG=INFO S=S3CR3T\nS=S3CR3T\n"},
      {"/etc/nccl.conf", "NCCL_IB_HCA=mlx5_0 S3CR3T\n S3CR3T NCCL_X=1\nNCCL_X==S3CR3T\n"},
      {"/root/.nccl.conf", "NCCL_IB_HCA=S3CR3T\n"},
      {"/etc/default/slurmd", "NCCL_DEBUG=INFO S=S3CR3T\nSLURMD_OPTIONS=S3CR3T\n"},
      {"/etc/slurm/slurm.conf", "AuthInfo=S3CR3T\n"},
      {"/etc/docker/daemon.json", "{\"S3CR3T\":\"S3CR3T\"}\n"},
      {"/etc/passwd", "S3CR3T:x:0:0:S3CR3T:/home/S3CR3T:/bin/sh\n"},
      {"/etc/hosts", "10.0.0.1 S3CR3T S3CR3T.example.org # S3CR3T\nS3CR3T gpu02\n10.0.0.2 S3CR3T! aS3CR3T\n"},
      {"/etc/os-release",
       "ID=S3CR3T\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian S3CR3T 12 (S3CR3T)\"\nHOME_URL=S3CR3T\n"},
      {"/etc/default/grub",
       "GRUB_CMDLINE_LINUX=\"S=S3CR3T\"\nGRUB_PASSWORD=S3CR3T\nGRUB_TERMINAL=serial # S3CR3T\nGRUB_TERMINAL=\"serial S3CR3T\" S3CR3T\n"},
      {"/proc/cmdline", "S=S3CR3T console=S3CR3T iommu=pt,S3CR3T root=S3CR3T -- S3CR3T\n"},
      {"/etc/modprobe.d/x.conf",
       "options wifi key=S3CR3T\nblacklist nouveau S3CR3T # S3CR3T\ninstall nvidia /opt/S3CR3T/false S3CR3T\ninstall S3CR3T S3CR3T\n"},
      {"/etc/sysctl.d/x.conf", "kernel.core_pattern=S3CR3T\nnet.core.rmem_max=S3CR3T\n# S3CR3T\n"},
      {"/etc/netplan/x.yaml",
       "# S3CR3T\nnetwork:\n  version: 2\n  wifis:\n    wlan0:\n      access-points:\n        \"S3CR3T\":\n"
       "          password: S3CR3T\n  ethernets:\n    ens6:\n      mtu: 9000\n      auth:\n        password: S3CR3T\n"},
      {"/etc/NetworkManager/system-connections/x.nmconnection",
       "[connection]\nid=S3CR3T\ninterface-name=ens6\ntype=ethernet\n[802-1x]\nidentity=S3CR3T\n"
       "password=S3CR3T\n[wifi-security]\npsk=S3CR3T\n"},
      {"/etc/sysconfig/network-scripts/ifcfg-ens6", "DEVICE=ens6\nKEY=S3CR3T\nWPA_PSK=S3CR3T\n"},
      {"/etc/systemd/network/x.network", "[Match]\nName=ens6\nSSID=S3CR3T\n[Network]\nDescription=S3CR3T\n"},
      {"/etc/network/interfaces",
       "iface ens6 inet static # S3CR3T\n  wpa-psk S3CR3T\n  up S3CR3T\n  address 10.0.0.1 S3CR3T\n"},
      {"/etc/ssh/sshd_config", "Banner S3CR3T\n"},
      {"/boot/config-6.1.0", "# S3CR3T\nCONFIG_LOCALVERSION=\"S3CR3T\"\n"},
      {"/etc/cufile.json",
       "{\"logging\": {\"dir\": \"/S3CR3T\"}, \"properties\": {\"S3CR3T\": true}} // S3CR3T\n"},
      {"/var/lib/nfs/etab", "/S3CR3T\tS3CR3T.example(rw,S3CR3T,root_squash)\n"},
      {"/proc/self/mountstats", "device S3CR3T:/S3CR3T mounted on /S3CR3T with fstype nfs4 statvers=1.1\n"},
      {"/proc/self/mountinfo",
       "1 1 0:1 / / rw - ext4 /dev/sda1 rw,S=S3CR3T\n2 1 0:2 /S3CR3T /mnt/S3CR3T rw - nfs S3CR3T:/S3CR3T rw,S3CR3T\n"
       "3 1 0:3 /S3CR3T /asked rw,S3CR3T - cifs //S3CR3T/x rw,username=S3CR3T\n"},
  };
  const std::pair<const char*, const char*> kOutputs[] = {
      {"systemctl show --property=Id,Environment,EnvironmentFiles slurmd.service",
       "Id=slurmd.service\nEnvironment=NCCL_DEBUG=INFO S=S3CR3T \"NCCL_X=a S3CR3T\"\n"
       "EnvironmentFiles=/etc/S3CR3T (ignore_errors=yes)\n"},
      {"systemctl show --property=Id,LoadState slurmd.service",
       "Id=slurmd.service\nExecStart=S3CR3T\nS3CR3T\n"},
      {"ip -j address show",
       R"([{"ifname":"ens6","ifalias":"S3CR3T","addr_info":[{"local":"10.0.0.1","label":"S3CR3T"}]}])"},
      {"tc -j qdisc show", R"([{"dev":"ens6","kind":"tbf","S3CR3T":1,"options":{"rate":1,"x":"S3CR3T"}}])"},
      {"nft -j list ruleset",
       R"({"nftables":[{"rule":{"family":"ip","table":"t","chain":"c","comment":"S3CR3T","expr":[)"
       R"({"log":{"prefix":"S3CR3T"}},{"match":{"op":"==","left":{"meta":{"key":"iifname"}},"right":"ens6"}},)"
       R"({"accept":null}]}},{"set":{"name":"s","elem":[{"elem":{"val":"1","comment":"S3CR3T"}}]}}]})"},
      {"iptables-save",
       "# S3CR3T\n*filter\n:INPUT DROP [0:0]\n-A INPUT -s 10.0.0.0/8 -m comment --comment \"S3CR3T S3CR3T\" -j ACCEPT\n"
       "-A INPUT -m string --string S3CR3T -j LOG --log-prefix \"S3CR3T \"\nCOMMIT\n"},
      {"lldpcli -f json0 show neighbors details",
       R"({"lldp":[{"interface":[{"name":"ens6","via":"LLDP","chassis":[{"name":[{"value":"S3CR3T"}],)"
       R"("descr":[{"value":"S3CR3T"}],"id":[{"type":"local","value":"S3CR3T"}]}],)"
       R"("port":[{"id":[{"value":"S3CR3T"}],"descr":[{"value":"S3CR3T"}]}]}]}]})"},
      {"ethtool -m ens6",
       "\tVendor SN                                 : S3CR3T\n\tModule temperature : 40 degrees\n"},
      {"nv-fabricmanager --version", "S3CR3T\nFabric Manager version is : 580.95.05\n"},
      {"modinfo nvidia",
       "filename:       /lib/modules/x/nvidia.ko\nsigner:         S3CR3T\nauthor: S3CR3T\n"},
      {"ldconfig -p", "\tlibS3CR3T.so (libc6,x86-64) => /opt/S3CR3T/libS3CR3T.so\n"},
      {"docker run --rm S3C", "gpu 0\nS3CR3T\nsaid S3CR3T\nend\n"},
      {"/venv/bin/python -I -B -c import",
       "S3CR3T\n{\"version\":\"2.5.1\",\"error\":\"S3CR3T\",\"operation\":\"S3CR3T\"}\n"},
      {"ps aux", "root S3CR3T\n"},
  };
  const std::pair<const char*, const char*> kAnswers[] = {
      {"environment NCCL", R"({"NCCL_X":"S3CR3T","NCCL_DEBUG":"INFO S3CR3T","S":"S3CR3T"})"},
      {"environment HOME", R"({"HOME":"/home/S3CR3T"})"},
      {"stuck", R"([{"pid":1,"name":"S3CR3T","waits":"io_schedule"}])"},
      {"kernel-log", R"({"source":"/dev/kmsg","lines":[{"text":"S3CR3T: something that no rule knows"},)"
                     R"({"text":"Out of memory: Killed process 4711 (S3CR3T) total-vm:1kB, anon-rss:1kB"},)"
                     R"({"text":"INFO: task S3CR3T:4711 blocked for more than 120 seconds."},)"
                     R"({"text":"nfs: server S3CR3T not responding, timed out"},)"
                     R"({"text":"NVRM: Xid (PCI:0000:65:00): 31, pid=4711, name=S3CR3T, Ch 00000008"}]})"},
      {"process 4711", R"({"S3CR3T":1})"},
      {"statvfs /asked", R"({"blocks":1})"},
  };
  Tree tree;
  for (const auto& [path, text] : kFiles) ASSERT_TRUE(tree.set(path, {TreeEntry::Kind::kFile, text, 0}));
  for (const auto& [words, text] : kOutputs)
    tree.commands.emplace(words, Reading<CommandOutput>(CommandOutput{0, text, "S3CR3T"}, words));
  for (const auto& [name, text] : kAnswers) tree.calls.emplace(name, Reading<std::string>(text, name));
  Mask mask;
  const Tree hidden = masked(tree, mask);
  hidden.each([](const std::string& path, const TreeEntry& entry) {
    EXPECT_EQ(entry.content.find("S3CR3T"), std::string::npos) << path << "\n" << entry.content;
  });
  for (const auto& [words, output] : hidden.commands)
    EXPECT_EQ((output->output + output->error_output).find("S3CR3T"), std::string::npos) << words << "\n"
                                                                                         << output->output;
  for (const auto& [name, answer] : hidden.calls)
    EXPECT_EQ(answer.value_or("").find("S3CR3T"), std::string::npos) << name << "\n" << *answer;
  EXPECT_FALSE(hidden.commands.contains("ps aux"));
  EXPECT_TRUE(hidden.find("/etc/environment")->content.starts_with("NCCL_DEBUG=INFO masked"));
  EXPECT_NE(hidden.calls.at("kernel-log")->find("Xid (PCI:0000:65:00): 31, pid=4711, name=task"),
            std::string::npos);
}

}  // namespace
}  // namespace railbed
