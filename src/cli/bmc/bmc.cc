// railbed bmc: the BMCs themselves, and the settings in them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.h"
#include "base/wipe.h"
#include "cli/bmc/bmc_options.h"
#include "cli/change/ask_password.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

struct SerialRateCommand : BmcCommand {
  int rate = 0;
  bool yes = false;
};
struct PasswordCommand : BmcCommand {
  std::string new_password_file;
  bool yes = false;
};

template <class T, class Text>
std::string told(const Reading<T>& reading, Text text) {
  return reading.ok() ? text(*reading) : "not told: " + printable(reading.miss().why);
}

std::string serial_text(const SerialOverLan& serial) {
  if (!serial.enabled) return "off";
  return serial.rate ? fmt::format("on, {} bit/s", *serial.rate) : "on, at the serial port's own rate";
}

std::string default_login_text(const std::string& user) {
  return user.empty() ? "refused"
                      : fmt::format("ACCEPTED as {}: change it by `railbed bmc set-password`", user);
}

std::string show_text(const BmcFacts& facts) {
  if (!facts.error.empty()) return fmt::format("{}: no answer: {}\n", facts.node, printable(facts.error));
  const auto device = [](const BmcDevice& it) {
    return fmt::format("{}, firmware {}",
                       it.manufacturer.empty() ? "maker unknown" : printable(it.manufacturer),
                       it.firmware.empty() ? "not told" : printable(it.firmware));
  };
  return fmt::format(
      "{} at {}\n  BMC                {}\n  clock              {}\n  serial-over-LAN    {}\n"
      "  maker's default    {}\n  spoken with by     {}\n",
      facts.node, printable(facts.address), told(facts.device, device),
      told(facts.clock_offset,
           [](double offset) {
             return was_never_set(offset) ? "never set" : fmt::format("{:+.0f} s", offset);
           }),
      told(facts.serial, serial_text), told(facts.default_login, default_login_text),
      facts.cipher ? fmt::format("{}, cipher suite {}", facts.protocol, *facts.cipher) : facts.protocol);
}

int run_show(const BmcCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  auto& [cluster, names, reach] = *places;
  const BmcQuestions questions{.device = true, .clock = true, .serial = true, .default_login = true};
  const auto looks = look_at_bmcs(cluster, names, questions, reach, terminal_caller());
  if (command.json) print_document(kBmcDocument, looks);
  bool lost = false;
  bool open_to_all = false;
  for (const BmcFacts& facts : looks) {
    if (!command.json) fmt::print("{}", show_text(facts));
    lost = lost || !facts.error.empty();
    open_to_all = open_to_all || (facts.default_login.ok() && !facts.default_login->empty());
  }
  return open_to_all ? kExitFailures : lost ? kExitCouldNotLook : kExitClean;
}

int run_set_rate(const SerialRateCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  auto& [cluster, names, reach] = *places;
  if (!may_touch(names, "set the serial rate of", command.yes)) return kExitUsage;
  const auto changes = change_bmcs(
      cluster, names, "setting the serial rate", [&](Bmc& bmc) { return bmc.set_serial_rate(command.rate); },
      reach, terminal_caller());
  return print_changes(changes, fmt::format("serial-over-LAN at {} bit/s", command.rate), command.json);
}

// Checks that ipmi-config can carry the password: it splits lines at blanks and ends them at "#".
Result<void> check_new_password(const std::string& password) {
  if (password.empty() || password.size() > kMaxBmcPassword)
    return fail(ErrorKind::kBadInput,
                fmt::format("a BMC's password has 1 to {} characters", kMaxBmcPassword));
  for (const char c : password)
    if (c <= ' ' || c > '~' || c == '#')
      return fail(ErrorKind::kBadInput,
                  "the new password may hold ASCII letters, digits and signs, but no blank and no #");
  return {};
}

Result<std::string> new_password(const PasswordCommand& command) {
  if (!command.new_password_file.empty()) {
    auto text = read_secret_file(command.new_password_file);
    if (!text) return text;
    std::string password(trim(*text));
    wipe(*text);
    return password;
  }
  auto first = ask_password("New password: ");
  if (!first)
    return fail(ErrorKind::kBadInput,
                "there is no terminal to ask for the new password on: name a file of "
                "mode 0600 by --new-password-file");
  auto again = ask_password("The same again: ");
  const bool same = again && *again == *first;
  if (again) wipe(*again);
  if (!same) return fail(ErrorKind::kBadInput, "these are two passwords; nothing was changed");
  return first;
}

int run_set_password(const PasswordCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  auto& [cluster, names, reach] = *places;
  auto password = new_password(command);
  if (!password) return report(password.error());
  if (const auto fits = check_new_password(*password); !fits) return report(fits.error());
  if (!may_touch(names, "set the BMC's password of", command.yes)) return kExitUsage;
  const auto changes = change_bmcs(
      cluster, names, "setting passwords", [&](Bmc& bmc) { return bmc.set_password(*password); }, reach,
      terminal_caller());
  wipe(*password);
  const int status = print_changes(changes, "the new password counts", command.json);
  if (!cluster.bmc.password_file.empty())
    print_to_stderr("railbed: {} still holds the old password: write the new one there\n",
                    printable(cluster.bmc.password_file));
  return status;
}

}  // namespace

Action declare_bmc(CLI::App& app) {
  auto chosen = std::make_shared<Action>();
  app.require_subcommand(1);
  CLI::App* sub = nullptr;
  auto show = std::make_shared<BmcCommand>();
  sub = app.add_subcommand("show", "what BMCs are: maker, firmware, clock, serial-over-LAN, default login");
  add_bmc_options(*sub, *show);
  sub->callback([show, chosen] { *chosen = [show] { return run_show(*show); }; });

  auto rate = std::make_shared<SerialRateCommand>();
  sub = app.add_subcommand("set-sol-rate", "the rate of serial-over-LAN, now and after the BMC restarts");
  sub->add_option("RATE", rate->rate, "bit/s: 9600, 19200, 38400, 57600 or 115200")
      ->required()
      ->check(one_of({"9600", "19200", "38400", "57600", "115200"}));
  add_bmc_options(*sub, *rate);
  sub->add_flag("--yes", rate->yes, "do not ask, where more than one node is touched");
  sub->callback([rate, chosen] { *chosen = [rate] { return run_set_rate(*rate); }; });

  auto password = std::make_shared<PasswordCommand>();
  sub = app.add_subcommand("set-password", "another password for the user who logs in at the BMCs");
  add_bmc_options(*sub, *password);
  sub->add_option("--new-password-file", password->new_password_file,
                  "holds the new password; its mode must be 0600; without it a person is asked")
      ->type_name("FILE");
  sub->add_flag("--yes", password->yes, "do not ask, where more than one node is touched");
  sub->callback([password, chosen] { *chosen = [password] { return run_set_password(*password); }; });

  add_redfish_commands(app, chosen);
  app.footer(
      "\nExamples:\n"
      "  railbed bmc show cluster.yaml\n"
      "  railbed bmc set-sol-rate 115200 cluster.yaml gpu17\n"
      "  railbed bmc set-password cluster.yaml gpu17\n"
      "  railbed bmc certificates cluster.yaml > bmc-keys\n"
      "  railbed bmc insert http://10.0.0.1/ubuntu.iso cluster.yaml gpu17 && railbed boot cd cluster.yaml gpu17\n\n"
      "Exit codes: 0 done, 2 show: a BMC takes its maker's default login, certificates: a\n"
      "key is another than the trusted one, 3 a BMC could not be asked.");
  return [chosen] { return (*chosen)(); };
}

}  // namespace railbed
