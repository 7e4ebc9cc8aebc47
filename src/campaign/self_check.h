// What this program is, and what it would open and call on this machine (`railbed self-check`).
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
  std::string found;    // its path; empty: it is not here
  std::string why_not;  // then: the loader's words
  std::string without;  // what is missing then
  std::string package;  // what brings it
  bool needed = false;  // the hardware that it is for is in this machine
  FIELDS(Part, name, found, why_not, without, package, needed);
};

// A railbed as a file.
struct Binary {
  std::string architecture;  // as `uname -m` says it
  std::string path;
  std::size_t bytes = 0;
  std::string sha256;
  std::string problem;  // why it is no agent for its nodes; empty: it is one
  FIELDS(Binary, architecture, path, bytes, sha256, problem);
};

struct SelfCheck {
  std::string version;
  std::string glibc;
  Binary self;
  std::vector<Binary> agents;  // that it would send: within it, and installed for other architectures
  std::vector<Part> libraries;
  std::vector<Part> programs;
  FIELDS(SelfCheck, version, glibc, self, agents, libraries, programs);
};

// How parts are looked for.
struct PartFinder {
  std::function<Reading<std::string>(const std::vector<std::string>& files)> library;
  std::function<std::string(const std::string& name)> program;
};
PartFinder part_finder();  // on this machine

// `program` is the file to be looked at, whose parts this machine shall have. An error: it cannot be read, or
// is no railbed.
Result<SelfCheck> check_self(Host& host, const std::string& program, const PartFinder& finder);
Result<SelfCheck> check_self();  // of this very program, on this machine

// 2 where an installed agent is none, 1 where a part that this machine's hardware is for is missing.
int exit_code(const SelfCheck& check);

}  // namespace railbed
