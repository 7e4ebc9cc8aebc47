#include <algorithm>
#include <filesystem>

#include "base/testing/sample.h"
#include "base/text.h"
#include "nccl/lint.h"
#include "nccl/settings.h"
#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

constexpr std::string_view kV100Pair = R"(
railbed: 1
cluster: v100-pair
fabric: roce
topology: back-to-back
expect: {gpus: 2, os: ubuntu 22.04, nccl: "2.30.7"}
nodes: [gpuserver1, gpuserver2]
rails:
  - {name: link1, subnet: 10.0.1.0/24, interface: ens6, first_address: 10.0.1.1}
  - {name: link2, subnet: 10.0.0.0/24, interface: ens6d1, first_address: 10.0.0.1}
)";

// Three nodes, a cable between each two of them.
constexpr std::string_view kTriangle = R"(
railbed: 1
cluster: triangle
fabric: roce
topology: back-to-back
expect: {gpus: 1, os: ubuntu 24.04, nccl: "2.30.7"}
configure: {management_interface: enP7s7}
nodes: [a, b, c]
rails:
  - {name: ab, subnet: 10.0.0.0/30, ports: {a: {interface: p0, address: 10.0.0.1}, b: {interface: p1, address: 10.0.0.2}}}
  - {name: bc, subnet: 10.0.0.4/30, ports: {b: {interface: p0, address: 10.0.0.5}, c: {interface: p1, address: 10.0.0.6}}}
  - {name: ca, subnet: 10.0.0.8/30, ports: {c: {interface: p0, address: 10.0.0.9}, a: {interface: p1, address: 10.0.0.10}}}
)";

std::vector<std::string> assignments(const std::string& content) {
  std::vector<std::string> found;
  for (const auto line : lines(content))
    if (!line.starts_with('#')) found.emplace_back(line);
  return found;
}

std::vector<std::string> variables_of(const ConfiguredCluster& sample, std::string_view node) {
  const auto settings = sample.render(node, Section::kNccl);
  return settings.empty() ? std::vector<std::string>{} : assignments(settings[0].files[0].content);
}

using Texts = std::vector<std::string>;

TEST(RenderNccl, SaysOfRailsWhatClusterYamlAloneTells) {
  const ConfiguredCluster pair = sample(kV100Pair);
  EXPECT_EQ(variables_of(pair, "gpuserver1"),
            (Texts{"NCCL_SOCKET_IFNAME==ens6", "NCCL_CROSS_NIC=0", "NCCL_IB_SUBNET_AWARE_ROUTING=1"}));
  const auto settings = pair.render("gpuserver1", Section::kNccl);
  EXPECT_TRUE(settings[0].files[0].content.starts_with(kFileMark));
  EXPECT_EQ(settings[0].files[0].path, "/etc/nccl.conf");
  EXPECT_EQ(settings[0].files.size(), 1U);
  for (const Need& need : settings[0].needs) EXPECT_FALSE(need.now.has_value()) << need.what;
  ASSERT_EQ(settings[0].notes.size(), 1U);
  EXPECT_TRUE(settings[0].notes[0].starts_with("which RDMA devices"));
}

TEST(RenderNccl, KeepsCommentsThatEveryReleaseSkips) {
  const auto settings = sample(kTriangle).render("a", Section::kNccl);
  for (const auto line : lines(settings.at(0).files.at(0).content))
    EXPECT_TRUE(!line.starts_with('#') || line.find('=') == std::string_view::npos) << line;
}

TEST(RenderNccl, TakesAdaptersBySubnetWhereEachCableLeadsElsewhere) {
  EXPECT_EQ(variables_of(sample(kTriangle), "b"),
            (Texts{"NCCL_SOCKET_IFNAME==enP7s7", "NCCL_IB_SUBNET_AWARE_ROUTING=1",
                   "NCCL_IB_SUBNET_PREFIX_LEN=30", "NCCL_IB_MERGE_NICS=0"}));
  std::string old(kTriangle);
  old.replace(old.find("2.30.7"), 6, "2.28.9");
  const auto settings = sample(old).render("b", Section::kNccl);
  EXPECT_EQ(assignments(settings[0].files[0].content),
            (Texts{"NCCL_SOCKET_IFNAME==enP7s7", "NCCL_IB_MERGE_NICS=0"}));
  EXPECT_TRUE(std::ranges::any_of(settings[0].notes, [](const std::string& note) {
    return note.find("takes wrong cables") != std::string::npos;
  }));
}

// A file server on the storage network alone joins no job: the two nodes remain a pair with one cable.
constexpr std::string_view kPairAndStore = R"(
railbed: 1
cluster: v100-pair
fabric: roce
expect: {gpus: 2, os: ubuntu 22.04, nccl: "2.30.7"}
nodes: [gpuserver1, gpuserver2, {name: store1, expect: {gpus: 0}}]
rails:
  - {name: storage, purpose: storage, subnet: 10.0.9.0/24, interface: ens7, first_address: 10.0.9.1}
  - {name: link1, topology: back-to-back, subnet: 10.0.1.0/24, interface: ens6, first_address: 10.0.1.1, nodes: "gpuserver[1-2]"}
  - {name: link2, topology: back-to-back, subnet: 10.0.0.0/24, interface: ens6d1, first_address: 10.0.0.1, nodes: "gpuserver[1-2]"}
)";

TEST(RenderNccl, LeavesTheStorageNetworkAlone) {
  const ConfiguredCluster sample_of_three = sample(kPairAndStore);
  EXPECT_EQ(variables_of(sample_of_three, "gpuserver1"),
            (Texts{"NCCL_SOCKET_IFNAME==ens6", "NCCL_CROSS_NIC=0", "NCCL_IB_SUBNET_AWARE_ROUTING=1"}));
  EXPECT_TRUE(variables_of(sample_of_three, "store1").empty());
}

TEST(RenderNccl, HasNothingToSayWithoutGpusOrRails) {
  std::string none(kV100Pair);
  none.replace(none.find("gpus: 2"), 7, "gpus: 0");
  EXPECT_TRUE(sample(none).render("gpuserver1", Section::kNccl).empty());
  EXPECT_TRUE(sample("railbed: 1\ncluster: c\nexpect: {os: debian 12}\nnodes: [a]\n")
                  .render("a", Section::kNccl)
                  .empty());
}

TEST(RenderNccl, WritesAProfileOnlyOnRequest) {
  std::string wanted(kTriangle);
  wanted.replace(wanted.find("enP7s7"), 6, "enP7s7, nccl_profile: true");
  const auto settings = sample(wanted).render("a", Section::kNccl);
  ASSERT_EQ(settings[0].files.size(), 2U);
  EXPECT_EQ(settings[0].files[1].path, "/etc/profile.d/railbed-nccl.sh");
  EXPECT_EQ(settings[0].files[1].content,
            std::string(kFileMark) +
                "export NCCL_SOCKET_IFNAME='=enP7s7'\nexport NCCL_IB_SUBNET_AWARE_ROUTING='1'\n"
                "export NCCL_IB_SUBNET_PREFIX_LEN='30'\nexport NCCL_IB_MERGE_NICS='0'\n");
}

std::vector<std::string> unmet(const Setting& setting) {
  std::vector<std::string> found;
  for (const Need& need : setting.needs)
    if (need.now != true) found.push_back(need.what + ": " + need.found);
  return found;
}

TEST(RenderNccl, ListsTheDevicesOfTheRailsExactly) {
  EXPECT_EQ(variables_of(captured("h100-cx7"), "gpu01"),
            (Texts{"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1",
                   "NCCL_SOCKET_IFNAME==ens11np0", "NCCL_IB_TC=104", "NCCL_IB_ADDR_RANGE=10.0.0.0/13",
                   "NCCL_CROSS_NIC=0"}));
  EXPECT_EQ(variables_of(captured("spark-two-rails"), "spark-01"),
            (Texts{"NCCL_IB_HCA==roceP2p1s0f0:1,rocep1s0f0:1", "NCCL_SOCKET_IFNAME==enP2p1s0f0np0",
                   "NCCL_IB_ADDR_RANGE=192.168.100.0/23", "NCCL_CROSS_NIC=0"}));
  EXPECT_EQ(variables_of(captured("r730-cx4"), "r730-a"),
            (Texts{"NCCL_IB_HCA==mlx5_0:1", "NCCL_SOCKET_IFNAME==ib0"}));
}

TEST(RenderNccl, PinsTheGidOnlyForNcclBefore221) {
  const ConfiguredCluster old = captured("v100-nccl-old-library");
  EXPECT_EQ(variables_of(old, "gpuserver1"),
            (Texts{"NCCL_IB_HCA==mlx4_0:1,mlx4_0:2", "NCCL_SOCKET_IFNAME==ens6", "NCCL_IB_GID_INDEX=3",
                   "NCCL_CROSS_NIC=0"}));
  const Setting setting = old.render("gpuserver1", Section::kNccl).front();
  EXPECT_EQ(unmet(setting),
            (Texts{"NCCL sends from each rail's own address over RoCE v2: on mlx4_0/1 it sends "
                   "from fe80::268a:7ff:fe52:aa10"}));
  EXPECT_EQ(setting.notes,
            (Texts{"NCCL_IB_ADDR_FAMILY=AF_INET of /etc/nccl.conf:1 is not kept: the file says what "
                   "the rails need"}));
}

// Variables in other files, and NCCL's own good choices, count.
TEST(RenderNccl, HasNoOpenNeedWhereNcclUsesTheRailsAlready) {
  for (const auto& [folder, node] : {std::pair("h100-cx7", "gpu01"), std::pair("v100-cx3pro", "gpuserver1"),
                                     std::pair("spark-two-rails", "spark-01")}) {
    const Setting setting = captured(folder).render(node, Section::kNccl).front();
    EXPECT_EQ(unmet(setting), Texts{}) << folder;
    EXPECT_TRUE(setting.contradictions.empty()) << folder << " " << setting.contradictions[0].why;
  }
}

TEST(RenderNccl, NamesTheFilesThatWin) {
  const Setting setting = captured("spark-hca-one-half").render("spark-01", Section::kNccl).front();
  EXPECT_FALSE(unmet(setting).empty());
  ASSERT_EQ(setting.contradictions.size(), 1U);
  EXPECT_EQ(setting.contradictions[0].path, "/etc/profile.d/nccl-env.sh");
  EXPECT_TRUE(setting.contradictions[0].why.starts_with("NCCL_IB_HCA==")) << setting.contradictions[0].why;
}

// The node with our file as the only source of NCCL's variables.
Facts with_only(const Facts& facts, const std::string& content) {
  Facts changed = facts;
  std::vector<NcclVariable> variables;
  int number = 0;
  for (const auto line : lines(content)) {
    ++number;
    if (const auto pair = line.starts_with('#') ? std::nullopt : key_value(line, '='))
      variables.push_back(
          {std::string(pair->first), std::string(pair->second), "/etc/nccl.conf:" + std::to_string(number)});
  }
  changed.nccl.system_file = {std::move(variables), "/etc/nccl.conf"};
  const Miss gone{Missing::kAbsent, "not there"};
  changed.nccl.user_file = changed.nccl.root_file = changed.nccl.profile = {gone, "none"};
  changed.nccl.environment = {gone, "none"};
  changed.nccl.services.clear();
  return changed;
}

// Faults of the machine itself, which no variable fixes.
bool of_the_machine(const nccl::Complaint& complaint) {
  return complaint.id == "port-down" || complaint.id == "no-interface" || complaint.id == "no-gid-in-range";
}

// Returns the number of nodes that got a file.
int judge(const std::string& folder) {
  const ConfiguredCluster before = captured(folder);
  auto changed = before.evidence->nodes;
  std::vector<std::string> written;
  for (auto& [name, facts] : changed) {
    const NodeView* const view = before.survey->find(name);
    if (view->wanted == nullptr || !platform_of(*view->wanted, facts)) continue;
    const auto settings = before.render(name, Section::kNccl);
    if (settings.empty()) continue;
    facts = with_only(facts, settings[0].files[0].content);
    written.push_back(name);
  }
  const ConfiguredCluster after = sample(before.evidence->cluster, std::move(changed));
  for (const std::string& name : written) {
    for (const Setting& now : after.render(name, Section::kNccl))
      EXPECT_EQ(unmet(now), Texts{}) << folder << " " << name;
    for (const nccl::Complaint& complaint : after.survey->find(name)->nccl_complaints)
      EXPECT_TRUE(of_the_machine(complaint))
          << folder << " " << name << ": " << complaint.id << " " << complaint.variable << "="
          << complaint.value << " " << complaint.message;
  }
  return static_cast<int>(written.size());
}

TEST(RenderNccl, PassesOurOwnLintOnEveryMachine) {
  int judged = 0;
  std::vector<std::string> described;
  for (const auto& entry : std::filesystem::directory_iterator(RAILBED_SOURCE_DIR "/tests/machines"))
    if (std::filesystem::exists(entry.path() / "cluster.yaml"))
      described.push_back(entry.path().filename().string());
  std::ranges::sort(described);
  for (const std::string& machine : sampled(described)) judged += judge(machine);
  EXPECT_GT(judged, 100 / static_cast<int>(kSampleStride));
}

}  // namespace
}  // namespace railbed
