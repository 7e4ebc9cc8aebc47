#include "model/node_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/load.h"
#include "model/nccl_topology.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// In the form that NCCL writes and that clouds install; composed.
constexpr std::string_view kDump = R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:15:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:17:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:F5:00.0" count="10" tclass="0x068000"/>
          <nvlink target="0000:F4:00.0" count="8" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:18:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
    <pci busid="0000:40:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="0">
      <nic><net name="mlx5_1" dev="1" speed="-1" port="2"/></nic>
    </pci>
    <nic><net name="eth0" dev="3" speed="10000" port="1"/></nic>
  </cpu>
  <cpu numaid="1" arch="x86_64">
    <pci busid="0000:97:00.0" class="0x030200" link_speed="8 GT/s" link_width="8"><gpu dev="1" sm="90" rank="1" gdr="0"/></pci>
    <pci busid="0000:98:00.0" class="0x020700" link_speed="8 GT/s" link_width="8">
      <nic><net name="mlx5_2" dev="2" speed="100000" port="1"/></nic>
    </pci>
  </cpu>
</system>
)";

std::vector<std::string> names(const NodeGraph& graph, const std::vector<std::size_t>& adapters) {
  std::vector<std::string> found;
  for (const std::size_t index : adapters) found.push_back(graph.adapters[index].name);
  return found;
}

TEST(NcclTopology, HoldsGpusAdaptersAndTheirPlaces) {
  ASSERT_TRUE(is_nccl_topology(kDump));
  const auto graph = parse_nccl_topology(kDump);
  ASSERT_TRUE(graph) << graph.error().text;
  ASSERT_EQ(graph->gpus.size(), 2U);
  EXPECT_EQ(graph->sockets.size(), 2U);
  ASSERT_EQ(graph->bridges.size(), 1U);
  const GraphGpu& gpu = graph->gpus[0];
  EXPECT_EQ(gpu.address, "0000:17:00.0");
  EXPECT_EQ(gpu.up.link, std::optional(PcieLink{32, 16}));
  EXPECT_EQ(gpu.capability, 90);
  EXPECT_EQ(gpu.nvlinks, 18);
  ASSERT_EQ(gpu.nvlinks_to.size(), 1U);  // both to switches
  EXPECT_EQ(gpu.gpudirect, true);
  EXPECT_EQ(graph->gpus[1].gpudirect, false);
  ASSERT_EQ(graph->adapters.size(), 4U);
  EXPECT_EQ(graph->adapters[0].ports.front().rate, std::optional(BitRate::gigabits(400)));
  EXPECT_EQ(graph->adapters[1].name, "mlx5_1/2");
  EXPECT_EQ(graph->adapters[1].ports.front().rate, std::nullopt);  // -1: the plug-in does not know it
  EXPECT_EQ(graph->adapters[1].up.link, std::nullopt);             // 0 lanes: hidden
}

TEST(NcclTopology, GivesEachGpuItsAdapters) {
  const auto graph = parse_nccl_topology(kDump);
  ASSERT_TRUE(graph);
  const NearAdapters near = adapters_near(*graph, 0);
  EXPECT_THAT(names(*graph, near.own_switch), ElementsAre("mlx5_0"));
  EXPECT_THAT(names(*graph, near.own_socket), ElementsAre("mlx5_0", "mlx5_1/2"));
  EXPECT_THAT(names(*graph, near.all), ElementsAre("mlx5_0", "mlx5_1/2", "mlx5_2", "eth0"));
  EXPECT_THAT(adapters_near(*graph, 1).own_switch, IsEmpty());
  EXPECT_EQ(distance(*graph, graph->gpus[0].up, graph->adapters[2].up), std::nullopt);  // no place on PCI
  EXPECT_THAT(adapters_near(*graph, 7).all, IsEmpty());
}

TEST(NcclTopology, PassesOnlyTheLinksBelowTheSwitchWhereAWayTurns) {
  const auto graph = parse_nccl_topology(kDump);
  ASSERT_TRUE(graph);
  const GraphPlace& gpu = graph->gpus[0].up;
  EXPECT_THAT(links_between(*graph, gpu, graph->adapters[0].up), ElementsAre(&gpu, &graph->adapters[0].up));
  EXPECT_THAT(links_between(*graph, gpu, graph->adapters[3].up),
              ElementsAre(&gpu, &graph->bridges[0].up, &graph->adapters[3].up));
  EXPECT_THAT(links_to_memory(*graph, gpu), ElementsAre(&gpu, &graph->bridges[0].up));
}

// A cloud's file for NCCL_TOPO_FILE has no more than the classes of devices.
TEST(NcclTopology, ReadsAFileWithoutElementsOfGpusAndNics) {
  const auto graph = parse_nccl_topology(
      "<!-- composed --><system version=\"1\"><cpu numaid=\"0\"><pci busid=\"ffff:ff:01.0\" class=\"0x060400\" "
      "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><pci busid=\"0001:00:00.0\" class=\"0x030200\" "
      "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"/><pci busid=\"0101:00:00.0\" class=\"0x020700\" "
      "link_speed=\"Unknown\" link_width=\"16\"/></pci></cpu></system>");
  ASSERT_TRUE(graph) << graph.error().text;
  ASSERT_EQ(graph->gpus.size(), 1U);
  ASSERT_EQ(graph->adapters.size(), 1U);
  EXPECT_EQ(graph->adapters[0].up.link, std::nullopt);
  EXPECT_EQ(graph->gpus[0].nvlinks, std::nullopt);  // not known, and not none
  EXPECT_EQ(distance(*graph, graph->gpus[0].up, graph->adapters[0].up), PathClass::kPix);
}

// The form of what Azure installs for four GPUs, and of what NCCL dumps on a node with adapters.
TEST(NcclGraphs, CountsChannelsAndNamesDevices) {
  constexpr std::string_view kGraphs =
      "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"2\" typeintra=\"SYS\">\n"
      "    <channel>\n      <net dev=\"0\"/>\n      <gpu dev=\"0\"/>\n      <gpu dev=\"1\"/>\n    </channel>\n"
      "    <channel>\n      <net dev=\"2\"/>\n      <gpu dev=\"1\"/>\n      <gpu dev=\"0\"/>\n    </channel>\n  </graph>\n"
      "  <graph id=\"1\" pattern=\"1\"><channel><gpu dev=\"3\"/></channel></graph>\n</graphs>\n";
  ASSERT_TRUE(is_nccl_graphs(kGraphs));
  EXPECT_FALSE(is_nccl_graphs(kDump));
  EXPECT_FALSE(is_nccl_topology(kGraphs));
  const auto graphs = parse_nccl_graphs(kGraphs);
  ASSERT_TRUE(graphs) << graphs.error().text;
  EXPECT_EQ(graphs->graphs, 2U);
  EXPECT_EQ(graphs->channels, 3U);
  EXPECT_EQ(graphs->gpus, (std::set<int>{0, 1, 3}));
  EXPECT_EQ(graphs->adapters, (std::set<int>{0, 2}));
  EXPECT_FALSE(parse_nccl_graphs(kGraphs.substr(0, kGraphs.size() / 2)));
  EXPECT_FALSE(parse_nccl_graphs(kDump));
}

TEST(NcclTopology, RefusesOtherFiles) {
  EXPECT_FALSE(is_nccl_topology("<nvidia_smi_log><system version=\"1\"/></nvidia_smi_log>"));
  EXPECT_FALSE(is_nccl_topology("NCCL INFO <system>"));
  const std::pair<std::string, const char*> cases[] = {
      {"", "no element `system`"},
      {"<system version=\"2\"/>", "line 1: `system` has no version"},
      {"<system version=\"1\">\n<cpu>\n</system>", "line 3: `system` closes no element"},
      {"<system version=\"1\"><cpu numaid=\"0\">", "cut short"},
      {std::string(kDump.substr(0, kDump.size() / 2)), "cut short"},
      {"<topology version=\"2.0\"/>", "is not `system`"},
  };
  for (const auto& [text, why] : cases) {
    const auto graph = parse_nccl_topology(text);
    ASSERT_FALSE(graph) << text;
    EXPECT_THAT(graph.error().text, HasSubstr(why));
  }
  std::string deep = "<system version=\"1\">", many = deep;
  for (int i = 0; i < 100; ++i) deep += "<pci>";
  EXPECT_THAT(parse_nccl_topology(deep).error().text, HasSubstr("too deep"));
  for (int i = 0; i < 5000; ++i) many += "<pci/>";
  EXPECT_THAT(parse_nccl_topology(many).error().text, HasSubstr("one more element"));
}

PciDevice device(std::string address, std::string parent, std::uint32_t code, std::uint16_t vendor,
                 PcieLink link) {
  PciDevice device;
  device.address = std::move(address);
  device.parent = parent.empty() ? Reading<std::string>(Miss{Missing::kAbsent, "at the root"}, "pci")
                                 : Reading<std::string>(parent, "pci");
  device.class_code = {code, "pci"};
  device.vendor = {vendor, "pci"};
  device.device = {std::uint16_t{0x1021}, "pci"};
  device.numa_node = {0, "pci"};
  device.link_now = device.link_max = {link, "pci"};
  device.max_payload = {256, "pci"};
  return device;
}

// Two switches in a row below one root port: a GPU below the lower one, adapters below each.
Facts two_switches() {
  constexpr PcieLink kWide{32, 16}, kNarrow{16, 8};
  Facts facts;
  facts.pci = {{device("0000:00:01.0", "", 0x060400, 0x8086, kNarrow),
                device("0000:01:00.0", "0000:00:01.0", 0x060400, 0x1000, kNarrow),
                device("0000:02:00.0", "0000:01:00.0", 0x060400, 0x1000, kWide),
                device("0000:02:01.0", "0000:01:00.0", 0x060400, 0x1000, kWide),
                device("0000:03:00.0", "0000:02:00.0", 0x020000, kVendorMellanox, kWide),
                device("0000:04:00.0", "0000:02:01.0", 0x060400, 0x1000, kWide),
                device("0000:05:00.0", "0000:04:00.0", 0x060400, 0x1000, kWide),
                device("0000:05:01.0", "0000:04:00.0", 0x060400, 0x1000, kWide),
                device("0000:06:00.0", "0000:05:00.0", 0x030200, kVendorNvidia, kWide),
                device("0000:07:00.0", "0000:05:01.0", 0x020000, kVendorMellanox, kWide)},
               "pci"};
  return facts;
}

TEST(NodeGraph, OfFactsHasTheDistancesThatPciHas) {
  const Facts facts = two_switches();
  const NodeGraph graph = graph_of_facts("gpu01", facts, nullptr);
  ASSERT_EQ(graph.gpus.size(), 1U);
  ASSERT_EQ(graph.adapters.size(), 2U);
  for (const GraphAdapter& adapter : graph.adapters)
    EXPECT_EQ(distance(graph, graph.gpus[0].up, adapter.up),
              path_between(*facts.pci, *find_pci(*facts.pci, "0000:06:00.0"),
                           *find_pci(*facts.pci, adapter.address)))
        << adapter.address;
  EXPECT_THAT(names(graph, adapters_near(graph, 0).own_switch), ElementsAre("0000:07:00.0", "0000:03:00.0"));
  EXPECT_EQ(graph.gpus[0].up.max_payload, 256);
  // Its own link, that of the lower switch, that of the upper one.
  const auto links = links_to_memory(graph, graph.gpus[0].up);
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[2]->link, std::optional(PcieLink{16, 8}));
  EXPECT_EQ(links_between(graph, graph.gpus[0].up, graph.adapters[1].up).size(), 2U);
}

Cluster cluster_of(std::string_view parts) {
  auto cluster = parse_cluster(
      "railbed: 1\ncluster: lab\nnodes: [a, b]\ntopology: back-to-back\nrails:\n  - {name: rail0, subnet: 10.0.0.0/24, "
      "interface: ens6, first_address: 10.0.0.1}\nparts:\n" +
          std::string(parts),
      "cluster.yaml");
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().text);
  return cluster ? *cluster : Cluster();
}

TEST(NodeGraph, OfPartsHoldsWhatFollowsFromThem) {
  const Cluster cluster = cluster_of(
      "  gpus: [{model: V100 PCIe, quantity: 2, pcie: 3, slot: x16}]\n"
      "  adapters: [{model: ConnectX-3 Pro, pcie: 3, slot: x8}]\n"
      "  cables: [{model: DAC, quantity: 1, length: 1 m}]\n");
  const auto graph = graph_of_parts("a", cluster);
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->gpus.size(), 2U);
  EXPECT_EQ(graph->gpus[0].up.link, std::optional(PcieLink{8, 16}));
  EXPECT_EQ(graph->gpus[0].nvlinks, 0);
  ASSERT_EQ(graph->adapters.size(), 1U);
  EXPECT_EQ(graph->adapters[0].up.link, std::optional(PcieLink{8, 8}));
  ASSERT_EQ(graph->adapters[0].ports.size(), 1U);
  EXPECT_EQ(graph->adapters[0].ports[0].beyond.topology, Topology::kBackToBack);
  EXPECT_EQ(graph->adapters[0].ports[0].beyond.metres, 1);
  EXPECT_EQ(distance(*graph, graph->gpus[0].up, graph->adapters[0].up), std::nullopt);
}

TEST(NodeGraph, OfPartsDoesNotGuess) {
  const Cluster cluster = cluster_of("  gpus: [{model: V100}]\n  adapters: [{model: ConnectX-5}]\n");
  const auto graph = graph_of_parts("a", cluster);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->gpus[0].up.link, std::nullopt);      // PCIe or SXM2
  EXPECT_EQ(graph->gpus[0].nvlinks, std::nullopt);      // same
  EXPECT_EQ(graph->adapters[0].up.link, std::nullopt);  // the slot may be older or narrower
  EXPECT_FALSE(graph_of_parts("a", cluster_of("  cables: [{model: DAC, quantity: 1}]\n")));
}

}  // namespace
}  // namespace railbed
