#include "inventory/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "inventory/keys.h"

namespace railbed {
namespace {

using testing::HasSubstr;

Cluster read(std::string_view yaml) {
  auto cluster = parse_cluster(yaml, "cluster.yaml");
  EXPECT_TRUE(cluster) << cluster.error().text;
  return cluster.value_or(Cluster{});
}

std::string as_json(const Cluster& cluster) { return json::dump_pretty(json::encode(cluster)); }

TEST(Load, ReadsWhatTwoNodesAndACableNeed) {
  const Cluster cluster = read(R"(
railbed: 1
cluster: emulated-pair
ssh:
  config: /abs/path/ssh_config
fabric: roce
topology: back-to-back
nodes:
  - {name: vm1, ssh: vm1}
  - {name: vm2, ssh: vm2}
rails:
  - name: rail0
    subnet: 10.77.0.0/24
    mtu: 9000
    rdma_driver: rxe
    ports:
      vm1: {interface: eth1, address: 10.77.0.1}
      vm2: {interface: eth1, address: 10.77.0.2}
)");
  EXPECT_EQ(cluster.name, "emulated-pair");
  EXPECT_EQ(cluster.file, "cluster.yaml");
  EXPECT_EQ(cluster.ssh_config, "/abs/path/ssh_config");
  ASSERT_EQ(cluster.nodes.size(), 2u);
  EXPECT_EQ(cluster.nodes[1].name, "vm2");
  EXPECT_EQ(cluster.nodes[1].ssh, "vm2");
  EXPECT_FALSE(cluster.nodes[1].local);
  const Rail* rail = find_rail(cluster, "rail0");
  ASSERT_NE(rail, nullptr);
  EXPECT_EQ(rail->fabric, Fabric::kRoce);
  EXPECT_EQ(rail->topology, Topology::kBackToBack);
  EXPECT_EQ(rail->subnet, Subnet::parse("10.77.0.0/24"));
  EXPECT_EQ(rail->mtu, 9000);
  EXPECT_EQ(rail->rdma_driver, "rxe");
  const RailPort* port = find_port(*rail, "vm2");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->interface, "eth1");
  EXPECT_EQ(port->address, IpAddress::parse("10.77.0.2"));
  EXPECT_EQ(find_node(cluster, "vm3"), nullptr);
}

TEST(Load, FillsInDefaults) {
  const Cluster cluster = read(R"(
railbed: 1
cluster: c
expect: {gpus: 8, governor: performance, memory: 2 TiB, fraction_of_ceiling: 0.8}
nodes:
  - {name: a, expect: {gpus: 4, os: ubuntu 24.04, socket_buffer: 268435456}}
  - b
rails:
  - {name: roce, subnet: 10.0.0.0/24, interface: ens1, first_address: 10.0.0.1}
  - {name: ib, fabric: infiniband, interface: ib0}
)");
  const Expectations& a = cluster.nodes[0].expect;
  EXPECT_EQ(a.gpus, 4);
  EXPECT_EQ(a.os, "ubuntu 24.04");
  EXPECT_EQ(a.governor, "performance");
  EXPECT_EQ(a.memory, ByteCount{2ull << 40});
  EXPECT_EQ(a.socket_buffer, 256u << 20);
  EXPECT_EQ(a.fraction_of_ceiling, 0.8);
  EXPECT_EQ(cluster.nodes[1].expect.gpus, 8);
  EXPECT_EQ(cluster.nodes[1].expect.os, std::nullopt);
  EXPECT_EQ(cluster.rails[0].mtu, 9000);
  EXPECT_EQ(cluster.rails[0].topology, Topology::kSwitch);
  EXPECT_EQ(cluster.rails[1].mtu, std::nullopt);
  EXPECT_EQ(cluster.rails[1].ports.size(), 2u);
  EXPECT_EQ(cluster.rails[1].ports[1].address, std::nullopt);
}

TEST(Load, ReadsChecksOfTheSite) {
  const std::string text = R"(
railbed: 1
cluster: c
nodes: ["gpu[1-4]"]
checks:
  - {name: home-mounted, run: [mountpoint, -q, /home]}
  - name: fans
    run: [/opt/site/fans, "--warn", 80, "a b"]
    nodes: gpu[2-3]
    user: root
    timeout: 30
    exit: {1: fail, 0: pass, 3: n/a}
    remedy: Call the data centre.
)";
  const Cluster cluster = read(text);
  ASSERT_EQ(cluster.checks.size(), 2u);
  const SiteCheck& home = cluster.checks[0];
  EXPECT_EQ(home.run, (std::vector<std::string>{"mountpoint", "-q", "/home"}));
  EXPECT_EQ(home.timeout, 10);
  EXPECT_EQ(exit_meaning(home, 0), ExitMeaning::kPass);
  EXPECT_EQ(exit_meaning(home, 1), ExitMeaning::kWarn);
  EXPECT_EQ(exit_meaning(home, 2), ExitMeaning::kFail);
  EXPECT_EQ(exit_meaning(home, 3), ExitMeaning::kUnknown);
  const SiteCheck& fans = cluster.checks[1];
  EXPECT_EQ(fans.run, (std::vector<std::string>{"/opt/site/fans", "--warn", "80", "a b"}));
  EXPECT_EQ(fans.nodes, (std::vector<std::string>{"gpu2", "gpu3"}));
  EXPECT_EQ(fans.user, "root");
  EXPECT_EQ(exit_meaning(fans, 1), ExitMeaning::kFail);
  EXPECT_EQ(exit_meaning(fans, 2), ExitMeaning::kFail);
  EXPECT_EQ(exit_meaning(fans, 3), ExitMeaning::kNotApplicable);
  const auto by_node = site_checks_by_node(cluster);
  EXPECT_EQ(by_node.at("gpu1").size(), 1u);
  EXPECT_EQ(by_node.at("gpu3").size(), 2u);
  EXPECT_EQ(read(write_cluster(cluster)).checks.size(), 2u);
  EXPECT_EQ(write_cluster(read(write_cluster(cluster))), write_cluster(cluster));
  EXPECT_THAT(write_cluster(cluster), testing::HasSubstr("exit: {0: pass, 1: fail, 3: n/a}"));
}

TEST(Load, TellsFileServersFromNodesThatCompute) {
  const Cluster cluster = read(R"(
railbed: 1
cluster: c
nodes: [gpu1, gpu2, store1, {name: gpu3, expect: {gpus: 8}}]
rails:
  - {name: r0, subnet: 10.0.0.0/24, interface: e0, first_address: 10.0.0.1, nodes: "gpu[1-2]"}
  - {name: s, purpose: storage, subnet: 10.9.0.0/24, interface: e1, first_address: 10.9.0.1}
)");
  EXPECT_EQ(storage_servers(cluster), std::set<std::string_view>{"store1"});
  Cluster alone = cluster;
  alone.rails.erase(alone.rails.begin());
  EXPECT_TRUE(storage_servers(alone).empty());
  EXPECT_EQ(read(write_cluster(cluster)).rails[1].purpose, RailPurpose::kStorage);
}

TEST(Load, ReadsExportsOfStorage) {
  const Cluster cluster = read(R"(
railbed: 1
cluster: c
nodes: [store1, "gpu[1-4]"]
rails:
  - {name: rail0, interface: ens1, subnet: 10.0.0.0/24, first_address: 10.0.0.10}
storage:
  - name: scratch
    server: store1
    device: /dev/disk/by-id/nvme-eui.0025384b11b4c1a2
    protocol: nvme-rdma
    rail: rail0
    clients: gpu[1-3]
    shared: true
  - {name: ckpt, server: gpu1, device: /dev/nvme1n1, protocol: nvme-tcp, rail: rail0, clients: [store1], nqn: "nqn.2026-01.com.example:ckpt"}
)");
  ASSERT_EQ(cluster.storage.size(), 2u);
  const StorageExport& scratch = cluster.storage[0];
  EXPECT_EQ(scratch.protocol, StorageProtocol::kNvmeRdma);
  EXPECT_EQ(scratch.clients, (std::vector<std::string>{"gpu1", "gpu2", "gpu3"}));
  EXPECT_EQ(scratch.nqn, "nqn.2024-07.internal.railbed:store1:scratch");
  EXPECT_EQ(scratch.address->to_text(), "10.0.0.10");
  EXPECT_TRUE(scratch.shared);
  EXPECT_EQ(cluster.storage[1].nqn, "nqn.2026-01.com.example:ckpt");
  EXPECT_FALSE(cluster.storage[1].shared);
  EXPECT_EQ(read(write_cluster(cluster)).storage, cluster.storage);
  EXPECT_THAT(describe(cluster),
              testing::HasSubstr("storage   scratch (/dev/disk/by-id/nvme-eui.0025384b11b4c1a2 of "
                                 "store1, nvme-rdma over rail0, to gpu[1-3]), ckpt ("));
}

TEST(Load, ReadsDirectoriesOfNfs) {
  const Cluster cluster = read(R"(
railbed: 1
cluster: c
nodes: [store1, "gpu[1-4]"]
rails:
  - {name: rail0, interface: ens1, subnet: 10.0.0.0/24, first_address: 10.0.0.10}
storage:
  - {name: home, server: store1, path: /srv/home, mount: /home, protocol: nfs-rdma, rail: rail0, clients: "gpu[3-4]"}
  - name: data
    server: store1
    path: /srv/data
    mount: /data
    protocol: nfs-tcp
    rail: rail0
    clients: gpu[1-2]
    read_only: true
    no_root_squash: true
    nconnect: 8
)");
  ASSERT_EQ(cluster.storage.size(), 2u);
  const StorageExport& home = cluster.storage[0];
  EXPECT_EQ(home.protocol, StorageProtocol::kNfsRdma);
  EXPECT_EQ(home.path, "/srv/home");
  EXPECT_EQ(home.mount, "/home");
  EXPECT_EQ(home.device + home.nqn, "");
  EXPECT_FALSE(home.read_only || home.no_root_squash || home.nconnect);
  EXPECT_EQ(home.address->to_text(), "10.0.0.10");
  const StorageExport& data = cluster.storage[1];
  EXPECT_TRUE(data.read_only && data.no_root_squash);
  EXPECT_EQ(data.nconnect, 8);
  EXPECT_EQ(read(write_cluster(cluster)).storage, cluster.storage);
  EXPECT_THAT(
      describe(cluster),
      testing::HasSubstr("storage   home (/srv/home of store1, nfs-rdma over rail0, to gpu[3-4]), data ("));
}

TEST(Load, ExpandsRangesEverywhere) {
  const Cluster cluster = read(R"(
railbed: 1
cluster: c
ssh: {user: ops}
nodes:
  - {name: "gpu[08-11]", ssh: "10.9.0.[8-11]", bmc: 10.8.0.254}
  - {name: "r[1-2]n[1-2]", ssh: "root@r[1-2]n[1-2].lab"}
  - {name: here, local: true}
rails:
  - {name: r0, subnet: 10.0.0.0/16, interface: ens1, first_address: 10.0.0.254, speed: 400G}
  - name: r1
    subnet: 10.1.0.0/24
    nodes: ["gpu[08-09]", here]
    interface: ens2
    first_address: 10.1.0.1
  - name: r2
    subnet: 10.2.0.0/24
    interface: ens3
    ports:
      gpu[08-11]: {address: 10.2.0.11}
      here: {interface: eth0, address: 10.2.0.1}
)");
  ASSERT_EQ(cluster.nodes.size(), 9u);
  EXPECT_EQ(cluster.nodes[2].name, "gpu10");
  EXPECT_EQ(cluster.nodes[2].ssh, "ops@10.9.0.10");
  EXPECT_EQ(cluster.nodes[2].bmc, "10.8.1.0");
  EXPECT_EQ(cluster.nodes[6].name, "r2n1");
  EXPECT_EQ(cluster.nodes[6].ssh, "root@r2n1.lab");
  EXPECT_TRUE(cluster.nodes[8].local);
  EXPECT_EQ(cluster.nodes[8].ssh, "");
  EXPECT_EQ(cluster.rails[0].ports[8].address, IpAddress::parse("10.0.1.6"));
  EXPECT_EQ(cluster.rails[0].speed, BitRate::gigabits(400));
  ASSERT_EQ(cluster.rails[1].ports.size(), 3u);
  EXPECT_EQ(cluster.rails[1].ports[2].node, "here");
  EXPECT_EQ(cluster.rails[1].ports[2].address, IpAddress::parse("10.1.0.3"));
  EXPECT_EQ(cluster.rails[2].ports[3].address, IpAddress::parse("10.2.0.14"));
  EXPECT_EQ(cluster.rails[2].ports[3].interface, "ens3");
  EXPECT_EQ(cluster.rails[2].ports[4].interface, "eth0");
}

TEST(Load, TakesSshLocalForThisMachine) {
  const Cluster cluster =
      read("railbed: 1\ncluster: c\nssh: {user: ops}\nnodes: [{name: here, ssh: local}]\n");
  ASSERT_EQ(cluster.nodes.size(), 1u);
  EXPECT_TRUE(cluster.nodes[0].local);
  EXPECT_EQ(cluster.nodes[0].ssh, "");
}

TEST(Load, FindsTheSshConfigurationBesideTheFile) {
  constexpr std::string_view kYaml = "railbed: 1\ncluster: c\nssh: {config: lab/ssh_config}\nnodes: [a]\n";
  EXPECT_EQ(parse_cluster(kYaml, "/srv/pod/cluster.yaml")->ssh_config, "/srv/pod/lab/ssh_config");
  EXPECT_EQ(parse_cluster(kYaml, "cluster.yaml")->ssh_config, "lab/ssh_config");
  const char* home = std::getenv("HOME");
  ASSERT_NE(home, nullptr);
  EXPECT_EQ(read("railbed: 1\ncluster: c\nssh: {config: ~/c}\nnodes: [a]\n").ssh_config,
            std::string(home) + "/c");
}

TEST(Load, ReadsTheExamples) {
  for (const auto& entry : std::filesystem::directory_iterator(RAILBED_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto cluster = load_cluster(entry.path().string());
    ASSERT_TRUE(cluster) << cluster.error().text;
    EXPECT_FALSE(cluster->rails.empty()) << entry.path();
    const auto again = parse_cluster(write_cluster(*cluster), cluster->file);
    ASSERT_TRUE(again) << again.error().text << "\n" << write_cluster(*cluster);
    EXPECT_EQ(as_json(*again), as_json(*cluster)) << write_cluster(*cluster);
  }
}

TEST(Load, ReadsAThousandNodesFromAScreen) {
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/examples/rail-optimised-1000.yaml");
  ASSERT_TRUE(cluster) << cluster.error().text;
  EXPECT_EQ(cluster->nodes.size(), 1000u);
  ASSERT_EQ(cluster->rails.size(), 8u);
  EXPECT_EQ(cluster->rails[7].ports.back().address, IpAddress::parse("10.7.3.232"));
  const std::string written = write_cluster(*cluster);
  EXPECT_LT(std::count(written.begin(), written.end(), '\n'), 25);
}

TEST(Load, SaysThatAFileIsNotThere) {
  const auto missing = load_cluster("/nonexistent/cluster.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(
      missing.error().text,
      "cannot read /nonexistent/cluster.yaml: No such file or directory; `railbed init HOST…` writes a first one");
  EXPECT_THAT(load_cluster("/").error().text, HasSubstr("cannot read /: it is a folder"));
}

TEST(Write, FoldsWhatIsRegular) {
  const Cluster cluster = read(R"(
railbed: 1
cluster: pod
ssh: {user: ops, config: /etc/pod/ssh}
expect: {gpus: 8, fraction_of_ceiling: 0.85}
mtu: 4200
nodes:
  - {name: "gpu[001-006]", bmc: 10.9.0.1}
  - {name: gpu007, bmc: 10.9.0.7, expect: {gpus: 4}}
  - {name: "gpu[008-010]", ssh: "10.3.0.[8-10]"}
rails:
  - {name: rail0, subnet: 10.0.0.0/24, interface: ens1, first_address: 10.0.0.1}
  - {name: rail1, subnet: 10.1.0.0/24, interface: ens2, first_address: 10.1.0.1, nodes: "gpu[001-008]", speed: 2.5 Gb/s}
)");
  const std::string written = write_cluster(cluster);
  EXPECT_EQ(written, R"(railbed: 1
cluster: pod
ssh: {config: /etc/pod/ssh, user: ops}
fabric: roce
topology: switch
mtu: 4200
expect: {gpus: 8, fraction_of_ceiling: 0.85}

nodes:
  - {name: "gpu[001-006]", bmc: 10.9.0.1}
  - {name: gpu007, bmc: 10.9.0.7, expect: {gpus: 4}}
  - {name: "gpu[008-010]", ssh: 10.3.0.8}

rails:
  - {name: rail0, subnet: 10.0.0.0/24, interface: ens1, first_address: 10.0.0.1}
  - name: rail1
    speed: 2.5 Gb/s
    subnet: 10.1.0.0/24
    ports:
      "gpu[001-008]": {interface: ens2, address: 10.1.0.1}
)");
  EXPECT_EQ(as_json(read(written)), as_json(cluster));
}

TEST(Write, LeavesFewNodesOneByOne) {
  const Cluster cluster = read(R"(
railbed: 1
cluster: "two nodes: one cable"
fabric: infiniband
nodes:
  - {name: spark-01, ssh: ops@spark-01-mesh}
  - {name: spark-02, local: true, expect: {gpu_model: "GB\"10", memory: 1.5 GiB}}
rails:
  - {name: rail0, interface: ib0}
)");
  const std::string written = write_cluster(cluster);
  EXPECT_EQ(written, R"(railbed: 1
cluster: "two nodes: one cable"
ssh: {user: ops}
fabric: infiniband
topology: switch

nodes:
  - {name: spark-01, ssh: spark-01-mesh}
  - {name: spark-02, local: true, expect: {gpu_model: "GB\"10", memory: 1536 MiB}}

rails:
  - name: rail0
    ports:
      spark-01: {interface: ib0}
      spark-02: {interface: ib0}
)");
  EXPECT_EQ(as_json(read(written)), as_json(cluster));
}

constexpr std::string_view kConfigured = R"(
railbed: 1
cluster: pair
configure:
  network: netplan
  management_interface: eno1
  management_address: 192.168.1.71/24
  management_dns: 192.168.1.1
  unused_interfaces: [eno2, eno3]
  nvidia_runtime: [docker, containerd]
  mig:
    - {gpus: [0, 2-3], instances: {3g.40gb: 1, 1g.10gb+me: 1}}
    - {gpus: 1, instances: {7g.80gb: 1}}
  gpu_sharing: {method: time-slices, replicas: 4}
  console: ttyS1
nodes:
  - gpu1
  - {name: gpu2, configure: {console: ttyS0, console_rate: 9600, gpu_sharing: {method: mps, active_threads: 25, pinned_memory: 8 GiB}}}
  - {name: gpu3, configure: {management_address: 192.168.2.9/24, management_dns: [10.1.1.1, 10.1.1.2]}}
rails:
  - {name: rail0, subnet: 10.0.0.0/24, vlan: 100, interface: ens6.100, first_address: 10.0.0.1}
)";

TEST(Load, LaysANodesConfigurationOverTheClusters) {
  const Cluster cluster = read(kConfigured);
  const Configuration& first = cluster.nodes.at(0).configure;
  EXPECT_EQ(first.network, NetworkKeeper::kNetplan);
  EXPECT_EQ(first.management_address, InterfaceAddress::parse("192.168.1.71/24"));
  EXPECT_EQ(first.management_dns, std::vector{*IpAddress::parse("192.168.1.1")});
  EXPECT_EQ(first.unused_interfaces, (std::vector<std::string>{"eno2", "eno3"}));
  EXPECT_EQ(first.nvidia_runtime, (std::vector<std::string>{"docker", "containerd"}));
  ASSERT_TRUE(first.mig);
  EXPECT_EQ(first.mig->at(0), (MigLayout{{0, 2, 3}, {{"1g.10gb+me", 1}, {"3g.40gb", 1}}}));
  EXPECT_EQ(mig_layout_of(*first.mig, 1), &first.mig->at(1));
  EXPECT_EQ(mig_layout_of(*first.mig, 3), &first.mig->at(0));
  EXPECT_EQ(mig_layout_of(*first.mig, 4), nullptr);
  EXPECT_EQ(first.console, "ttyS1");
  const Configuration& second = cluster.nodes.at(1).configure;
  EXPECT_EQ(second.management_address, InterfaceAddress::parse("192.168.1.72/24"));
  EXPECT_EQ(second.console, "ttyS0");
  EXPECT_EQ(first.gpu_sharing, (GpuSharing{SharingMethod::kTimeSlices, 4, {}, {}}));
  EXPECT_TRUE(first.gpu_sharing->is_of_kubernetes());
  EXPECT_EQ(second.gpu_sharing, (GpuSharing{SharingMethod::kMps, {}, 25, ByteCount{8ULL << 30}}));
  EXPECT_TRUE(second.gpu_sharing->is_mps_of_node());
  EXPECT_EQ(second.console_rate, 9600);
  const Configuration& third = cluster.nodes.at(2).configure;
  EXPECT_EQ(third.management_address, InterfaceAddress::parse("192.168.2.9/24"));
  EXPECT_EQ(third.management_dns->size(), 2U);
  EXPECT_EQ(cluster.rails.at(0).vlan, 100);
}

TEST(Write, KeepsAConfiguration) {
  const Cluster cluster = read(kConfigured);
  const std::string written = write_cluster(cluster);
  EXPECT_EQ(as_json(read(written)), as_json(cluster)) << written;
}

TEST(Write, KeepsParts) {
  const Cluster cluster = read(R"(railbed: 1
cluster: lab
fabric: infiniband
nodes: [n1, n2, n4, m1]
rails: [{name: a, interface: ib0}, {name: b, interface: ib1}]
parts:
  gpus:
    - {nodes: "n[1-2]", model: "Tesla: P4", quantity: 2, slot: x8, pcie: 3, slot_watts: 75}
  cables:
    - {model: x, quantity: 1, speed: 40 Gb/s, length: 50 cm, medium: active, rails: [a, b]}
  switches:
    - {name: sw, model: y, ports: 8, speed: 40 Gb/s, rails: a}
  servers:
    - {nodes: [n1, m1], model: z, processor: Xeon E5-2697 v2, pcie: 3}
)");
  ASSERT_EQ(cluster.parts.size(), 4U);
  EXPECT_EQ(cluster.parts[0].kind, PartKind::kSwitch);
  EXPECT_EQ(cluster.parts[0].rails, std::vector<std::string>{"a"});
  EXPECT_EQ(cluster.parts[0].line, 12);
  EXPECT_EQ(cluster.parts[1].metres, 0.5);
  EXPECT_EQ(cluster.parts[2].nodes, (std::vector<std::string>{"n1", "m1"}));
  EXPECT_EQ(cluster.parts[3].lanes, 8);
  const std::string written = write_cluster(cluster);
  EXPECT_EQ(as_json(read(written)), as_json(cluster)) << written;
}

// The names that a JSON Schema object describes.
std::vector<std::string> property_names(const json::Value& object) {
  std::vector<std::string> names;
  for (const auto& [name, schema] : object.at("properties").items()) names.push_back(name);
  return names;
}

std::string file_text(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Schema, KnowsTheKeysThatTheReaderKnows) {
  const auto schema = json::parse(file_text(RAILBED_SOURCE_DIR "/schema/cluster.schema.json"));
  ASSERT_TRUE(schema) << schema.error().text;
  for (const KeyTable& table : all_key_tables()) {
    const json::Value& thing =
        table.thing == "cluster" ? *schema : schema->at("$defs").at(std::string(table.thing));
    EXPECT_THAT(property_names(thing), testing::UnorderedElementsAreArray(table.keys)) << table.thing;
    EXPECT_EQ(thing.at("additionalProperties"), false) << table.thing;
    const auto required = thing.value("required", std::vector<std::string>{});
    EXPECT_THAT(required, testing::UnorderedElementsAreArray(table.required)) << table.thing;
  }
}

TEST(Reference, NamesEveryKey) {
  const std::string page = file_text(RAILBED_SOURCE_DIR "/docs/reference/cluster-yaml.md");
  for (const KeyTable& table : all_key_tables())
    for (const std::string_view key : table.keys)
      EXPECT_THAT(page, HasSubstr("| `" + std::string(key) + "` |")) << table.thing;
}

}  // namespace
}  // namespace railbed
