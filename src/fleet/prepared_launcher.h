// A launcher that asks a scheduler about all nodes before it starts anything on the first: what Slurm's and
// Kubernetes' have in common.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/agent_launcher.h"

namespace railbed::fleet {

class PreparedLauncher : public AgentLauncher {
 public:
  Result<std::vector<std::string>> words(const Target& target, const std::string& script, const Waker& waker,
                                         const std::stop_token& stop) final;

 protected:
  // Called once, before node_words(). An error is every node's.
  virtual Result<void> prepare(const Waker& waker, const std::stop_token& stop) = 0;
  // Of a node that is not refused.
  virtual std::vector<std::string> node_words(const std::string& node, const std::string& script) = 0;

  std::map<std::string, std::string> refused_;  // node → why nothing is started there

 private:
  std::mutex mutex_;
  bool prepared_ = false;
  std::optional<Error> failure_;  // of all nodes
};

// What a scheduler's program prints, within 20 s: `words`, which begin with its name or with what starts it.
// An error has its own words; `missing` says what to do where it is not installed.
inline constexpr std::chrono::seconds kSchedulerDeadline{20};  // that of a busy cluster
Result<std::string> ask_scheduler(std::string_view program, const std::vector<std::string>& words,
                                  std::string_view missing, const std::stop_token& stop);

}  // namespace railbed::fleet
