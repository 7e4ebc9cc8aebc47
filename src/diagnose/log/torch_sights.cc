// Observations in what PyTorch's launchers, stores, process groups and Gloo print that confirm or refute causes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

using Evidence = std::optional<std::string>;

constexpr int kDefaultStorePort = 29500;
constexpr int kDefaultLauncherPort = 29400;
constexpr int kFirstEphemeral = 32768;  // net.ipv4.ip_local_port_range
// People name ports such as 50000; the kernel gives one in a hundred like it.
constexpr int kRoundPort = 100;
constexpr std::size_t kMostListeners = 4096;
constexpr std::size_t kLongestInterfaceLine = 512;
constexpr std::size_t kMostLocalRanks = 1024;
constexpr std::size_t kMostExits = 1024;
constexpr std::size_t kMostGradientRanks = 256;
constexpr std::size_t kLongestGradientList = 4096;

bool message_has(const LogProblem& problem, std::string_view words) {
  return problem.message.find(words) != std::string::npos;
}

// The watchdog

Evidence silent_rank_failed(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.failed < 0) return std::nullopt;
  return fmt::format("rank {} reports no timeout, it failed before: {}", story.failed, story.why);
}

Evidence silent_rank_is_busy(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.busy < 0) return std::nullopt;
  return fmt::format("rank {} reports no timeout, it was at work: {}", story.busy, story.why);
}

Evidence silent_rank_is_ahead(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.ahead < 0) return std::nullopt;
  return fmt::format("rank {} reports no timeout, and is in a later batch than the ranks that wait: {}",
                     story.ahead, story.why);
}

// Returns the limit that a message of the watchdog names: "Timeout(ms)=600000"; nullopt if it names none.
std::optional<std::uint64_t> limit_in(const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("Timeout(ms)=")) return std::nullopt;
  return scan.number<std::uint64_t>();
}

// PyTorch's own limit for NCCL is ten minutes (torch/distributed/constants.py), so somebody chose a shorter one.
constexpr std::uint64_t kShortLimit = 120'000;  // ms; ours

constexpr std::array<std::string_view, 3> kSaving = {"saves-checkpoint", "saves-model", "joins-shards"};

// Many short limits are cut by something else, so the log has to show work that one rank does longer than others.
Evidence limit_cuts_saving(const LogState& state, const LogProblem& problem) {
  const auto limit = limit_in(problem);
  if (!limit || *limit > kShortLimit) return std::nullopt;
  for (const std::string_view id : kSaving)
    if (const auto saving = state.seen.find(id); saving != state.seen.end())
      return fmt::format("the limit of that operation is {} s; {}", *limit / 1000, at_line(saving->second));
  return std::nullopt;
}

Evidence limit_cuts_nothing(const LogState& state, const LogProblem& problem) {
  if (limit_cuts_saving(state, problem)) return std::nullopt;
  const auto limit = limit_in(problem);
  if (!limit) return std::nullopt;
  return fmt::format("the limit of that operation is {} s{}", *limit / 1000,
                     *limit > kShortLimit ? "" : ", and no line shows that a rank saves");
}

Evidence kernels_are_not_built(const LogState& state, const LogProblem&) {
  for (const auto& [begin, end] :
       {std::pair("kernels-wanted", "kernels-built"), std::pair("extensions-wanted", "extensions-built")})
    if (const auto wanted = state.seen.find(begin); wanted != state.seen.end() && !state.seen.contains(end))
      return fmt::format("{}, and no line shows that it is done", at_line(wanted->second));
  return std::nullopt;
}

// Returns the host in "The IPv6 network addresses of (trainer-0, 29500) cannot be retrieved"; empty if the log has no
// such line.
std::string_view unresolved_host(const LogState& state) {
  const auto found = std::ranges::find(state.log.problems, "master-name", &LogProblem::symptom);
  if (found == state.log.problems.end()) return {};
  Scan scan(found->message);
  if (!scan.skip_past("addresses of (")) return {};
  return scan.until(", ");
}

Evidence master_is_in_brackets(const LogState& state, const LogProblem&) {
  const std::string_view host = unresolved_host(state);
  if (!host.starts_with('[')) return std::nullopt;
  return fmt::format("{} has brackets", host);
}

Evidence master_is_of_ipv4(const LogState& state, const LogProblem&) {
  const std::string_view host = unresolved_host(state);
  const bool numeric = !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!numeric && host != "localhost") return std::nullopt;
  return numeric ? fmt::format("{} is an IPv4 address", host) : "localhost has an IPv4 address";
}

Evidence master_is_a_name(const LogState& state, const LogProblem& problem) {
  const std::string_view host = unresolved_host(state);
  if (host.empty() || master_is_in_brackets(state, problem) || master_is_of_ipv4(state, problem))
    return std::nullopt;
  return fmt::format("{} is a name", host);
}

Evidence store_is_unresolved(const LogState& state, const LogProblem& problem) {
  if (!master_is_a_name(state, problem)) return std::nullopt;
  return at_line(*std::ranges::find(state.log.problems, "master-name", &LogProblem::symptom));
}

Evidence a_build_left_its_lock(const LogState& state, const LogProblem&) {
  for (const std::string_view id : {"build-lock-listed", "build-lock-named", "build-lock-cached"})
    if (const auto line = state.seen.find(id);
        line != state.seen.end() && trim(line->second.text).ends_with("lock"))
      return at_line(line->second);
  return std::nullopt;
}

Evidence ranks_call_different_operations(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.different.empty()) return std::nullopt;
  return story.different;
}

Evidence all_ranks_waited(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (!story.all) return std::nullopt;
  return fmt::format("all {} ranks waited in {} number {}", story.waiting.size(), story.operation,
                     story.number);
}

Evidence a_rank_is_missing(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.number < 0 || (story.behind.empty() && story.failed < 0 && story.busy < 0 && story.ahead < 0))
    return std::nullopt;
  std::vector<int> missing = story.behind;
  for (const int rank : {story.failed, story.busy, story.ahead})
    if (rank >= 0 && std::ranges::find(missing, rank) == missing.end()) missing.push_back(rank);
  std::ranges::sort(missing);
  return fmt::format("{} {} did not come to {} number {}", missing.size() == 1 ? "rank" : "ranks",
                     rank_list(missing), story.operation, story.number);
}

Evidence ranks_call_one_operation(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.number < 0 || story.waiting.size() < 2 || !story.different.empty()) return std::nullopt;
  return fmt::format("ranks {} are in {} number {}", rank_list(story.waiting), story.operation, story.number);
}

Evidence gpus_use_p2p(const LogState& state, const LogProblem&) {
  if (state.torch_lines.p2p.line == 0) return std::nullopt;
  return at_line(state.torch_lines.p2p);
}

Evidence job_is_on_one_node(const LogState& state, const LogProblem& problem) {
  if (const Seen seen = look_for("one-node", state, problem); seen.answer != Answer::kUnknown)
    return seen.answer == Answer::kYes ? Evidence(seen.evidence) : std::nullopt;
  const TorchLines& lines = state.torch_lines;
  const int world = torch_world(state);
  if (world < 2 || lines.network.line != 0 || std::ssize(lines.local_ranks) < world) return std::nullopt;
  return fmt::format("the channels of all {} ranks stay inside the node", world);
}

Evidence job_is_on_several_nodes(const LogState& state, const LogProblem& problem) {
  if (const Seen seen = look_for("several-nodes", state, problem); seen.answer == Answer::kYes)
    return seen.evidence;
  if (state.torch_lines.network.line == 0) return std::nullopt;
  return at_line(state.torch_lines.network);
}

Evidence a_gpu_reported_an_error(const LogState& state, const LogProblem& problem) {
  for (const std::string_view id : {"xid-hardware", "nvlink-failed-for-good"})
    if (const Seen seen = look_for(id, state, problem); seen.answer == Answer::kYes) return seen.evidence;
  return std::nullopt;
}

Evidence waits_for_input(const LogState& state, const LogProblem&) {
  return first_seen(state, {"prompt-choice", "prompt-yes-no", "prompt-code", "prompt-token"});
}

// The store

// "… retrieving ncclUniqueId from [0] via c10d key-value store …"
int giver_of_id(const LogProblem& problem) {
  return number_after(problem.message, "UniqueId from [").value_or(0);
}

Evidence giver_prepares(const LogState& state, const LogProblem& problem) {
  const TorchLines& lines = state.torch_lines;
  const auto goes_on = [&](std::uint64_t at, const LogSight& sight) {
    return sight.line != 0 && sight.file == lines.store_failed_in && at > lines.store_failed_at;
  };
  if (const auto giver = lines.ranks.find(giver_of_id(problem)); giver != lines.ranks.end()) {
    const RankLines& rank = giver->second;
    const bool newest = rank.progress.line != 0 && rank.progress.line == rank.newest.line;
    if (rank.failed_at != 0 && rank.progress_at < rank.failed_at) return std::nullopt;
    if (goes_on(rank.progress_at, rank.progress) || newest) return at_line(rank.progress);
  }
  if (goes_on(lines.preparation_at, lines.preparation)) return at_line(lines.preparation);
  return std::nullopt;
}

Evidence giver_failed(const LogState& state, const LogProblem& problem) {
  const TorchLines& lines = state.torch_lines;
  const int rank = giver_of_id(problem);
  const auto giver = lines.ranks.find(rank);
  if (giver != lines.ranks.end() && giver->second.failed_at != 0 &&
      giver->second.progress_at < giver->second.failed_at)
    return fmt::format("rank {}: {}", rank, at_line(giver->second.failure));
  // The launcher names the worker that ended first.
  if (rank == 0 && lines.exits.size() == 1 && lines.exits.begin()->first == 0 &&
      lines.exits.begin()->second != -15)
    return fmt::format("the launcher's first worker to end is local rank 0, with exit code {}",
                       lines.exits.begin()->second);
  return std::nullopt;
}

// The store ends with the process of rank 0, whatever its error follows from.
Evidence rank_0_failed(const LogState& state, const LogProblem&) {
  const auto rank = state.torch_lines.ranks.find(0);
  if (rank == state.torch_lines.ranks.end()) return std::nullopt;
  const LogSight& sight = rank->second.failed_at != 0 ? rank->second.failure : rank->second.error;
  if (sight.line == 0) return std::nullopt;
  return fmt::format("rank 0: {}", at_line(sight));
}

// "Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=4, OpType=ALLREDUCE, …), but Rank 1 is running
// collective: CollectiveFingerPrint(SequenceNumber=4, OpType=REDUCE, …)"
Evidence calls_differ(const LogProblem& problem, bool differ) {
  Scan scan(problem.message);
  if (!scan.skip_past("OpType=")) return std::nullopt;
  const std::string_view one = scan.until(",)");
  if (!scan.skip_past("OpType=")) return std::nullopt;
  const std::string_view other = scan.until(",)");
  constexpr std::string_view kNumber = "SequenceNumber=";
  const std::string_view message = problem.message;
  const auto last = message.rfind(kNumber);
  const bool apart =
      last != std::string_view::npos && number_after<std::uint64_t>(message, kNumber) !=
                                            number_after<std::uint64_t>(message.substr(last), kNumber);
  if ((one != other || apart) != differ) return std::nullopt;
  return fmt::format("one rank is in {}, another in {}", one, other);
}

Evidence ranks_made_other_calls(const LogState&, const LogProblem& problem) {
  return calls_differ(problem, true);
}

Evidence ranks_gave_other_tensors(const LogState&, const LogProblem& problem) {
  return calls_differ(problem, false);
}

Evidence a_rank_failed(const LogState& state, const LogProblem&) {
  for (const auto& [number, rank] : state.torch_lines.ranks)
    if (rank.failed_at != 0) return fmt::format("rank {}: {}", number, at_line(rank.failure));
  return std::nullopt;
}

Evidence no_rank_failed(const LogState& state, const LogProblem& problem) {
  const auto& ranks = state.torch_lines.ranks;
  if (ranks.size() < 2 || a_rank_failed(state, problem)) return std::nullopt;
  return fmt::format("{} ranks printed lines, and none an error of its own", ranks.size());
}

Evidence a_rank_works(const LogState& state, const LogProblem&) {
  const TorchLines& lines = state.torch_lines;
  for (const auto& [number, rank] : lines.ranks)
    if (rank.progress.line != 0 && rank.progress.line == rank.newest.line)
      return fmt::format("rank {} printed last: {}", number, at_line(rank.progress));
  if (lines.preparation.line == 0) return std::nullopt;
  return at_line(lines.preparation);
}

// The rank of the message is the only one of the job's communicator that did not begin to make it.
Evidence waits_while_nccl_begins(const LogState& state, const LogProblem& problem) {
  const int rank = speaking_rank(problem.message);
  if (rank < 0 || state.log.communicators.size() != 1) return std::nullopt;
  const LogCommunicator& communicator = state.log.communicators.front();
  const auto is_it = [&](const LogRank& other) { return other.rank == rank; };
  if (communicator.completed > 0 || std::ssize(communicator.ranks) != communicator.size - 1)
    return std::nullopt;
  if (rank >= communicator.size || std::ranges::any_of(communicator.ranks, is_it)) return std::nullopt;
  return fmt::format("all ranks but {} of a communicator began NCCL's initialisation, and none completed it",
                     rank);
}

Evidence giver_lives(const LogState& state, const LogProblem& problem) {
  const TorchLines& lines = state.torch_lines;
  const auto giver = lines.ranks.find(giver_of_id(problem));
  if (giver == lines.ranks.end() || giver->second.newest.file != lines.store_failed_in) return std::nullopt;
  if (giver->second.failed_at != 0 || giver->second.newest_at <= lines.store_failed_at) return std::nullopt;
  return at_line(giver->second.newest);
}

// Rank 0 came to the end of its program.
Evidence rank_0_ended_well(const LogState& state, const LogProblem& problem) {
  if (rank_0_failed(state, problem)) return std::nullopt;
  for (const std::string_view id : {"group-not-destroyed", "group-not-destroyed-2"})
    if (const auto line = state.seen.find(id);
        line != state.seen.end() && speaking_rank(line->second.text) == 0)
      return at_line(line->second);
  return std::nullopt;
}

Evidence rank_0_was_killed(const LogState& state, const LogProblem&) {
  if (auto line = first_seen(state, {"kernel-oom", "cgroup-oom", "ray-oom", "ray-oom-task", "step-oom"}))
    return line;
  const auto exit = state.torch_lines.exits.find(0);
  if (exit == state.torch_lines.exits.end() ||
      (exit->second != -9 && exit->second != -11 && exit->second != -7))
    return std::nullopt;
  return fmt::format("the launcher reports exit code {} of local rank 0", exit->second);
}

// "Timed out after 300 seconds waiting for clients. 1/2 clients joined."
Evidence fewer_ranks_printed(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("waiting for clients. ")) return std::nullopt;
  const auto came = scan.number();
  const auto all = scan.take("/") ? scan.number() : std::nullopt;
  if (!came || !all || *came >= *all || std::ssize(state.torch_lines.ranks) != *came) return std::nullopt;
  return fmt::format("only {} of {} ranks printed anything", *came, *all);
}

// "… failed to bind to [::]:29500 (errno: 98 …", "… port: 43117, useIpv6: false, code: -98 …"
std::optional<int> port_of(const LogProblem& problem) {
  if (const auto port = number_after(problem.message, "port: ")) return port;
  for (const std::string_view words : {"bind to [::]:", "bind to 0.0.0.0:", "bind to "}) {
    Scan scan(problem.message);
    if (!scan.skip_past(words)) continue;
    if (words == "bind to ") {
      const std::string_view address = scan.until(" ");
      const auto colon = address.rfind(':');
      if (colon == std::string_view::npos) continue;
      return parse_number<int>(address.substr(colon + 1));
    }
    if (const auto port = scan.number()) return port;
  }
  return std::nullopt;
}

Evidence port_has_a_listener(const LogState& state, const LogProblem& problem) {
  const auto port = port_of(problem);
  const auto listener = port ? state.torch_lines.listeners.find(*port) : state.torch_lines.listeners.end();
  if (listener == state.torch_lines.listeners.end()) return std::nullopt;
  return at_line(listener->second);
}

// The list of another command is in the input, and the port is not in it.
Evidence port_has_no_listener(const LogState& state, const LogProblem& problem) {
  const auto port = port_of(problem);
  const auto& listeners = state.torch_lines.listeners;
  if (!port || listeners.empty() || listeners.contains(*port)) return std::nullopt;
  return fmt::format("{}, and no line has port {}", at_line(listeners.begin()->second), *port);
}

Evidence port_is_no_default(const LogState&, const LogProblem& problem) {
  const auto port = port_of(problem);
  if (!port || *port == kDefaultStorePort || *port == kDefaultLauncherPort) return std::nullopt;
  return fmt::format("{} is not the default port", *port);
}

Evidence port_was_given(const LogState&, const LogProblem& problem) {
  const auto port = port_of(problem);
  if (!port) return std::nullopt;
  if (*port < kFirstEphemeral)
    return fmt::format("{} is below {}, so somebody named it", *port, kFirstEphemeral);
  if (*port % kRoundPort == 0) return fmt::format("{} is a round number, so somebody named it", *port);
  return std::nullopt;
}

// The process number in the listener's line: "pid=40122".
Evidence parent_of_listener(const LogState& state, const LogProblem& problem, bool orphan) {
  const auto port = port_of(problem);
  const auto listener = port ? state.torch_lines.listeners.find(*port) : state.torch_lines.listeners.end();
  if (listener == state.torch_lines.listeners.end()) return std::nullopt;
  const auto process = number_after(listener->second.text, "pid=");
  const auto parent = process ? state.torch_lines.parents.find(*process) : state.torch_lines.parents.end();
  if (parent == state.torch_lines.parents.end() || (parent->second == 1) != orphan) return std::nullopt;
  return fmt::format("process {} holds the port, and its parent is {}", *process, parent->second);
}

Evidence listener_is_an_orphan(const LogState& state, const LogProblem& problem) {
  return parent_of_listener(state, problem, true);
}

Evidence listener_has_a_parent(const LogState& state, const LogProblem& problem) {
  return parent_of_listener(state, problem, false);
}

Evidence port_is_a_default(const LogState&, const LogProblem& problem) {
  const auto port = port_of(problem);
  if (port != kDefaultStorePort && port != kDefaultLauncherPort) return std::nullopt;
  return fmt::format("{} is the port that {} uses if nobody names another", *port,
                     *port == kDefaultStorePort ? "PyTorch's store" : "torchrun's rendezvous");
}

Evidence port_was_chosen(const LogState&, const LogProblem& problem) {
  const auto port = port_of(problem);
  if (!port || *port < kFirstEphemeral || *port % kRoundPort == 0) return std::nullopt;
  return fmt::format("{} is of the range that the kernel gives to programs that ask for any free port",
                     *port);
}

// The address of the store

Evidence store_is_loopback(const LogState& state, const LogProblem& problem) {
  for (const std::string_view words :
       {"connect to (127.", "connect to (localhost", "connect to [localhost]", "connect to [127."})
    if (message_has(problem, words)) return "the store's address is this node's own: 127.0.0.1";
  if (const auto sight = state.seen.find("store-refused"); sight != state.seen.end())
    for (const std::string_view words : {"connect to [localhost", "connect to 127.", "connect to [127."})
      if (sight->second.text.find(words) != std::string::npos) return at_line(sight->second);
  return std::nullopt;
}

Evidence store_does_not_answer(const LogState& state, const LogProblem&) {
  return first_seen(state, {"store-no-route", "store-silent", "store-no-network"});
}

// DDP

// Returns whether the list is "0 1 2 …" without a gap and of more than a layer or two.
bool is_whole_range(std::string_view list) {
  constexpr int kFewest = 8;
  int expected = 0;
  for (const std::string_view word : railbed::words(list)) {
    if (parse_number<int>(word) != expected)
      return expected >= kFewest && word.find("...") != std::string_view::npos;
    ++expected;
  }
  return expected >= kFewest;
}

Evidence no_parameter_has_a_gradient(const LogState& state, const LogProblem&) {
  for (const auto& [rank, list] : state.torch_lines.without_gradient)
    if (is_whole_range(list))
      return fmt::format("rank {} lists every index from 0 up without a gap: {}…", rank, list.substr(0, 40));
  return std::nullopt;
}

Evidence some_parameters_have_no_gradient(const LogState& state, const LogProblem&) {
  const auto& lists = state.torch_lines.without_gradient;
  if (lists.empty()) return std::nullopt;
  if (std::ranges::any_of(lists, [](const auto& one) { return is_whole_range(one.second); }))
    return std::nullopt;
  const auto& [rank, list] = *lists.begin();
  return fmt::format("rank {} lists only some parameters: {}", rank, list.substr(0, 60));
}

Evidence gradients_differ_by_rank(const LogState& state, const LogProblem&) {
  const auto& lists = state.torch_lines.without_gradient;
  if (lists.size() < 2) return std::nullopt;
  for (const auto& [rank, list] : lists)
    if (list != lists.begin()->second)
      return fmt::format("rank {}: {}; rank {}: {}", lists.begin()->first,
                         lists.begin()->second.substr(0, 40), rank, list.substr(0, 40));
  return std::nullopt;
}

Evidence detects_unused(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "Since `find_unused_parameters=True` is enabled")) return std::nullopt;
  return "the message mentions that find_unused_parameters=True is enabled";
}

Evidence detects_no_unused(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "You can enable unused parameter detection")) return std::nullopt;
  return "the message offers find_unused_parameters=True, so it is not set";
}

Evidence graph_changed(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "raining graph has changed in this iteration")) return std::nullopt;
  return "the message mentions that the training graph has changed, so static_graph is set";
}

Evidence graph_is_not_mentioned(const LogState& state, const LogProblem& problem) {
  if (graph_changed(state, problem)) return std::nullopt;
  return "the message does not mention that the training graph has changed";
}

Evidence backward_without_checkpoint(const LogState& state, const LogProblem&) {
  if (state.seen.contains("checkpoint-backward")) return std::nullopt;
  return first_seen(state, {"engine-backward"});
}

Evidence unused_detection_is_mentioned(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "ncorrect unused parameter detection")) return std::nullopt;
  return "the message names incorrect detection of unused parameters";
}

Evidence unused_detection_is_not_mentioned(const LogState& state, const LogProblem& problem) {
  if (unused_detection_is_mentioned(state, problem)) return std::nullopt;
  return "the message does not name detection of unused parameters";
}

Evidence gradients_are_the_same(const LogState& state, const LogProblem& problem) {
  const auto& lists = state.torch_lines.without_gradient;
  if (lists.size() < 2 || gradients_differ_by_rank(state, problem)) return std::nullopt;
  return fmt::format("{} ranks list the same parameters", lists.size());
}

// Memory

double bytes_after(std::string_view text, std::string_view words) {
  Scan scan(text);
  if (!scan.skip_past(words)) return -1;
  const auto number = scan.real();
  if (!number || !scan.take(" ")) return -1;
  const std::string_view unit = scan.until(" .,;)");
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"bytes", 1}, {"KiB", 1024.}, {"MiB", 1048576.}, {"GiB", 1073741824.}, {"TiB", 1099511627776.}};
  for (const auto& [name, factor] : kUnits)
    if (unit == name) return *number * factor;
  return -1;
}

// The numbers in PyTorch's message; -1 if absent. Its form changed in 2.1:
// "Tried to allocate 2.00 GiB (GPU 0; 23.65 GiB total capacity; 20.1 GiB already allocated; 1.2 GiB free; …",
// "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.9 GiB is free. Process 812 has …".
struct GpuMemory {
  double asked, capacity, free, allocated, unallocated;
  double ours = -1;
  double others = 0;  // of all other processes that the message names
  std::string other = {};

  explicit GpuMemory(std::string_view text)
      : asked(bytes_after(text, "Tried to allocate ")),
        capacity(bytes_after(text, "total capacity of ")),
        free(bytes_after(text, "of which ")),
        allocated(bytes_after(text, "Of the allocated memory ")),
        unallocated(bytes_after(text, "is allocated by PyTorch, and ")) {
    // Pools of CUDA graphs stand between: "…, with 50.00 MiB allocated in private pools (…), and 2 GiB is reserved".
    for (const std::string_view words : {"(e.g., CUDA Graphs), and ", "private pools, and "})
      if (unallocated < 0) unallocated = bytes_after(text, words);
    if (capacity < 0) {  // before 2.1
      capacity = bytes_after(text, "; ");
      Scan scan(text);
      if (scan.skip_past("total capacity; ")) allocated = bytes_after(scan.rest(), "");
      if (scan.skip_past("already allocated; ")) free = bytes_after(scan.rest(), "");
      if (scan.skip_past("free; ")) {
        const double reserved = bytes_after(scan.rest(), "");
        if (reserved >= 0 && allocated >= 0) unallocated = reserved - allocated;
      }
    }
    ours = bytes_after(text, "this process has ");
    Scan scan(text);
    while (scan.skip_past("Process ")) {
      const auto number = scan.number();
      if (!number || !scan.take(" has ")) continue;
      const double size = bytes_after(scan.rest(), "");
      if (size < 0) continue;
      others += size;
      if (other.empty()) other = fmt::format("process {}", *number);
    }
    // In a container the message names this process by its number outside.
    if (ours < 0 && allocated >= 0) {
      ours = std::min(others, allocated + std::max(unallocated, 0.) + kContext);
      others -= ours;
    }
    // The old form names no process: what is neither free nor reserved here belongs to others.
    if (other.empty() && capacity > 0 && free >= 0 && allocated >= 0)
      others = std::max(0., capacity - free - allocated - std::max(unallocated, 0.) - kContext);
  }
  static constexpr double kContext = 1.5 * 1073741824.;  // of CUDA, cuBLAS and NCCL
};

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / 1073741824.); }

Evidence memory_is_held_by_others(const LogState&, const LogProblem& problem) {
  const GpuMemory memory(problem.message);
  if (memory.capacity <= 0 || memory.others < std::max(memory.asked, memory.capacity / 20))
    return std::nullopt;
  return fmt::format("other processes hold {} of the GPU's {}", gib(memory.others), gib(memory.capacity));
}

Evidence memory_is_fragmented(const LogState&, const LogProblem& problem) {
  const GpuMemory memory(problem.message);
  if (memory.asked <= 0 || memory.unallocated < memory.asked) return std::nullopt;
  return fmt::format("PyTorch holds {} that no tensor uses, more than the {} it tried to allocate",
                     gib(memory.unallocated), gib(memory.asked));
}

Evidence memory_is_used_here(const LogState& state, const LogProblem& problem) {
  const GpuMemory memory(problem.message);
  if (memory.capacity <= 0 || memory.allocated < 0) return std::nullopt;
  if (memory_is_held_by_others(state, problem) || memory_is_fragmented(state, problem)) return std::nullopt;
  return fmt::format("tensors of this process take {} of the GPU's {}", gib(memory.allocated),
                     gib(memory.capacity));
}

Evidence killed_for_memory(const LogState& state, const LogProblem&) {
  return first_seen(state, {"kernel-oom", "cgroup-oom", "ray-oom", "ray-oom-task", "step-oom"});
}

Evidence ended_by_the_scheduler(const LogState& state, const LogProblem&) {
  return first_seen(state, {"time-limit", "preempted", "job-cancelled"});
}

// Gloo

// "remote=[10.0.0.2]:34567", or "connect [10.0.0.2]:34567" before PyTorch 2.0
std::string_view gloo_remote(const LogProblem& problem) {
  Scan scan(problem.message);
  const bool found = scan.skip_past("remote=[") || (scan = Scan(problem.message)).skip_past("connect [");
  return found ? scan.until("]") : std::string_view();
}

Evidence gloo_remote_is_of_the_hosts_file(const LogState&, const LogProblem& problem) {
  const std::string_view remote = gloo_remote(problem);
  if (!remote.starts_with("127.") || remote == "127.0.0.1") return std::nullopt;
  return fmt::format(
      "the rank announced {}, which Debian and Ubuntu write into /etc/hosts for the host's own name", remote);
}

Evidence gloo_remote_is_plain_loopback(const LogState&, const LogProblem& problem) {
  const std::string_view remote = gloo_remote(problem);
  if (remote != "127.0.0.1") return std::nullopt;
  return "the rank announced 127.0.0.1";
}

Evidence gloo_remote_is_a_bridge(const LogState&, const LogProblem& problem) {
  const std::string_view remote = gloo_remote(problem);
  const bool bridge = remote.starts_with("172.17.") || remote.starts_with("172.18.") ||
                      remote.starts_with("192.168.122.") || remote.starts_with("169.254.") ||
                      remote.starts_with("fe80");
  if (!bridge) return std::nullopt;
  return fmt::format("{} is an address of a bridge or of one link, which no other node reaches", remote);
}

Evidence gloo_connection_was_refused(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "Connection refused")) return std::nullopt;
  return "that node answers and refuses, so the way to it is open";
}

Evidence gloo_got_no_answer(const LogState&, const LogProblem& problem) {
  for (const std::string_view words : {"Connection timed out", "No route to host", "Network is unreachable"})
    if (message_has(problem, words)) return fmt::format("\"{}\"", words);
  return std::nullopt;
}

Evidence gloo_remote_is_no_bridge(const LogState& state, const LogProblem& problem) {
  const std::string_view remote = gloo_remote(problem);
  if (remote.empty() || gloo_remote_is_a_bridge(state, problem)) return std::nullopt;
  return fmt::format("{} is no address of a bridge", remote);
}

Evidence a_timeout_is_seen(const LogState& state, const LogProblem&) {
  for (const LogProblem& other : state.log.problems)
    for (const std::string_view symptom : {"collective-timeout", "dump-signal"})
      if (other.symptom == symptom)
        return fmt::format("{}: {}", place_text(other.file, other.line), other.message.substr(0, 160));
  return std::nullopt;
}

Evidence no_timeout_is_seen(const LogState& state, const LogProblem& problem) {
  if (a_timeout_is_seen(state, problem)) return std::nullopt;
  return "no watchdog reports a timeout in this log";
}

// "Unable to find address for: ^lo"
std::string_view gloo_interface(const LogProblem& problem) {
  Scan scan(problem.message);
  return scan.skip_past("Unable to find address for: ") ? scan.until(" \"") : std::string_view();
}

Evidence name_is_of_nccls_syntax(const LogState&, const LogProblem& problem) {
  const std::string_view name = gloo_interface(problem);
  if (!name.starts_with('^') && !name.starts_with('=')) return std::nullopt;
  return fmt::format("the name is \"{}\": {} is NCCL's sign, Gloo takes it for a part of the name", name,
                     name.front());
}

Evidence name_is_plain(const LogState&, const LogProblem& problem) {
  const std::string_view name = gloo_interface(problem);
  if (name.empty() || name.starts_with('^') || name.starts_with('=')) return std::nullopt;
  return fmt::format("\"{}\" is a plain name", name);
}

Evidence interface_is_missing(const LogState& state, const LogProblem& problem) {
  const std::string_view name = gloo_interface(problem);
  const auto& listed = state.torch_lines.addressed;
  if (name.empty() || listed.empty() || listed.contains(name)) return std::nullopt;
  return fmt::format("the list of interfaces has {} others, and no {}", listed.size(), name);
}

Evidence interface_is_bare(const LogState& state, const LogProblem& problem) {
  const auto found = state.torch_lines.addressed.find(gloo_interface(problem));
  if (found == state.torch_lines.addressed.end() || found->second) return std::nullopt;
  return fmt::format("the list of interfaces has {} without an address", found->first);
}

constexpr Question kTorchQuestions[] = {
    {"no-rank-failed", no_rank_failed},
    {"a-rank-works", a_rank_works},
    {"waits-while-nccl-begins", waits_while_nccl_begins},
    {"giver-lives", giver_lives},
    {"rank-0-ended-well", rank_0_ended_well},
    {"rank-0-killed", rank_0_was_killed},
    {"fewer-ranks", fewer_ranks_printed},
    {"listener-is-orphan", listener_is_an_orphan},
    {"listener-has-parent", listener_has_a_parent},
    {"backward-without-checkpoint", backward_without_checkpoint},
    {"unused-detection", unused_detection_is_mentioned},
    {"no-unused-detection", unused_detection_is_not_mentioned},
    {"gloo-remote-is-no-bridge", gloo_remote_is_no_bridge},
    {"timeout-seen", a_timeout_is_seen},
    {"no-timeout-seen", no_timeout_is_seen},
    {"interface-missing", interface_is_missing},
    {"interface-bare", interface_is_bare},
    {"silent-rank-failed", silent_rank_failed},
    {"silent-rank-busy", silent_rank_is_busy},
    {"silent-rank-ahead", silent_rank_is_ahead},
    {"limit-cuts-saving", limit_cuts_saving},
    {"limit-cuts-nothing", limit_cuts_nothing},
    {"different-operations", ranks_call_different_operations},
    {"same-operation", ranks_call_one_operation},
    {"all-ranks-waited", all_ranks_waited},
    {"rank-missing", a_rank_is_missing},
    {"gpus-use-p2p", gpus_use_p2p},
    {"job-on-one-node", job_is_on_one_node},
    {"job-on-several-nodes", job_is_on_several_nodes},
    {"gpu-reported-xid", a_gpu_reported_an_error},
    {"waits-for-input", waits_for_input},
    {"giver-prepares", giver_prepares},
    {"giver-failed", giver_failed},
    {"rank-0-failed", rank_0_failed},
    {"mismatch-of-calls", ranks_made_other_calls},
    {"mismatch-of-tensors", ranks_gave_other_tensors},
    {"a-rank-failed", a_rank_failed},
    {"kernels-not-built", kernels_are_not_built},
    {"build-lock-left", a_build_left_its_lock},
    {"master-in-brackets", master_is_in_brackets},
    {"master-is-ipv4", master_is_of_ipv4},
    {"master-is-name", master_is_a_name},
    {"store-unresolved", store_is_unresolved},
    {"port-has-listener", port_has_a_listener},
    {"port-has-no-listener", port_has_no_listener},
    {"port-is-default", port_is_a_default},
    {"port-is-no-default", port_is_no_default},
    {"port-was-given", port_was_given},
    {"port-was-chosen", port_was_chosen},
    {"store-is-loopback", store_is_loopback},
    {"store-does-not-answer", store_does_not_answer},
    {"no-gradient-at-all", no_parameter_has_a_gradient},
    {"some-without-gradient", some_parameters_have_no_gradient},
    {"gradients-differ-by-rank", gradients_differ_by_rank},
    {"detects-unused", detects_unused},
    {"detects-no-unused", detects_no_unused},
    {"graph-changed", graph_changed},
    {"graph-not-mentioned", graph_is_not_mentioned},
    {"gradients-same", gradients_are_the_same},
    {"memory-of-others", memory_is_held_by_others},
    {"memory-fragmented", memory_is_fragmented},
    {"memory-used-here", memory_is_used_here},
    {"killed-for-memory", killed_for_memory},
    {"ended-by-scheduler", ended_by_the_scheduler},
    {"gloo-remote-of-hosts-file", gloo_remote_is_of_the_hosts_file},
    {"gloo-remote-is-loopback", gloo_remote_is_plain_loopback},
    {"gloo-remote-is-bridge", gloo_remote_is_a_bridge},
    {"gloo-was-refused", gloo_connection_was_refused},
    {"gloo-no-answer", gloo_got_no_answer},
    {"name-of-nccls-syntax", name_is_of_nccls_syntax},
    {"name-is-plain", name_is_plain},
};

constexpr Opposites kTorchOpposites[] = {
    {"a-rank-failed", "no-rank-failed"},
    {"listener-is-orphan", "listener-has-parent"},
    {"unused-detection", "no-unused-detection"},
    {"gloo-remote-is-bridge", "gloo-remote-is-no-bridge"},
    {"timeout-seen", "no-timeout-seen"},
    {"interface-missing", "interface-bare"},
    {"all-ranks-waited", "rank-missing"},
    {"silent-rank-failed", "silent-rank-busy"},
    {"silent-rank-failed", "silent-rank-ahead"},
    {"silent-rank-busy", "silent-rank-ahead"},
    {"silent-rank-failed", "all-ranks-waited"},
    {"silent-rank-busy", "all-ranks-waited"},
    {"silent-rank-ahead", "all-ranks-waited"},
    {"limit-cuts-saving", "limit-cuts-nothing"},
    {"different-operations", "same-operation"},
    {"job-on-one-node", "job-on-several-nodes"},
    {"port-has-listener", "port-has-no-listener"},
    {"port-is-default", "port-is-no-default"},
    {"port-was-chosen", "port-was-given"},
    {"graph-changed", "graph-not-mentioned"},
    {"gradients-differ-by-rank", "gradients-same"},
    {"memory-of-others", "memory-used-here"},
    {"memory-fragmented", "memory-used-here"},
    {"gloo-remote-of-hosts-file", "gloo-remote-is-loopback"},
    {"no-gradient-at-all", "some-without-gradient"},
    {"detects-unused", "detects-no-unused"},
    {"name-of-nccls-syntax", "name-is-plain"},
    {"gloo-was-refused", "gloo-no-answer"},
};

// Returns the local port of a listener in a line of ss, netstat or lsof.
std::optional<int> listening_port(std::string_view line) {
  if (line.find("LISTEN") == std::string_view::npos) return std::nullopt;
  for (const std::string_view word : railbed::words(line)) {
    const auto colon = word.rfind(':');
    if (colon == std::string_view::npos) continue;
    const auto port = parse_number<int>(word.substr(colon + 1));
    if (port && *port > 0 && *port < 65536) return port;
  }
  return std::nullopt;
}

// Reads the table of `ps -o pid,ppid,…`.
void read_processes(TorchLines& kept, std::string_view line) {
  if (line.find("PID") != std::string_view::npos) {
    const auto head = railbed::words(line);
    kept.in_processes = head.size() >= 2 && head[0] == "PID" && head[1] == "PPID";
    return;
  }
  if (!kept.in_processes) return;
  const auto parts = railbed::words(line);
  const auto process = parts.size() >= 2 ? parse_number<int>(parts[0]) : std::nullopt;
  const auto parent = process ? parse_number<int>(parts[1]) : std::nullopt;
  kept.in_processes = parent.has_value();
  if (parent && kept.parents.size() < kMostListeners) kept.parents.try_emplace(*process, *parent);
}

}  // namespace

std::span<const Question> torch_questions() { return kTorchQuestions; }

std::span<const Opposites> torch_opposites() { return kTorchOpposites; }

void LogState::read_torch_sights(std::string_view line) {
  static const Phrases worth({"is setting up NCCL communicator", "LISTEN", "NCCL INFO Channel ",
                              "NVRM: Xid (", "failed (exitcode: ", " UP", " DOWN", " UNKNOWN", "PID",
                              "arameter indices which"});
  if (!torch_lines.in_processes && !worth.any_in(line)) return;
  const auto has = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  TorchLines& kept = torch_lines;
  if (kept.store_failed_at == 0 && has("is setting up NCCL communicator") && has("got error")) {
    kept.store_failed_at = log.lines;
    kept.store_failed_in = file;
  }
  if (const auto port = listening_port(line); port && kept.listeners.size() < kMostListeners)
    keep_sight(kept.listeners[*port], line);
  // "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", of torch's own NCCL
  if (Scan channel(line); channel.skip_past("NCCL INFO Channel ") && channel.skip_past(" : ")) {
    const auto from = channel.number();
    const bool arrow = channel.skip_past("-> ");
    const auto to = arrow ? channel.number() : std::nullopt;
    if (channel.skip_past(" via NET/")) {
      keep_sight(kept.network, line);
    } else if (from && to && channel.skip_past(" via ")) {
      if (channel.rest().starts_with("P2P/")) keep_sight(kept.p2p, line);
      for (const int rank : {*from, *to})
        if (kept.local_ranks.size() < kMostLocalRanks) kept.local_ranks.insert(rank);
    }
  }
  if (const auto code = number_after(line, "failed (exitcode: ")) {
    const auto rank = number_after(line, "local_rank: ");
    if (rank && kept.exits.size() < kMostExits) kept.exits.try_emplace(*rank, *code);
  }
  // "ens5  UP  10.0.81.14/20 …" of `ip -brief address`
  if (line.size() < kLongestInterfaceLine && (has(" UP") || has(" DOWN") || has(" UNKNOWN"))) {
    const auto parts = railbed::words(line);
    const bool is_one =
        parts.size() >= 2 && (parts[1] == "UP" || parts[1] == "DOWN" || parts[1] == "UNKNOWN");
    const bool addressed = std::ranges::any_of(
        parts, [](std::string_view part) { return part.find('/') != std::string_view::npos; });
    if (is_one && kept.addressed.size() < kMostListeners)
      kept.addressed.emplace(parts[0].substr(0, parts[0].find('@')), addressed);
  }
  read_processes(kept, line);
  constexpr std::string_view kIndices = "arameter indices which did not receive grad for rank ";
  Scan scan(line);
  if (!scan.skip_past(kIndices)) return;
  const auto rank = scan.number();
  if (!rank || !scan.take(":") || kept.without_gradient.size() >= kMostGradientRanks) return;
  kept.without_gradient.try_emplace(*rank, trim(scan.rest()).substr(0, kLongestGradientList));
}

}  // namespace railbed::diagnose
