// Something that was seen outside a job's log and that may confirm or refute a cause: a finding on a node, a rule
// that passed there, a line of another file.
#pragma once

#include <string>

namespace railbed::diagnose {

struct Observation {
  std::string id;        // "red:gpu.xid-reset", "green:memory.memlock"
  std::string node;      // empty if it concerns no node, or the node is not known
  std::string evidence;  // one line, with its place: "gpu01: GPU 3 fell off the bus (dmesg.txt)"
};

}  // namespace railbed::diagnose
