// Whoever runs a campaign: a command, a daemon, a test. It hears what happens, from any thread, and can end
// it. Nothing in this room prints, reads a global or knows a command line.
#pragma once

#include <functional>
#include <stop_token>
#include <string_view>

namespace railbed {

using Hear = std::function<void(std::string_view)>;

struct Caller {
  std::stop_token stop = {};
  Hear progress = [](std::string_view) {};  // what is being done now; empty: nothing
  Hear note = [](std::string_view) {};      // a line worth keeping
};

}  // namespace railbed
