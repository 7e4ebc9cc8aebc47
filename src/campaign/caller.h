// The interface between a campaign and the code that runs it: a command, a daemon or a test. The campaign
// reports progress from any thread, and the caller can stop it. Nothing in this room prints, reads a global
// or parses a command line.
#pragma once

#include <functional>
#include <stop_token>
#include <string_view>

namespace railbed {

using Hear = std::function<void(std::string_view)>;

struct Caller {
  std::stop_token stop = {};
  Hear progress = [](std::string_view) {};  // the current activity; empty when it has ended
  Hear note = [](std::string_view) {};      // a message to keep
};

}  // namespace railbed
