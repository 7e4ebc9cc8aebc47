#include "configure/plan.h"

#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

constexpr std::string_view kOneNode = R"(
railbed: 1
cluster: pair
expect: {os: ubuntu 22.04}
nodes: [gpu1]
)";

Setting setting() {
  return {.section = Section::kSysctl,
          .title = "a setting",
          .files = {{.path = "/etc/x.conf", .content = seal(std::string(kFileMark) + "a = 1\n")}},
          .steps = {{StepKind::kLoadSysctl, {"/etc/x.conf"}}}};
}

Reading<FileState> there(std::string content, std::optional<int> mode = 0644) {
  return {FileState{{std::move(content)}, mode}, ""};
}
Reading<FileState> gone() { return {Miss{Missing::kAbsent, "No such file or directory"}, ""}; }

NodePlan plan(const Setting& wanted, const FileStates& states, const PlanOptions& options = {}) {
  const auto cluster = sample(kOneNode);
  return plan_node(cluster.target("gpu1"), {wanted}, states, options);
}

TEST(Plan, MakesWhatIsMissing) {
  const NodePlan made = plan(setting(), {{"/etc/x.conf", gone()}});
  ASSERT_EQ(made.changes.size(), 1U);
  ASSERT_EQ(made.changes[0].files.size(), 1U);
  EXPECT_EQ(made.changes[0].files[0].action, FileAction::kCreate);
  EXPECT_EQ(made.changes[0].files[0].after, setting().files[0].content);
  EXPECT_EQ(made.changes[0].commands,
            (std::vector<std::vector<std::string>>{{"sysctl", "--load", "/etc/x.conf"}}));
  EXPECT_EQ(made.changes[0].held, "");
}

TEST(Plan, ProposesNothingWhereTheFileIsRight) {
  const NodePlan made = plan(setting(), {{"/etc/x.conf", there(setting().files[0].content)}});
  EXPECT_TRUE(made.changes.empty());
  EXPECT_EQ(made.met, std::vector<std::string>{"a setting"});
}

TEST(Plan, LeavesAloneWhatSomebodyElseSawTo) {
  Setting wanted = setting();
  wanted.needs = {{.what = "a is 1", .now = true, .at_boot = true}};
  EXPECT_TRUE(plan(wanted, {{"/etc/x.conf", gone()}}).changes.empty());
  wanted.needs.push_back({.what = "b is 1", .now = true});  // the state at boot is unknown
  EXPECT_EQ(plan(wanted, {{"/etc/x.conf", gone()}}).changes.size(), 1U);
}

TEST(Plan, RenewsItsOwnFileWhateverTheNeedsSay) {
  Setting wanted = setting();
  wanted.needs = {{.what = "a is 1", .now = true, .at_boot = true}};
  const std::string old = seal(std::string(kFileMark) + "a = 0\n");
  const NodePlan made = plan(wanted, {{"/etc/x.conf", there(old)}});
  ASSERT_EQ(made.changes.size(), 1U);
  EXPECT_EQ(made.changes[0].files[0].action, FileAction::kChange);
  EXPECT_EQ(made.changes[0].held, "");
}

TEST(Plan, MakesTrueNowWhatTheFileSaysAlready) {
  Setting wanted = setting();
  wanted.needs = {{.what = "a is 1", .now = false, .at_boot = true, .found = "0"}};
  const NodePlan made = plan(wanted, {{"/etc/x.conf", there(wanted.files[0].content)}});
  ASSERT_EQ(made.changes.size(), 1U);
  EXPECT_TRUE(made.changes[0].files.empty());
  EXPECT_EQ(made.changes[0].steps, wanted.steps);
  EXPECT_EQ(made.changes[0].unmet, wanted.needs);
}

TEST(Plan, WaitsForARebootInsteadOfProposingItAgain) {
  Setting wanted = setting();
  wanted.reboot = true;
  wanted.needs = {{.what = "a is 1", .now = false, .at_boot = true}};
  const NodePlan made = plan(wanted, {{"/etc/x.conf", there(wanted.files[0].content)}});
  EXPECT_TRUE(made.changes.empty());
  EXPECT_EQ(made.awaiting_reboot, std::vector<std::string>{"a setting"});
}

// Kernel arguments on RHEL, for example, which no file of railbed's has.
TEST(Plan, ProposesStepsAgainUntilTheyShow) {
  Setting wanted = setting();
  wanted.files.clear();
  wanted.reboot = true;
  wanted.needs = {{.what = "a is 1", .now = false}};
  const NodePlan made = plan(wanted, {});
  ASSERT_EQ(made.changes.size(), 1U);
  EXPECT_EQ(made.changes[0].steps, wanted.steps);
  EXPECT_TRUE(made.awaiting_reboot.empty());
  wanted.needs[0].at_boot = true;
  EXPECT_EQ(plan(wanted, {}).awaiting_reboot, std::vector<std::string>{"a setting"});
}

TEST(Plan, HoldsWhatAPersonEdited) {
  const FileStates edited = {{"/etc/x.conf", there(setting().files[0].content + "b = 2\n")}};
  EXPECT_NE(plan(setting(), edited).changes.at(0).held.find("edited by hand"), std::string::npos);
  EXPECT_EQ(plan(setting(), edited, {.take_over = true}).changes.at(0).held, "");
  const FileStates foreign = {{"/etc/x.conf", there("b = 2\n")}};
  EXPECT_NE(plan(setting(), foreign).changes.at(0).held.find("not railbed's"), std::string::npos);
}

// A changed host key, for example: only a person knows whether the node was reinstalled.
TEST(Plan, HoldsWhatIsInDoubt) {
  Setting wanted = setting();
  wanted.doubt = "gpu2 has another host key";
  const NodePlan held = plan(wanted, {{"/etc/x.conf", gone()}});
  EXPECT_NE(held.changes.at(0).held.find("gpu2 has another host key"), std::string::npos);
  EXPECT_NE(held.changes[0].held.find("--take-over"), std::string::npos);
  const NodePlan taken = plan(wanted, {{"/etc/x.conf", gone()}}, {.take_over = true});
  EXPECT_EQ(taken.changes.at(0).held, "");
  EXPECT_EQ(taken.changes[0].notes.back(), "gpu2 has another host key");
}

TEST(Plan, HoldsWhatItCannotRead) {
  const FileStates denied = {{"/etc/x.conf", {Miss{Missing::kDenied, "Permission denied"}, ""}}};
  EXPECT_NE(plan(setting(), denied).changes.at(0).held.find("Permission denied"), std::string::npos);
  EXPECT_NE(plan(setting(), {}).changes.at(0).held.find("nobody looked"), std::string::npos);
}

TEST(Plan, SetsAModeWithoutTouchingTheContent) {
  const NodePlan made = plan(setting(), {{"/etc/x.conf", there(setting().files[0].content, 0600)}});
  ASSERT_EQ(made.changes.size(), 1U);
  EXPECT_EQ(made.changes[0].files[0].action, FileAction::kSetMode);
  // A captured tree does not record modes.
  EXPECT_TRUE(plan(setting(), {{"/etc/x.conf", there(setting().files[0].content, {})}}).changes.empty());
}

TEST(Plan, ChangesOnlyItsLinesOfASharedFile) {
  Setting wanted = setting();
  wanted.files = {{.path = "/etc/hosts", .content = "10.0.0.1 gpu1\n", .block = true}};
  const NodePlan made = plan(wanted, {{"/etc/hosts", there("127.0.0.1 localhost\n", 0640)}});
  ASSERT_EQ(made.changes.size(), 1U);
  EXPECT_EQ(made.changes[0].held, "");
  EXPECT_EQ(made.changes[0].files[0].mode, 0640);
  EXPECT_EQ(made.changes[0].files[0].after, with_block("127.0.0.1 localhost\n", "10.0.0.1 gpu1\n"));
}

TEST(Plan, JoinsAMemberIntoAJsonFileOfOthersOnce) {
  Setting wanted = setting();
  wanted.files = {{.path = "/etc/docker/daemon.json",
                   .content = R"({"runtimes": {"nvidia": {"path": "x"}}})",
                   .block = true,
                   .json = true}};
  const NodePlan made =
      plan(wanted, {{"/etc/docker/daemon.json", there("{\"data-root\": \"/mnt\"}\n", 0600)}});
  ASSERT_EQ(made.changes.size(), 1U);
  EXPECT_EQ(made.changes[0].held, "");
  EXPECT_EQ(made.changes[0].files.at(0).mode, 0600);
  const std::string after = made.changes[0].files[0].after.value_or("");
  EXPECT_NE(after.find("\"data-root\": \"/mnt\""), std::string::npos) << after;
  EXPECT_NE(after.find("\"nvidia\""), std::string::npos) << after;
  EXPECT_TRUE(plan(wanted, {{"/etc/docker/daemon.json", there(after, 0600)}}).changes.empty());
}

TEST(Plan, PutsNvidiasRepositoryInPlaceOnceAndLeavesItThere) {
  constexpr std::string_view kToolkit = R"(
railbed: 1
cluster: one
expect: {cuda_toolkit: "12.8"}
configure: {packages: true}
nodes: [gpu1]
)";
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", "test"};
  facts.system.os.version = {"24.04", "test"};
  facts.system.os.architecture = {"x86_64", "test"};
  facts.system.package_sources = {std::vector<PackageSource>(), "test"};
  const auto plan_of = [&](const FileStates& states) {
    const auto cluster = sample(kToolkit, {{"gpu1", facts}});
    const Target target = cluster.target("gpu1");
    return plan_node(target, render_settings(target), states, {});
  };
  const std::string source = "/etc/apt/sources.list.d/railbed-nvidia-cuda.sources";
  const std::string path = "/etc/profile.d/railbed-cuda.sh";
  const NodePlan made = plan_of({{source, gone()}, {path, gone()}});
  ASSERT_EQ(made.changes.size(), 1U);
  ASSERT_EQ(made.changes[0].files.size(), 2U);
  EXPECT_EQ(made.changes[0].steps.at(0).kind, StepKind::kFetchKey);
  const FileStates after = {{source, there(*made.changes[0].files[0].after)},
                            {path, there(*made.changes[0].files[1].after)}};
  facts.toolkit.cuda = {std::vector<CudaToolkit>{{"/usr/local/cuda-12.8", "12.8.1", true}}, "test"};
  facts.system.package_sources = {
      std::vector<PackageSource>{
          {source, "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/"}},
      "test"};
  EXPECT_TRUE(plan_of(after).changes.empty());
  // The plan adds no source for a package that somebody else installed.
  facts.system.package_sources = {std::vector<PackageSource>(), "test"};
  EXPECT_TRUE(plan_of({{source, gone()}, {path, gone()}}).changes.empty());
}

TEST(Plan, MovesAsideWhatSaysOtherwise) {
  Setting wanted = setting();
  wanted.contradictions = {{"/etc/y.conf", "it sets a to 2"}, {"/etc/z.conf", "it is not there"}};
  const NodePlan made =
      plan(wanted, {{"/etc/x.conf", gone()}, {"/etc/y.conf", there("secret\n")}, {"/etc/z.conf", gone()}});
  ASSERT_EQ(made.changes.at(0).files.size(), 2U);
  EXPECT_EQ(made.changes[0].files[0].action, FileAction::kMoveAside);
  EXPECT_EQ(made.changes[0].files[0].path, "/etc/y.conf");
  EXPECT_FALSE(made.changes[0].files[0].before.has_value());  // another author's secrets stay on the node
}

TEST(Plan, RemovesWhatNothingAsksForAnyMore) {
  const std::string old = seal(std::string(kFileMark) + "[Service]\n");
  const FileStates states = {
      {"/etc/x.conf", there(setting().files[0].content)},
      {"/etc/systemd/system/railbed-old.service", there(old)},
      {"/etc/sysctl.d/railbed-mine.conf", there("a = 1\n")}};  // without the mark: a person's
  const NodePlan made = plan(setting(), states);
  ASSERT_EQ(made.changes.size(), 1U);
  ASSERT_EQ(made.changes[0].files.size(), 1U);
  EXPECT_EQ(made.changes[0].files[0].action, FileAction::kRemove);
  EXPECT_EQ(made.changes[0].steps, (std::vector<NodeStep>{{StepKind::kDisableUnit, {"railbed-old.service"}},
                                                          {StepKind::kReloadUnits, {}}}));
  EXPECT_TRUE(plan(setting(), states, {.leftovers = false}).changes.empty());
}

}  // namespace
}  // namespace railbed
