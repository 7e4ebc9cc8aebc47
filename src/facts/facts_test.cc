#include "facts/facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "facts/capture.h"
#include "facts/collectors.h"
#include "facts/mask/mask.h"
#include "host/recording_host.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

const fs::path kMachines = fs::path(RAILBED_SOURCE_DIR) / "tests/machines";

// Captured machines: their whole facts are golden.
const std::vector<std::string> kCaptured = {"this-host", "lab-vm1", "lab-vm2"};

Tree tree_of(const fs::path& file) {
  auto tree = read_tree(file.string());
  EXPECT_TRUE(tree) << tree.error().text;
  return tree ? std::move(*tree) : Tree{};
}

bool stands_on_another(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  std::getline(stream, line);
  return line.starts_with("base: ");
}

// Whole machines, and those with odd devices; a fault is a line or two laid over one of them.
std::vector<fs::path> all_trees() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kMachines)) {
    const fs::path& file = entry.path();
    const bool odd = file.parent_path().filename().string().starts_with("odd-");
    if (file.extension() == ".tree" && (odd || !stands_on_another(file))) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Between two collections only the collectors' times differ.
json::Value facts_of(Host& host) {
  Facts facts = collect_facts(host);
  facts.collectors.clear();
  return json::encode(facts);
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(Facts, OfCapturedMachinesAreGolden) {
  for (const auto& name : kCaptured) {
    const auto host = open_tree(tree_of(kMachines / name / "node.tree"));
    const std::string text = json::dump_pretty(facts_of(*host));
    const fs::path golden = kMachines / name / "facts.golden.json";
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << text;
    EXPECT_EQ(text, content_of(golden)) << golden << ": if this is meant, run again with UPDATE_GOLDEN=1";
  }
}

TEST(Facts, GoThroughJsonUnchanged) {
  for (const auto& file : all_trees()) {
    const auto host = open_tree(tree_of(file));
    const std::string text = facts_to_json(collect_facts(*host));
    const auto again = facts_from_json(text);
    ASSERT_TRUE(again) << file << ": " << again.error().text;
    EXPECT_EQ(facts_to_json(*again), text) << file;
  }
}

TEST(Facts, OfACaptureAreThoseOfTheMachine) {
  for (const auto& file : all_trees()) {
    const auto host = open_tree(tree_of(file));
    const auto packed = parse_tree(write_tree(capture(*host)), "packed", nullptr);
    ASSERT_TRUE(packed) << file << ": " << packed.error().text;
    EXPECT_EQ(json::dump_pretty(facts_of(*open_tree(*packed))), json::dump_pretty(facts_of(*host))) << file;
  }
}

// Collects what masking changed; anything but text must be the same on both sides.
void compare(const json::Value& open, const json::Value& hidden, std::map<std::string, std::string>& changed,
             const std::string& place) {
  ASSERT_EQ(open.type(), hidden.type()) << place;
  if (open.is_string()) {
    const auto [known, first] = changed.emplace(open.get<std::string>(), hidden.get<std::string>());
    EXPECT_EQ(known->second, hidden.get<std::string>()) << place << ": one text, two placeholders";
    return;
  }
  if (!open.is_structured()) {
    EXPECT_EQ(open, hidden) << place;
    return;
  }
  ASSERT_EQ(open.size(), hidden.size()) << place;
  if (open.is_array()) {
    for (std::size_t i = 0; i < open.size(); ++i) compare(open[i], hidden[i], changed, place + "[]");
    return;
  }
  for (const auto& [key, value] : open.items()) {
    ASSERT_TRUE(hidden.contains(key)) << place << "." << key;
    compare(value, hidden[key], changed, place + "." + key);
  }
}

TEST(Facts, OfAMaskedCaptureDifferInNamesOnly) {
  for (const auto& file : all_trees()) {
    const auto host = open_tree(tree_of(file));
    Mask mask;
    const Tree hidden = masked(capture(*host), mask);
    std::map<std::string, std::string> changed;
    compare(facts_of(*host), facts_of(*open_tree(hidden)), changed, file.parent_path().filename());
    std::map<std::string, std::string> back;
    for (const auto& [open, placeholder] : changed)
      EXPECT_TRUE(back.emplace(placeholder, open).second)
          << file << ": " << open << " and " << back[placeholder] << " became the same";
  }
}

// Each part of the facts with what collects it.
std::vector<std::pair<std::string, std::function<json::Value(Host&)>>> parts() {
  return {{"os", [](Host& h) { return json::encode(collect_os(h)); }},
          {"kernel", [](Host& h) { return json::encode(collect_kernel(h)); }},
          {"cpu", [](Host& h) { return json::encode(collect_cpu(h)); }},
          {"memory", [](Host& h) { return json::encode(collect_memory(h, collect_services(h))); }},
          {"storage", [](Host& h) { return json::encode(collect_storage(h)); }},
          {"mps_daemon", [](Host& h) { return json::encode(collect_mps_daemon(h)); }},
          {"own_units", [](Host& h) { return json::encode(collect_own_units_at_boot(h)); }},
          {"sysctl", [](Host& h) { return json::encode(collect_sysctl(h)); }},
          {"services", [](Host& h) { return json::encode(collect_services(h)); }},
          {"net", [](Host& h) { return json::encode(collect_net(h)); }},
          {"rdma", [](Host& h) { return json::encode(collect_rdma(h)); }},
          {"gpus", [](Host& h) { return json::encode(collect_gpus(h, collect_pcie(h))); }},
          {"nccl", [](Host& h) { return json::encode(collect_nccl(h, collect_services(h))); }}};
}

TEST(Facts, OnePathThatIsNotThereCostsNobodyElse) {
  for (const auto& name : kCaptured) {
    const Tree tree = tree_of(kMachines / name / "node.tree");
    const auto whole = open_tree(tree);
    std::map<std::string, std::pair<json::Value, Tree>> known;
    for (const auto& [part, collect] : parts()) {
      RecordingHost recorder(*whole);
      known[part].first = collect(recorder);
      known[part].second = recorder.tree();
    }
    std::size_t changed = 0;
    std::size_t index = 0;
    tree.each([&](const std::string& path, const TreeEntry&) {
      if (index++ % 5 != 0) return;
      Tree partial = tree;
      partial.remove(path);
      const auto host = open_tree(std::move(partial));
      for (const auto& [part, collect] : parts()) {
        const bool same = collect(*host) == known[part].first;
        EXPECT_TRUE(same || known[part].second.has(path)) << name << ": " << path << " changed " << part;
        changed += same ? 0 : 1;
      }
    });
    EXPECT_GT(changed, 0u) << "removing things must show somewhere";
  }
}

TEST(FactsFromJson, RefusesWhatIsNoFacts) {
  EXPECT_FALSE(facts_from_json(""));
  EXPECT_FALSE(facts_from_json("[]"));
  const auto newer = facts_from_json(R"({"version":2,"system":{}})");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().text, "facts of version 2: this railbed reads version 1");
  const auto wrong = facts_from_json(R"({"net":{"interfaces":{"value":[{"name":7}]}}})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().text, "facts: net.interfaces.value[0].name: expected a string");
  EXPECT_FALSE(facts_from_json(std::string(9 << 20, ' ')));
  EXPECT_TRUE(facts_from_json(R"({"version":1,"system":{}})"));
  EXPECT_FALSE(facts_from_json("{}"));
  EXPECT_FALSE(facts_from_json(R"({"version":1,"runs":[]})")) << "another document";
}

}  // namespace
}  // namespace railbed
