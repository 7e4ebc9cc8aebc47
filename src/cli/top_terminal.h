// The terminal as `railbed top` uses it: another screen, keys one by one, and all as it was before when this
// goes.
#pragma once

#include <termios.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/top_frame.h"

namespace railbed {

class TopTerminal {
 public:
  TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;
  ~TopTerminal();

  // Of the window as it is now.
  static TopStyle style();
  static void show(const std::vector<std::string>& frame);
  // The keys that come within so long. A terminal that is gone is a person who left.
  static std::vector<TopKey> keys(std::chrono::milliseconds within);

 private:
  termios before_ = {};
  bool changed_ = false;
};

// What a terminal sends for keys, by xterm's names; others are passed over.
std::vector<TopKey> keys_in(std::string_view typed);

// By LC_ALL, LC_CTYPE and LANG, as POSIX ranks them.
bool speaks_utf8();

}  // namespace railbed
