// PyTorch's stores and Gloo: ports, addresses and the process of rank 0.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr int kDefaultStorePort = 29500;
constexpr int kDefaultLauncherPort = 29400;
constexpr int kFirstEphemeral = 32768;  // net.ipv4.ip_local_port_range

// People name ports such as 50000; the kernel gives one in a hundred like it.
constexpr int kRoundPort = 100;

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

constexpr Question kStoreQuestions[] = {
    {"a-rank-works", a_rank_works},
    {"waits-while-nccl-begins", waits_while_nccl_begins},
    {"giver-lives", giver_lives},
    {"rank-0-ended-well", rank_0_ended_well},
    {"rank-0-killed", rank_0_was_killed},
    {"fewer-ranks", fewer_ranks_printed},
    {"listener-is-orphan", listener_is_an_orphan},
    {"listener-has-parent", listener_has_a_parent},
    {"gloo-remote-is-no-bridge", gloo_remote_is_no_bridge},
    {"interface-missing", interface_is_missing},
    {"interface-bare", interface_is_bare},
    {"waits-for-input", waits_for_input},
    {"giver-prepares", giver_prepares},
    {"giver-failed", giver_failed},
    {"rank-0-failed", rank_0_failed},
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
    {"gloo-remote-of-hosts-file", gloo_remote_is_of_the_hosts_file},
    {"gloo-remote-is-loopback", gloo_remote_is_plain_loopback},
    {"gloo-remote-is-bridge", gloo_remote_is_a_bridge},
    {"gloo-was-refused", gloo_connection_was_refused},
    {"gloo-no-answer", gloo_got_no_answer},
    {"name-of-nccls-syntax", name_is_of_nccls_syntax},
    {"name-is-plain", name_is_plain},
};

constexpr Opposites kStoreOpposites[] = {
    {"listener-is-orphan", "listener-has-parent"},
    {"gloo-remote-is-bridge", "gloo-remote-is-no-bridge"},
    {"interface-missing", "interface-bare"},
    {"port-has-listener", "port-has-no-listener"},
    {"port-is-default", "port-is-no-default"},
    {"port-was-chosen", "port-was-given"},
    {"gloo-remote-of-hosts-file", "gloo-remote-is-loopback"},
    {"name-of-nccls-syntax", "name-is-plain"},
    {"gloo-was-refused", "gloo-no-answer"},
};

}  // namespace

std::span<const Question> store_questions() { return kStoreQuestions; }

std::span<const Opposites> store_opposites() { return kStoreOpposites; }

}  // namespace railbed::diagnose
