// The terminal for `railbed top`: another screen, and keys one by one. The destructor restores the terminal.
#pragma once

#include <termios.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/live/top_frame.h"

namespace railbed {

class TopTerminal {
 public:
  TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;
  ~TopTerminal();

  // Returns the size and abilities of the window as it is now.
  static TopStyle style();
  // Draws a frame, a line of the screen for each text.
  static void show(const std::vector<std::string>& frame);
  // Returns the keys that come within this time. If the terminal is gone, returns kQuit.
  static std::vector<TopKey> keys(std::chrono::milliseconds within);

 private:
  termios before_ = {};
  bool changed_ = false;
};

// Returns the keys in a terminal's input, by xterm's sequences; unknown bytes are skipped.
std::vector<TopKey> keys_in(std::string_view typed);

// True if LC_ALL, LC_CTYPE or LANG, in POSIX's order, names UTF-8.
bool speaks_utf8();

}  // namespace railbed
