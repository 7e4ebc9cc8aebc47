// The process on the node that carries out an apply. It belongs neither to ssh nor to the agent, so it
// continues, or rolls back, when both are cut off. If it dies, a systemd timer rolls back in its place; if
// the machine dies, the boot guard does.
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

// A file lock: one process at a time works on an apply. The lock is released on destruction.
class ApplyLock {
 public:
  // Returns nullopt if another process still has the lock after `patience`, or it cannot be opened.
  static std::optional<ApplyLock> take(const WritableHost& host, const std::string& id,
                                       std::chrono::milliseconds patience);

 private:
  explicit ApplyLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Switches over, waits for the decision, and carries it out; without a decision in time it rolls back. A
// controller that waits for other nodes gets more time (Transaction::hear), up to the longest time that the
// slowest of them may take. Checks for the decision every `look_every`.
Result<void> keep_apply(WritableHost& host, const std::string& id,
                        std::chrono::milliseconds look_every = std::chrono::milliseconds(200));

// Starts keep_apply() in a separate process, and with systemd the timer that rolls back if it dies.
Result<void> start_keeper(WritableHost& host, const Transaction& transaction);

// The circumstances of a recovery.
struct Recovery {
  bool booting = false;  // the network is not up yet
  // The keeper has exceeded its time and is killed. If false, an apply with a keeper is left alone.
  bool overdue = false;
};
// Rolls back open applies: `id`, or "all". Returns the names of those that were rolled back. Fails if a
// record is not trusted (Transaction::open); such a record is not carried out.
Result<std::vector<std::string>> recover_applies(WritableHost& host, const std::string& id,
                                                 const Recovery& how);

}  // namespace railbed
