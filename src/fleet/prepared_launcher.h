// The base of launchers that query a scheduler about all nodes before they start anything: Slurm and
// Kubernetes.
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

// Calls prepare() before the first command. Thread-safe; callers wait while another one prepares.
class PreparedLauncher : public AgentLauncher {
 public:
  Result<std::vector<std::string>> words(const Target& target, const std::string& script, const Waker& waker,
                                         const std::stop_token& stop) final;

 protected:
  // Called once, before node_words(). An error applies to all nodes.
  virtual Result<void> prepare(const Waker& waker, const std::stop_token& stop) = 0;
  // Returns the command for a node that is not refused.
  virtual std::vector<std::string> node_words(const std::string& node, const std::string& script) = 0;

  std::map<std::string, std::string> refused_;  // node → why nothing is started there

 private:
  std::mutex mutex_;
  bool prepared_ = false;
  std::optional<Error> failure_;  // applies to all nodes
};

// Returns the output of a scheduler's program. `words` starts with its name, or with a program that starts
// it. Fails after 20 s, or with the program's own message; `missing` is the message if it is not installed.
inline constexpr std::chrono::seconds kSchedulerDeadline{20};  // sufficient for a busy cluster
Result<std::string> ask_scheduler(std::string_view program, const std::vector<std::string>& words,
                                  std::string_view missing, const std::stop_token& stop);

}  // namespace railbed::fleet
