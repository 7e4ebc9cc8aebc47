// A subnet of XDR, composed by what public tools that read such subnets take (tests/SOURCES.md): two leaves and a spine of
// four planes each, with the links between the planes of a switch, its engines for reductions and its routers.
#include "fabric/planes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fabric/counter_list.h"
#include "fabric/fabric_file.h"
#include "fabric/judge.h"
#include "fabric/layout.h"
#include "fabric/port_report.h"
#include "fabric/testing/tree.h"
#include "fabric/topology_file.h"

namespace railbed::in_planes {
namespace {

using ::testing::HasSubstr;

constexpr int kPlanes = 4, kUp = 9, kEngine = 13, kAcross = 14, kBack = 15, kRouter = 16;
constexpr IbLink kLink{1, IbSpeed::kXdr};

int add(IbFabric& fabric, IbNodeType type, std::uint64_t guid, int ports, const std::string& name) {
  fabric.nodes.push_back(told::ib_node(type, guid, ports, name));
  const auto lid = static_cast<unsigned>(fabric.nodes.size());
  for (IbPort& port : fabric.nodes.back().ports)
    if (type == IbNodeType::kSwitch ? port.number == 0 : port.number > 0) {
      port.lid = lid;
      if (port.number > 0) port.guid = guid;
    }
  return static_cast<int>(fabric.nodes.size()) - 1;
}

// Nodes: the planes of leaf 1, leaf 2 and the spine with what is within them; then the adapters.
IbFabric planes() {
  IbFabric fabric;
  std::vector<std::vector<int>> boxes;
  for (const std::string& name : std::vector<std::string>{"leaf1", "leaf2", "spine1"}) {
    auto& box = boxes.emplace_back();
    const std::uint64_t system = 0xb8e9240300000000U + boxes.size() * 0x1000;
    for (int plane = 1; plane <= kPlanes; ++plane) {
      const std::string place = "MF0;" + name + ":Q3400_RA/U" + std::to_string(plane);
      box.push_back(
          add(fabric, IbNodeType::kSwitch, system + static_cast<unsigned>(plane) * 0x20, 16, place));
      const int engine = add(fabric, IbNodeType::kHca, system + static_cast<unsigned>(plane) * 0x20 + 8, 1,
                             "Mellanox Technologies Aggregation Node");
      const int router = add(fabric, IbNodeType::kRouter, system + static_cast<unsigned>(plane) * 0x20 + 9, 8,
                             place + "/RT");
      for (const int part : {box.back(), engine, router})
        fabric.nodes[static_cast<std::size_t>(part)].system_guid = system;
      told::plug(fabric, {box.back(), kEngine}, {engine, 1}, kLink);
      told::plug(fabric, {box.back(), kRouter}, {router, 2}, kLink);
    }
    for (std::size_t n = 0; n < box.size(); ++n)
      told::plug(fabric, {box[n], kAcross}, {box[(n + 1) % box.size()], kBack}, kLink);
  }
  for (std::size_t leaf = 0; leaf < 2; ++leaf)
    for (int cable = 0; cable < 4; ++cable)
      for (std::size_t plane = 0; plane < kPlanes; ++plane)
        told::plug(fabric, {boxes[leaf][plane], kUp + cable},
                   {boxes[2][plane], 1 + static_cast<int>(leaf) * 4 + cable}, kLink);
  for (int host = 1; host <= 4; ++host)
    for (std::size_t device = 0; device < 2; ++device) {
      const int adapter = add(fabric, IbNodeType::kHca,
                              0x946dae0300000000U + static_cast<unsigned>(host) * 0x100 + device * 0x10,
                              kPlanes, "node" + std::to_string(host) + " mlx5_" + std::to_string(device));
      for (int plane = 1; plane <= kPlanes; ++plane)
        told::plug(fabric, {boxes[device][static_cast<std::size_t>(plane) - 1], host}, {adapter, plane},
                   kLink);
    }
  return fabric;
}

int find(const IbFabric& fabric, std::string_view name) {
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    if (fabric.nodes[n].description == name) return static_cast<int>(n);
  ADD_FAILURE() << name << " is not in it";
  return 0;
}

Verdict verdict_on(IbFabric fabric) {
  FabricEvidence evidence;
  evidence.fabric = std::move(fabric);
  return verify_fabric(evidence);
}

std::vector<std::string> red(const Verdict& verdict) {
  std::vector<std::string> all;
  for (const Finding& finding : verdict.findings)
    if (is_red(finding)) all.push_back(fmt::format("{}: {}: {}", finding.rule, finding.message, finding.observed));
  return all;
}

// The outputs of other tools, of a subnet in planes.
std::string word_of(const IbNode& node) {
  return node.is_switch() ? "SW" : node.type == IbNodeType::kRouter ? "RT" : "CA";
}
unsigned lid_at(const IbFabric& fabric, const IbEnd& end) {
  return fabric.at(end).is_switch() ? fabric.at(end).ports[0].lid : fabric.port(end).lid;
}

template <class Write>
std::string each_port(const IbFabric& fabric, Write write) {
  std::string text;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    for (const IbPort& port : fabric.nodes[n].ports)
      if (port.number > 0 && (port.peer || fabric.nodes[n].is_switch()))
        text += write(fabric.nodes[n], IbEnd{static_cast<int>(n), port.number}, port);
  return text;
}

std::string port_list(const IbFabric& fabric) {
  return each_port(fabric, [&](const IbNode& node, const IbEnd& end, const IbPort& port) {
    const std::string here =
        fmt::format("{} {:4} {:3} 0x{:016x} ", word_of(node), lid_at(fabric, end), end.port, node.guid);
    if (!port.peer) return here + fmt::format("4x SDR   '{}'\n", node.description);
    const IbNode& peer = fabric.at(port.peer);
    return here + fmt::format("1x XDR - {} {:4} {:3} 0x{:016x} ( '{}' - '{}' )\n", word_of(peer),
                              lid_at(fabric, port.peer), port.peer.port, peer.guid, node.description,
                              peer.description);
  });
}

std::string link_lines(const IbFabric& fabric) {
  return each_port(fabric, [&](const IbNode& node, const IbEnd& end, const IbPort& port) {
    const std::string here = fmt::format("0x{:016x} \"{}\" {:6} {:4}[  ] ==( ", node.guid, node.description,
                                         lid_at(fabric, end), end.port);
    if (!port.peer) return here + "               Down/ Polling)==>             [  ] \"\" ( )\n";
    return here +
           fmt::format("1X          212.5 Gbps Active/  LinkUp)==>  0x{:016x} {:6} {:4}[  ] \"{}\" ( )\n",
                       fabric.at(port.peer).guid, lid_at(fabric, port.peer), port.peer.port,
                       fabric.at(port.peer).description);
  });
}

std::string label(int port) {
  return port >= kEngine ? "FNMA" + std::to_string(port)
                         : "sw" + std::to_string((port + 1) / 2) + "p" + std::to_string(2 - port % 2);
}

// `adapter_label` is what stands for the number of an adapter's port.
std::string net_dump(const IbFabric& fabric, std::string_view adapter_label = "1") {
  std::string text = "# This database file was automatically generated by IBDIAG\n\n";
  const IbNode* last = nullptr;
  return text + each_port(fabric, [&](const IbNode& node, const IbEnd& end, const IbPort& port) {
           if (!node.is_switch()) return std::string();
           std::string rows;
           if (std::exchange(last, &node) != &node)
             rows = fmt::format(
                 "\"{}\", Mellanox, 0x{:x}, LID {}\n  # : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : "
                 "Retran : Neighbor Guid : N# : NLID : Neighbor Description\n",
                 node.description, node.guid, node.ports[0].lid);
           if (!port.peer)
             return rows + fmt::format("{} : {} : DOWN : POLL : N/A : N/A : N/A : N/A : N/A :  :  :  : \n",
                                       label(end.port), end.port);
           const IbNode& peer = fabric.at(port.peer);
           return rows +
                  fmt::format(
                      "{} : {} : ACT : LINK UP : 5 : 1x : 200 : MLNX_RS_544_514_PLR : NO-RTR : 0x{:x} : {} : {} : "
                      "\"{}\"\n",
                      label(end.port), end.port, peer.guid,
                      peer.is_switch() ? label(port.peer.port) : std::string(adapter_label),
                      lid_at(fabric, port.peer), peer.description);
         });
}

// A plane could run on four lanes, by what its port supports.
std::string tables(const IbFabric& fabric) {
  std::string text = "START_NODES\nNodeDesc,NumPorts,NodeType,SystemImageGUID,NodeGUID,PortGUID,DeviceID\n";
  for (const IbNode& node : fabric.nodes)
    text += fmt::format("\"{}\",{},{},0x{:x},0x{:x},0x{:x},{}\n", node.description, node.last_port(),
                        node.is_switch()                   ? 2
                        : node.type == IbNodeType::kRouter ? 3
                                                           : 1,
                        node.system_guid, node.guid, node.guid, node.device);
  text +=
      "END_NODES\nSTART_PORTS\nNodeGuid,PortGuid,PortNum,LID,LinkWidthSup,LinkWidthActv,LinkSpeedSup,LinkSpeedActv,"
      "PortState,PortPhyState\n";
  std::string links;
  text += each_port(fabric, [&](const IbNode& node, const IbEnd& end, const IbPort& port) {
    if (port.peer && end < port.peer)
      links += fmt::format("0x{:x},{},0x{:x},{}\n", node.guid, end.port, fabric.at(port.peer).guid,
                           port.peer.port);
    return fmt::format("0x{:x},0x{:x},{},{},3,{},6144,{},{},{}\n", node.guid, node.guid, end.port,
                       node.is_switch() ? 0 : port.lid, port.peer ? 1 : 2, port.peer ? 4096 : 1,
                       port.peer ? 4 : 1, port.peer ? 5 : 2);
  });
  return text + "END_PORTS\nSTART_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n" + links + "END_LINKS\n";
}

std::vector<std::pair<std::string, std::string>> outputs_of(const IbFabric& fabric) {
  return {{"ibnetdiscover", topology_text(fabric)},
          {"ibnetdiscover -p", port_list(fabric)},
          {"iblinkinfo -l", link_lines(fabric)},
          {"net_dump", net_dump(fabric)},
          {"net_dump, labels", net_dump(fabric, "B1D0F0")},
          {"db_csv", tables(fabric)}};
}

TEST(Planes, AreOneSwitchAndOneCable) {
  for (const auto& [tool, text] : outputs_of(planes())) {
    const auto fabric = parse_fabric_file(text, tool);
    ASSERT_TRUE(fabric) << tool << ": " << fabric.error().text;
    EXPECT_EQ(fabric->nodes.size(), 3U + 3 + 3 + 8) << tool;
    const int leaf = find(*fabric, "MF0;leaf1:Q3400_RA"), adapter = find(*fabric, "node2 mlx5_0");
    const IbNode& node = fabric->nodes[static_cast<std::size_t>(leaf)];
    EXPECT_EQ(node.planes.size(), 4U) << tool;
    EXPECT_EQ(node.guid, 0xb8e9240300001020U) << tool << ": that of the first plane";
    EXPECT_EQ(fabric->port({leaf, 2}).peer, (IbEnd{adapter, 1})) << tool;
    EXPECT_EQ(fabric->port({adapter, 1}).peer, (IbEnd{leaf, 2})) << tool;
    EXPECT_EQ(fabric->port({adapter, 1}).active.to_text(), "4xXDR") << tool;
    EXPECT_EQ(fabric->port({adapter, 1}).active.gigabits(), 800) << tool;
    for (int port = 2; port <= 4; ++port)
      EXPECT_FALSE(fabric->nodes[static_cast<std::size_t>(adapter)].ports.size() >
                       static_cast<std::size_t>(port) &&
                   fabric->port({adapter, port}).peer)
          << tool;
    EXPECT_FALSE(fabric->port({leaf, kAcross}).peer) << tool << ": within a switch there is no cable";
    EXPECT_EQ(describe(*fabric, layout_of(*fabric)),
              "a fat tree of 2 levels: 2 leaves, 1 above them, in rails")
        << tool;
    EXPECT_THAT(red(verdict_on(*fabric)), ::testing::IsEmpty()) << tool;
  }
}

TEST(Planes, OneWithoutALinkIsABrokenLane) {
  IbFabric lacking = planes();
  const int adapter = find(lacking, "node2 mlx5_1");
  told::unplug(lacking, {adapter, 3});
  for (const auto& [tool, text] : outputs_of(lacking)) {
    const auto all = red(verdict_on(*parse_fabric_file(text, tool)));
    ASSERT_EQ(all.size(), 1U) << tool;
    EXPECT_THAT(all[0], HasSubstr("fabric.width")) << tool;
    EXPECT_THAT(all[0],
                HasSubstr("port 2 of MF0;leaf2:Q3400_RA and port 1 of node2 mlx5_1 runs on 3 of 4 lanes"))
        << tool;
    EXPECT_THAT(all[0], HasSubstr("3xXDR, plane 3 has no link")) << tool;
  }
}

TEST(Planes, InInitAreACableThatWaits) {
  IbFabric waiting = planes();
  waiting.states = true;
  for (IbNode& node : waiting.nodes)
    for (IbPort& port : node.ports) port.state = port.peer ? IbState::kActive : IbState::kDown;
  waiting.port({find(waiting, "MF0;leaf1:Q3400_RA/U2"), 1}).state = IbState::kInit;
  merge_planes(waiting);
  const auto all = red(verdict_on(waiting));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0], HasSubstr("fabric.port-state"));
}

TEST(Planes, OtherSwitchesStayAsTheyAre) {
  // A chassis has several ASICs of one name, with cables of four lanes.
  IbFabric chassis = planes();
  for (IbNode& node : chassis.nodes)
    for (IbPort& port : node.ports)
      if (port.peer) port.active = {4, IbSpeed::kNdr};
  const std::size_t nodes = chassis.nodes.size();
  merge_planes(chassis);
  EXPECT_EQ(chassis.nodes.size(), nodes);
  // Planes of one port that lead to two adapters: nobody knows what that is. A single lane is no fault then, either.
  IbFabric split = planes();
  const int one = find(split, "node1 mlx5_0"), other = find(split, "node2 mlx5_0");
  const IbEnd first = split.port({one, 1}).peer, second = split.port({other, 1}).peer;
  told::plug(split, first, {other, 1}, kLink);
  told::plug(split, second, {one, 1}, kLink);
  merge_planes(split);
  EXPECT_EQ(split.nodes.size(), nodes);
  for (const std::string& finding : red(verdict_on(split))) {
    EXPECT_THAT(finding, ::testing::Not(HasSubstr("fabric.width")));
    EXPECT_THAT(finding, ::testing::Not(HasSubstr("fabric.duplicate-lid")));
  }
  IbFabric none;
  merge_planes(none);
  EXPECT_TRUE(none.nodes.empty());
}

TEST(Planes, KeepTheCountersOfEach) {
  const auto fabric = parse_fabric_file(topology_text(planes()), "dump");
  ASSERT_TRUE(fabric);
  const int leaf = find(*fabric, "MF0;leaf2:Q3400_RA"), adapter = find(*fabric, "node2 mlx5_1");
  const auto list = parse_counter_list(
      "Errors for 0xb8e9240300002060 \"MF0;leaf2:Q3400_RA/U3\"\n"
      "   GUID 0xb8e9240300002060 port 2: [LinkDownedCounter == 77]\n"
      "Errors for \"node2 mlx5_1\"\n"
      "   GUID 0x946dae0300000210 port 3: [LinkDownedCounter == 78]\n",
      "errors");
  ASSERT_TRUE(list);
  std::size_t unknown = 0;
  FabricEvidence evidence;
  evidence.fabric = *fabric;
  evidence.counters = counters_in(*fabric, *list, unknown);
  EXPECT_EQ(unknown, 0U);
  ASSERT_EQ(evidence.counters->ports.size(), 2U);
  EXPECT_EQ(evidence.counters->ports[0].end, (IbEnd{leaf, 2}));
  EXPECT_EQ(evidence.counters->ports[1].end.node, adapter);
  const auto all = red(verify_fabric(evidence));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_THAT(all[0] + all[1], HasSubstr("plane 3 of port 2 of MF0;leaf2:Q3400_RA has counted errors"));

  // perfquery names the switch by the LID of its plane.
  const unsigned lid = fabric->nodes[static_cast<std::size_t>(leaf)].planes[2].lid;
  const auto report = parse_port_report(
      fmt::format("# Port counters: Lid {} port 2 (CapMask: 0x5300)\nPortSelect:......................2\n"
                  "SymbolErrorCounter:..............0\nLinkDownedCounter:...............77\n",
                  lid),
      "perfquery");
  ASSERT_TRUE(report) << report.error().text;
  const IbCounterLook look = counters_in(*fabric, *report, unknown);
  ASSERT_EQ(look.ports.size(), 1U);
  EXPECT_EQ(look.ports[0].end, (IbEnd{leaf, 2}));
  EXPECT_EQ(look.ports[0].plane, 3);

  // Counters that were read live keep their planes as well.
  IbFabric live = planes();
  IbCounterLook read;
  read.ports.push_back({{find(live, "MF0;leaf2:Q3400_RA/U3"), 2}, {}, std::nullopt});
  merge_planes(live, &read);
  EXPECT_EQ(read.ports[0].end, (IbEnd{find(live, "MF0;leaf2:Q3400_RA"), 2}));
  EXPECT_EQ(read.ports[0].plane, 3);
}

TEST(Planes, AreReadOfADescription) {
  EXPECT_EQ(plane_of("MF0;leaf1:Q3400_RA/U3"), 3);
  EXPECT_EQ(plane_of("MF0;leaf1:Q3400_RA/U3/RT"), 3);
  for (const auto name :
       {"leaf1", "MF0;leaf1:Q3400_RA/U", "MF0;leaf1:Q3400_RA/U0", "MF0;x/U12345678901234567890", "/U9", ""})
    EXPECT_EQ(plane_of(name), 0) << name;
}

}  // namespace
}  // namespace railbed::in_planes
