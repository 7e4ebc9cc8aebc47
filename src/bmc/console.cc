#include "bmc/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "os/process.h"
#include "os/terminal.h"

namespace railbed {
namespace {

constexpr std::string_view kOpened = "[SOL Session operational.  Use ";
constexpr std::size_t kMaxGreeting = 4096;
constexpr std::size_t kMaxSaid = 4096;
constexpr auto kLeaving = std::chrono::seconds(5);
// ipmitool's own escape character, which people do not type: "~" must reach ConsoleKeys instead.
constexpr char kItsEscape = '\x1f';

std::vector<std::string> ipmitool_words(const BmcTarget& target, int cipher) {
  return {"ipmitool",
          "-I",
          "lanplus",
          "-C",
          std::to_string(cipher),
          "-N",
          "2",
          "-R",
          "2",
          "-H",
          target.address,
          "-U",
          target.login.user,
          "-f",
          SecretFiles::path(0),
          "-e",
          std::string(1, kItsEscape),
          "sol"};
}

SecretFiles password_file(const BmcTarget& target) { return SecretFiles({target.login.password + "\n"}); }

// Appends the available bytes of `from` to `into`. Returns false at the end or on an error; the end also
// closes `from`.
bool take(Fd& from, std::string& into) {
  std::array<char, 4096> piece;
  while (from) {
    const ssize_t got = ::read(from.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) from.reset();
    into.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return false;
}

}  // namespace

Result<Console> Console::open(const BmcTarget& target, int cipher) {
  auto words = ipmitool_words(target, cipher);
  words.push_back("activate");
  // It gets a terminal, because ipmitool writes to a pipe only in whole blocks.
  auto program = start_in_terminal(words, password_file(target));
  if (!program)
    return fail(
        ErrorKind::kUnavailable,
        program.error().text + ": consoles need ipmitool (Debian, Ubuntu and RHEL: package ipmitool)");
  return Console(std::move(*program), target, cipher);
}

std::string Console::read() {
  std::string text;
  if (!take(program_.out, text)) ended_ = true;
  take(program_.err, said_);
  if (said_.size() > kMaxSaid) said_.resize(kMaxSaid);
  if (open_) return text;
  greeting_ += text;
  const std::size_t opened = greeting_.find(kOpened);
  const std::size_t line = opened == std::string::npos ? opened : greeting_.find('\n', opened);
  if (line == std::string::npos) {
    if (greeting_.size() > kMaxGreeting) ended_ = true;
    return "";
  }
  open_ = true;
  return greeting_.substr(line + 1);
}

Result<Console> attach_console(const BmcTarget& target, const BmcOptions& options, bool steal) {
  const auto bmc = open_ipmi(target, options);  // serial-over-LAN is IPMI's, whatever cluster.yaml names
  RETURN_IF_ERROR(required(bmc->power()));
  const int cipher = bmc->cipher().value_or(17);
  if (steal) RETURN_IF_ERROR(end_console(target, cipher, options.deadline, options.stop));
  return Console::open(target, cipher);
}

bool Console::is_taken() const {
  return said_.find("already active on another session") != std::string::npos;
}

Error Console::why_ended() const {
  const auto has = [&](std::string_view phrase) { return said_.find(phrase) != std::string::npos; };
  if (is_taken()) return {ErrorKind::kUnavailable, "somebody else has its console; --steal takes it over"};
  if (has("Unable to establish"))
    return {ErrorKind::kUnavailable, "its BMC refuses the session, or does not answer"};
  if (has("SOL payload disabled") || has("Payload type not enabled"))
    return {ErrorKind::kUnavailable, "serial-over-LAN is off in its BMC"};
  if (open_) return {ErrorKind::kCancelled, "the BMC ended the session"};
  const std::string words = printable(trim(said_).substr(0, 200));
  return {ErrorKind::kUnavailable, words.empty() ? "ipmitool ended without a word" : words};
}

void Console::type(std::string_view keys) {
  while (!keys.empty()) {
    // Keys that the BMC does not accept at once are lost; this does not wait.
    const ssize_t put = write(program_.in.get(), keys.data(), keys.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    keys.remove_prefix(static_cast<std::size_t>(put));
  }
}

void Console::leave() {
  program_.child.stop();
  const bool ours = open_ && !std::exchange(ended_, true);
  // An error helps no caller at this point; the BMC drops the session by itself.
  if (ours) (void)end_console(target_, cipher_, kLeaving, {});
}

void Console::send_break() { type(fmt::format("{}B", kItsEscape)); }

Result<void> end_console(const BmcTarget& target, int cipher, std::chrono::milliseconds deadline,
                         std::stop_token stop) {
  auto words = ipmitool_words(target, cipher);
  words.push_back("deactivate");
  const auto said = run_program(words, deadline, std::move(stop), password_file(target));
  if (!said.ok()) return fail(ErrorKind::kUnavailable, said.miss().why);
  // Without an active session, some versions of ipmitool print this and exit with 1.
  const bool nobody = said->error_output.find("already de-activated") != std::string::npos;
  if (said->exit_code == 0 || nobody) return {};
  return fail(ErrorKind::kUnavailable,
              "its BMC did not end the other session: " + printable(trim(said->error_output).substr(0, 200)));
}

std::vector<ConsoleKeys::Step> ConsoleKeys::feed(std::string_view typed) {
  std::vector<Step> steps;
  const auto type = [&](char key) {
    if (steps.empty() || steps.back().wish != Wish::kType) steps.push_back({});
    steps.back().keys += key;
    line_begins_ = key == '\r' || key == '\n';
  };
  for (const char key : typed) {
    if (!std::exchange(escaped_, false)) {
      if (key == '~' && line_begins_)
        escaped_ = true;
      else
        type(key);
    } else if (key == '.') {
      steps.push_back({Wish::kLeave});
    } else if (key == 'B') {
      steps.push_back({Wish::kBreak});
    } else if (key == '?') {
      steps.push_back({Wish::kHelp});
    } else {
      if (key != '~') type('~');
      type(key);
    }
  }
  return steps;
}

}  // namespace railbed
