// The process on the node that carries an apply out. It belongs neither to ssh nor to the agent, so that it
// goes on, and goes back, when both are cut off. Should it die itself, a timer of systemd's goes back in its
// place; should the machine die, the boot guard does.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apply/transaction.h"
#include "base/fd.h"
#include "base/result.h"

namespace railbed {

// One process at a time works on an apply.
class ApplyLock {
 public:
  // None: somebody has it still after `patience`.
  static std::optional<ApplyLock> take(const WritableHost& host, const std::string& id,
                                       std::chrono::milliseconds patience);

 private:
  explicit ApplyLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Switches over, waits for the decision, carries it out. Without one in time it goes back; a controller that
// still waits for other nodes gets more time (Transaction::hear), up to what the slowest of them may take.
Result<void> keep_apply(WritableHost& host, const std::string& id,
                        std::chrono::milliseconds look_every = std::chrono::milliseconds(200));

// Starts keep_apply() in a process of its own, and the timer behind it.
Result<void> start_keeper(WritableHost& host, const Transaction& transaction);

struct Recovery {
  bool booting = false;  // the network is not up yet
  bool overdue =
      false;  // the keeper is past its time and is ended; else an apply with a keeper is left alone
};
// Rolls back what was left open: `id`, or all. The answer: the names of those that went back. A record that
// is not believed (Transaction::open) is an error, and is not carried out.
Result<std::vector<std::string>> recover_applies(WritableHost& host, const std::string& id,
                                                 const Recovery& how);

}  // namespace railbed
