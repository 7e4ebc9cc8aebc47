#include <gmock/gmock.h>

#include "settings/files.h"
#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSlowConsole = R"(
railbed: 1
cluster: pair
expect: {os: ubuntu 22.04}
configure: {console: ttyS1, console_rate: 9600}
nodes: [gpu1]
)";

std::map<std::string, Facts> booted_with(std::string command_line) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", ""};
  facts.system.kernel.command_line = {std::move(command_line), "/proc/cmdline"};
  return {{"gpu1", facts}};
}

Need kernel_need(std::string command_line) {
  const auto settings =
      sample(kSlowConsole, booted_with(std::move(command_line))).render("gpu1", Section::kConsole);
  return settings.at(0).needs.at(0);
}

TEST(RenderConsole, IsAFileOfUpdateGrubOnUbuntu) {
  const auto settings = sample(kSlowConsole).render("gpu1", Section::kConsole);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_TRUE(settings[0].reboot);
  ASSERT_EQ(settings[0].files.size(), 1U);
  EXPECT_EQ(settings[0].files[0].path, "/etc/default/grub.d/90-railbed.cfg");
  EXPECT_EQ(settings[0].files[0].content,
            std::string(kFileMark) +
                "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX console=tty0 console=ttyS1,9600n8\"\n"
                "GRUB_TERMINAL=\"console serial\"\n"
                "GRUB_SERIAL_COMMAND=\"serial --speed=9600 --unit=1 --word=8 --parity=no --stop=1\"\n");
  EXPECT_EQ(settings[0].steps, (std::vector<NodeStep>{{StepKind::kUpdateGrub, {}}}));
  EXPECT_THAT(settings[0].notes.at(0), HasSubstr("9600 bit/s"));
  EXPECT_TRUE(settings[1].files.empty());  // 9600 is one of the rates that the login tries
  EXPECT_EQ(settings[1].steps,
            (std::vector<NodeStep>{{StepKind::kEnableUnit, {"serial-getty@ttyS1.service"}}}));
}

TEST(RenderConsole, IsGrubbyOnRhelAndNoPortOfGrubOnArm) {
  const auto settings = sample(R"(
railbed: 1
cluster: pair
expect: {os: rhel 9.4}
configure: {console: ttyAMA0}
nodes: [gpu1, {name: gpu2, expect: {os: ubuntu 24.04}}]
)");
  const auto rhel = settings.render("gpu1", Section::kConsole);
  EXPECT_TRUE(rhel.at(0).files.empty());
  EXPECT_EQ(
      rhel[0].steps,
      (std::vector<NodeStep>{{StepKind::kSetKernelArguments, {"console=tty0", "console=ttyAMA0,115200n8"}}}));
  EXPECT_EQ(settings.render("gpu2", Section::kConsole).at(0).files.at(0).content,
            std::string(kFileMark) +
                "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX console=tty0 console=ttyAMA0,115200n8\"\n");
}

TEST(RenderConsole, TellsALoginOfARateThatItDoesNotTry) {
  const auto settings = sample(R"(
railbed: 1
cluster: pair
expect: {os: ubuntu 22.04}
configure: {console: ttyS0, console_rate: 19200}
nodes: [gpu1]
)")
                            .render("gpu1", Section::kConsole);
  ASSERT_EQ(settings.at(1).files.size(), 1U);
  EXPECT_EQ(settings[1].files[0].path, "/etc/systemd/system/serial-getty@ttyS0.service.d/90-railbed.conf");
  EXPECT_EQ(settings[1].files[0].content,
            std::string(kFileMark) +
                "[Service]\nExecStart=\n"
                "ExecStart=-/sbin/agetty -o '-p -- \\\\u' --keep-baud 19200 - $TERM\n");
}

TEST(RenderConsole, ReadsTheCommandLineOfTheRunningKernel) {
  EXPECT_EQ(kernel_need("ro quiet console=tty0 console=ttyS1,9600n8").now, true);
  EXPECT_EQ(kernel_need("ro quiet console=tty0 console=ttyS1,9600n8").at_boot, true);
  EXPECT_EQ(kernel_need("console=ttyS1").now, true);  // 9600 is what such a port has by itself
  EXPECT_EQ(kernel_need("console=ttyS1,115200 console=ttyS1,9600n8").now, false);  // the first one counts
  EXPECT_EQ(kernel_need("console=ttyS1,115200 console=ttyS1,9600n8").found, "console=ttyS1,115200");
  EXPECT_EQ(kernel_need("console=ttyS10,9600n8 quiet").now, false);
  EXPECT_EQ(kernel_need("quiet").at_boot, std::nullopt);  // perhaps it waits for a reboot
  EXPECT_FALSE(sample(kSlowConsole).render("gpu1", Section::kConsole)[0].needs[0].now.has_value());
}

TEST(RenderConsole, NeedsNoLoginWhereTheKernelsConsoleBringsOne) {
  const auto settings = sample(kSlowConsole, booted_with("console=tty0 console=ttyS1,9600n8"))
                            .render("gpu1", Section::kConsole);
  EXPECT_EQ(settings.at(1).needs.at(0).now, true);
}

// Before the reboot the login was called "as it shall be", for nothing showed that it was missing.
TEST(RenderConsole, SaysNothingOfALoginUntilTheKernelWritesThere) {
  const auto settings = sample(kSlowConsole, booted_with("ro quiet")).render("gpu1", Section::kConsole);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].name, "console/kernel");
  EXPECT_THAT(settings[0].notes, Contains(HasSubstr("systemd starts a login on ttyS1 at the boot")));
}

// What two releases of grubby make of a command line: that of 2018 replaces the first argument of the same key, one after
// the other (rhboot/grubby, grubby-bls, update_args, until August 2019); later ones drop all of the key and append.
std::string with_old_grubby(std::string line, int removals, const std::vector<std::string>& added) {
  const auto first = [&] { return line.find("console="); };
  const auto cut = [&](const std::string& by) {
    const std::size_t at = first();
    line.replace(at, std::min(line.find(' ', at), line.size()) - at, by);
  };
  for (int i = 0; i < removals; ++i)
    if (first() != std::string::npos) cut("");
  for (const std::string& argument : added)
    if (first() != std::string::npos)
      cut(argument);
    else
      line += " " + argument;
  return line;
}

TEST(RenderConsole, GrubbyOfRhel8LeavesTheSerialPortLast) {
  const NodeStep step{StepKind::kSetKernelArguments, {"console=tty0", "console=ttyS1,9600n8"}};
  const auto commands = commands_of(step, Platform{.family = OsFamily::kRhel});
  EXPECT_EQ(
      commands,
      (std::vector<std::vector<std::string>>{{"grubby", "--update-kernel=ALL",
                                              "--remove-args=\\bconsole= \\bconsole= \\bconsole= \\bconsole=",
                                              "--args=console=tty0 console=ttyS1,9600n8"}}));
  constexpr int kRemovals = 4;
  for (const char* const before : {"ro quiet", "ro console=tty0 console=ttyS0,115200 quiet",
                                   "console=ttyS0 console=tty0 console=ttyS1,115200n8 console=hvc0 ro"}) {
    const auto after = with_old_grubby(before, kRemovals, step.arguments);
    EXPECT_EQ(after.rfind("console="), after.find("console=ttyS1,9600n8")) << after;
    // Without the removal another port stays last, and is /dev/console.
    if (std::string_view(before).find("ttyS0") != std::string_view::npos) {
      EXPECT_THAT(with_old_grubby(before, 0, step.arguments), Not(testing::EndsWith("console=ttyS1,9600n8")));
    }
  }
}

}  // namespace
}  // namespace railbed
