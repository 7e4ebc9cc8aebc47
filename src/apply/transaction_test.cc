#include "apply/transaction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "apply/boot_guard.h"
#include "apply/keeper.h"
#include "apply/node_apply.h"
#include "apply/testing/toy_machine.h"
#include "base/json.h"
#include "base/testing/sample.h"
#include "settings/files.h"
#include "settings/step.h"

namespace railbed {
namespace {

constexpr const char* kFirst = "20260101T000000Z-0001";
constexpr const char* kSecond = "20260102T000000Z-0002";
constexpr const char* kThird = "20260103T000000Z-0003";

// One file that changes, one that is new in a new folder, one that moves aside, one that is removed; and each
// kind of step that a toy machine supports.
ApplyRequest sample_request(const std::string& id = kFirst) {
  ApplyRequest request{
      .id = id, .who = "alice@head", .cluster = "pair", .seconds = 5, .titles = {"all of it"}};
  request.files = {
      {.path = "/etc/netplan/50-other.yaml", .aside = true},
      {.path = "/etc/netplan/90-railbed.yaml", .after = FileContent{"rail: new\n"}, .mode = 0600},
      {.path = "/etc/sysctl.d/90-railbed.conf",
       .before = FileContent{"net.a = 2\n"},
       .after = FileContent{"net.a = 3\nnet.b = 7\n"}},
      {.path = "/etc/systemd/system/slurmd.service.d/railbed.conf", .after = FileContent{"[Service]\n"}},
      {.path = "/etc/old.conf", .before = FileContent{"old\xff\n"}}};
  request.steps = {{StepKind::kReloadUnits, {}},
                   {StepKind::kLoadSysctl, {"/etc/sysctl.d/90-railbed.conf"}},
                   {StepKind::kLoadModule, {"rdma_cm"}},
                   {StepKind::kApplyNetplan, {}},
                   {StepKind::kEnableUnit, {"railbed-qos.service"}},
                   {StepKind::kDisableUnit, {"irqbalance.service"}}};
  return request;
}

void prepare(const ToyMachine& toy) {
  toy.put("/etc/netplan/50-other.yaml", "rail: old\n", 0600);
  toy.put("/etc/sysctl.d/90-railbed.conf", "net.a = 2\n", 0640);
  toy.put("/etc/old.conf", "old\xff\n", 0400);
  toy.put("/live/enabled/irqbalance.service", "");
  toy.boot();
}

Result<Decision> make_whole(WritableHost& host, const std::string& id) {
  ASSIGN_OR_RETURN(auto transaction, Transaction::open(host, id));
  const auto switched = transaction.switch_over();
  auto decided = transaction.decide(switched ? Decision::kCommit : Decision::kRevert);
  if (!decided) return decided;
  RETURN_IF_ERROR(transaction.finish(false));
  return decided;
}

ApplyState state_of(WritableHost& host, const std::string& id) {
  const auto transaction = Transaction::open(host, id);
  return transaction ? transaction->state() : ApplyState::kDropped;
}

TEST(Transaction, ChangesAllAndSaysWhatItDid) {
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  ASSERT_EQ(make_whole(host, kFirst), Decision::kCommit);
  EXPECT_EQ(state_of(host, kFirst), ApplyState::kCommitted);
  EXPECT_EQ(toy.text("/etc/sysctl.d/90-railbed.conf"), "net.a = 3\nnet.b = 7\n");
  EXPECT_EQ(toy.text("/live/sysctl/net.b"), "7");
  EXPECT_EQ(toy.text("/live/network"), "rail: new\n");
  EXPECT_EQ(toy.text("/etc/netplan/50-other.yaml.railbed-aside~"), "rail: old\n");
  EXPECT_FALSE(toy.has("/etc/netplan/50-other.yaml"));
  EXPECT_FALSE(toy.has("/etc/old.conf"));
  EXPECT_TRUE(toy.has("/live/active/railbed-qos.service"));
  EXPECT_FALSE(toy.has("/live/active/irqbalance.service"));
  EXPECT_FALSE(toy.has(std::string(kBootGuard)));
  const ApplyHistory history = *apply_history(host);
  ASSERT_EQ(history.applies.size(), 1U);
  EXPECT_EQ(history.applies[0].who, "alice@head");
  EXPECT_EQ(history.applies[0].titles, (std::vector<std::string>{"all of it"}));
}

TEST(Transaction, AProgramThatFailsLeavesNothing) {
  for (const char* program : {"sysctl --load", "modprobe --", "netplan apply", "systemctl enable --now",
                              "systemctl disable --now", "systemctl daemon-reload"}) {
    ToyMachine toy;
    prepare(toy);
    const auto before = toy.state();
    WritableHost host = toy.host();
    ASSERT_TRUE(stage_apply(host, sample_request()));
    toy.fails = program;
    ASSERT_EQ(make_whole(host, kFirst), Decision::kRevert) << program;
    EXPECT_EQ(toy.state(), before) << program;
    const auto transaction = Transaction::open(host, kFirst);
    ASSERT_TRUE(transaction);
    EXPECT_EQ(transaction->state(), ApplyState::kReverted);
    EXPECT_NE(transaction->why().find("it does not want to"), std::string::npos) << transaction->why();
  }
}

ApplyRequest repository_request(const std::string& id = kFirst) {
  ApplyRequest request{.id = id, .who = "alice@head", .cluster = "pair", .seconds = 5, .titles = {"CUDA"}};
  request.files = {
      {.path = "/etc/apt/railbed-x.sources", .after = FileContent{"URIs: https://a.example/\n"}}};
  request.steps = {
      {StepKind::kFetchKey, {"/etc/apt/railbed-x.asc", "https://a.example/k.pub", std::string(40, 'A')}},
      {StepKind::kRefreshPackages, {}}};
  return request;
}

TEST(Transaction, AKeyIsThereBeforeAFileNamesItAndGoesWithIt) {
  ToyMachine toy;
  prepare(toy);
  const auto before = toy.state();
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, repository_request()));
  ASSERT_EQ(make_whole(host, kFirst), Decision::kCommit);
  EXPECT_EQ(toy.text("/etc/apt/railbed-x.asc"), "key " + std::string(40, 'A'));
  const std::string log = Transaction::open(host, kFirst)->log();
  EXPECT_LT(log.find("--export"), log.find("write /etc/apt/railbed-x.sources"));
  EXPECT_LT(log.find("write /etc/apt/railbed-x.sources"), log.rfind("apt-get update"));
  ApplyRequest back{.id = kSecond, .who = "alice@head", .cluster = "pair", .seconds = 5};
  ASSERT_TRUE(Transaction::stage_rollback(host, back, kFirst));
  ASSERT_EQ(make_whole(host, kSecond), Decision::kCommit);
  EXPECT_EQ(toy.state(), before);
}

TEST(Transaction, AKeyOfAnotherFingerprintOrNoneChangesNothing) {
  for (const char* program : {"curl",
                              "gpg --homedir /run/railbed-key --batch --no-autostart --trust-model always "
                              "--list-keys",
                              "apt-get update"}) {
    ToyMachine toy;
    prepare(toy);
    const auto before = toy.state();
    WritableHost host = toy.host();
    ASSERT_TRUE(stage_apply(host, repository_request()));
    toy.fails = program;
    ASSERT_EQ(make_whole(host, kFirst), Decision::kRevert) << program;
    EXPECT_EQ(toy.state(), before) << program;
    const std::string why = Transaction::open(host, kFirst)->why();
    const bool of_key = why.find("configure.nvidia_") != std::string::npos;
    EXPECT_EQ(of_key, std::string_view(program).find("apt-get") == std::string_view::npos) << why;
  }
}

TEST(UndoCommand, FetchesAndRemovesKeysOfItsOwnAlone) {
  const NodeStep step{StepKind::kFetchKey,
                      {"/etc/apt/railbed-x.asc", "https://a.example/k.pub", std::string(40, 'A')}};
  for (const auto& words : commands_of(step, Platform{.family = OsFamily::kDebian}))
    EXPECT_TRUE(is_command_of_ours(words)) << fmt::format("{}", fmt::join(words, " "));
  EXPECT_TRUE(is_command_of_ours({"rm", "--force", "--", "/etc/apt/railbed-x.asc"}));
  EXPECT_FALSE(is_command_of_ours({"rm", "--force", "--", "/etc/apt/sources.list"}));
  EXPECT_FALSE(is_command_of_ours({"rm", "-r", "--", "/etc/apt/railbed-x.asc"}));
  EXPECT_FALSE(is_command_of_ours({"chmod", "0644", "/etc/shadow"}));
  EXPECT_FALSE(is_command_of_ours({"chmod", "4755", "/etc/apt/railbed-x.asc"}));
  EXPECT_FALSE(is_command_of_ours({"curl", "--output", "/etc/cron.d/x", "https://a.example/k.pub"}));
  EXPECT_FALSE(is_command_of_ours({"gpg", "--homedir", "/root", "--import", "/run/railbed-key/fetched.asc"}));
  EXPECT_FALSE(is_command_of_ours({"mkdir", "-p", "-m", "0700", "/etc/x"}));
}

// Ends the process before its operation number `stop`; returns false if it ran to its end. `work` gets the
// host.
template <class Work>
bool cut_off(ToyMachine& toy, int stop, const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    WritableHost host = toy.host();
    int operations = 0;
    host.before_each = [&](std::string_view) {
      if (++operations == stop) _exit(9);
      return 0;
    };
    work(host);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 9;
}

struct Outcomes {
  std::map<std::string, std::string> before;
  std::map<std::string, std::string> after;
};
Outcomes outcomes(bool booted) {
  ToyMachine toy;
  prepare(toy);
  Outcomes both;
  if (booted) toy.boot();
  both.before = toy.state();
  WritableHost host = toy.host();
  EXPECT_TRUE(stage_apply(host, sample_request()));
  EXPECT_EQ(make_whole(host, kFirst), Decision::kCommit);
  if (booted) toy.boot();
  both.after = toy.state();
  return both;
}

void expect_old_or_new(ToyMachine& toy, WritableHost& host, const Outcomes& both, const std::string& where) {
  const bool committed = state_of(host, kFirst) == ApplyState::kCommitted;
  EXPECT_EQ(toy.state(), committed ? both.after : both.before) << where;
  const auto history = apply_history(host);
  ASSERT_TRUE(history) << where;
  for (const PastApply& apply : history->applies) EXPECT_FALSE(is_open(apply.state)) << where;
}

// Interrupts an apply before every single operation, and the rollback before further operations.
constexpr int kStride = RAILBED_SANITIZED ? 29 : 11;
constexpr int kSample = static_cast<int>(kSampleStride);
void cut_off_everywhere(bool booting) {
  const Outcomes both = outcomes(booting);
  int cuts = 0;
  for (int first = 1;; first += kSample) {
    bool was_cut = true;
    for (int second = first % kStride + 1;; second += kStride) {
      ToyMachine toy;
      prepare(toy);
      WritableHost host = toy.host();
      was_cut = cut_off(toy, first, [](WritableHost& cut) {
        if (stage_apply(cut, sample_request())) (void)make_whole(cut, kFirst);
      });
      const bool again = cut_off(toy, second, [booting](WritableHost& cut) {
        (void)recover_applies(cut, "all", {.booting = booting});
      });
      cuts += was_cut + again;
      EXPECT_TRUE(recover_applies(host, "all", {.booting = booting}));
      if (booting) toy.boot();
      expect_old_or_new(toy, host, both, fmt::format("cut off at {}, then at {}", first, second));
      if (!again || ::testing::Test::HasFailure()) break;
    }
    if (!was_cut || ::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(cuts, 200 / kSample);
}

TEST(Transaction, CutOffAnywhereItIsOldOrNew) { cut_off_everywhere(false); }
TEST(Transaction, CutOffAnywhereItStartsOldOrNew) { cut_off_everywhere(true); }

TEST(Transaction, AnOperationThatFailsLeavesOldOrNew) {
  const Outcomes both = outcomes(false);
  bool failed = true;
  for (int stop = 1; failed; ++stop) {
    ToyMachine toy;
    prepare(toy);
    WritableHost host = toy.host();
    int operations = 0;
    host.before_each = [&](std::string_view) { return ++operations == stop ? ENOSPC : 0; };
    if (stage_apply(host, sample_request())) (void)make_whole(host, kFirst);
    failed = operations >= stop;
    EXPECT_TRUE(recover_applies(host, "all", {}));
    expect_old_or_new(toy, host, both, fmt::format("operation {} fails", stop));
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(Transaction, WhatChangedSinceThePlanIsRefused) {
  ToyMachine toy;
  prepare(toy);
  toy.put("/etc/sysctl.d/90-railbed.conf", "net.a = 4\n");
  WritableHost host = toy.host();
  const auto staged = stage_apply(host, sample_request());
  ASSERT_FALSE(staged);
  EXPECT_NE(staged.error().text.find("has changed since the plan"), std::string::npos);
  EXPECT_TRUE(apply_ids(host)->empty());
}

TEST(Transaction, ALinkIsNotFollowed) {
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  toy.remove("/etc/old.conf");
  ASSERT_TRUE(host.link_to("/etc/passwd", "/etc/old.conf"));
  const auto staged = stage_apply(host, sample_request());
  ASSERT_FALSE(staged);
  EXPECT_NE(staged.error().text.find("symbolic link"), std::string::npos);
}

TEST(Transaction, NonsenseIsRefused) {
  ToyMachine toy;
  WritableHost host = toy.host();
  const auto refused = [&](auto spoil) {
    ApplyRequest request = sample_request();
    spoil(request);
    const auto staged = stage_apply(host, request);
    return !staged && staged.error().kind == ErrorKind::kBadInput;
  };
  EXPECT_TRUE(refused([](ApplyRequest& request) { request.id = "../../../etc"; }));
  EXPECT_TRUE(
      refused([](ApplyRequest& request) { request.files[0].path = "/etc/../root/.ssh/authorized_keys"; }));
  EXPECT_TRUE(refused([](ApplyRequest& request) { request.files[0].path = "/usr/bin/ls"; }));
  EXPECT_TRUE(refused([](ApplyRequest& request) { request.files[0].path = "/etc/a\nb"; }));
  EXPECT_TRUE(refused([](ApplyRequest& request) { request.files[1].mode = 04755; }));
  EXPECT_TRUE(refused([](ApplyRequest& request) { request.steps[1].arguments = {"--system"}; }));
  EXPECT_TRUE(refused([](ApplyRequest& request) { request.seconds = 100000; }));
}

TEST(Transaction, TheSecondControllerIsToldWhoIsAtWork) {
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  const auto second = stage_apply(host, sample_request(kSecond));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("alice@head is changing this node"), std::string::npos);
  EXPECT_NE(second.error().text.find("the node is free again in "), std::string::npos)
      << "its controller may be dead, and nobody else knows how long the node is held: "
      << second.error().text;
}

TEST(Transaction, ARollbackBringsBackAllSinceAndCanItselfBeTakenBack) {
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  const auto old = toy.state();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  ASSERT_EQ(make_whole(host, kFirst), Decision::kCommit);
  ApplyRequest more{.id = kSecond, .who = "bob@head", .titles = {"more"}};
  more.files = {{.path = "/etc/sysctl.d/90-railbed.conf",
                 .before = FileContent{"net.a = 3\nnet.b = 7\n"},
                 .after = FileContent{"net.a = 5\n"}}};
  more.steps = {{StepKind::kLoadSysctl, {"/etc/sysctl.d/90-railbed.conf"}}};
  ASSERT_TRUE(stage_apply(host, more));
  ASSERT_EQ(make_whole(host, kSecond), Decision::kCommit);
  const auto changed = toy.state();

  const RollbackRequest back{kThird, "bob@head", "pair", kFirst, 60};
  ASSERT_TRUE(stage_rollback(host, back));
  auto rollback = Transaction::open(host, kThird);
  ASSERT_TRUE(rollback);
  ASSERT_TRUE(rollback->switch_over()) << rollback->why();
  EXPECT_EQ(rollback->decide(Decision::kRevert), Decision::kRevert);
  ASSERT_TRUE(rollback->finish(false));
  EXPECT_EQ(toy.state(), changed);

  ASSERT_TRUE(stage_rollback(host, {"20260104T000000Z-0004", "bob@head", "pair", kFirst, 60}));
  ASSERT_EQ(make_whole(host, "20260104T000000Z-0004"), Decision::kCommit);
  EXPECT_EQ(toy.state(), old);
}

// Like make_whole(), for one file with its content.
void apply_one(WritableHost& host, const std::string& id, const std::string& path, const std::string& before,
               const std::string& after) {
  ApplyRequest request{.id = id, .who = "alice@head", .cluster = "pair", .seconds = 5, .titles = {"one"}};
  request.files = {{.path = path, .after = FileContent{after}}};
  if (!before.empty()) request.files[0].before = FileContent{before};
  const auto staged = stage_apply(host, request);
  ASSERT_TRUE(staged) << staged.error().text;
  ASSERT_EQ(make_whole(host, id), Decision::kCommit);
}

// By its name, the second apply is older: the clock of its controller was set back.
TEST(Transaction, TheNodeCountsItsAppliesWhateverTheClocksAre) {
  ToyMachine toy;
  WritableHost host = toy.host();
  toy.put("/etc/f", "original\n");
  apply_one(host, kThird, "/etc/f", "original\n", "alice\n");
  apply_one(host, kFirst, "/etc/f", "alice\n", "bob\n");
  const auto history = apply_history(host);
  ASSERT_TRUE(history);
  ASSERT_EQ(history->applies.size(), 2U);
  EXPECT_EQ(history->applies.front().id, kFirst);
  ASSERT_TRUE(stage_rollback(host, {kSecond, "x@y", "pair", kFirst, 60}));
  ASSERT_EQ(make_whole(host, kSecond), Decision::kCommit);
  EXPECT_EQ(toy.text("/etc/f"), "alice\n");
}

TEST(Transaction, ARecordOfAnotherBootKeepsNobodyOut) {
  ToyMachine toy;
  prepare(toy);
  std::filesystem::create_directories(toy.host().below_root("/proc/sys/kernel/random"));
  toy.put("/proc/sys/kernel/random/boot_id", "one\n");
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  ASSERT_FALSE(stage_apply(host, sample_request(kSecond))) << "somebody is at work";
  toy.put("/proc/sys/kernel/random/boot_id", "two\n");
  EXPECT_TRUE(stage_apply(host, sample_request(kSecond)));
  EXPECT_EQ(state_of(host, kFirst), ApplyState::kDropped);
}

TEST(Transaction, ARollbackKeepsAPersonsLinesAndRefusesOtherEdits) {
  ToyMachine toy;
  WritableHost host = toy.host();
  const std::string hosts = "127.0.0.1 localhost\n";
  const std::string with_rails = with_block(hosts, "10.77.0.1 node1-rail0\n");
  toy.put("/etc/hosts", hosts);
  apply_one(host, kFirst, "/etc/hosts", hosts, with_rails);
  toy.put("/etc/hosts", with_rails + "10.1.2.3 nas\n");
  ASSERT_TRUE(stage_rollback(host, {kSecond, "x@y", "pair", kFirst, 60}));
  ASSERT_EQ(make_whole(host, kSecond), Decision::kCommit);
  EXPECT_EQ(toy.text("/etc/hosts"), hosts + "10.1.2.3 nas\n");

  toy.put("/etc/f", "old\n");
  apply_one(host, kThird, "/etc/f", "old\n", "new\n");
  toy.put("/etc/f", "new\nby a person\n");
  RollbackRequest back{"20260104T000000Z-0004", "x@y", "pair", kThird, 60};
  const auto refused = stage_rollback(host, back);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("+ by a person"), std::string::npos) << refused.error().text;
  EXPECT_EQ(toy.text("/etc/f"), "new\nby a person\n");
  back.discard = true;
  ASSERT_TRUE(stage_rollback(host, back));
  ASSERT_EQ(make_whole(host, back.id), Decision::kCommit);
  EXPECT_EQ(toy.text("/etc/f"), "old\n");
}

// From its switch on, no write that needs space succeeds.
TEST(Transaction, GoesBackOnAFullDisk) {
  ToyMachine toy;
  prepare(toy);
  const auto before = toy.state();
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  auto transaction = Transaction::open(host, kFirst);
  ASSERT_TRUE(transaction);
  ASSERT_TRUE(transaction->switch_over());
  host.before_each = [](std::string_view operation) {
    return operation.starts_with("write ") || operation.starts_with("make folder ") ? ENOSPC : 0;
  };
  EXPECT_EQ(transaction->decide(Decision::kRevert), Decision::kRevert);
  const auto finished = transaction->finish(false);
  EXPECT_TRUE(finished) << finished.error().text;
  EXPECT_EQ(transaction->state(), ApplyState::kReverted);
  EXPECT_EQ(toy.state(), before);
}

TEST(Transaction, TriesAgainUntilThereIsRoom) {
  ToyMachine toy;
  prepare(toy);
  const auto before = toy.state();
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  auto transaction = Transaction::open(host, kFirst);
  ASSERT_TRUE(transaction);
  ASSERT_TRUE(transaction->switch_over());
  int refused = 0;
  host.before_each = [&](std::string_view operation) {
    return operation.starts_with("sync folder") && ++refused <= 6 ? ENOSPC : 0;
  };
  EXPECT_TRUE(transaction->finish_within(std::chrono::seconds(60), false));
  EXPECT_GT(refused, 6);
  EXPECT_EQ(transaction->state(), ApplyState::kReverted);
  EXPECT_EQ(toy.state(), before);
}

Journal journal_of(const ToyMachine& toy) {
  return *json::read<Journal>(toy.text(fmt::format("{}/{}/journal", kApplyFolder, kFirst)));
}

// Half of what is in it would be undone, and the changes after it would be put in a wrong order.
TEST(Transaction, ARecordOfANewerRailbedIsLeftAlone) {
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  const std::string path = fmt::format("{}/{}/journal", kApplyFolder, kFirst);
  const std::string ours = toy.text(path);
  EXPECT_TRUE(ours.starts_with("{\"version\":1,\"railbed\":\"")) << ours.substr(0, 60);
  // Before records had a version.
  toy.put(path, "{" + ours.substr(ours.find("\"request\"")));
  EXPECT_TRUE(Transaction::open(host, kFirst));
  EXPECT_EQ(past_applies(host)->size(), 1U);
  const std::string newer = R"({"version":2,"railbed":"9.0.0","request":[]})";
  toy.put(path, newer);
  for (const auto& refused : {Transaction::open(host, kFirst).error(), past_applies(host).error(),
                              recover_applies(host, kFirst, {}).error()}) {
    EXPECT_NE(refused.text.find("version 2"), std::string::npos) << refused.text;
    EXPECT_NE(refused.text.find("9.0.0"), std::string::npos) << refused.text;
  }
  EXPECT_EQ(toy.text(path), newer);
}

TEST(Transaction, ARecordThatNoApplyWouldWriteIsNotCarriedOut) {
  const auto is_refused = [](auto spoil) {
    ToyMachine toy;
    prepare(toy);
    WritableHost host = toy.host();
    EXPECT_TRUE(stage_apply(host, sample_request()));
    Journal journal = journal_of(toy);
    spoil(journal);
    toy.put(fmt::format("{}/{}/journal", kApplyFolder, kFirst), json::dump(json::encode(journal)));
    toy.put(fmt::format("{}/{}/state", kApplyFolder, kFirst), "switching");
    const auto before = toy.state();
    toy.ran.clear();
    const bool refused = !recover_applies(host, "all", {});
    EXPECT_EQ(toy.state(), before);
    EXPECT_TRUE(toy.ran.empty());
    return refused;
  };
  const KeptFile file{{"x\n"}, 0644, geteuid(), getegid(), ""};
  EXPECT_TRUE(is_refused([&](Journal& journal) {
    journal.files.push_back({"/root/.ssh/authorized_keys", file, {}});
  }));
  EXPECT_TRUE(is_refused([&](Journal& journal) { journal.files.push_back({"/etc/../root/x", file, {}}); }));
  EXPECT_TRUE(is_refused([&](Journal& journal) {
    journal.files.push_back({"/etc/sh", file, {}});
    journal.files.back().before->mode = 04755;
  }));
  EXPECT_TRUE(is_refused([](Journal& journal) { journal.folders = {"/opt/x"}; }));
  EXPECT_TRUE(is_refused([](Journal& journal) { journal.request.id = kSecond; }));
  EXPECT_TRUE(is_refused([](Journal& journal) { journal.undo.push_back({}); })) << "no words";
  EXPECT_TRUE(is_refused([](Journal& journal) { journal.then.push_back({}); })) << "no words";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"touch", "/tmp/x"},
                                                {"sysctl", "--load", "/tmp/x"},
                                                {"modprobe", "x"},
                                                {"systemctl", "start", "--root=/tmp/x"},
                                                {"/usr/sbin/sshd", "-t", "-f"},
                                                {"apt-get", "install", "x"}})
    EXPECT_TRUE(is_refused([&](Journal& journal) { journal.undo.push_back({.words = words}); }))
        << words.front();
}

TEST(Transaction, ARecordOfAnotherUserIsNotCarriedOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  for (const std::string& whose :
       {std::string(kApplyFolder), std::string("/var/lib/railbed"),
        fmt::format("{}/{}", kApplyFolder, kFirst), fmt::format("{}/{}/journal", kApplyFolder, kFirst)}) {
    ToyMachine toy;
    prepare(toy);
    WritableHost host = toy.host();
    ASSERT_TRUE(stage_apply(host, sample_request()));
    ASSERT_TRUE(Transaction::open(host, kFirst)->switch_over());
    const auto switched = toy.state();
    ASSERT_EQ(lchown(host.below_root(whose).c_str(), 60001, 60001), 0);
    const auto recovered = recover_applies(host, "all", {});
    ASSERT_FALSE(recovered) << whose;
    EXPECT_NE(recovered.error().text.find("60001"), std::string::npos) << recovered.error().text;
    EXPECT_EQ(toy.state(), switched) << whose;
    EXPECT_FALSE(stage_apply(host, sample_request(kSecond))) << whose;
  }
}

TEST(Transaction, AFolderOfAnotherUserIsNotWrittenThrough) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  ASSERT_EQ(lchown(host.below_root("/etc/sysctl.d").c_str(), 60001, 60001), 0);
  const auto staged = stage_apply(host, sample_request());
  ASSERT_FALSE(staged);
  EXPECT_NE(staged.error().text.find("user 60001 can change it"), std::string::npos) << staged.error().text;
}

// Every step and its undo is a command that a record may contain.
TEST(Transaction, ItsOwnCommandsAreKnown) {
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  const auto kinds = enum_names(StepKind());
  int checked = 0;
  for (const OsFamily family : {OsFamily::kDebian, OsFamily::kRhel})
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      NodeStep step{static_cast<StepKind>(kind), {"/etc/sysctl.d/90-railbed.conf"}};
      if (!check_step(step)) step.arguments = {"irqbalance.service"};
      if (!check_step(step)) step.arguments = {"irqbalance"};
      if (!check_step(step))
        step.arguments = {"/etc/apt/railbed-x.asc", "https://a.example/k.pub", std::string(40, 'A')};
      if (!check_step(step)) step.arguments = {"console=tty0", "console=ttyS1,115200n8"};
      if (!check_step(step)) step.arguments.clear();
      ASSERT_TRUE(check_step(step)) << kinds[kind];
      ApplyRequest request{.id = kFirst, .who = "a@b", .seconds = 60, .family = family, .steps = {step}};
      auto all = commands_of(step, Platform{.family = family});
      for (const UndoCommand& command : undo_of(request, host)) all.push_back(command.words);
      for (const auto& words : all)
        EXPECT_TRUE(is_command_of_ours(words)) << fmt::format("{}", fmt::join(words, " "));
      checked += static_cast<int>(all.size());
    }
  EXPECT_GT(checked, 40);
}

TEST(Transaction, OnlySoManyAreKept) {
  ToyMachine toy;
  WritableHost host = toy.host();
  for (int i = 0; i < 25; ++i) {
    const std::string id = fmt::format("202601{:02}T000000Z-0001", i + 1);
    ASSERT_TRUE(stage_apply(host, {.id = id, .who = "alice@head"}));
    ASSERT_EQ(make_whole(host, id), Decision::kCommit);
  }
  EXPECT_EQ(apply_ids(host)->size(), kKeptApplies + 1);
}

TEST(Keeper, GoesBackWithoutADecision) {
  ToyMachine toy;
  prepare(toy);
  const auto before = toy.state();
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  ASSERT_TRUE(keep_apply(host, kFirst, std::chrono::milliseconds(20)));
  EXPECT_EQ(state_of(host, kFirst), ApplyState::kReverted);
  EXPECT_EQ(toy.state(), before);
}

TEST(Keeper, WaitsLongerForAControllerThatWaitsForOthers) {
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  std::jthread controller([&toy] {
    WritableHost own = toy.host();
    while (state_of(own, kFirst) != ApplyState::kSwitched)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    auto seen = Transaction::open(own, kFirst);
    for (int i = 0; i < 16; ++i) {  // longer than its own waiting time
      seen->hear();
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    EXPECT_TRUE(seen->decide(Decision::kCommit));
  });
  ASSERT_TRUE(keep_apply(host, kFirst, std::chrono::milliseconds(20)));
  EXPECT_EQ(state_of(host, kFirst), ApplyState::kCommitted);
}

TEST(Keeper, DoesNotBeginWhatWasCalledOff) {
  ToyMachine toy;
  prepare(toy);
  const auto before = toy.state();
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  ASSERT_TRUE(Transaction::open(host, kFirst)->decide(Decision::kRevert));
  ASSERT_TRUE(keep_apply(host, kFirst));
  EXPECT_EQ(state_of(host, kFirst), ApplyState::kDropped);
  EXPECT_EQ(toy.state(), before);
}

TEST(Keeper, LeavesAloneWhatIsBeingWorkedOn) {
  ToyMachine toy;
  prepare(toy);
  WritableHost host = toy.host();
  ASSERT_TRUE(stage_apply(host, sample_request()));
  const auto lock = ApplyLock::take(host, kFirst, std::chrono::seconds(0));
  ASSERT_TRUE(lock);
  const auto recovered = recover_applies(host, "all", {});
  ASSERT_TRUE(recovered);
  EXPECT_TRUE(recovered->empty());
  EXPECT_EQ(state_of(host, kFirst), ApplyState::kStaged);
}

}  // namespace
}  // namespace railbed
