#include "cli/watch/top_terminal.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

// Selects another screen, hides the cursor, and turns off the wrapping of long lines.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr std::array<std::pair<std::string_view, TopKey>, 18> kTypedKeys = {{
    {"\x1b[A", TopKey::kUp},
    {"\x1b[B", TopKey::kDown},
    {"\x1bOA", TopKey::kUp},
    {"\x1bOB", TopKey::kDown},
    {"\x1b[5~", TopKey::kPageUp},
    {"\x1b[6~", TopKey::kPageDown},
    {"k", TopKey::kUp},
    {"j", TopKey::kDown},
    {"b", TopKey::kPageUp},
    {" ", TopKey::kPageDown},
    {"\r", TopKey::kOpen},
    {"\n", TopKey::kOpen},
    {"f", TopKey::kFaults},
    {"?", TopKey::kHelp},
    {"h", TopKey::kHelp},
    {"q", TopKey::kQuit},
    {"Q", TopKey::kQuit},
    {"\x03", TopKey::kQuit},
}};

}  // namespace

TopTerminal::TopTerminal() {
  if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C stays a signal
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;                     // else the shell would inherit this screen
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  changed_ = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  write_all(STDOUT_FILENO, kEnter);
}

TopTerminal::~TopTerminal() {
  write_all(STDOUT_FILENO, kLeave);
  if (changed_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

TopStyle TopTerminal::style() {
  TopStyle style;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 && size.ws_row != 0) {
    style.width = size.ws_col;
    style.height = size.ws_row;
  }
  style.colour = use_colour(STDOUT_FILENO);
  style.unicode = speaks_utf8();
  return style;
}

void TopTerminal::show(const std::vector<std::string>& frame) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < frame.size(); ++i)
    text += frame[i] + "\x1b[K" + (i + 1 < frame.size() ? "\r\n" : "");
  write_all(STDOUT_FILENO, text + "\x1b[J");
}

std::vector<TopKey> TopTerminal::keys(std::chrono::milliseconds within) {
  pollfd waiting = {STDIN_FILENO, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(within.count())) <= 0) return {};
  std::array<char, 256> typed;
  const ssize_t count = ::read(STDIN_FILENO, typed.data(), typed.size());
  if (count < 0 && errno == EINTR) return {};
  if (count <= 0) return {TopKey::kQuit};
  return keys_in({typed.data(), static_cast<std::size_t>(count)});
}

std::vector<TopKey> keys_in(std::string_view typed) {
  std::vector<TopKey> keys;
  while (!typed.empty()) {
    std::size_t passed = 1;
    for (const auto& [sequence, key] : kTypedKeys) {
      if (!typed.starts_with(sequence)) continue;
      keys.push_back(key);
      passed = sequence.size();
      break;
    }
    typed.remove_prefix(passed);
  }
  return keys;
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      const std::string text = lower(value);
      return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
    }
  return false;
}

}  // namespace railbed
