// Maps the messages of ssh and of the node to a diagnosis with a remedy. This is the only place in railbed
// that searches messages for phrases: ssh, srun, a shell and a C library provide nothing but text and a
// status, which is 255 for every failed connection. All other code gets the kind of error and the node as
// data.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "fleet/bootstrap.h"
#include "fleet/fleet.h"

namespace railbed::fleet {

// The observations on a node whose agent is missing or has ended.
struct Sighting {
  std::string_view doing;        // "starting the agent"
  std::string_view errors;       // stderr of ssh, the shell and the agent
  std::string_view noise;        // stdout before the agent's first frame
  std::optional<int> exit_code;  // of ssh; nullopt if it was still running at the deadline
  std::chrono::milliseconds waited{0};
};

// The result of a diagnosis.
struct Diagnosis {
  Error error;           // its text starts with the node's name
  bool passing = false;  // sshd was only overloaded; another attempt may succeed
};

// Returns the diagnosis of a node from the observations.
Diagnosis diagnose(const Target& target, const Sighting& sighting);

// Returns what to do about an error that diagnose() made for this target, as a sentence; empty if it made none, or none that
// says what to do.
std::string remedy_of(const Error& error, const Target& target);

// Returns the error for a rejected password, after sudo has prompted for it again. `said` is its output
// before that.
Error password_refused(const Target& target, std::string_view said);

// Returns the error for a line of the bootstrap script other than "push".
Error diagnose(const Target& target, const BootstrapLine& line, std::string_view own_architecture);

}  // namespace railbed::fleet
