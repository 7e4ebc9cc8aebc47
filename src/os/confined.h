// Runs a program that railbed does not know, such as a site's own check, so that it can do little harm: without
// input, in a session of its own, as an account without rights unless another is named, with limits, and with
// nothing left of it afterwards.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

struct ConfinedJob {
  std::vector<std::string> run;  // program (an absolute path, or a name without a slash) and arguments
  std::string user;              // empty: see run_confined()
  int timeout = 10;              // seconds
  FIELDS(ConfinedJob, run, user, timeout);
  bool operator==(const ConfinedJob&) const = default;
};

struct ConfinedOutput {
  int exit_code = 0;                // 128 + signal if a signal ended it
  std::vector<std::string> output;  // lines that it printed on both streams, cleaned; see kConfinedOutput
  bool cut = false;                 // it printed more
  std::string account;              // who ran it
  FIELDS(ConfinedOutput, exit_code, output, cut, account);
  bool operator==(const ConfinedOutput&) const = default;
};

inline constexpr std::size_t kConfinedOutput =
    4096;  // bytes of its output that are kept, and lines at most 256

// Runs the program once. Without `user` it runs as this process's own account; in place of root as nobody or,
// if root came by sudo, as the account that called sudo. Only root without sudo may name another account: an
// agent that sudo started does what is on a closed list (supervisor.h). Without `user` it cannot gain rights
// either (PR_SET_NO_NEW_PRIVS).
//
// It gets a fixed PATH, LC_ALL=C and HOME=/, the working folder /, and limits of processor time, memory and
// file sizes. At the timeout, when this thread ends, or beyond kMaxOutput bytes its process group is killed; so
// is whatever else it left behind when it has ended.
//
// The reading is absent if there is no such program, denied if the account may not be used or another user
// could change what root shall run, and a timeout if it had to be ended.
Reading<ConfinedOutput> run_confined(const ConfinedJob& job);

}  // namespace railbed
