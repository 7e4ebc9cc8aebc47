// Many nodes, asked at once. A Fleet holds one Peer a node; each connects by itself when it is first asked.
//
//   fleet::Fleet fleet(fleet::targets_of(cluster), options);
//   auto answers = fleet::gather(fleet, "facts", "{}", std::chrono::seconds(20), interrupted(),
//                                [](const auto& step) { progress(step.to_text()); });
//   for (const fleet::Answer& answer : answers)   // in the order of the targets
//     answer.result ? use(*answer.result) : complain(answer.node, answer.result.error());
//
// A node that is dead, slow, full, of another architecture or that answers nonsense is an Error whose text
// names it, says why and what to do; it never holds up the others. How the agent gets there and what travels:
// docs/reference/agent-protocol.md.
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

struct Target {
  std::string name;         // how results and errors call the node
  std::string destination;  // as `ssh` takes it: "gpu07", "user@10.0.0.7", "ssh://gpu07:2222"
  bool local = false;       // start the agent on this machine, without ssh
};

// A node that is reached by this machine's own host name is this machine.
Target target_of(const Node& node);
std::vector<Target> targets_of(const Cluster& cluster);

// What starts the agents (agent_launcher.h).
enum class Launcher { kSsh, kSlurm, kKubernetes };

// How nodes are had from Slurm: docs/how-to/slurm.md.
struct SlurmChoice {
  std::string job;  // whose steps the agents are; empty: the present job's, else an allocation of our own
  std::string partition;              // of our own allocation; empty: one that has all nodes
  bool overlap = false;               // beside other jobs, too
  std::chrono::seconds patience{60};  // for an allocation
  bool operator==(const SlurmChoice&) const = default;
};

// In which pods agents are started: docs/how-to/kubernetes.md. The manifests of deploy/kubernetes/agent have
// what stands here.
struct KubernetesChoice {
  std::string kubeconfig;  // for kubectl; empty: its own
  std::string context;     // of it; empty: the current one
  std::string name_space = "railbed";
  std::string selector = "app.kubernetes.io/name=railbed-agent";
  bool operator==(const KubernetesChoice&) const = default;
};

struct FleetOptions {
  Launcher launcher = Launcher::kSsh;
  SlurmChoice slurm;
  KubernetesChoice kubernetes;
  std::string nodelist;                  // of a scheduler's nodes these alone; empty: all
  std::string ssh_config;                // -F for ssh; empty: the user's own
  std::vector<std::string> ssh_options;  // more words for ssh, before the destination: {"-o", "Port=2222"}
  bool share_connections = false;        // they stay for a few minutes (shared_connection.h)
  std::size_t parallelism = 32;          // nodes worked on at once by gather()
  std::chrono::milliseconds connect_deadline = std::chrono::seconds(10);  // until sshd has greeted us
  std::chrono::milliseconds start_deadline = std::chrono::seconds(15);    // until the agent or its absence
  std::chrono::milliseconds push_deadline = std::chrono::seconds(60);     // to copy the agent, where missing
  std::string binary;                                 // the agent to push; empty: this very program
  std::map<std::string, std::string> agent_binaries;  // for other architectures: "aarch64" → path
  std::string agent_hashes;  // the file that keeps their hashes (hashed_file.h); empty: they are hashed anew
  std::string ssh_program = "ssh";
  bool as_root = false;       // the agent runs as root, from a copy that only root can change (root_start.h)
  std::string sudo_password;  // a secret, in memory only; empty: sudo must not ask for one
};

// The file that this process was started from: the agent that is pushed unless the options name another.
std::string own_program();

class Fleet {
 public:
  Fleet(std::vector<Target> targets, FleetOptions options);
  // Ends every agent and every ssh of ours, and waits for them (3 s at most).
  ~Fleet();
  Fleet(Fleet&&) noexcept;
  Fleet& operator=(Fleet&&) noexcept;

  std::size_t size() const;
  std::size_t parallelism() const;
  Launcher launcher() const;
  // The first call on a peer also connects, which has its own deadlines (FleetOptions); `deadline` is for the
  // call itself. A connection that failed is not tried again: each later call gets the same Error.
  Peer& peer(std::size_t index);
  Peer* find(std::string_view name);  // null when there is no such node
  // It is being connected and says nothing: who waits for it works on nothing meanwhile.
  bool is_silent(std::size_t index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Answer {
  std::string node;
  Result<std::string> result;
};

struct Step {
  std::size_t done = 0;
  std::size_t failed = 0;  // of those done
  std::size_t total = 0;
  std::string to_text() const;  // "27/32 nodes answered, 2 failed"
};
using OnStep = std::function<void(const Step&)>;

// Asks every node, `parallelism` at a time; nodes that say nothing while they are being connected do not
// count, up to three times as many. `take` gets each answer as it comes, from several threads at once.
// `on_step` is called after each, by one thread at a time. After a stop, nodes not yet asked answer
// kCancelled.
using ParamsOf = std::function<std::string(const std::string& node)>;
void ask_each(Fleet& fleet, std::string_view method, const ParamsOf& params,
              std::chrono::milliseconds deadline, std::stop_token stop,
              const std::function<void(std::size_t index, Answer answer)>& take, const OnStep& on_step = {});

// Likewise, and returns the answers in the order of the targets.
std::vector<Answer> gather(Fleet& fleet, std::string_view method, const ParamsOf& params,
                           std::chrono::milliseconds deadline, std::stop_token stop = {},
                           const OnStep& on_step = {});
// Likewise, with the same parameters for all.
std::vector<Answer> gather(Fleet& fleet, std::string_view method, const std::string& params,
                           std::chrono::milliseconds deadline, std::stop_token stop = {},
                           const OnStep& on_step = {});

// Runs the agent until `in` ends: answers requests, each in a thread of its own, writes frames to `out` and
// nothing else. Cancels every handler before it returns, and waits for them `grace` long; answers how many
// were still running then.
std::size_t serve(int in, int out, const Handlers& handlers,
                  std::chrono::milliseconds grace = std::chrono::seconds(5));

// serve() on this process's own stdin and stdout, which it takes away first: whatever else prints goes to
// stderr from then on, and whatever else reads finds nothing.
std::size_t serve_stdio(const Handlers& handlers);

}  // namespace railbed::fleet
