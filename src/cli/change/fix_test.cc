// `railbed fix` on the machines of the rules: the settings that a rule names mend it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "base/shell.h"
#include "base/testing/sample.h"
#include "campaign/change/plan_nodes.h"
#include "cli/testing/machines.h"
#include "settings/files.h"
#include "verify/rule.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

// On these rules' machines there is nothing that a setting could do: cluster.yaml asks for no packages and no
// subnet manager there, a user's own file sets the variable, the settings are made already and something else
// is wrong (libibverbs lacks a provider, a GID did not follow its address), or too little is known of the
// machine.
const std::set<std::string_view> kNotThere = {"gpu.driver",
                                              "gpu.open-module",
                                              "gpu.driver-expected",
                                              "gpu.gpudirect-route",
                                              "gpu.persistence",
                                              "host.clock",
                                              "host.kernel-headers",
                                              "net.unused-adapter",
                                              "nccl.gdr-level",
                                              "nccl.gid-index",
                                              "nccl.hca",
                                              "nccl.net-forced",
                                              "nccl.rdma-on",
                                              "nccl.version",
                                              "rdma.verbs-devices",
                                              "rdma.gid",
                                              "rdma.active-mtu",
                                              "rdma.ipoib-mtu",
                                              "rdma.ipoib-mode",
                                              "rdma.subnet-manager",
                                              "toolkit.cuda",
                                              "toolkit.mpi",
                                              "toolkit.nccl-header",
                                              "ib.subnet-manager-at-boot",
                                              "nccl.socket-interface-exact"};

// Returns the changes that `railbed fix --rule RULE` would make on the machine of the rule.
std::vector<NodePlan> plans_for(const Rule& rule) {
  const fs::path machine = fs::path(RAILBED_SOURCE_DIR) / "tests/machines" / rule.fixture;
  if (!fs::exists(machine / "cluster.yaml")) return {};
  PlanRequest request;
  request.sources.root = machine;
  request.sources.cluster = machine / "cluster.yaml";
  request.fix = true;
  request.rules = {std::string(rule.id)};
  const auto plan = plan_nodes(request, {}, {});
  if (!plan) {
    ADD_FAILURE() << machine << ": " << plan.error().text;
    return {};
  }
  return plan->nodes;
}

TEST(Fix, CarriesWhatARuleNeedsAndNothingElse) {
  for (const Rule& rule : sampled(all_rules())) {
    if (rule.settings.empty()) continue;
    std::vector<NodeChange> changes;
    for (const NodePlan& node : plans_for(rule))
      changes.insert(changes.end(), node.changes.begin(), node.changes.end());
    EXPECT_EQ(!changes.empty(), !kNotThere.contains(rule.id)) << rule.id << " on " << rule.fixture;
    for (const NodeChange& change : changes)
      EXPECT_NE(std::ranges::find(rule.settings, change.setting), rule.settings.end())
          << rule.id << " changes " << change.setting;
  }
}

std::string key_of(std::string_view node, std::string_view rule, std::string_view subject) {
  return fmt::format("{} {} {}", node, rule, subject);
}

// What a plan makes of the findings, by key_of().
struct Made {
  std::set<std::string> answered;
  std::map<std::string, std::string> why;  // of those that are not
};

Made made_of(const ClusterPlan& plan) {
  Made made;
  for (const NodePlan& node : plan.nodes)
    for (const NodeChange& change : node.changes)
      for (const PlannedFinding& finding : change.answers)
        made.answered.insert(key_of(finding.node, finding.rule, finding.subject));
  for (const PlannedFinding& finding : plan.unanswered)
    made.why[key_of(finding.node, finding.rule, finding.subject)] = finding.why;
  return made;
}

// Returns in what verify's remedy and the plan disagree; empty if in nothing.
std::string disagreement(const Finding& finding, const Made& made, bool has_units) {
  const std::string key = key_of(finding.node, finding.rule, finding.subject);
  const bool answered = made.answered.contains(key);
  const auto left = made.why.find(key);
  // Without systemd verify keeps to what can be done now; the plan writes units all the same.
  if (answered && !finding.remedy.of_one_node && has_units)
    return key + ": only the plan knows a setting that mends it";
  if (finding.caused_by) return "";
  if (answered == (left != made.why.end())) return key + ": the plan has to answer it or to leave it";
  if (!answered && finding.remedy.of_one_node && left->second.empty())
    return key + ": verify shows a setting's commands, and the plan knows no setting that mends it";
  return "";
}

TEST(Fix, MendsWhatVerifyShowsTheSettingsOf) {
  std::size_t answered = 0;
  for (const fs::path& machine : sampled(machine_folders())) {
    if (!fs::exists(machine / "cluster.yaml")) continue;
    PlanRequest request;
    request.sources.root = machine;
    request.sources.cluster = machine / "cluster.yaml";
    request.fix = true;
    const auto plan = plan_nodes(request, {}, {});
    ASSERT_TRUE(plan) << machine << ": " << plan.error().text;
    const Made made = made_of(*plan);
    answered += made.answered.size();
    const Machine& judged = machine_of(machine.filename().string());
    for (const Finding& finding : judged.verdict.findings) {
      if (!is_red(finding)) continue;
      const auto node = judged.evidence.nodes.find(finding.node);
      const bool has_units = node != judged.evidence.nodes.end() && !node->second.system.services.absent();
      EXPECT_EQ(disagreement(finding, made, has_units), "") << machine;
    }
  }
  EXPECT_GE(answered, 50U / kSampleStride / 2);
}

// Returns the commands of all red findings of a rule about a node, those of a finding once.
std::vector<std::string> commands_of_findings(const Rule& rule, std::string_view node) {
  std::vector<std::string> commands;
  for (const Finding& finding : machine_of(rule.fixture).verdict.findings)
    if (finding.rule == rule.id && finding.node == node && finding.status != Status::kPass)
      for (const ShellCommand& command : finding.remedy.commands) commands.push_back(command.text());
  return commands;
}

// Returns the command with `root` before each path that it reads or writes; empty if it is not about files.
// The text that printf writes stays as it is.
std::string below(const fs::path& root, std::string command) {
  const bool prints = command.starts_with("printf ");
  const auto starts = {"mkdir -p ", "mv ", "chmod ", "grep -qs ", "sed -i ", "test -e ", "test -s "};
  if (!prints && std::ranges::none_of(starts, [&](const char* one) { return command.starts_with(one); }))
    return "";
  for (const std::string_view begin : {" /etc/", " '/etc/"}) {
    std::size_t at = prints ? command.rfind("> /etc/") : 0;
    while (at != std::string::npos && (at = command.find(begin, at)) != std::string::npos) {
      command.insert(at + begin.find('/'), root.string());
      at += root.string().size() + begin.size();
    }
  }
  return command;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << content;
}

// A shell runs what verify prints, with the node's files as they were before it.
TEST(Fix, TheCommandsOfARemedyLeaveTheFilesOfThePlan) {
  const fs::path root = fs::path(testing::TempDir()) / "fix_test";
  int files = 0;
  for (const Rule& rule : sampled(all_rules())) {
    if (rule.settings.empty()) continue;
    for (const NodePlan& node : plans_for(rule)) {
      // Without systemd verify keeps to what can be done now; the plan writes units all the same.
      if (machine_of(rule.fixture).evidence.nodes.at(node.node).system.services.absent()) continue;
      fs::remove_all(root);
      for (const char* folder :
           {"sysctl.d", "security/limits.d", "systemd/system", "tmpfiles.d", "modules-load.d", "modprobe.d"})
        fs::create_directories(root / "etc" / folder);
      for (const NodeChange& change : node.changes)
        for (const FileChange& file : change.files)
          if (file.action != FileAction::kCreate)
            write(root.string() + file.path, file.before.value_or("its\n"));
      std::string script = "set -e\n";
      for (const std::string& finding : commands_of_findings(rule, node.node))
        script += below(root, finding) + "\n";
      write(root / "script", script);
      EXPECT_EQ(std::system(("sh " + shell_word((root / "script").string())).c_str()), 0) << rule.id << ":\n"
                                                                                          << script;
      for (const NodeChange& change : node.changes)
        for (const FileChange& file : change.files) {
          ++files;
          const std::string path = root.string() + file.path;
          EXPECT_EQ(content_of(path), file.after.value_or(""))
              << rule.id << " on " << node.node << ": " << path << "\n"
              << script;
          if (file.action == FileAction::kMoveAside) {
            EXPECT_FALSE(fs::exists(path)) << rule.id;
            EXPECT_EQ(content_of(aside_name(path)), "its\n") << rule.id;
          }
        }
    }
  }
  EXPECT_GE(files, 40 / static_cast<int>(kSampleStride) / 2);
  fs::remove_all(root);
}

TEST(Fix, FindsNothingToDoOnAHealthyMachine) {
  for (const char* name : {"v100-cx3pro", "h100-cx7"}) {
    const fs::path machine = fs::path(RAILBED_SOURCE_DIR) / "tests/machines" / name;
    PlanRequest request;
    request.sources.root = machine;
    request.sources.cluster = machine / "cluster.yaml";
    request.fix = true;
    const auto plan = plan_nodes(request, {}, {});
    ASSERT_TRUE(plan) << plan.error().text;
    EXPECT_EQ(plan->exit_code(), 0) << name;
    EXPECT_TRUE(plan->unanswered.empty()) << name;
  }
}

}  // namespace
}  // namespace railbed
