// Determines the verdict: one line about the run, with the evidence in the log.
//
// It is the first of these that applies: the first problem that is an error and no consequence of another;
// ranks that chose different networks; a hang; if a connection was closed, the ranks that neither reported a
// problem nor finished; an unknown warning that came before the consequence or if no communicator came up,
// because NCCL's own message is more informative then; an error that is a consequence; a known warning if no
// communicator came up; no line of NCCL; no communicator. Otherwise the run has started, and the verdict states how
// the ranks of the largest communicator reach each other. It is a warning if they could do better: TCP between nodes,
// with the reason why NCCL chose it, in NCCL's own order of decisions; RDMA without GPUDirect on all connections; GPUs
// of one node with P2P disabled, or over TCP.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::string_view kP2pTrial =
    "Run once with NCCL_P2P_DISABLE=1. If that helps, PCIe ACS or the IOMMU stands between the GPUs: boot with iommu=pt, "
    "switch ACS off (lspci -vvv | grep ACSCtl: ReqRedir+; railbed verify names the bridges).";

std::string value_of(const Log& log, std::string_view name) {
  for (const LogVariable& variable : log.variables)
    if (variable.name == name) return variable.value;
  return "";
}

std::uint64_t connections(const LogCommunicator& communicator, std::string_view prefix) {
  std::uint64_t count = 0;
  for (const LogConnections& connections : communicator.connections)
    if (connections.via.starts_with(prefix)) count += connections.count;
  return count;
}

// Returns whether the ranks are on more than one node. Where the number is not known, ranks are missing in the
// log: then several hosts, or connections through the network, show it.
bool spans_nodes(const LogCommunicator& communicator) {
  if (communicator.nodes > 0) return communicator.nodes > 1;
  return hosts_of(communicator).size() > 1 || connections(communicator, "NET/") > 0;
}

// Returns "2 nodes", or the best that is known: "at least 2 nodes", "several nodes".
std::string nodes_text(const LogCommunicator& communicator) {
  if (communicator.nodes > 0)
    return fmt::format("{} node{}", communicator.nodes, communicator.nodes == 1 ? "" : "s");
  const std::size_t hosts = hosts_of(communicator).size();
  return hosts > 1 ? fmt::format("at least {} nodes", hosts) : "several nodes";
}

std::string where(const LogProblem& problem) {
  std::string hosts;
  for (std::size_t i = 0; i < problem.hosts.size() && i < 3; ++i) hosts += (i ? ", " : "") + problem.hosts[i];
  if (problem.hosts.size() > 3) hosts += fmt::format(" and {} more", problem.hosts.size() - 3);
  if (problem.ranks.empty()) return hosts.empty() ? "" : fmt::format(" ({})", hosts);
  return fmt::format(" (rank{} {} on {})", problem.ranks.size() == 1 ? "" : "s", rank_list(problem.ranks),
                     hosts);
}

LogVerdict of_problem(const LogProblem& problem) {
  LogVerdict verdict{.severity = problem.severity,
                     .text = problem.title + where(problem),
                     .why = {problem.line == 0 ? problem.message
                                               : fmt::format("{}: {}", place_text(problem.file, problem.line),
                                                             problem.message)},
                     .certainty = problem.certainty,
                     .cause = problem.cause,
                     .remedy = problem.remedy,
                     .settle_by = problem.settle_by,
                     .others = problem.others,
                     .refuted = problem.refuted};
  verdict.why.insert(verdict.why.end(), problem.evidence.begin(), problem.evidence.end());
  return verdict;
}

// A connection was closed. The ranks that report it are alive, so the silent ones that did not finish are
// suspects. Returns nothing if there is none.
std::optional<LogVerdict> of_lost_peer(const Log& log, const LogProblem& problem) {
  if (!problem.symptom.starts_with("peer-") || log.communicators.empty()) return std::nullopt;
  std::set<int> speaking;
  for (const LogProblem& log_problem : log.problems)
    speaking.insert(log_problem.ranks.begin(), log_problem.ranks.end());
  for (const TorchRank& rank : log.torch) speaking.insert(rank.rank);
  std::vector<int> silent;
  std::string host;
  for (const LogRank& rank : log.communicators.front().ranks) {
    if (speaking.contains(rank.rank) || rank.step == Step::kDestroyed) continue;
    silent.push_back(rank.rank);
    host = rank.host;
  }
  if (silent.empty() || speaking.empty()) return std::nullopt;
  LogVerdict verdict = of_problem(problem);
  verdict.text =
      silent.size() == 1
          ? fmt::format("Rank {} on {} went away: others found its connection closed", silent.front(), host)
          : fmt::format("A rank went away, one of {}: others found its connection closed", rank_list(silent));
  verdict.remedy =
      "Look at the last lines of that rank's own output; "
      "dmesg | grep -i -e oom -e xid on its host; the scheduler's record of the job.";
  return verdict;
}

// Returns the warnings that match no symptom, in the log's order.
std::vector<const LogProblem*> unknown_warnings(const Log& log) {
  std::vector<const LogProblem*> found;
  for (const LogProblem& problem : log.problems)
    if (problem.id == "other") found.push_back(&problem);
  std::ranges::sort(found, {}, &LogProblem::line);
  return found;
}

// Returns a verdict for a warning that matches no row: NCCL's own message, what is known of its form, and the most
// informative other problems.
LogVerdict of_unknown(const Log& log, const std::vector<const LogProblem*>& unknown, Severity severity) {
  constexpr std::size_t kMostLines = 3;
  const LineMeaning meaning = meaning_of(unknown.front()->message);
  LogVerdict verdict{
      .severity = severity,
      .text = fmt::format("NCCL warned: {}{}", unknown.front()->title, where(*unknown.front())),
      .certainty = Certainty::kUnknown,
      .cause =
          fmt::format("The tables do not have that warning{}. It is the first in the log that is no echo of "
                      "another.{}",
                      meaning.printer.empty() ? "" : fmt::format(" of {}", meaning.printer),
                      meaning.text.empty() ? "" : " " + meaning.text),
      .remedy = "Search for its words in NCCL's issues; with NCCL_DEBUG=INFO the lines before it say more.",
      .settle_by = meaning.look};
  std::vector<const LogProblem*> telling = unknown;
  for (const LogProblem& problem : log.problems)
    if (problem.id != "other") telling.push_back(&problem);
  for (const LogProblem* problem : telling)
    if (verdict.why.size() < kMostLines) verdict.why.push_back(at_line(*problem));
  return verdict;
}

// Returns a verdict for a log in which no row of the tables knows a line: who printed the first of those that say
// most, what the call in it does, and what its error stands for. That is no cause.
LogVerdict of_telling(const LogState& state) {
  constexpr std::size_t kMostLines = 3;
  LogVerdict verdict{.severity = Severity::kWarning,
                     .text = state.log.problems.empty()
                                 ? "Not known: no message of this log is in the tables"
                                 : "Not known: no failure of this log is in the tables",
                     .certainty = Certainty::kUnknown,
                     .remedy =
                         "Look at these lines first. If ranks of other nodes have logs, give them, too: "
                         "railbed explain rank*.log"};
  const std::vector<LogSight> telling = most_telling(state, kMostLines);
  LineMeaning best;
  for (const LogSight& sight : telling) {
    verdict.why.push_back(at_line(sight));
    LineMeaning meaning = meaning_of(sight.text);
    if (meaning.weight > best.weight) best = std::move(meaning);
  }
  if (!best.printer.empty())
    verdict.text = fmt::format("Not known: {} printed a message that is in no table", best.printer);
  verdict.cause = std::move(best.text);
  verdict.settle_by = std::move(best.look);
  return verdict;
}

// Adds the lines that say most, in words that no row knows, to a verdict that may not be the whole truth.
void add_telling(const LogState& state, const LogProblem& problem, LogVerdict& verdict) {
  constexpr std::size_t kMostLines = 3;
  constexpr std::size_t kAlike = 12;  // the same message of another task
  for (const LogSight& sight : most_telling(state, kMostLines))
    if (!sight.text.starts_with(problem.message.substr(0, kAlike))) verdict.why.push_back(at_line(sight));
}

// Only consequences are known to have failed. A rank that ended explains them; else an unknown warning, if it
// came before or the consequence carries no information.
LogVerdict of_echo(const LogState& state, const LogProblem& echo) {
  const Log& log = state.log;
  if (auto lost = of_lost_peer(log, echo)) return std::move(*lost);
  const auto unknown = unknown_warnings(log);
  const bool says_more =
      !unknown.empty() && (unknown.front()->line < echo.line || echo.id.ends_with("-error"));
  if (says_more) return of_unknown(log, unknown, Severity::kError);
  const LogSight* const exception = reports_an_end(echo.symptom) ? exception_before(state, echo) : nullptr;
  if (exception != nullptr)
    return {
        .severity = Severity::kError,
        .text = "A program raised an exception that is not in the tables: " + exception->text,
        .why = {at_line(*exception), at_line(echo)},
        .certainty = Certainty::kUnknown,
        .remedy =
            "Read the traceback above it; what ended after it follows from it. Search for its words in the "
            "program's issues."};
  LogVerdict verdict = of_problem(echo);
  // The message of a consequence states an event, not its cause.
  if (verdict.certainty == Certainty::kCause && echo.evidence.empty())
    verdict.certainty = Certainty::kUnknown;
  if (log.nccl_lines == 0) add_telling(state, echo, verdict);
  return verdict;
}

std::optional<LogVerdict> of_different_networks(const Log& log) {
  if (log.networks.size() < 2 || log.hosts.size() < 2) return std::nullopt;
  if (!log.communicators.empty() && log.communicators.front().nodes == 1) return std::nullopt;
  std::string names;
  for (const LogNetwork& network : log.networks)
    names += fmt::format("{}{} ({} processes)", names.empty() ? "" : ", ", network.name, network.processes);
  return LogVerdict{
      .severity = Severity::kError,
      .text = fmt::format("Ranks chose different networks: {}", names),
      .remedy =
          "A port is down, or a library or plugin is missing on some nodes: compare their \"NET/\" lines."};
}

// True if all ranks are at the same step of the start.
bool all_joined(const Log& log) {
  if (log.communicators.empty() || !log.hang->never_came.empty()) return false;
  const LogCommunicator& largest = log.communicators.front();
  return std::ssize(largest.ranks) == largest.size && log.hang->behind.size() == largest.ranks.size();
}

// Returns the last lines of the ranks that the others waited for, without those that are in `known`.
std::vector<std::string> last_lines(const LogState& state, const std::vector<std::string>& known) {
  constexpr std::size_t kMostRanks = 2;
  std::vector<std::string> lines;
  for (const int rank : state.log.hang->behind) {
    const auto speaker = state.torch_lines.ranks.find(rank);
    if (lines.size() >= kMostRanks || speaker == state.torch_lines.ranks.end()) continue;
    if (speaker->second.newest.line == 0) continue;
    const std::string line = at_line(speaker->second.newest);
    const auto has_it = [&](const std::string& text) { return text.find(line) != std::string::npos; };
    if (std::ranges::none_of(known, has_it))
      lines.push_back(fmt::format("rank {} printed last: {}", rank, line));
  }
  return lines;
}

LogVerdict of_hang(const LogState& state) {
  const Log& log = state.log;
  const std::string text = (log.hang->certain ? "Hang: " : "") + log.hang->text;
  const auto timeout = std::ranges::find(log.problems, "collective-timeout", &LogProblem::symptom);
  if (timeout != log.problems.end()) {
    LogVerdict verdict = of_problem(*timeout);
    verdict.text = text;
    for (std::string& line : last_lines(state, verdict.why)) verdict.why.push_back(std::move(line));
    const auto absurd = std::ranges::find(log.problems, "memory-absurd", &LogProblem::symptom);
    if (absurd != log.problems.end())
      verdict.text += fmt::format("; the out-of-memory error of more than 1 EB ({}) is a consequence",
                                  place_text(absurd->file, absurd->line));
    return verdict;
  }
  LogVerdict verdict{
      .severity = Severity::kError,
      .text = text,
      .remedy = "Look at what the ranks that are behind were doing (py-spy dump, cuda-gdb, their own log)."};
  if (!log.hang->certain) verdict.certainty = Certainty::kUnknown;
  if (!all_joined(log)) return verdict;
  verdict.cause =
      "No rank is missing: data did not get through between two of them, or they call different operations under one number.";
  if (connections(log.communicators.front(), "P2P/") > 0)
    verdict.remedy = std::string(kP2pTrial) + " ";
  else
    verdict.remedy.clear();
  verdict.remedy += spans_nodes(log.communicators.front())
                        ? "Between nodes prove each path with `railbed bench rdma` and `railbed bench tcp`."
                        : "A GPU that hangs has an Xid in dmesg.";
  return verdict;
}

struct Reason {
  std::string text;
  std::vector<std::string> why = {};
  std::string remedy;
};

// Returns why NCCL fell back to sockets, in its own order of decisions.
Reason why_sockets(const LogState& state) {
  const Log& log = state.log;
  std::set<std::string> disabled, library, device;
  for (const LogProcess& process : state.processes) {
    if (process.disabled_ib) disabled.insert(process.host);
    if (process.no_verbs_library) library.insert(process.host);
    if (process.no_rdma_device) device.insert(process.host);
  }
  if (!disabled.empty())
    return {.text = fmt::format("NCCL_IB_DISABLE={} switches it off", value_of(log, "NCCL_IB_DISABLE")),
            .remedy = "Remove NCCL_IB_DISABLE from the environment, profile and nccl.conf."};
  if (value_of(log, "NCCL_NET") == "Socket")
    return {.text = "NCCL_NET=Socket asks for TCP",
            .remedy = "Remove NCCL_NET from the environment, profile and nccl.conf."};
  if (!library.empty())
    return {.text = fmt::format("libibverbs could not be opened on {}", *library.begin()),
            .remedy = "Install libibverbs1 and ibverbs-providers (rdma-core), in the container too."};
  const auto plugin = std::ranges::find(log.problems, "plugin-libfabric", &LogProblem::symptom);
  if (plugin != log.problems.end())
    return {.text = "the libfabric plugin could not be loaded",
            .why = {at_line(*plugin)},
            .remedy = plugin->remedy};
  const auto libfabric = std::ranges::find_if(log.problems, [](const LogProblem& problem) {
    return problem.symptom == "ofi-no-provider" || problem.symptom == "ofi-no-device";
  });
  if (libfabric != log.problems.end())
    return {.text = "the libfabric plugin found no network that it can use", .remedy = libfabric->remedy};
  if (device.empty())
    return {
        .text = "the log does not say why",
        .remedy = "Run with NCCL_DEBUG=INFO from the start of the job; check NCCL_NET and the NET/ lines."};
  Reason reason{.text = fmt::format("NCCL found no active RDMA port on {}", *device.begin()),
                .why = {"\"NET/IB : No device found.\""},
                .remedy =
                    "Check `ibv_devinfo` on that node: a port must be PORT_ACTIVE; "
                    "a container needs /dev/infiniband. `railbed verify` names the cause."};
  const std::string filter = value_of(log, "NCCL_IB_HCA");
  if (!filter.empty()) reason.why.push_back(fmt::format("NCCL_IB_HCA={} may match no device there", filter));
  return reason;
}

LogVerdict of_sockets(const LogState& state, const LogCommunicator& communicator) {
  const Log& log = state.log;
  const Reason reason = why_sockets(state);
  LogVerdict verdict{.severity = Severity::kWarning, .why = reason.why, .remedy = reason.remedy};
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> names;
  for (const LogInterface& interface : log.interfaces)
    if (interface.data) add_once(names, interface.name, kNamed);
  const std::string carried = fmt::format("{}", fmt::join(names, ", "));
  verdict.text = fmt::format("RDMA is not used: {}; {} talk over TCP{}", reason.text,
                             nodes_text(communicator), carried.empty() ? "" : fmt::format(" ({})", carried));
  return verdict;
}

// Returns why a network was chosen; empty if the log does not show it.
std::string why_network(const LogState& state, const std::string& name) {
  if (value_of(state.log, "NCCL_NET") == name) return "NCCL_NET asks for it";
  if (name == "Socket") return why_sockets(state).text;
  if (name != "IB") return "a plugin brings it";
  return state.log.nics.empty() ? "" : "active RDMA ports were found";
}

std::string local_path(const LogCommunicator& communicator, const Log& log) {
  if (communicator.nvls_channels > 0) return "NVLink with NVLS";
  if (connections(communicator, "P2P/MNNVL") > 0) return "multi-node NVLink";
  if (connections(communicator, "P2P/") > 0) {
    if (communicator.local_path == "NVL") return "NVLink";
    return communicator.local_path.empty() ? "P2P (NVLink or PCIe)" : "P2P (PCIe)";
  }
  if (connections(communicator, "SHM/") > 0)
    return value_of(log, "NCCL_P2P_DISABLE") == "1" ? "host memory, since NCCL_P2P_DISABLE=1"
                                                    : "host memory (SHM)";
  if (connections(communicator, "NET/Socket") > 0) return "TCP sockets";
  if (connections(communicator, "NET/") > 0) return "RDMA";
  return "";
}

std::string ranks_up(const LogCommunicator& communicator) {
  if (communicator.size == 1) return "The one rank is up";
  if (communicator.completed >= communicator.size)
    return fmt::format("All {} ranks are up", communicator.size);
  return fmt::format("{} of {} ranks are up in this log", communicator.completed, communicator.size);
}

// Returns whether the log shows an operation after the start.
bool has_run(const Log& log, const LogCommunicator& communicator) {
  return !log.choices.empty() || std::ranges::any_of(communicator.ranks, [](const LogRank& rank) {
    return rank.step >= Step::kOperation;
  });
}

LogVerdict of_one_node(const LogState& state, const LogCommunicator& communicator) {
  const Log& log = state.log;
  const std::string path = local_path(communicator, log);
  const auto hosts = hosts_of(communicator);
  const std::string place =
      std::ssize(communicator.ranks) >= communicator.size || hosts.empty()
          ? " on one node"
          : fmt::format(" on {}; where the others are is not in this log", *hosts.begin());
  LogVerdict verdict{.text = ranks_up(communicator) + (path.empty() ? "" : " over " + path) + place};
  const bool p2p_off = value_of(log, "NCCL_P2P_DISABLE") == "1" || value_of(log, "NCCL_P2P_LEVEL") == "LOC";
  if (connections(communicator, "P2P/") == 0 && p2p_off && communicator.size > 1) {
    verdict.severity = Severity::kWarning;
    verdict.why.push_back("P2P between GPUs is switched off by a variable");
    verdict.remedy = "Remove NCCL_P2P_DISABLE and NCCL_P2P_LEVEL.";
  } else if (connections(communicator, "NET/Socket") > 0) {
    verdict.severity = Severity::kWarning;
    verdict.why.push_back("GPUs of one node reach each other neither by P2P nor by shared memory");
    verdict.remedy =
        "Remove NCCL_SHM_DISABLE and NCCL_P2P_DISABLE; share /dev/shm between containers (--ipc=host).";
  } else if (state.ends_in_nccl && !has_run(log, communicator) && connections(communicator, "P2P/") > 0 &&
             path != "NVLink") {
    verdict.remedy = fmt::format("Nothing, if the job goes on. If it stands still after this: {}", kP2pTrial);
  }
  return verdict;
}

LogVerdict of_rdma(const Log& log, const LogCommunicator& communicator) {
  std::string network;
  for (const LogNetwork& log_network : log.networks)
    network += (network.empty() ? "" : ", ") + log_network.name;
  constexpr std::size_t kLinks = 8;
  std::vector<std::string> links;
  for (const LogNic& nic : log.nics)
    if (!nic.link.empty()) add_once(links, nic.link, kLinks);
  std::string kind;
  for (const std::string& link : links) kind += (kind.empty() ? "" : " and ") + link;
  LogVerdict verdict;
  const std::string over =
      fmt::format("{} on {} over {}{}", ranks_up(communicator), nodes_text(communicator),
                  network.empty() ? "the network" : network, kind.empty() ? "" : fmt::format(" ({})", kind));
  if (log.gpudirect == "on") {
    verdict.text = fmt::format("{} with GPUDirect RDMA{}", over,
                               log.gpudirect_route.empty() ? "" : fmt::format(" ({})", log.gpudirect_route));
  } else if (log.gpudirect.empty()) {
    verdict.text = over;
  } else {
    verdict.severity = Severity::kWarning;
    verdict.text =
        log.gpudirect == "off"
            ? fmt::format("RDMA is used, GPUDirect is not: GPU data goes through host memory. {}", over)
            : fmt::format("GPUDirect RDMA is used by some connections only. {}", over);
    verdict.why = log.gpudirect_why;
    verdict.remedy =
        "`railbed verify` on a node says whether GPUDirect RDMA can be there and what opens a route; `railbed "
        "nccl` shows how far each GPU is from its NIC: NCCL goes direct below one root port, and farther only "
        "where NCCL_NET_GDR_LEVEL says so.";
  }
  return verdict;
}

// Returns the verdict of a benchmark that measured to its end; nothing where the log shows none.
std::optional<LogVerdict> of_finished(const LogState& state) {
  if (const auto passed = state.seen.find("tests-in-bounds"); passed != state.seen.end())
    return LogVerdict{
        .severity = Severity::kNote,
        .text = "nccl-tests ran to its end, and no value was wrong",
        .why = {at_line(passed->second)},
        .remedy =
            "Nothing. Differences of about 1e-07 in the column \"error\" are rounding. Lines of NCCL about a plugin or a "
            "library that is not there are no failures."};
  if (state.rdma.test_result.line == 0) return std::nullopt;
  return LogVerdict{.severity = Severity::kNote,
                    .text = "The RDMA test measured, and no line reports a failure",
                    .why = {at_line(state.rdma.test_result)},
                    .remedy = "Nothing. A library prints the warnings below on sound systems, too."};
}

// Returns the verdict of a log that has NCCL lines and no deciding problem.
LogVerdict of_healthy(const LogState& state) {
  const Log& log = state.log;
  if (log.communicators.empty() && state.sockets) return of_sockets(state, LogCommunicator());
  if (log.communicators.empty())
    if (auto finished = of_finished(state)) return std::move(*finished);
  if (log.communicators.empty())
    return {.severity = Severity::kNote,
            .text = "NCCL was started, but no communicator was created in this log",
            .remedy = "Run with NCCL_DEBUG=INFO and keep the output of all ranks."};
  const LogCommunicator& largest = log.communicators.front();
  // Without shared memory NCCL counts every process as a node.
  const bool all_here = hosts_of(largest).size() == 1 && std::ssize(largest.ranks) == largest.size;
  if (all_here && value_of(log, "NCCL_SHM_DISABLE") == "1") return of_one_node(state, largest);
  if (connections(largest, "NET/Socket") > 0 && spans_nodes(largest)) return of_sockets(state, largest);
  const bool sockets_only = log.networks.size() == 1 && log.networks.front().name == "Socket";
  if (spans_nodes(largest)) return sockets_only ? of_sockets(state, largest) : of_rdma(log, largest);
  return of_one_node(state, largest);
}

// Returns whether a line that no row knows reports a failure: it is no warning, or one that states an end or a loss.
bool has_unknown_failure(const LogState& state) {
  return std::ranges::any_of(state.telling, [](const TellingLine& line) {
    const auto has = [&](std::string_view words) { return line.sight.text.find(words) != std::string::npos; };
    constexpr std::string_view kGrave[] = {"bort",   "ailed",  "ailure", "FAIL",     "illed",
                                           "KILLED", " lost ", "Lost ",  " loss of", "data loss"};
    return (!has("arning") && !has("WARN")) || std::ranges::any_of(kGrave, has) ||
           line.sight.text.ends_with(" lost");
  });
}

}  // namespace

void judge_run(LogState& state) {
  Log& log = state.log;
  for (LogNetwork& network : log.networks) network.why = why_network(state, network.name);
  const auto unknown = unknown_warnings(log);
  // What is known to make P2P between GPUs hang.
  const auto redirected = std::ranges::find_if(log.problems, [](const LogProblem& problem) {
    return problem.id == "p2p-acs" || problem.symptom == "no-iommu-pt";
  });
  auto decides = std::ranges::find_if(log.problems, [](const LogProblem& problem) {
    return problem.severity == Severity::kError && !problem.consequence;
  });
  // A kernel's fault follows from the loss of its GPU, of which the row is the last of its table.
  constexpr std::string_view kKernelFaults[] = {"cuda-program", "cuda-launch", "cuda-instruction",
                                                "cuda-misaligned"};
  if (decides != log.problems.end() &&
      std::ranges::find(kKernelFaults, decides->symptom) != std::end(kKernelFaults))
    if (const auto lost = std::ranges::find(log.problems, "gpu-fell-off", &LogProblem::symptom);
        lost != log.problems.end())
      decides = lost;
  if (decides != log.problems.end()) {
    log.verdict = of_problem(*decides);
  } else if (auto different = of_different_networks(log)) {
    log.verdict = std::move(*different);
  } else if (const auto warned = std::ranges::find_if(log.problems,
                                                      [](const LogProblem& problem) {
                                                        return problem.severity == Severity::kWarning &&
                                                               !problem.consequence && !is_aside(problem) &&
                                                               !problem.symptom.empty();
                                                      });
             warned != log.problems.end() && log.hang && !log.hang->certain &&
             !log.hang->never_came.empty()) {
    // Nothing shows that the ranks of other nodes were late.
    log.verdict = of_problem(*warned);
    log.verdict.why.push_back(log.hang->text);
  } else if (log.hang) {
    log.verdict = of_hang(state);
    if (redirected != log.problems.end()) {
      const std::string hang = log.verdict.text;
      log.verdict = of_problem(*redirected);
      log.verdict.severity = Severity::kError;
      log.verdict.certainty = Certainty::kLikely;
      log.verdict.why.push_back(hang);
    }
  } else if (redirected != log.problems.end()) {
    log.verdict = of_problem(*redirected);
  } else if (!log.problems.empty() && log.problems.front().severity == Severity::kError) {
    log.verdict = of_echo(state, log.problems.front());
  } else if (log.communicators.empty() && !unknown.empty()) {
    log.verdict = of_unknown(log, unknown, Severity::kWarning);
  } else if (const auto known = std::ranges::find_if(log.problems,
                                                     [](const LogProblem& problem) {
                                                       return problem.severity == Severity::kWarning &&
                                                              !problem.consequence &&
                                                              !problem.symptom.empty();
                                                     });
             known != log.problems.end() && log.communicators.empty() &&
             !(is_aside(*known) && log.nccl_lines == 0 && has_unknown_failure(state))) {
    auto finished = is_aside(*known) ? of_finished(state) : std::nullopt;
    log.verdict = finished ? std::move(*finished) : of_problem(*known);
    if (log.nccl_lines == 0 && !is_aside(*known)) add_telling(state, *known, log.verdict);
  } else if (log.nccl_lines == 0 && !state.telling.empty()) {
    log.verdict = of_telling(state);
  } else if (log.nccl_lines == 0 && !log.problems.empty()) {
    log.verdict = of_problem(log.problems.front());
  } else if (log.nccl_lines == 0) {
    log.verdict = {
        .severity = Severity::kWarning,
        .text = "Nothing in this text reports a failure that railbed knows, nor is a line of it NCCL's",
        .remedy =
            "Give the lines around the failure, from all ranks and with what the machines show. A job with "
            "NCCL prints more with NCCL_DEBUG=INFO, and NCCL_DEBUG_FILE sends that elsewhere."};
  } else {
    log.verdict = of_healthy(state);
    // A run that is not up, or not to its end in this log, may owe that to what it was warned of.
    const bool incomplete =
        !log.communicators.empty() && log.communicators.front().completed < log.communicators.front().size;
    const auto warned = std::ranges::find_if(log.problems, [](const LogProblem& problem) {
      return problem.severity == Severity::kWarning && !is_aside(problem) && !problem.symptom.empty();
    });
    if (log.verdict.severity == Severity::kNote && incomplete && warned != log.problems.end())
      log.verdict = of_problem(*warned);
  }
}

}  // namespace railbed::diagnose
