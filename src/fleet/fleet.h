// Calls agents on many nodes at once. A Fleet holds one Peer for each node, which connects when it is first
// called.
//
//   fleet::Fleet fleet(fleet::targets_of(cluster), options);
//   auto answers = fleet::gather(fleet, "facts", "{}", std::chrono::seconds(20), interrupted(),
//                                [](const auto& step) { progress(step.to_text()); });
//   for (const fleet::Answer& answer : answers)   // in the order of the targets
//     answer.result ? use(*answer.result) : complain(answer.node, answer.result.error());
//
// A node that is dead, slow, full, of another architecture, or whose response makes no sense yields an Error.
// Its text names the node, the reason and the remedy. Such a node never delays the others.
// docs/reference/agent-protocol.md describes how the agent gets there and what is transmitted.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/peer.h"
#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed::fleet {

// One node, and how to reach it.
struct Target {
  // Name of the node in results and errors.
  std::string name;
  // Destination for ssh: "gpu07", "user@10.0.0.7", "ssh://gpu07:2222".
  std::string destination;
  bool local = false;  // start the agent on this machine, without ssh
};

// Returns the target of a node. A node whose ssh destination is this machine's own host name is this machine.
Target target_of(const Node& node);
std::vector<Target> targets_of(const Cluster& cluster);

// The program that starts the agents (agent_launcher.h).
enum class Launcher { kSsh, kSlurm, kKubernetes };

// The choice of Slurm nodes: docs/how-to/slurm.md.
struct SlurmChoice {
  // The job whose steps the agents are; empty for the present job, or else a new allocation.
  std::string job;
  std::string partition;              // of a new allocation; empty for one with all nodes
  bool overlap = false;               // share nodes with other jobs
  std::chrono::seconds patience{60};  // limit for waiting for an allocation
  bool operator==(const SlurmChoice&) const = default;
};

// The choice of pods in which agents are started: docs/how-to/kubernetes.md. The defaults are those of the
// manifests in deploy/kubernetes/agent.
struct KubernetesChoice {
  std::string kubeconfig;  // for kubectl; empty for its default
  std::string context;     // within it; empty for the current one
  std::string name_space = "railbed";
  std::string selector = "app.kubernetes.io/name=railbed-agent";
  bool operator==(const KubernetesChoice&) const = default;
};

// Settings of a fleet.
struct FleetOptions {
  Launcher launcher = Launcher::kSsh;
  SlurmChoice slurm;
  KubernetesChoice kubernetes;
  // Restricts the nodes of a scheduler; empty for all.
  std::string nodelist;
  std::string ssh_config;  // for ssh -F; empty for the user's own
  // Further arguments for ssh, before the destination: {"-o", "Port=2222"}.
  std::vector<std::string> ssh_options;
  // Connections stay open for a few minutes (shared_connection.h).
  bool share_connections = false;
  // Number of nodes that gather() calls at once.
  std::size_t parallelism = 32;
  std::chrono::milliseconds connect_deadline = std::chrono::seconds(10);  // until sshd sends its greeting
  // Until the agent starts, or turns out to be missing.
  std::chrono::milliseconds start_deadline = std::chrono::seconds(15);
  std::chrono::milliseconds push_deadline = std::chrono::seconds(60);  // for copying a missing agent
  // The agent to push; empty for this program.
  std::string binary;
  std::map<std::string, std::string> agent_binaries;  // for other architectures: "aarch64" → path
  // File with saved hashes (hashed_file.h); empty to hash every time.
  std::string agent_hashes;
  std::string ssh_program = "ssh";
  bool as_root = false;       // run the agent as root, from a copy that only root can change (root_start.h)
  std::string sudo_password;  // a secret, in memory only; empty if sudo must not require one
};

// Returns the path of the file that this process was started from. It is the agent to push unless the options
// name another.
std::string own_program();

// See the head of this file. Thread-safe except for moves and destruction.
class Fleet {
 public:
  // Creates one session for each target, without connecting.
  Fleet(std::vector<Target> targets, FleetOptions options);
  // Ends all agents and ssh processes, and waits for them: normally at most 1.5 s, and 7 s for a process that
  // no signal ends (Link::close()). A Slurm launcher also releases its allocation.
  ~Fleet();
  Fleet(Fleet&&) noexcept;
  Fleet& operator=(Fleet&&) noexcept;

  std::size_t size() const;
  std::size_t parallelism() const;
  Launcher launcher() const;
  // Returns a node's peer. The first call of the peer also connects, with separate deadlines (FleetOptions);
  // the `deadline` of a call applies only to the call itself. A failed connection is not retried: each later
  // call returns the same Error.
  Peer& peer(std::size_t index);
  Peer* find(std::string_view name);  // null if there is no such node
  // Drops the node's connection; the next call connects anew. Precondition: no call of that peer is in progress.
  void connect_again(std::size_t index);
  // Returns whether the node has been connecting for longer than usual. A thread that waits for it does no
  // work.
  bool is_silent(std::size_t index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The result of calling one node.
struct Answer {
  std::string node;
  Result<std::string> result;
};

// The progress of calling all nodes.
struct Step {
  std::size_t done = 0;
  std::size_t failed = 0;  // included in done
  std::size_t total = 0;
  std::string to_text() const;  // "27/32 nodes, 2 failed"
};
using OnStep = std::function<void(const Step&)>;

// Calls `method` on every node, `parallelism` nodes at a time. Nodes that are silent while they connect do
// not count, up to three times as many. `take` receives each response as it arrives, from several threads at
// once. `on_step` is called after each response, by one thread at a time. After a stop, nodes not called yet
// yield kCancelled.
using ParamsOf = std::function<std::string(const std::string& node)>;
void ask_each(Fleet& fleet, std::string_view method, const ParamsOf& params,
              std::chrono::milliseconds deadline, std::stop_token stop,
              const std::function<void(std::size_t index, Answer answer)>& take, const OnStep& on_step = {});

// Does the same and returns the responses in the order of the targets.
std::vector<Answer> gather(Fleet& fleet, std::string_view method, const ParamsOf& params,
                           std::chrono::milliseconds deadline, std::stop_token stop = {},
                           const OnStep& on_step = {});
// Does the same with equal parameters for all nodes.
std::vector<Answer> gather(Fleet& fleet, std::string_view method, const std::string& params,
                           std::chrono::milliseconds deadline, std::stop_token stop = {},
                           const OnStep& on_step = {});

// Runs the agent until `in` ends or `stop`. It handles each request on its own thread, and writes only frames to
// `out`.
// Before it returns, it cancels all handlers and waits up to `grace` for them. Returns the number of handlers
// that are still running then.
std::size_t serve(int in, int out, const Handlers& handlers, const std::stop_token& stop = {},
                  std::chrono::milliseconds grace = std::chrono::seconds(5));

// Runs serve() on this process's stdin and stdout. Other code loses them: its output goes to stderr from then
// on, and its reads find an empty input.
std::size_t serve_stdio(const Handlers& handlers, const std::stop_token& stop = {});

}  // namespace railbed::fleet
