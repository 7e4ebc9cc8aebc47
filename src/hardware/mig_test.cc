#include "hardware/mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "base/text.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> profiles_called(std::string_view model) {
  std::vector<std::string> names;
  for (const MigProfiles& table : mig_capability(model).tables)
    for (const MigProfile& profile : table) names.push_back(profile.name);
  return names;
}

TEST(Mig, KnowsTheProfilesOfAProduct) {
  EXPECT_THAT(profiles_called("NVIDIA A100-SXM4-40GB"),
              ElementsAre("1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"));
  EXPECT_THAT(profiles_called("NVIDIA H100 80GB HBM3"),
              ElementsAre("1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"));
  EXPECT_EQ(profiles_called("NVIDIA H100 PCIe"), profiles_called("NVIDIA A100 80GB PCIe"));
  EXPECT_THAT(profiles_called("NVIDIA A30"),
              ElementsAre("1g.6gb", "1g.6gb+me", "2g.12gb", "2g.12gb+me", "4g.24gb"));
  EXPECT_THAT(profiles_called("NVIDIA H100 NVL"), testing::Contains("7g.94gb"));
  EXPECT_THAT(profiles_called("NVIDIA H200"), testing::Contains("3g.71gb"));
  EXPECT_THAT(profiles_called("NVIDIA B200"), testing::Contains("7g.180gb"));
  EXPECT_THAT(profiles_called("NVIDIA RTX PRO 6000 Blackwell Server Edition"),
              testing::Contains("1g.24gb+gfx"));
  EXPECT_EQ(mig_capability("NVIDIA GB200").tables.size(), 2U) << "two names of each, by the driver";
  EXPECT_EQ(mig_capability("A100").tables.size(), 2U) << "two sizes of memory";
  EXPECT_EQ(mig_capability("NVIDIA GH200 480GB").tables.size(), 2U) << "480 GB is its processor's memory";
  EXPECT_THAT(profiles_called("NVIDIA GH200 144G HBM3e"), testing::Contains("7g.144gb"));
}

// What `nvidia-smi mig -lgip` and `-lgipp` printed on an H200 (driver 580.159).
TEST(Mig, AgreesWithAnH200) {
  std::ifstream file(RAILBED_SOURCE_DIR "/tests/captures/nvidia-smi-mig-lgip-H200.txt");
  std::map<std::string, MigProfile> by_id;
  std::size_t placed = 0;
  for (std::string line; std::getline(file, line);) {
    if (const auto at = line.find(" MIG "); at != std::string::npos) {  // |   0  MIG 1g.18gb   19   7/7 …
      const auto columns = words(std::string_view(line).substr(at + 5));
      MigProfile& profile = by_id[std::string(columns.at(1))];
      profile.name = std::string(columns.at(0));
      profile.most = parse_number<int>(columns.at(2).substr(columns.at(2).find('/') + 1)).value_or(-1);
    } else if (line.starts_with("GPU ") &&
               line.find('{') != std::string::npos) {  // … ID 14 Placements: {0,2,4}:2
      const std::string_view text = line;
      const auto open = text.find('{');
      const auto close = text.find('}');
      MigProfile& profile = by_id.at(std::string(words(text.substr(text.find("ID") + 2)).front()));
      for (const auto start : split(text.substr(open + 1, close - open - 1), ','))
        profile.starts.push_back(parse_number<int>(start).value_or(-1));
      profile.memory = parse_number<int>(text.substr(close + 2)).value_or(-1);
      ++placed;
    }
  }
  ASSERT_EQ(by_id.size(), 7U);
  ASSERT_EQ(placed, 7U);
  const auto tables = mig_capability("NVIDIA H200").tables;
  ASSERT_EQ(tables.size(), 1U);
  for (const auto& [id, seen] : by_id) {
    const auto known = std::ranges::find(tables[0], seen.name, &MigProfile::name);
    ASSERT_NE(known, tables[0].end()) << seen.name;
    EXPECT_EQ(known->starts, seen.starts) << seen.name;
    EXPECT_EQ(known->memory, seen.memory) << seen.name;
    EXPECT_EQ(known->most, seen.most) << seen.name;
  }
}

TEST(Mig, TellsNoneFromUnknown) {
  for (const char* const none :
       {"Tesla V100-SXM2-16GB", "Tesla T4", "NVIDIA GB10", "NVIDIA L40S", "NVIDIA GeForce RTX 4090"})
    EXPECT_EQ(mig_capability(none).support, MigSupport::kNone) << none;
  for (const char* const unknown : {"", "Abacus 3000", "NVIDIA H20-3e", "NVIDIA RTX PRO 5000 Blackwell",
                                    "AMD A100", "NVIDIA A100-SXM-64GB"}) {
    EXPECT_EQ(mig_capability(unknown).support, MigSupport::kUnknown) << unknown;
    if (*unknown == '\0') continue;
    EXPECT_EQ(mig_fault(unknown, {{"9g.1gb", 1}}), "") << unknown;
  }
}

// What `nvidia-smi mig -lgipp` prints for an A100: the MIG user guide.
TEST(Mig, PlacesInstancesBesideEachOther) {
  const auto places = [](const MigInstances& instances) {
    return place_mig("NVIDIA A100-SXM4-40GB", instances);
  };
  EXPECT_THAT(places({{"3g.20gb", 2}}).value(), ElementsAre(MigPlace{"3g.20gb", 0}, MigPlace{"3g.20gb", 4}));
  EXPECT_THAT(places({{"3g.20gb", 1}, {"4g.20gb", 1}}).value(),
              ElementsAre(MigPlace{"4g.20gb", 0}, MigPlace{"3g.20gb", 4}));
  EXPECT_THAT(places({{"1g.5gb", 2}, {"2g.10gb", 1}, {"3g.20gb", 1}}).value(),
              ElementsAre(MigPlace{"2g.10gb", 0}, MigPlace{"1g.5gb", 2}, MigPlace{"1g.5gb", 3},
                          MigPlace{"3g.20gb", 4}));
  EXPECT_TRUE(places({{"1g.5gb", 7}}));
  EXPECT_TRUE(places({{"1g.10gb", 4}}));
  EXPECT_TRUE(places({{"1g.5gb", 6}, {"1g.5gb+me", 1}}));
  EXPECT_TRUE(places({{"2g.10gb", 3}, {"1g.5gb", 1}}));
  for (const MigInstances& none : std::vector<MigInstances>{{{"1g.5gb", 8}},
                                                            {{"4g.20gb", 2}},
                                                            {{"7g.40gb", 1}, {"1g.5gb", 1}},
                                                            {{"3g.20gb", 2}, {"1g.5gb", 1}},
                                                            {{"1g.5gb+me", 2}},
                                                            {{"1g.6gb", 1}}})
    EXPECT_FALSE(places(none)) << mig_text(none);
  const auto rtx = [](const MigInstances& instances) {
    return place_mig("RTX PRO 6000", instances).has_value();
  };
  EXPECT_TRUE(rtx({{"1g.24gb", 4}}));
  EXPECT_TRUE(rtx({{"1g.24gb+me.all", 1}, {"1g.24gb-me", 3}}));
  EXPECT_FALSE(rtx({{"1g.24gb+me.all", 1}, {"1g.24gb", 1}})) << "all decoders are taken";
  EXPECT_FALSE(rtx({{"2g.48gb", 2}, {"1g.24gb", 1}}));
}

// Every place is one that the table has, and no two share a slice.
TEST(Mig, NeverOverlaps) {
  int placed = 0;
  for (const char* const model :
       {"NVIDIA A30", "NVIDIA H100 80GB HBM3", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"}) {
    const MigProfiles table = mig_capability(model).tables.at(0);
    for (const MigProfile& first : table)
      for (const MigProfile& second : table)
        for (int n = 1; n <= first.most; ++n)
          for (int m = 1; m <= second.most && first.name != second.name; ++m) {
            const auto places = place_mig(table, {{first.name, n}, {second.name, m}});
            if (!places) continue;
            ++placed;
            std::set<int> slices;
            for (const MigPlace& place : *places) {
              const MigProfile& profile = place.profile == first.name ? first : second;
              EXPECT_THAT(profile.starts, testing::Contains(place.start));
              for (int i = 0; i < profile.memory; ++i)
                EXPECT_TRUE(slices.insert(place.start + i).second)
                    << model << " " << first.name << " " << second.name;
            }
          }
  }
  EXPECT_GT(placed, 30);
}

TEST(Mig, SaysWhatAGpuCannotHave) {
  EXPECT_EQ(mig_fault("Tesla V100-SXM2-16GB", {{"1g.5gb", 1}}), "Tesla V100-SXM2-16GB has no MIG");
  EXPECT_EQ(
      mig_fault("NVIDIA H100 PCIe", {{"1g.5gb", 1}}),
      "NVIDIA H100 PCIe has no MIG profile \"1g.5gb\", did you mean \"1g.10gb\"? it has 1g.10gb, 1g.10gb+me, "
      "1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb");
  EXPECT_EQ(
      mig_fault("NVIDIA H100 PCIe", {{"3g.40gb", 2}, {"1g.10gb", 1}}),
      "NVIDIA H100 PCIe has no room for 1g.10gb + 2 × 3g.40gb: they take 7 of 7 compute slices and 9 of 8 "
      "memory slices, in fixed places");
  EXPECT_EQ(mig_fault("", {{"3g.40gb", 2}}), "");
  EXPECT_THAT(mig_fault("", {{"3g.41gb", 2}}), HasSubstr("no GPU has a MIG profile \"3g.41gb\""));
  EXPECT_EQ(mig_fault("A100", {{"1g.5gb", 7}}), "");
  EXPECT_EQ(mig_fault("A100", {{"1g.10gb", 7}}), "") << "with 80 GB";
  EXPECT_EQ(mig_text({{"3g.40gb", 1}, {"1g.10gb", 2}}), "2 × 1g.10gb + 3g.40gb");
}

}  // namespace
}  // namespace railbed
