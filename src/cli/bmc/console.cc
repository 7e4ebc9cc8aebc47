// railbed console: nodes' serial consoles over the network, for a person or to record them.
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "bmc/console.h"
#include "campaign/change/record_consoles.h"
#include "cli/bmc/bmc_options.h"
#include "cli/command.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

struct ConsoleCommand : BmcCommand {
  bool steal = false;
  std::string log;
  std::string record;  // a folder
  int seconds = 0;
};

// Sets the terminal to raw mode, so that every key goes to the node. The destructor restores it.
class RawTerminal {
 public:
  RawTerminal() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    cfmakeraw(&raw);
    raw_ = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  RawTerminal(const RawTerminal&) = delete;
  ~RawTerminal() {
    if (raw_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  termios before_ = {};
  bool raw_ = false;
};

constexpr std::string_view kHelp = "\r\n~.  leave    ~B  send a break (SysRq)    ~~  a tilde    ~?  this\r\n";

// Passes keys and text on until the person leaves or the session ends. Returns true if the person left.
Result<bool> carry_keys(Console& console, int log) {
  const RawTerminal raw;
  ConsoleKeys keys;
  bool greeted = false;
  bool typing = true;
  while (!console.has_ended() && !interrupted().stop_requested()) {
    pollfd waiting[] = {
        {console.out(), POLLIN, 0}, {console.err(), POLLIN, 0}, {typing ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(waiting, 3, 500) < 0 && errno != EINTR) break;
    const std::string text = console.read();
    if (console.is_open() && !std::exchange(greeted, true))
      print_to_stderr("attached; ~. at the beginning of a line leaves, ~? tells more\r\n");
    write_all(STDOUT_FILENO, text);
    if (log >= 0) write_all(log, text);
    if (waiting[2].revents == 0) continue;
    char typed[1024];
    const ssize_t count = ::read(STDIN_FILENO, typed, sizeof typed);
    if (count <= 0) typing = false;  // the node's text is still shown
    for (const auto& step : keys.feed({typed, static_cast<std::size_t>(std::max<ssize_t>(count, 0))})) {
      if (step.wish == ConsoleKeys::Wish::kLeave) return true;
      if (step.wish == ConsoleKeys::Wish::kHelp) print_to_stderr("{}", kHelp);
      if (step.wish == ConsoleKeys::Wish::kBreak) console.send_break();
      if (step.wish == ConsoleKeys::Wish::kType) console.type(step.keys);
    }
  }
  if (interrupted().stop_requested()) return true;
  return fail(console.why_ended());
}

int run_one(const ConsoleCommand& command, const BmcPlaces& places) {
  const Node* node = find_node(places.cluster, *places.names.begin());
  const auto target = target_of(places.cluster, *node, places.reach);
  if (!target) return report(at_node(node->name, target.error()));
  Fd log;
  if (!command.log.empty()) {
    auto opened = open_console_log(command.log);
    if (!opened) return report(opened.error());
    log = std::move(*opened);
  }
  auto console = attach_console(*target, places.reach.options, command.steal);
  if (!console) return report(at_node(node->name, console.error()));
  const auto left = carry_keys(*console, log.get());
  console->leave();
  if (!left) return report(at_node(node->name, left.error()));
  return kExitClean;
}

int run_record(const ConsoleCommand& command, const BmcPlaces& places) {
  const ConsoleRecord wanted{command.record, command.steal, std::chrono::seconds(command.seconds)};
  const auto show = [&](const std::string& node, std::string_view line) {
    if (command.json) return;
    fmt::print("{}: {}\n", node, line);
    std::fflush(stdout);
  };
  const auto whole =
      record_consoles(places.cluster, places.names, wanted, places.reach, terminal_caller(), show);
  if (!whole) return report(whole.error());
  return *whole ? kExitClean : kExitCouldNotLook;
}

int run_console(const ConsoleCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  if (!command.record.empty()) return run_record(command, *places);
  if (places->names.size() == 1) return run_one(command, *places);
  return report({ErrorKind::kBadInput, "name one node, or --record a folder for the consoles of several"});
}

}  // namespace

Action declare_console(CLI::App& app) {
  auto command = std::make_shared<ConsoleCommand>();
  add_bmc_options(app, *command);
  app.add_flag("--steal", command->steal, "end the session of whoever is attached");
  auto* log =
      app.add_option("--log", command->log, "append all that the node says to this file")->type_name("FILE");
  auto* record =
      app.add_option(
             "--record", command->record,
             "take no keys: write all that these nodes say, each line with its time, to FOLDER/NODE.log")
          ->type_name("FOLDER")
          ->excludes(log);
  app.add_option("--seconds", command->seconds, "with --record: end after so long")
      ->check(between(1, 604800))
      ->needs(record);
  app.footer(
      "\nThe serial console by IPMI's serial-over-LAN: the BIOS, GRUB, the kernel's messages and a login, where the node\n"
      "sends them there (docs/how-to/out-of-band.md). At the beginning of a line ~. leaves, ~B sends a break, ~~ a tilde\n"
      "and ~? says so. A BMC serves one at a time. Examples:\n"
      "  railbed console cluster.yaml gpu17\n"
      "  railbed console cluster.yaml gpu[01-16] --record boot\n\n"
      "Exit codes: 0 left by you, 3 it could not be attached to or broke off.");
  return [command] { return run_console(*command); };
}

}  // namespace railbed
