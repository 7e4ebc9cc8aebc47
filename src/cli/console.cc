// railbed console: nodes' serial consoles over the network, for a person or for the record.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/fd.h"
#include "base/moment.h"
#include "base/text.h"
#include "bmc/console.h"
#include "cli/bmc_options.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxLine = 4096;
constexpr auto kRetry = std::chrono::seconds(5);

struct ConsoleCommand : BmcCommand {
  bool steal = false;
  std::string log;
  std::string record;  // a folder
  int seconds = 0;
};

// Every key goes to the node; the terminal is as it was when this goes.
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

Result<Fd> open_log(const std::string& path) {
  Fd log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat status = {};
  if (!log || fstat(log.get(), &status) != 0)
    return fail(ErrorKind::kBadInput, fmt::format("{}: {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kBadInput, path + " is no regular file");
  return log;
}

// The suite that the BMC takes; or why it cannot be asked.
Result<int> cipher_of(const BmcTarget& target, const BmcOptions& options) {
  const auto bmc = open_bmc(target, options);
  if (const auto power = required(bmc->power()); !power) return fail(power.error());
  return bmc->cipher().value_or(17);
}

Result<Console> attach(const BmcTarget& target, const BmcOptions& options, bool steal) {
  if (target.access.protocol != BmcProtocol::kIpmi)
    return fail(ErrorKind::kUnavailable, "consoles are reached by IPMI alone");
  const auto cipher = cipher_of(target, options);
  if (!cipher) return fail(cipher.error());
  if (steal)
    if (auto ended = end_console(target, *cipher, options.deadline, options.stop); !ended) return fail(ended.error());
  return Console::open(target, *cipher);
}

constexpr std::string_view kHelp =
    "\r\n~.  leave    ~B  send a break (SysRq)    ~~  a tilde    ~?  this\r\n";

// Until the person leaves or the session ends; whether the person left.
Result<bool> carry_keys(Console& console, int log) {
  const RawTerminal raw;
  ConsoleKeys keys;
  bool greeted = false;
  bool typing = true;
  while (!console.has_ended() && !interrupted().stop_requested()) {
    pollfd waiting[] = {{console.out(), POLLIN, 0}, {console.err(), POLLIN, 0}, {typing ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(waiting, 3, 500) < 0 && errno != EINTR) break;
    const std::string text = console.read();
    if (console.is_open() && !std::exchange(greeted, true))
      fmt::print(stderr, "attached; ~. at the beginning of a line leaves, ~? tells more\r\n");
    write_all(STDOUT_FILENO, text);
    if (log >= 0) write_all(log, text);
    if (waiting[2].revents == 0) continue;
    char typed[1024];
    const ssize_t count = ::read(STDIN_FILENO, typed, sizeof typed);
    if (count <= 0) typing = false;  // what comes is still shown
    for (const auto& step : keys.feed({typed, static_cast<std::size_t>(std::max<ssize_t>(count, 0))})) {
      if (step.wish == ConsoleKeys::Wish::kLeave) return true;
      if (step.wish == ConsoleKeys::Wish::kHelp) fmt::print(stderr, "{}", kHelp);
      if (step.wish == ConsoleKeys::Wish::kBreak) console.send_break();
      if (step.wish == ConsoleKeys::Wish::kType) console.type(step.keys);
    }
  }
  if (interrupted().stop_requested()) return true;
  return fail(console.why_ended());
}

int run_one(const ConsoleCommand& command, const BmcPlaces& places) {
  const Node* node = find_node(places.cluster, *places.names.begin());
  const auto target = target_of(places.cluster, *node, places.reach.logins);
  if (!target) return report(at_node(node->name, target.error()));
  Fd log;
  if (!command.log.empty()) {
    auto opened = open_log(command.log);
    if (!opened) return report(opened.error());
    log = std::move(*opened);
  }
  auto console = attach(*target, places.reach.options, command.steal);
  if (!console) return report(at_node(node->name, console.error()));
  const auto left = carry_keys(*console, log.get());
  console->leave();
  if (!left) return report(at_node(node->name, left.error()));
  return kExitClean;
}

// One node's console for the record: it comes back when its BMC does.
struct Recording {
  BmcTarget target;
  Fd log;
  std::optional<Console> console = {};
  Clock::time_point next_try = {};
  std::string line = {};
  std::string trouble = {};  // as it was said last
};

void put_line(Recording& one, std::string_view line, bool show) {
  const std::string text = printable(line);
  write_all(one.log.get(), fmt::format("{} {}\n", utc_now(), text));
  if (show) fmt::print("{}: {}\n", one.target.node, text);
}

void put_text(Recording& one, std::string_view text, bool show) {
  for (const char c : text) {
    if (c == '\r') continue;
    if (c != '\n') one.line += c;
    if (c != '\n' && one.line.size() < kMaxLine) continue;
    if (!one.line.empty()) put_line(one, one.line, show);
    one.line.clear();
  }
}

void put_trouble(Recording& one, const Error& error) {
  if (error.text == one.trouble) return;
  one.trouble = error.text;
  put_line(one, "[railbed: " + error.text + "]", false);
  fmt::print(stderr, "railbed: {}: {}\n", one.target.node, printable(error.text));
}

void try_attach(Recording& one, const BmcOptions& options, bool steal) {
  one.next_try = Clock::now() + kRetry;
  auto console = attach(one.target, options, steal);
  if (console)
    one.console.emplace(std::move(*console));
  else
    put_trouble(one, console.error());
}

void pump(Recording& one, bool show) {
  const bool was_open = one.console->is_open();
  put_text(one, one.console->read(), show);
  if (!was_open && one.console->is_open()) {
    one.trouble.clear();
    put_line(one, "[railbed: attached]", false);
  }
  if (!one.console->has_ended()) return;
  put_trouble(one, one.console->why_ended());
  one.console.reset();
  one.next_try = Clock::now() + kRetry;
}

void record(std::vector<Recording>& all, const ConsoleCommand& command, const BmcOptions& options) {
  const auto end = Clock::now() + std::chrono::seconds(command.seconds);
  const bool show = !command.json;
  const std::stop_token stop = interrupted();
  while (!stop.stop_requested() && (command.seconds == 0 || Clock::now() < end)) {
    std::vector<pollfd> waiting;
    for (Recording& one : all) {
      if (!one.console && Clock::now() >= one.next_try) try_attach(one, options, command.steal);
      if (!one.console) continue;
      waiting.push_back({one.console->out(), POLLIN, 0});
      waiting.push_back({one.console->err(), POLLIN, 0});
    }
    poll(waiting.data(), waiting.size(), 200);
    for (Recording& one : all)
      if (one.console) pump(one, show);
    std::fflush(stdout);
  }
  std::vector<std::jthread> leaving;
  for (Recording& one : all) {
    if (!one.line.empty()) put_line(one, one.line, show);
    if (one.console) leaving.emplace_back([&one] { one.console->leave(); });
  }
}

int run_record(const ConsoleCommand& command, const BmcPlaces& places) {
  std::error_code error;
  std::filesystem::create_directories(command.record, error);
  std::vector<Recording> all;
  for (const std::string& name : places.names) {
    auto target = target_of(places.cluster, *find_node(places.cluster, name), places.reach.logins);
    if (!target) return report(at_node(name, target.error()));
    auto log = open_log(command.record + "/" + name + ".log");
    if (!log) return report(log.error());
    all.push_back({std::move(*target), std::move(*log)});
  }
  record(all, command, places.reach.options);
  const bool troubled = std::ranges::any_of(all, [](const Recording& one) { return !one.trouble.empty(); });
  return troubled ? kExitCouldNotLook : kExitClean;
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
  auto* log = app.add_option("--log", command->log, "append all that the node says to this file")->type_name("FILE");
  auto* record = app.add_option("--record", command->record,
                                "no keys: lines of all these nodes, each with its time, into FOLDER/NODE.log")
                     ->type_name("FOLDER")
                     ->excludes(log);
  app.add_option("--seconds", command->seconds, "with --record: end after so long")
      ->check(CLI::Range(1, 604800))
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
