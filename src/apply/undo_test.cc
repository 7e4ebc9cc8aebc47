// The serial console's kernel arguments on RHEL, with a stand-in for grubby: what was there comes back, in its order.
#include "apply/undo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apply/node_apply.h"
#include "apply/testing/toy_machine.h"
#include "apply/transaction.h"
#include "base/json.h"

namespace railbed {
namespace {

constexpr const char* kApply = "20260101T000000Z-0001";
constexpr const char* kBack = "20260102T000000Z-0002";
constexpr const char* kNew = "/live/kernels/vmlinuz-5.14.0-503.el9.x86_64";
constexpr const char* kOld = "/live/kernels/vmlinuz-5.14.0-427.el9.x86_64";
constexpr const char* kBefore = "ro crashkernel=1G console=ttyS0,9600 console=hvc0 console=tty0 quiet";

ApplyRequest console_request() {
  ApplyRequest request{
      .id = kApply, .who = "alice@head", .cluster = "pair", .seconds = 5, .family = OsFamily::kRhel};
  request.steps = {{StepKind::kSetKernelArguments, {"console=tty0", "console=ttyS1,115200n8"}}};
  return request;
}

class ConsoleUndo : public testing::Test {
 protected:
  void start(const std::string& arguments, bool old_grubby = false) {
    toy_.old_grubby = old_grubby;
    toy_.put(kNew, arguments);
  }
  // Carries out what was staged under this ID.
  void carry_out(const std::string& id) {
    auto transaction = Transaction::open(host_, id);
    ASSERT_TRUE(transaction) << transaction.error().text;
    ASSERT_TRUE(transaction->switch_over());
    ASSERT_TRUE(transaction->decide(Decision::kCommit));
    ASSERT_TRUE(transaction->finish(false));
  }
  void apply() {
    ASSERT_TRUE(stage_apply(host_, console_request()));
    carry_out(kApply);
  }
  void roll_back() {
    const auto staged = stage_rollback(host_, {kBack, "bob@head", "pair", kApply, 60});
    ASSERT_TRUE(staged) << staged.error().text;
    carry_out(kBack);
  }
  std::vector<std::string> consoles(const char* kernel = kNew) {
    std::vector<std::string> all;
    const std::string line = toy_.text(kernel);
    for (const std::string_view word : words(line))
      if (word.starts_with("console=")) all.emplace_back(word);
    return all;
  }

  ToyMachine toy_;
  WritableHost host_ = toy_.host();
};

using Consoles = std::vector<std::string>;

TEST_F(ConsoleUndo, RestoresWhatWasThereInItsOrder) {
  start(kBefore);
  apply();
  EXPECT_EQ(consoles(), (Consoles{"console=tty0", "console=ttyS1,115200n8"}));
  roll_back();
  EXPECT_EQ(consoles(), (Consoles{"console=ttyS0,9600", "console=hvc0", "console=tty0"}));
  EXPECT_EQ(toy_.text(kNew).find("ro crashkernel=1G quiet"), 0U);
}

TEST_F(ConsoleUndo, RestoresTheSameAfterAFailure) {
  start(kBefore);
  ASSERT_TRUE(stage_apply(host_, console_request()));
  auto transaction = Transaction::open(host_, kApply);
  ASSERT_TRUE(transaction->switch_over());
  ASSERT_TRUE(transaction->decide(Decision::kRevert));
  ASSERT_TRUE(transaction->finish(false));
  EXPECT_EQ(consoles(), (Consoles{"console=ttyS0,9600", "console=hvc0", "console=tty0"}));
}

// An argument of the apply that was there before is no argument that only the apply brought.
TEST_F(ConsoleUndo, LeavesAnArgumentThatWasThereAlready) {
  start("ro console=tty0");
  apply();
  roll_back();
  EXPECT_EQ(toy_.text(kNew), "ro console=tty0");
  start("ro console=ttyS1,115200n8 console=tty0");  // of another order: tty0 is /dev/console
  EXPECT_EQ(undo_of(console_request(), host_).back().words.back(),
            "--args=console=ttyS1,115200n8 console=tty0");
}

TEST_F(ConsoleUndo, RemovesThemWhereThereWasNone) {
  start("ro quiet");
  apply();
  roll_back();
  EXPECT_EQ(toy_.text(kNew), "ro quiet");
}

TEST_F(ConsoleUndo, GivesEachKernelItsOwn) {
  start(kBefore);
  toy_.put(kOld, "ro console=ttyS3");
  apply();
  EXPECT_EQ(consoles(kOld), (Consoles{"console=tty0", "console=ttyS1,115200n8"}));
  roll_back();
  EXPECT_EQ(consoles(), (Consoles{"console=ttyS0,9600", "console=hvc0", "console=tty0"}));
  EXPECT_EQ(consoles(kOld), (Consoles{"console=ttyS3"}));
}

// That of 2018 cannot set two arguments of one key: what is /dev/console comes back.
TEST_F(ConsoleUndo, RestoresTheLastOneWithGrubbyOf2018) {
  start(kBefore, true);
  apply();
  EXPECT_EQ(consoles(), (Consoles{"console=ttyS1,115200n8"}));
  roll_back();
  EXPECT_EQ(consoles(), (Consoles{"console=tty0"}));
}

TEST_F(ConsoleUndo, OfArgumentsThatSomebodyChangedSinceAsksFirst) {
  start(kBefore);
  apply();
  toy_.put(kNew, "ro quiet console=ttyS2");
  RollbackRequest back{kBack, "bob@head", "pair", kApply, 60};
  const auto refused = stage_rollback(host_, back);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("the kernel's arguments are \"console=ttyS2\", and the apply set"),
            std::string::npos)
      << refused.error().text;
  EXPECT_EQ(toy_.text(kNew), "ro quiet console=ttyS2");
  back.discard = true;
  ASSERT_TRUE(stage_rollback(host_, back));
  carry_out(kBack);
  EXPECT_EQ(consoles(), (Consoles{"console=ttyS0,9600", "console=hvc0", "console=tty0"}));
}

TEST_F(ConsoleUndo, OfARollbackSetsThemAgain) {
  start(kBefore);
  apply();
  roll_back();
  const char* const again = "20260103T000000Z-0003";
  ASSERT_TRUE(stage_rollback(host_, {again, "bob@head", "pair", kBack, 60}));
  carry_out(again);
  EXPECT_EQ(consoles(), (Consoles{"console=tty0", "console=ttyS1,115200n8"}));
}

// The undo restores no argument that grubby's command cannot take, and nothing of it reaches a command.
TEST_F(ConsoleUndo, OfArgumentsThatAreNoneLeavesThemOut) {
  start("ro console=$(reboot) console=ttyS0;x console=ttyS0,115200n8 init=/bin/sh");
  for (const UndoCommand& command : undo_of(console_request(), host_)) {
    EXPECT_TRUE(is_command_of_ours(command.words));
    EXPECT_EQ(command.words.back(), "--args=console=ttyS0,115200n8");
  }
}

TEST_F(ConsoleUndo, OfADamagedRecordIsNotCarriedOut) {
  EXPECT_TRUE(is_command_of_ours({"grubby", "--update-kernel=ALL", "--args=console=tty0"}));
  EXPECT_TRUE(
      is_command_of_ours({"grubby", "--update-kernel=/boot/vmlinuz-5.14.0-1.el9.x86_64",
                          "--remove-args=\\bconsole= \\bconsole=", "--args=console=tty0 console=hvc0"}));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"grubby", "--update-kernel=ALL"},
           {"grubby", "--update-kernel=ALL", "--args="},
           {"grubby", "--update-kernel=ALL", "--args=init=/bin/sh"},
           {"grubby", "--update-kernel=ALL", "--args=console=tty0 selinux=0"},
           {"grubby", "--update-kernel=ALL", "--remove-args=root"},
           {"grubby", "--update-kernel=/boot/../etc/passwd", "--args=console=tty0"},
           {"grubby", "--update-kernel=ALL", "--args=console=tty0", "--remove-kernel=ALL"},
           {"grubby", "--set-default=0", "--args=console=tty0"}})
    EXPECT_FALSE(is_command_of_ours(words)) << fmt::format("{}", fmt::join(words, " "));
  start(kBefore);
  apply();
  const std::string journal = fmt::format("{}/{}/journal", kApplyFolder, kApply);
  ASSERT_TRUE(toy_.has(journal));
  std::string text = toy_.text(journal);
  const auto at = text.find("console=hvc0");
  ASSERT_NE(at, std::string::npos);
  toy_.put(journal, text.replace(at, 12, "init=/bin/sh"), 0600);
  EXPECT_FALSE(Transaction::open(host_, kApply));
  EXPECT_FALSE(stage_rollback(host_, {kBack, "bob@head", "pair", kApply, 60}));
  toy_.put(journal, text.substr(0, text.size() / 2), 0600);
  EXPECT_FALSE(stage_rollback(host_, {kBack, "bob@head", "pair", kApply, 60}));
  EXPECT_EQ(consoles(), (Consoles{"console=tty0", "console=ttyS1,115200n8"}));
}

}  // namespace
}  // namespace railbed
