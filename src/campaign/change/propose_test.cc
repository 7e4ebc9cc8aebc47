#include "campaign/change/propose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/load.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kNoRdma =
    "no RDMA device was found: the rails are plain Ethernet, and only TCP can be measured on them";

template <class T>
Reading<T> read(T value) {
  return Reading<T>(std::move(value), "test");
}

struct Interface {
  std::string name;
  std::string address;  // "10.0.0.1/24"; empty: none
  int mtu = 9000;
  int mbps = 40000;
  int link_type = 1;
};

NetInterface make(const Interface& interface) {
  NetInterface made;
  made.name = interface.name;
  made.mtu = read(interface.mtu);
  made.speed_mbps = read(interface.mbps);
  made.link_type = read(interface.link_type);
  made.pci_address = read(std::string("0000:02:00.") + interface.name.back());
  std::vector<InterfaceAddress> addresses = {{*IpAddress::parse("fe80::1"), 64}};
  if (const auto slash = interface.address.find('/'); slash != std::string::npos)
    addresses.push_back({*IpAddress::parse(interface.address.substr(0, slash)),
                         std::stoi(interface.address.substr(slash + 1))});
  made.addresses = read(addresses);
  return made;
}

// An RDMA port whose GID table names the interface.
RdmaDevice device_on(const std::string& interface, const std::string& driver, const std::string& layer) {
  Gid gid;
  gid.netdev = read(interface);
  RdmaPort port;
  port.link_layer = read(layer);
  port.rate = read(BitRate::gigabits(40));
  port.gids = read(std::vector<Gid>{gid});
  RdmaDevice device;
  device.name = "rdma_" + interface;
  device.driver = read(driver);
  device.ports = read(std::vector<RdmaPort>{port});
  return device;
}

Facts machine(const std::vector<Interface>& interfaces, const std::vector<RdmaDevice>& devices) {
  Facts facts;
  std::vector<NetInterface> made = {make({"lo", "127.0.0.1/8", 65536, 0, 772})};
  for (const Interface& interface : interfaces) made.push_back(make(interface));
  facts.net.interfaces = read(made);
  facts.net.default_routes = read(std::vector<std::string>{"mgmt0"});
  facts.rdma.devices = read(devices);
  facts.system.os.id = read(std::string("ubuntu"));
  facts.system.os.version = read(std::string("22.04"));
  return facts;
}

Proposal propose(const std::vector<std::pair<std::string, Facts>>& machines) {
  std::vector<Node> nodes;
  std::map<std::string, Facts> facts;
  for (const auto& [name, one] : machines) {
    Node node;
    node.name = node.ssh = name;
    nodes.push_back(node);
    facts.emplace(name, one);
  }
  Proposal proposal = propose_cluster(nodes, facts);
  proposal.cluster.name = "test";
  return proposal;
}

std::string yaml(const Proposal& proposal) {
  const std::string text = write_cluster(proposal.cluster);
  const auto read_back = parse_cluster(text, "cluster.yaml");
  EXPECT_TRUE(read_back) << read_back.error().text << "\n" << text;
  return "\n" + text;
}

// Two nodes, a management network and two RDMA cables, as in the guides.
Facts v100(int last) {
  const std::string end = "." + std::to_string(last) + "/24";
  Facts facts =
      machine({{"mgmt0", "192.168.1" + end, 1500, 1000}, {"ens6", "10.0.1" + end}, {"ens7", "10.0.0" + end}},
              {device_on("ens6", "mlx4_core", "Ethernet"), device_on("ens7", "mlx4_core", "Ethernet")});
  Gpu gpu;
  gpu.model = read(std::string("Tesla V100-PCIE-16GB"));
  facts.gpus.devices = read(std::vector<Gpu>{gpu, gpu});
  facts.gpus.driver_version = read(std::string("535.183.01"));
  return facts;
}

// Two nodes without RDMA and without a default route: the interface that ssh uses is no rail.
TEST(Propose, LeavesOutTheWayOfSshWhereThereIsNoDefaultRoute) {
  const auto node = [](const std::string& last) {
    Facts facts =
        machine({{"mgmt0", "192.168.1." + last + "/24", 1500, 1000}, {"ens6", "10.0.1." + last + "/24"}}, {});
    facts.net.default_routes = read(std::vector<std::string>{});
    return facts;
  };
  const std::map<std::string, Facts> facts = {{"a", node("1")}, {"b", node("2")}};
  std::vector<Node> nodes(2);
  nodes[0].name = nodes[0].ssh = "a";
  nodes[1].name = nodes[1].ssh = "b";
  EXPECT_EQ(propose_cluster(nodes, facts).cluster.rails.size(), 2U);
  const Proposal proposal = propose_cluster(
      nodes, facts, {{"a", {*IpAddress::parse("192.168.1.1")}}, {"b", {*IpAddress::parse("192.168.1.2")}}});
  ASSERT_EQ(proposal.cluster.rails.size(), 1U);
  EXPECT_EQ(proposal.cluster.rails.front().ports.front().interface, "ens6");
  EXPECT_THAT(proposal.notes, testing::Contains(kNoRdma));
}

TEST(Propose, MakesARailOfEverySubnetThatSpeaksRdma) {
  const Proposal proposal = propose({{"gpuserver1", v100(1)}, {"gpuserver2", v100(2)}});
  EXPECT_EQ(yaml(proposal), R"(
railbed: 1
cluster: test
fabric: roce
topology: back-to-back
mtu: 9000
speed: 40 Gb/s
expect: {gpus: 2, gpu_model: Tesla V100-PCIE-16GB, driver: 535.183.01, os: ubuntu 22.04}

nodes:
  - gpuserver1
  - gpuserver2

rails:
  - name: rail0
    subnet: 10.0.1.0/24
    ports:
      gpuserver1: {interface: ens6, address: 10.0.1.1}
      gpuserver2: {interface: ens6, address: 10.0.1.2}
  - name: rail1
    subnet: 10.0.0.0/24
    ports:
      gpuserver1: {interface: ens7, address: 10.0.0.1}
      gpuserver2: {interface: ens7, address: 10.0.0.2}
)");
  EXPECT_THAT(proposal.notes, IsEmpty());
}

TEST(Propose, KnowsSoftwareRdmaAndClaimsNoSpeedForIt) {
  const auto vm = [](const std::string& address) {
    return machine({{"mgmt0", "10.0.2.15/24"}, {"eth1", address}}, {device_on("eth1", "rxe", "Ethernet")});
  };
  const Proposal proposal = propose({{"vm1", vm("10.77.0.1/24")}, {"vm2", vm("10.77.0.2/24")}});
  ASSERT_EQ(proposal.cluster.rails.size(), 1u);
  const Rail& rail = proposal.cluster.rails[0];
  EXPECT_EQ(rail.rdma_driver, "rxe");
  EXPECT_EQ(rail.fabric, Fabric::kRoce);
  EXPECT_EQ(rail.speed, std::nullopt);
  EXPECT_EQ(rail.subnet, Subnet::parse("10.77.0.0/24"));
  yaml(proposal);
}

TEST(Propose, TakesOrdinaryNetworksWhereNothingSpeaksRdma) {
  const auto host = [](const std::string& address) {
    return machine({{"mgmt0", "10.0.2.15/24"}, {"eth1", address}, {"docker0", "172.17.0.1/16"}}, {});
  };
  const Proposal proposal =
      propose({{"a", host("10.1.0.1/24")}, {"b", host("10.1.0.2/24")}, {"c", host("10.9.0.1/24")}});
  ASSERT_EQ(proposal.cluster.rails.size(), 1u);
  EXPECT_EQ(proposal.cluster.rails[0].fabric, Fabric::kEthernet);
  EXPECT_EQ(proposal.cluster.rails[0].topology, Topology::kSwitch);
  EXPECT_EQ(proposal.cluster.rails[0].ports.size(), 2u);
  EXPECT_THAT(proposal.notes, ElementsAre("rail0 (10.1.0.0/24): 2 of 3 nodes are on it", kNoRdma));
  yaml(proposal);
}

TEST(Propose, TakesInfinibandPortsWithoutAddresses) {
  const auto host = [] {
    return machine(
        {{"mgmt0", "10.0.2.15/24"}, {"ib0", "", 2044, 0, 32}, {"ib1", "", 2044, 0, 32}},
        {device_on("ib0", "mlx5_core", "InfiniBand"), device_on("ib1", "mlx5_core", "InfiniBand")});
  };
  const Proposal proposal = propose({{"r720", host()}, {"r730", host()}});
  ASSERT_EQ(proposal.cluster.rails.size(), 2u);
  EXPECT_EQ(proposal.cluster.rails[1].fabric, Fabric::kInfiniband);
  EXPECT_EQ(proposal.cluster.rails[1].topology, Topology::kSwitch);
  EXPECT_EQ(proposal.cluster.rails[1].ports[1].interface, "ib1");
  EXPECT_EQ(proposal.cluster.rails[1].ports[1].address, std::nullopt);
  yaml(proposal);
}

TEST(Propose, SaysWhatItLeftOutAndWhatDiffers) {
  Facts facts =
      machine({{"mgmt0", ""}, {"ens1", "10.0.0.1/24", 9000}, {"ens2", "10.0.0.9/24"}},
              {device_on("ens1", "mlx5_core", "Ethernet"), device_on("ens2", "mlx5_core", "Ethernet")});
  Facts two =
      machine({{"mgmt0", ""}, {"ens1", "10.0.0.2/24", 1500}}, {device_on("ens1", "mlx5_core", "Ethernet")});
  two.system.os.version = read(std::string("24.04"));
  const Proposal proposal = propose({{"a", facts}, {"b", two}});
  EXPECT_THAT(proposal.notes,
              ElementsAre("a: ens1 and ens2 are both in 10.0.0.0/24; only the first is on the rail",
                          "rail0: the ports' MTUs differ (9000, 1500); the rail expects 9000",
                          "nodes differ in their operating system: each is expected to stay as it is"));
  EXPECT_EQ(proposal.cluster.rails[0].mtu, 9000);
  EXPECT_EQ(proposal.cluster.nodes[1].expect.os, "ubuntu 24.04");
  yaml(proposal);
}

TEST(Propose, LeavesOutWhatCouldNotBeAValidCluster) {
  const auto host = [](const std::string& end) {
    return machine({{"mgmt0", ""},
                    {"eth1", "10.0.0." + end + "/24"},
                    {"eth2", "10.0.7." + end + "/16"},
                    {"eth3", "10.3.0.1/24"}},
                   {});
  };
  const Proposal proposal = propose({{"a", host("1")}, {"b", host("2")}});
  ASSERT_EQ(proposal.cluster.rails.size(), 1u);
  EXPECT_EQ(proposal.cluster.rails[0].subnet, Subnet::parse("10.0.0.0/24"));
  EXPECT_THAT(proposal.notes, ElementsAre("10.3.0.1 is on a and on b; only the first is on the rail",
                                          "10.0.0.0/16 overlaps 10.0.0.0/24 and was left out", kNoRdma));
  yaml(proposal);
}

TEST(Propose, ALoneMachineWithoutRdmaHasNoRail) {
  const Proposal proposal =
      propose({{"here", machine({{"mgmt0", "10.0.2.15/24"}, {"eth1", "10.1.0.1/24"}}, {})}});
  EXPECT_THAT(proposal.cluster.rails, IsEmpty());
  EXPECT_THAT(proposal.notes, ElementsAre("no RDMA port with an address was found: there is no rail"));
  yaml(proposal);
}

TEST(Propose, FactsOfNothingAreNoReasonToFail) {
  const Proposal proposal = propose({{"a", Facts{}}, {"b", Facts{}}});
  EXPECT_EQ(proposal.cluster.nodes.size(), 2u);
  EXPECT_THAT(proposal.cluster.rails, IsEmpty());
  yaml(proposal);
}

// Ends that hear each other as `heard` states: "a:e6 b:e6" is a cable.
CablesSeen cables_of(const std::vector<std::pair<CablePort, CablePort>>& heard) {
  CablesSeen seen;
  for (const auto& [one, other] : heard) {
    seen.ends.push_back(
        {.port = one, .up = true, .carrier = true, .largest_mtu = 9978, .sent = 9, .heard = {other}});
    seen.ends.push_back(
        {.port = other, .up = true, .carrier = true, .largest_mtu = 9978, .sent = 9, .heard = {one}});
  }
  return seen;
}

// Two ports of RoCE without an address, at the kernel's MTU, one of which has one that it gave itself.
Facts fresh() {
  return machine(
      {{"mgmt0", "192.168.1.1/24", 1500, 1000}, {"ens6", "", 1500}, {"ens7", "169.254.3.1/16", 1500}},
      {device_on("ens6", "mlx5_core", "Ethernet"), device_on("ens7", "mlx5_core", "Ethernet")});
}

Proposal propose_by(const std::vector<std::pair<std::string, Facts>>& machines, const CablesSeen& cables) {
  std::vector<Node> nodes(machines.size());
  std::map<std::string, Facts> facts;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    nodes[i].name = nodes[i].ssh = machines[i].first;
    facts.emplace(machines[i]);
  }
  Proposal proposal = propose_cluster(nodes, facts, {}, cables);
  proposal.cluster.name = "test";
  return proposal;
}

TEST(Propose, FollowsCablesWhereNothingHasAnAddress) {
  const Proposal proposal =
      propose_by({{"a", fresh()}, {"b", fresh()}},
                 cables_of({{{"a", "ens6"}, {"b", "ens6"}}, {{"a", "ens7"}, {"b", "ens7"}}}));
  EXPECT_EQ(yaml(proposal), R"(
railbed: 1
cluster: test
fabric: roce
topology: back-to-back
mtu: 9000
speed: 40 Gb/s
expect: {os: ubuntu 22.04}

nodes:
  - a
  - b

rails:
  - name: rail0
    subnet: 10.200.0.0/24
    ports:
      a: {interface: ens6, address: 10.200.0.1}
      b: {interface: ens6, address: 10.200.0.2}
  - name: rail1
    subnet: 10.200.1.0/24
    ports:
      a: {interface: ens7, address: 10.200.1.1}
      b: {interface: ens7, address: 10.200.1.2}
)");
  EXPECT_THAT(proposal.cables, ElementsAre("rail0: ens6 of a - ens6 of b (one cable)",
                                           "rail1: ens7 of a - ens7 of b (one cable)"));
  EXPECT_THAT(proposal.notes, IsEmpty());
}

TEST(Propose, ARingIsThreeRailsOfTwo) {
  const Proposal proposal = propose_by(
      {{"a", fresh()}, {"b", fresh()}, {"c", fresh()}},
      cables_of(
          {{{"a", "ens6"}, {"b", "ens7"}}, {{"b", "ens6"}, {"c", "ens7"}}, {{"c", "ens6"}, {"a", "ens7"}}}));
  ASSERT_EQ(proposal.cluster.rails.size(), 3U);
  const Rail& last = proposal.cluster.rails[2];
  EXPECT_EQ(last.topology, Topology::kBackToBack);
  EXPECT_EQ(last.subnet, Subnet::parse("10.200.2.0/24"));
  EXPECT_EQ(last.ports[0].address, IpAddress::parse("10.200.2.3"));
  EXPECT_EQ(last.ports[1].address, IpAddress::parse("10.200.2.1"));
  yaml(proposal);
}

TEST(Propose, AnAddressOfOneEndDecidesTheSubnet) {
  Facts half =
      machine({{"mgmt0", ""}, {"ens6", "10.5.0.2/24", 1500}}, {device_on("ens6", "mlx5_core", "Ethernet")});
  const Proposal proposal =
      propose_by({{"a", fresh()}, {"b", half}}, cables_of({{{"a", "ens6"}, {"b", "ens6"}}}));
  ASSERT_EQ(proposal.cluster.rails.size(), 1U);
  EXPECT_EQ(proposal.cluster.rails[0].subnet, Subnet::parse("10.5.0.0/24"));
  EXPECT_EQ(proposal.cluster.rails[0].ports[0].address, IpAddress::parse("10.5.0.1"));
  EXPECT_EQ(proposal.cluster.rails[0].ports[1].address, IpAddress::parse("10.5.0.2"));
}

TEST(Propose, TwoSubnetsOnOneCableAreNoRail) {
  const auto host = [](const std::string& address) {
    return machine({{"mgmt0", ""}, {"ens6", address}}, {device_on("ens6", "mlx5_core", "Ethernet")});
  };
  const Proposal proposal = propose_by({{"a", host("10.5.0.1/24")}, {"b", host("10.6.0.1/24")}},
                                       cables_of({{{"a", "ens6"}, {"b", "ens6"}}}));
  EXPECT_THAT(proposal.cluster.rails, IsEmpty());
  EXPECT_THAT(proposal.notes, testing::Contains(testing::HasSubstr(
                                  "in different subnets (ens6 of a has 10.5.0.1, ens6 of b has 10.6.0.1)")));
}

TEST(Propose, AddressesThatContradictTheCablesAreNamed) {
  const Proposal proposal =
      propose_by({{"a", v100(1)}, {"b", v100(2)}},
                 cables_of({{{"a", "ens6"}, {"b", "ens7"}}, {{"a", "ens7"}, {"b", "ens6"}}}));
  EXPECT_EQ(proposal.cluster.rails.size(), 2U);
  EXPECT_THAT(proposal.notes, testing::Contains(testing::HasSubstr(
                                  "ens6 of a and ens6 of b share 10.0.1.0/24, but the cables contradict")));
}

TEST(Propose, NoEndGetsMoreThanItsAdapterCan) {
  CablesSeen cables = cables_of({{{"a", "ens6"}, {"b", "ens6"}}});
  cables.ends[1].largest_mtu = 4074;
  EXPECT_EQ(propose_by({{"a", fresh()}, {"b", fresh()}}, cables).cluster.rails[0].mtu, 4074);
  cables.ends[1].largest_mtu = 0;
  EXPECT_EQ(propose_by({{"a", fresh()}, {"b", fresh()}}, cables).cluster.rails[0].mtu, 1500) << "not known";
}

TEST(Propose, SubnetsOfNodesAndRoutesStayFree) {
  CablesSeen cables = cables_of({{{"a", "ens6"}, {"b", "ens6"}}});
  cables.routes["b"] = {*Subnet::parse("10.200.0.0/23")};
  Facts docker = fresh();
  std::vector<NetInterface> interfaces = *docker.net.interfaces;
  interfaces.push_back(make({"docker0", "10.200.2.1/24"}));
  docker.net.interfaces = read(interfaces);
  EXPECT_EQ(propose_by({{"a", docker}, {"b", fresh()}}, cables).cluster.rails[0].subnet,
            Subnet::parse("10.200.3.0/24"));
}

TEST(Propose, InfinibandWithoutAManagerGetsOne) {
  const auto host = [](int manager) {
    RdmaDevice device = device_on("ib0", "mlx5_core", "InfiniBand");
    RdmaPort port = device.ports->front();
    port.physical_state = read(std::string("LinkUp"));
    port.sm_lid = read(manager);
    device.ports = read(std::vector<RdmaPort>{port});
    return machine({{"mgmt0", ""}, {"ib0", "", 2044, 0, 32}}, {device});
  };
  const Proposal proposal = propose_by({{"a", host(0)}, {"b", host(0)}}, {});
  EXPECT_EQ(proposal.cluster.nodes[0].expect.subnet_manager, true);
  EXPECT_EQ(proposal.cluster.nodes[1].expect.subnet_manager, std::nullopt);
  EXPECT_THAT(proposal.notes, ElementsAre(testing::HasSubstr("a is proposed to run opensm")));
  yaml(proposal);
  EXPECT_EQ(propose_by({{"a", host(0)}, {"b", host(1)}}, {}).cluster.nodes[0].expect.subnet_manager,
            std::nullopt);
}

std::vector<std::string> asked(const Result<std::vector<CableAsk>>& asks) {
  std::vector<std::string> texts;
  for (const CableAsk& ask : asks.value_or(std::vector<CableAsk>{}))
    texts.push_back(ask.port.node + ":" + ask.port.interface + (ask.management ? " management" : ""));
  return texts;
}

TEST(Propose, AsksAtPortsOfRdmaElseAtFastOnes) {
  Node node;
  node.name = "a";
  const auto ask = [&](const Facts& facts, const std::vector<std::string>& named = {}) {
    return ports_to_ask({node}, {{"a", facts}}, {{"a", {*IpAddress::parse("192.168.1.1")}}}, named);
  };
  EXPECT_THAT(asked(ask(fresh())), ElementsAre("a:mgmt0 management", "a:ens6", "a:ens7"));
  const Facts plain = machine({{"mgmt0", "192.168.1.1/24", 1500, 1000},
                               {"eno2", "", 1500, 1000},
                               {"ens6", ""},
                               {"ens7", "", 1500, -1},
                               {"wlp1", "", 1500, -1},
                               {"docker0", ""}},
                              {});
  EXPECT_THAT(asked(ask(plain)), ElementsAre("a:mgmt0 management", "a:ens6", "a:ens7"));
  EXPECT_THAT(asked(ask(plain, {"eno2", "a:ens7"})), ElementsAre("a:mgmt0 management", "a:eno2", "a:ens7"));
  EXPECT_FALSE(ask(plain, {"b:ens7"}));
}

}  // namespace
}  // namespace railbed
