// Describes this program and the libraries and programs that it would use on this machine (`railbed
// self-check`).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "base/result.h"
#include "host/host.h"

namespace railbed {

// A library that is opened at run time, or a program that is called.
struct Part {
  std::string name;     // "libibverbs", "ssh"
  std::string found;    // its path; empty if it is not installed
  std::string why_not;  // then: the loader's message
  std::string without;  // what railbed cannot do without it
  std::string package;  // the package that provides it
  bool needed = false;  // this machine has the hardware that it serves
  FIELDS(Part, name, found, why_not, without, package, needed);
};

// A file with a railbed program.
struct Binary {
  std::string architecture;  // as `uname -m` prints it
  std::string path;
  std::size_t bytes = 0;
  std::string sha256;
  std::string problem;  // why it cannot serve as an agent; empty if it can
  FIELDS(Binary, architecture, path, bytes, sha256, problem);
};

struct SelfCheck {
  std::string railbed;  // version of this program
  std::string glibc;
  Binary self;
  std::vector<Binary> agents;  // the agents that it can send: embedded, and installed for other architectures
  std::vector<Part> libraries;
  std::vector<Part> programs;
  FIELDS(SelfCheck, railbed, glibc, self, agents, libraries, programs);
};

// The functions that find parts; tests replace them.
struct PartFinder {
  std::function<Reading<std::string>(const std::vector<std::string>& files)> library;
  std::function<std::string(const std::string& name)> program;
};
// Returns the finder for this machine.
PartFinder part_finder();

// Checks the file `program`, whose parts are looked up on this machine. Fails if it cannot be read or is not
// a railbed.
Result<SelfCheck> check_self(Host& host, const std::string& program, const PartFinder& finder);
// Checks the running program on this machine.
Result<SelfCheck> check_self();

// Returns 2 if an agent has a problem, 1 if a library that this machine's hardware needs is missing, else 0.
int exit_code(const SelfCheck& check);

}  // namespace railbed
