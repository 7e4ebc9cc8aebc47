// Many nodes at once, of which some are sick, slow or dead; none of them may cost another its answer.
//
// Each node has a Session with a thread of its own, which alone touches the node's process and its streams.
// Callers never read or write: they queue a request and wait, until the answer, their deadline or their stop
// comes, whichever is first. So an ssh that hangs holds up only who asks that node, and no longer than the
// deadline. An agent that dies closes its output; its session then tells every waiting caller at once why, in
// the words that ssh and the agent left on standard error, and gives that answer to everybody who asks later.
//
// ask_each() asks so many nodes at a time, each thread taking the next one that nobody has asked. Threads
// that wait for a node which says nothing are made up for: a hundred hanging nodes of a thousand would hold
// up the others otherwise. gather() answers in the order of the nodes: an error stands in the place of an
// answer that did not come. When the fleet goes, all sessions are told to stop before the first is waited
// for: an agent's input closes and it ends by itself, one that does not is ended by signal (link.cc), and all
// of that happens on all nodes at once.
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

#include "fleet/session.h"
#include "fleet/shared_connection.h"
#include "host/file_limit.h"
#include "host/host_name.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kFilesPerNode =
    8;  // three streams, the process, what wakes its session; more while it starts
constexpr std::size_t kOtherFiles = 256;

}  // namespace

// The file this process was started from: execve's pathname, which the kernel leaves in the auxiliary vector
// (getauxval(3)), made independent of the working folder.
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
  // To a scheduler, this machine is a node like another, or none at all.
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

bool Fleet::is_silent(std::size_t index) const { return state_->sessions[index]->is_silent(); }

std::string Step::to_text() const {
  const std::string text = fmt::format("{}/{} nodes", done, total);
  return failed == 0 ? text : fmt::format("{}, {} failed", text, failed);
}

namespace {

// Who asks which node. A worker takes the next node when it has its answer; another one joins in while fewer
// than `parallelism` are at work, because the others wait for nodes that say nothing.
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
  static constexpr std::size_t kSilentToo = 3;  // times the parallelism
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
  std::set<std::size_t> asked_;  // just now
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
