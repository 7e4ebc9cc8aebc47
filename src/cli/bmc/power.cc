// railbed power, boot, identify: actions of BMCs on their nodes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"
#include "cli/bmc/bmc_options.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/measure/enum_words.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

constexpr std::string_view kExits = "Exit codes: 0 done on every node, 3 failed on some, which are named.";

struct PowerCommand : BmcCommand {
  std::string action;
  bool yes = false;
  int wait_seconds = 0;
};

std::string power_word(const BmcFacts& facts) {
  if (!facts.error.empty()) return fmt::format("no answer: {}", printable(facts.error));
  return std::string(enum_names(PowerState{})[static_cast<std::size_t>(*facts.power)]);
}

int print_power(const std::vector<BmcFacts>& looks, bool json) {
  if (json) print_document(kBmcDocument, looks);
  std::vector<std::pair<std::string, std::string>> answers;
  bool all = true;
  for (const BmcFacts& facts : looks) {
    answers.emplace_back(facts.node, power_word(facts));
    all = all && facts.error.empty();
  }
  if (!json) fmt::print("{}", answers_text(answers));
  return all ? kExitClean : kExitCouldNotLook;
}

// Warns once of BMCs that accepted only the older cipher suite.
void warn_of_cipher(const std::vector<BmcFacts>& looks) {
  std::vector<std::pair<std::string, std::string>> older;
  for (const BmcFacts& facts : looks)
    if (facts.cipher == 3) older.emplace_back(facts.node, "");
  if (!older.empty())
    fmt::print(
        stderr,
        "railbed: {} BMC{} took cipher suite 3 (SHA-1), not 17; `bmc: {{cipher: 3}}` in cluster.yaml asks for it "
        "at once\n",
        older.size(), older.size() == 1 ? "" : "s");
}

int run_power(const PowerCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  auto& [cluster, names, reach] = *places;
  if (command.action == "status") {
    const auto looks = look_at_bmcs(cluster, names, {}, reach, terminal_caller());
    const int status = print_power(looks, command.json);
    warn_of_cipher(looks);
    return status;
  }
  const auto action = enum_of<PowerAction>(command.action);
  if (action != PowerAction::kOn && !may_touch(names, "power " + command.action + " of", command.yes))
    return kExitUsage;
  const auto changes = change_bmcs(
      cluster, names, "power " + command.action, [&](Bmc& bmc) { return bmc.change_power(action); }, reach,
      terminal_caller());
  const int status = print_changes(changes, "power " + command.action + ": the BMC took it", command.json);
  if (command.wait_seconds == 0 || status != kExitClean) return status;
  const bool off = action == PowerAction::kOff || action == PowerAction::kSoft;
  const auto others = wait_for_power(cluster, names, off ? PowerState::kOff : PowerState::kOn,
                                     std::chrono::seconds(command.wait_seconds), reach, terminal_caller());
  for (const BmcFacts& facts : others)
    print_to_stderr("railbed: {}: after {} s its power is {}\n", facts.node, command.wait_seconds,
                    power_word(facts));
  return others.empty() ? kExitClean : kExitFailures;
}

struct BootCommand : BmcCommand {
  std::string device;
  bool once = true;
  bool always = false;
  bool legacy = false;
  bool yes = false;
};

int run_boot(const BootCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  auto& [cluster, names, reach] = *places;
  const BootOrder order{enum_of<BootDevice>(command.device), !command.always, command.legacy};
  if (!may_touch(names, fmt::format("boot {} of", command.device), command.yes)) return kExitUsage;
  const auto changes = change_bmcs(
      cluster, names, "boot " + command.device, [&](Bmc& bmc) { return bmc.set_boot(order); }, reach,
      terminal_caller());
  return print_changes(
      changes, fmt::format("boots from {} {}", command.device, order.once ? "the next time" : "from now on"),
      command.json);
}

struct IdentifyCommand : BmcCommand {
  int seconds = 60;
  bool off = false;
};

int run_identify(const IdentifyCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  auto& [cluster, names, reach] = *places;
  const int seconds = command.off ? 0 : command.seconds;
  const auto changes = change_bmcs(
      cluster, names, "identify", [&](Bmc& bmc) { return bmc.set_identify(seconds); }, reach,
      terminal_caller());
  return print_changes(changes, command.off ? "dark" : std::string("shines"), command.json);
}

}  // namespace

Action declare_power(CLI::App& app) {
  auto command = std::make_shared<PowerCommand>();
  app.add_option("ACTION", command->action, "status, on, off, soft, cycle or reset")
      ->required()
      ->check(one_of({"status", "on", "off", "soft", "cycle", "reset"}));
  add_bmc_options(app, *command);
  app.add_option("--wait", command->wait_seconds, "wait so many seconds until the power is as asked")
      ->type_name("SECONDS")
      ->check(between(1, 3600));
  app.add_flag("--yes", command->yes, "do not ask, where more than one node is touched");
  app.footer(
      "\nsoft asks the operating system to shut down; off, cycle and reset do not ask it, and what it has not written is\n"
      "lost. Of more than one node a person is asked first. Examples:\n"
      "  railbed power status cluster.yaml\n"
      "  railbed power soft cluster.yaml gpu[01-08] --wait 300\n\n" +
      std::string(kExits) + " With --wait also 2: the power of some is\nnot as asked.");
  return [command] { return run_power(*command); };
}

Action declare_boot(CLI::App& app) {
  auto command = std::make_shared<BootCommand>();
  app.add_option("DEVICE", command->device,
                 "pxe, disk, cd, bios (into its setup), or none: as the BIOS is set up")
      ->required()
      ->check(one_of({"pxe", "disk", "cd", "bios", "none"}));
  add_bmc_options(app, *command);
  auto* once = app.add_flag("--once", command->once, "the next boot alone, which is the default");
  app.add_flag("--always", command->always, "every boot from now on, until you say otherwise")
      ->excludes(once);
  app.add_flag("--legacy", command->legacy, "as a PC's BIOS boots; without it by UEFI");
  app.add_flag("--yes", command->yes, "do not ask, where more than one node is touched");
  app.footer(
      "\nSays what the node boots from; `railbed power` then starts it. Examples:\n"
      "  railbed boot pxe cluster.yaml gpu01 && railbed power cycle cluster.yaml gpu01\n\n" +
      std::string(kExits));
  return [command] { return run_boot(*command); };
}

Action declare_identify(CLI::App& app) {
  auto command = std::make_shared<IdentifyCommand>();
  add_bmc_options(app, *command);
  auto* seconds = app.add_option("--seconds", command->seconds, "how long it shines")
                      ->capture_default_str()
                      ->check(between(1, 255));
  app.add_flag("--off", command->off, "turn it off")->excludes(seconds);
  app.footer(
      "\nThe light that finds a machine in a rack. By Redfish it shines until --off says otherwise. Example:\n  railbed identify cluster.yaml gpu17\n\n" +
      std::string(kExits));
  return [command] { return run_identify(*command); };
}

}  // namespace railbed
