// Many nodes at once, some of them faulty, slow or dead. None of them may affect another node's response.
//
// Each node has a Session with its own thread, which alone uses the node's process and streams. Callers never
// read or write. They queue a request and wait for the response, their deadline or their stop, whichever
// comes first. So an ssh that hangs delays only the callers of its node, and only until their deadline. An
// agent that ends closes its output. Its session then returns the reason to every waiting and every later
// caller, with the text that ssh and the agent left on standard error.
//
// ask_each() calls a limited number of nodes at a time. Each worker thread takes the next node that has not
// been called. Workers that wait for a silent node are compensated by more workers, because otherwise a
// hundred hanging nodes of a thousand would delay the rest. gather() returns the responses in the order of
// the nodes, with an error in the place of a missing one.
//
// When the fleet is destroyed, all sessions are stopped before the first is awaited. An agent's input closes
// and the agent ends; one that does not is ended by signals (link.cc). This happens on all nodes at the same
// time.
#include "fleet/fleet.h"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/wording.h"
#include "fleet/session.h"
#include "fleet/shared_connection.h"
#include "os/file_limit.h"
#include "os/host_name.h"

namespace railbed::fleet {
namespace {

// Three streams, the process, and the session's waker; more while an agent starts.
constexpr std::size_t kFilesPerNode = 8;
constexpr std::size_t kOtherFiles = 256;

}  // namespace

// Reads execve's pathname, which the kernel stores in the auxiliary vector (getauxval(3)), and makes it
// independent of the working folder.
std::string own_program() {
  const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  std::error_code failure;
  const auto path = std::filesystem::canonical(started_as, failure);
  return failure ? started_as : path.string();
}

struct Fleet::State {
  std::shared_ptr<FleetContext> context;
  std::vector<std::unique_ptr<Session>> sessions;
};

Target target_of(const Node& node) {
  const std::string own = host_name();
  const bool is_own_name = !node.ssh.empty() && (own == node.ssh || own.starts_with(node.ssh + "."));
  if (node.local || is_own_name) return {node.name, "", true};
  return {node.name, node.ssh, false};
}

std::vector<Target> targets_of(const Cluster& cluster) {
  std::vector<Target> targets;
  for (const Node& node : cluster.nodes) targets.push_back(target_of(node));
  return targets;
}

Fleet::Fleet(std::vector<Target> targets, FleetOptions options) : state_(std::make_unique<State>()) {
  if (options.binary.empty()) options.binary = own_program();
  allow_open_files(kFilesPerNode * targets.size() + kOtherFiles);
  // For a scheduler, this machine is a node like any other, or none at all.
  if (options.launcher != Launcher::kSsh)
    for (Target& target : targets) target = {target.name, target.name, false};
  else if (options.share_connections && !std::ranges::all_of(targets, &Target::local)) {
    auto config = sharing_config(options, environment_here());
    options.share_connections = config.has_value();
    if (config) options.ssh_config = std::move(*config);
  }
  std::vector<std::string> names;
  for (const Target& target : targets) names.push_back(target.name);
  state_->context = std::make_shared<FleetContext>(std::move(options), std::move(names));
  for (Target& target : targets)
    state_->sessions.push_back(std::make_unique<Session>(std::move(target), state_->context));
}

Fleet::~Fleet() {
  if (!state_) return;
  for (const auto& session : state_->sessions) session->request_stop();
}

Fleet::Fleet(Fleet&&) noexcept = default;
Fleet& Fleet::operator=(Fleet&&) noexcept = default;

std::size_t Fleet::size() const { return state_->sessions.size(); }
std::size_t Fleet::parallelism() const {
  return std::max<std::size_t>(1, state_->context->options.parallelism);
}
Launcher Fleet::launcher() const { return state_->context->options.launcher; }
Peer& Fleet::peer(std::size_t index) { return *state_->sessions[index]; }

Peer* Fleet::find(std::string_view name) {
  for (const auto& session : state_->sessions)
    if (session->node() == name) return session.get();
  return nullptr;
}

void Fleet::connect_again(std::size_t index) {
  std::unique_ptr<Session>& session = state_->sessions[index];
  session = std::make_unique<Session>(Target(session->target()), state_->context);
}

bool Fleet::is_silent(std::size_t index) const { return state_->sessions[index]->is_silent(); }

std::string Step::to_text() const {
  const std::string text = fmt::format("{}/{}", done, counted(total, "node"));
  return failed == 0 ? text : fmt::format("{}, {} failed", text, failed);
}

namespace {

// Distributes the nodes among workers. A worker takes the next node after each response. While fewer than
// `parallelism` workers have a node that is not silent, another worker joins.
class Asking {
 public:
  using Ask = std::function<Answer(std::size_t index)>;
  using Take = std::function<void(std::size_t index, Answer answer)>;

  Asking(Fleet& fleet, const Ask& ask, const Take& take, const OnStep& on_step)
      : fleet_(fleet), ask_(ask), take_(take), on_step_(on_step) {}

  void run() {
    std::vector<std::jthread> workers;
    std::unique_lock lock(mutex_);
    while (next_ < fleet_.size() || !asked_.empty()) {
      while (next_ < fleet_.size() && at_work() < fleet_.parallelism() &&
             asked_.size() < (1 + kSilentToo) * fleet_.parallelism())
        workers.emplace_back([this, first = take_next()] { work(first); });
      changed_.wait_for(lock, kLook);
    }
    lock.unlock();
  }

 private:
  static constexpr std::size_t kSilentToo = 3;  // limit for silent nodes, in units of the parallelism
  static constexpr auto kLook = std::chrono::milliseconds(200);

  std::size_t take_next() { return *asked_.insert(next_++).first; }
  std::size_t at_work() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(asked_, [&](std::size_t index) { return !fleet_.is_silent(index); }));
  }

  void work(std::size_t index) {
    while (true) {
      Answer answer = ask_(index);
      const bool good = bool(answer.result);
      take_(index, std::move(answer));
      const std::lock_guard lock(mutex_);
      asked_.erase(index);
      ++done_;
      if (!good) ++failed_;
      if (on_step_) on_step_({done_, failed_, fleet_.size()});
      if (next_ == fleet_.size() || at_work() >= fleet_.parallelism()) return changed_.notify_one();
      index = take_next();
    }
  }

  Fleet& fleet_;
  const Ask& ask_;
  const Take& take_;
  const OnStep& on_step_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0, done_ = 0, failed_ = 0;
  std::set<std::size_t> asked_;  // being called now
};

}  // namespace

void ask_each(Fleet& fleet, std::string_view method, const ParamsOf& params,
              std::chrono::milliseconds deadline, std::stop_token stop,
              const std::function<void(std::size_t index, Answer answer)>& take, const OnStep& on_step) {
  const Asking::Ask ask = [&](std::size_t index) {
    Peer& peer = fleet.peer(index);
    if (stop.stop_requested())
      return Answer{peer.node(), fail(ErrorKind::kCancelled, peer.node() + ": cancelled")};
    return Answer{peer.node(), peer.call(method, params(peer.node()), deadline, stop)};
  };
  Asking(fleet, ask, take, on_step).run();
}

std::vector<Answer> gather(Fleet& fleet, std::string_view method, const ParamsOf& params,
                           std::chrono::milliseconds deadline, std::stop_token stop, const OnStep& on_step) {
  std::vector<std::optional<Answer>> answers(fleet.size());
  ask_each(
      fleet, method, params, deadline, stop,
      [&](std::size_t index, Answer answer) { answers[index] = std::move(answer); }, on_step);
  std::vector<Answer> in_order;
  for (auto& answer : answers) in_order.push_back(std::move(*answer));
  return in_order;
}

std::vector<Answer> gather(Fleet& fleet, std::string_view method, const std::string& params,
                           std::chrono::milliseconds deadline, std::stop_token stop, const OnStep& on_step) {
  return gather(
      fleet, method, [&](const std::string&) { return params; }, deadline, stop, on_step);
}

}  // namespace railbed::fleet
