// Reasons why a console stays blank, and installers' defaults that are accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "verify/verify.h"

namespace railbed {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kSerialRules[] = {"host.serial-port", "host.serial-login", "host.serial-boot-menu"};

// A machine with ttyS0 and ttyS1, neither of them configured.
Facts machine(const char* id, const char* command_line) {
  Facts facts;
  facts.system.os.id = {std::string(id), "/etc/os-release"};
  facts.system.kernel.command_line = {std::string(command_line), "/proc/cmdline"};
  facts.system.services = {std::vector<Service>(), "systemctl show"};
  ConsoleFacts& console = facts.system.console;
  console.active = {std::vector<std::string>{"tty0"}, "/sys/class/tty/console/active"};
  console.ports = {std::vector<std::string>{"ttyS0", "ttyS1"}, "/sys/class/tty"};
  console.logins = {std::vector<Service>(), "systemctl show"};
  console.boot_menu = {std::vector<BootSetting>(), "/etc/default/grub"};
  console.displays = {std::vector<Display>(), "/sys/bus/pci/devices"};
  return facts;
}

// The kernel writes there, and a login waits.
Facts working(const char* id, const char* command_line, const std::string& port) {
  Facts facts = machine(id, command_line);
  facts.system.console.active = {std::vector<std::string>{"tty0", port}, "/sys/class/tty/console/active"};
  facts.system.console.logins = {std::vector<Service>{{.name = "serial-getty@" + port,
                                                       .load_state = "loaded",
                                                       .active_state = "active",
                                                       .unit_file_state = "enabled"}},
                                 "systemctl show"};
  return facts;
}

void tell_grub(Facts& facts, const char* key, const char* value, const char* file = "/etc/default/grub") {
  auto settings = facts.system.console.boot_menu.value();
  settings.push_back({key, value, file});
  facts.system.console.boot_menu = {std::move(settings), "/etc/default/grub"};
}

Finding judged(const Facts& facts, std::string_view rule) {
  Evidence evidence;
  evidence.nodes.emplace("n1", facts);
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == rule) return finding;
  ADD_FAILURE() << rule << " says nothing";
  return {};
}

void expect_silence(const Facts& facts, const char* what) {
  for (const char* rule : kSerialRules) {
    const Finding found = judged(facts, rule);
    EXPECT_THAT((std::vector{Status::kPass, Status::kNotApplicable}), Contains(found.status))
        << what << ": " << found.message;
  }
}

TEST(Console, WhatSystemsInstallIsSpared) {
  // Servers of Debian 12, Ubuntu 22.04 and 24.04: no finding about a serial port.
  expect_silence(machine("debian", "root=/dev/sda1 ro quiet"), "Debian");
  expect_silence(machine("ubuntu", "root=/dev/sda1 ro"), "Ubuntu");
  Facts rhel = machine("rhel", "root=/dev/mapper/rhel-root ro crashkernel=1G-4G:192M rhgb quiet");
  tell_grub(rhel, "GRUB_TERMINAL_OUTPUT", "console");
  expect_silence(rhel, "RHEL 9");
  // Their cloud images.
  Facts ubuntu = working("ubuntu", "root=PARTUUID=1 ro console=tty1 console=ttyS0", "ttyS0");
  tell_grub(ubuntu, "GRUB_TERMINAL", "console", "/etc/default/grub.d/50-cloudimg-settings.cfg");
  expect_silence(ubuntu, "Ubuntu for clouds");
  Facts debian = working("debian", "ro console=tty0 console=ttyS0,115200 earlyprintk=ttyS0,115200", "ttyS0");
  tell_grub(debian, "GRUB_TERMINAL", "console serial", "/etc/default/grub.d/10_cloud.cfg");
  tell_grub(debian, "GRUB_SERIAL_COMMAND", "serial --speed=115200", "/etc/default/grub.d/10_cloud.cfg");
  expect_silence(debian, "Debian for clouds");
  Facts guest = working("rhel", "ro console=tty0 console=ttyS0,115200n8 no_timestamp_check", "ttyS0");
  tell_grub(guest, "GRUB_TERMINAL_OUTPUT", "console");
  expect_silence(guest, "RHEL for clouds");
}

TEST(Console, AVirtualMachineWithoutSerialPortIsSpared) {
  Facts facts = machine("ubuntu", "ro console=tty1 console=ttyS0");
  facts.system.console.ports = {std::vector<std::string>(), "/sys/class/tty"};
  expect_silence(facts, "no port");
}

TEST(Console, WhatWasNotRecordedIsNotJudged) {
  Facts facts;
  facts.system.kernel.command_line = {std::string("ro console=ttyS1,115200"), "/proc/cmdline"};
  facts.system.services = {std::vector<Service>(), "systemctl show"};
  expect_silence(facts, "an old capture");
  EXPECT_EQ(judged(facts, "host.screen").status, Status::kNotApplicable);
}

TEST(Console, APortThatIsNotThereIsTheRoot) {
  Facts facts = machine("rhel", "ro console=tty0 console=ttyS2,115200n8");
  const Finding port = judged(facts, "host.serial-port");
  EXPECT_EQ(port.status, Status::kWarn);
  EXPECT_THAT(port.message,
              HasSubstr("is told to write to ttyS2, which is not there; the machine has ttyS0"));
  EXPECT_THAT(port.remedy.commands,
              Contains("grubby --update-kernel=ALL --remove-args=console=ttyS2,115200n8 "
                       "--args=console=ttyS1,115200n8"));
  EXPECT_EQ(judged(facts, "host.serial-login").status, Status::kNotApplicable);
  EXPECT_EQ(judged(facts, "host.serial-boot-menu").status, Status::kNotApplicable);
}

TEST(Console, ALoginThatFailedIsNamed) {
  Facts facts = working("debian", "ro console=tty0 console=ttyS1,115200", "ttyS1");
  facts.system.console.logins = {std::vector<Service>{{.name = "serial-getty@ttyS1",
                                                       .load_state = "loaded",
                                                       .active_state = "failed",
                                                       .unit_file_state = "enabled"}},
                                 "systemctl show"};
  const Finding login = judged(facts, "host.serial-login");
  EXPECT_EQ(login.status, Status::kWarn);
  EXPECT_THAT(login.message, HasSubstr("shows the kernel's text and no login prompt"));
  EXPECT_THAT(login.remedy.commands, Contains("systemctl enable --now serial-getty@ttyS1"));
}

TEST(Console, TheBootMenuIsWhereTheKernelWrites) {
  const Facts bare = working("debian", "ro console=tty0 console=ttyS1,115200", "ttyS1");
  EXPECT_THAT(judged(bare, "host.serial-boot-menu").message,
              HasSubstr("blank from power-on until the kernel"));

  Facts right = bare;
  tell_grub(right, "GRUB_TERMINAL", "console serial");
  tell_grub(right, "GRUB_SERIAL_COMMAND", "serial --unit=0 --speed=115200");
  EXPECT_THAT(judged(right, "host.serial-boot-menu").message,
              HasSubstr("GRUB writes to ttyS0, the kernel to ttyS1"));
  // A file in the folder is read later and overrides; RHEL does not read the folder.
  tell_grub(right, "GRUB_SERIAL_COMMAND", "serial --unit=1 --speed=115200", "/etc/default/grub.d/90-x.cfg");
  EXPECT_EQ(judged(right, "host.serial-boot-menu").status, Status::kPass);
  right.system.os.id = {std::string("rhel"), "/etc/os-release"};
  const Finding red = judged(right, "host.serial-boot-menu");
  EXPECT_EQ(red.status, Status::kWarn);
  EXPECT_THAT(red.remedy.commands, Contains("grub2-mkconfig -o /boot/grub2/grub.cfg"));
}

TEST(Console, GarbageInTheBootMenuIsARate) {
  Facts facts = working("ubuntu", "ro console=tty0 console=ttyS1,115200n8", "ttyS1");
  tell_grub(facts, "GRUB_TERMINAL_OUTPUT", "gfxterm serial");
  tell_grub(facts, "GRUB_SERIAL_COMMAND", "serial --unit=1");
  EXPECT_THAT(judged(facts, "host.serial-boot-menu").message,
              HasSubstr("GRUB writes at 9600 bit/s, the kernel at 115200"));
  for (const char* unclear : {"serial --unit=$UNIT", "serial com1 --speed=115200", "serial --port=0x2f8"}) {
    tell_grub(facts, "GRUB_SERIAL_COMMAND", unclear);
    EXPECT_EQ(judged(facts, "host.serial-boot-menu").status, Status::kNotApplicable) << unclear;
  }
}

TEST(Console, NothingThatANodeSaysReachesACommand) {
  Facts facts = machine("ubuntu", "ro console=$(reboot) console=ttyS1;reboot console=uart8250,io,0x3f8");
  for (const char* rule : kSerialRules) EXPECT_EQ(judged(facts, rule).status, Status::kNotApplicable) << rule;
}

Display display(const char* address, std::uint16_t vendor, bool boot) {
  return {address, {vendor, "vendor"}, {std::uint16_t{1}, "device"}, {boot, "boot_vga"}};
}

Finding screen_of(std::vector<Display> displays, bool asked = true) {
  Evidence evidence;
  Facts facts = machine("ubuntu", "ro");
  facts.system.console.displays = {std::move(displays), "/sys/bus/pci/devices"};
  evidence.nodes.emplace("n1", facts);
  if (asked) evidence.bmcs["n1"] = {.node = "n1"};
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == "host.screen") return finding;
  ADD_FAILURE();
  return {};
}

TEST(Console, AScreenOnAGpuIsBlackInTheBmc) {
  const Display bmc = display("0000:07:00.0", 0x1a03, true);
  const Display hidden = display("0000:07:00.0", 0x1a03, false);
  const Display gpu = display("0000:41:00.0", 0x10de, true);
  EXPECT_EQ(screen_of({bmc, display("0000:41:00.0", 0x10de, false)}).status, Status::kPass);
  EXPECT_THAT(
      screen_of({hidden, gpu}).message,
      HasSubstr("the firmware draws on NVIDIA 0000:41:00.0, and the BMC sends the picture of ASPEED"));
  EXPECT_THAT(screen_of({gpu}).message, HasSubstr("the BIOS switched them off"));
  EXPECT_EQ(screen_of({hidden, gpu}, false).status, Status::kNotApplicable) << "nobody uses its BMC";
  EXPECT_EQ(screen_of({display("0000:00:01.0", 0x1234, true)}).status, Status::kNotApplicable) << "virtual";
  EXPECT_EQ(screen_of({hidden}).status, Status::kNotApplicable);
  EXPECT_EQ(screen_of({}).status, Status::kNotApplicable);
}

}  // namespace
}  // namespace railbed
