// From what ssh and the node said to what a person can do about it. This is the one place of railbed that
// looks for phrases in messages: ssh, srun, a shell and a C library tell nothing but their words and a
// status, the same 255 for every failed connection. Everything behind it gets kind and node as data.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "fleet/bootstrap.h"
#include "fleet/fleet.h"

namespace railbed::fleet {

// What was seen of a node whose agent is not there, or not any more.
struct Sighting {
  std::string_view doing;        // "starting the agent"
  std::string_view errors;       // what ssh, the shell and the agent wrote to stderr
  std::string_view noise;        // what came on stdout before the agent spoke
  std::optional<int> exit_code;  // of ssh; nothing: it still ran when its time was over
  std::chrono::milliseconds waited{0};
};

struct Diagnosis {
  Error error;           // its text begins with the node's name
  bool passing = false;  // the server was only too busy to greet us: worth another try
};

Diagnosis diagnose(const Target& target, const Sighting& sighting);

// sudo asked again. `said`: what it said before.
Error password_refused(const Target& target, std::string_view said);

// What the bootstrap script reported, unless it is "push".
Error diagnose(const Target& target, const BootstrapLine& line, std::string_view own_architecture);

}  // namespace railbed::fleet
