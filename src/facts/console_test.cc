#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/capture.h"
#include "facts/collectors.h"
#include "facts/mask.h"
#include "host/tree.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Tree made_of(const std::string& text) {
  auto tree = parse_tree("railbed-tree 1\n" + text, "test.tree", {});
  EXPECT_TRUE(tree) << tree.error().text;
  return tree ? std::move(*tree) : Tree{};
}

ConsoleFacts console_of(const std::string& text, const std::string& command_line = "") {
  return collect_console(*open_tree(made_of(text)), {command_line, "/proc/cmdline"});
}

const std::string kShow = "$ systemctl show --property=Id,LoadState,ActiveState,UnitFileState,MainPID ";

TEST(ConsoleFacts, ALoginIsAskedForOfEachSerialPortThatTheKernelNames) {
  const std::string units = "/run/systemd/system/\n" + kShow +
                            "serial-getty@ttyS1.service serial-getty@hvc0.service <<END\n"
                            "Id=serial-getty@ttyS1.service\nLoadState=loaded\nActiveState=active\n\n"
                            "Id=serial-getty@hvc0.service\nLoadState=not-found\nActiveState=inactive\nEND\n";
  const auto console = console_of(units, "console=tty0 console=ttyS1,9600 console=hvc0 console=$(x)0");
  ASSERT_TRUE(console.logins.ok());
  ASSERT_EQ(console.logins->size(), 2U);
  EXPECT_EQ(console.logins->at(0).name, "serial-getty@ttyS1");
  EXPECT_EQ(console.logins->at(0).active_state, "active");
  EXPECT_EQ(console.logins->at(1).load_state, "not-found");
  EXPECT_THAT(*console_of("", "console=tty0").logins, IsEmpty()) << "nothing is asked";
  EXPECT_TRUE(console_of("/run/systemd/system/\n", "console=ttyS1").logins.absent()) << "not recorded";
}

TEST(ConsoleFacts, PortsAreThoseWithHardware) {
  const auto console = console_of(
      "/sys/class/tty/ttyS0/type = 4\n/sys/class/tty/ttyS1/type = 0\n"
      "/sys/class/tty/console/active = tty0 ttyS0\n");
  EXPECT_THAT(*console.ports, ElementsAre("ttyS0"));
  EXPECT_THAT(*console.active, ElementsAre("tty0", "ttyS0"));
  EXPECT_TRUE(console_of("").ports.absent());
  EXPECT_TRUE(console_of("").active.absent());
  EXPECT_FALSE(console_of("/sys/class/tty/ttyS0/type ! EACCES\n").ports.ok());
}

const char* const kGrub =
    "/etc/default/grub <<END\n"
    "# GRUB_TERMINAL=console\n"
    "GRUB_CMDLINE_LINUX=\"luks.key=verysecret\"\n"
    "GRUB_TERMINAL=\"console serial\"  # both\n"
    "END\n"
    "/etc/default/grub.d/50-serial.cfg <<END\n"
    "export GRUB_SERIAL_COMMAND='serial --unit=1'\n"
    "GRUB_TERMINAL_OUTPUT=gfxterm # the screen\n"
    "END\n"
    "/etc/default/grub.d/60-old.cfg.bak = GRUB_TERMINAL=console\n";

TEST(ConsoleFacts, TheBootMenuIsWhatItsFilesSay) {
  const auto console = console_of(kGrub);
  ASSERT_TRUE(console.boot_menu.ok());
  std::vector<std::string> said;
  for (const BootSetting& setting : *console.boot_menu) said.push_back(setting.key + ": " + setting.value);
  EXPECT_THAT(said, ElementsAre("GRUB_TERMINAL: console serial", "GRUB_SERIAL_COMMAND: serial --unit=1",
                                "GRUB_TERMINAL_OUTPUT: gfxterm"));
  EXPECT_EQ(console.boot_menu->back().file, "/etc/default/grub.d/50-serial.cfg");
  EXPECT_TRUE(console_of("").boot_menu.absent());
}

TEST(ConsoleFacts, ACaptureKeepsNothingElseOfGrubsSettings) {
  const auto host = open_tree(made_of(kGrub));
  const Tree kept = capture(*host);
  EXPECT_THAT(write_tree(kept), Not(HasSubstr("verysecret")));
  Mask mask;
  const Tree hidden = masked(kept, mask);
  EXPECT_THAT(write_tree(hidden), HasSubstr("GRUB_TERMINAL=\"console serial\""));
  EXPECT_EQ(collect_console(*open_tree(hidden), {}).boot_menu->size(), 3U);
}

TEST(ConsoleFacts, DisplaysAreWhatAScreenMayHangOn) {
  const std::string pci = "/sys/bus/pci/devices/";
  const auto console =
      console_of(pci + "0000:07:00.0/class = 0x030000\n" + pci + "0000:07:00.0/vendor = 0x1a03\n" + pci +
                 "0000:07:00.0/boot_vga = 1\n" + pci + "0000:41:00.0/class = 0x030200\n");
  ASSERT_EQ(console.displays->size(), 1U);
  EXPECT_EQ(console.displays->front().address, "0000:07:00.0");
  EXPECT_EQ(*console.displays->front().vendor, 0x1a03);
  EXPECT_TRUE(*console.displays->front().boot_vga);
}

TEST(ConsoleFacts, ADisplayOfAnotherNameIsRefused) {
  Facts facts;
  Display display;
  display.address = "0000:07:00.0";
  facts.system.console.displays = {std::vector<Display>{display}, "pci"};
  EXPECT_TRUE(facts_from_json(facts_to_json(facts)));
  display.address = "$(reboot)";
  facts.system.console.displays = {std::vector<Display>{display}, "pci"};
  EXPECT_FALSE(facts_from_json(facts_to_json(facts)));
}

}  // namespace
}  // namespace railbed
