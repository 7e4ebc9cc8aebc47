// Writes the log's content for people and programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kShown = 8;

void row(std::string& out, std::string_view name, std::string_view text) {
  fmt::format_to(std::back_inserter(out), "{:<13}{}\n", name, text);
}

template <class List, class Show>
std::string joined(const List& list, std::string_view separator, Show show) {
  std::string out;
  std::size_t shown = 0;
  for (const auto& one : list) {
    if (shown == kShown) return out + fmt::format("{}… ({} in all)", separator, list.size());
    if (shown++ > 0) out += separator;
    out += show(one);
  }
  return out;
}

std::string joined(const std::vector<std::string>& list) {
  return joined(list, ", ", [](const std::string& one) { return one; });
}

std::string nic_text(const LogNic& nic) {
  std::string out =
      fmt::format("{}:{}{}", nic.host, nic.device, nic.port ? fmt::format(":{}", nic.port) : "");
  if (!nic.link.empty()) out += " " + nic.link;
  if (nic.gigabits > 0) out += " " + to_text(BitRate::gigabits(nic.gigabits));
  if (!nic.gpudirect.empty()) out += " GPUDirect " + nic.gpudirect;
  return out;
}

std::string connection_text(const LogConnections& connections) {
  return fmt::format("{} × {}{}", connections.count, connections.via,
                     connections.gpudirect ? fmt::format(" ({} GPUDirect)", connections.gpudirect) : "");
}

void labelled(std::string& out, std::string_view indent, std::string_view label, std::string_view text) {
  if (!text.empty()) fmt::format_to(std::back_inserter(out), "{}{:<8}{}\n", indent, label, text);
}

// Writes the cause and how certain it is, what else it may be, and what it is not. `judged` is a LogProblem or the
// LogVerdict.
template <class Judged>
void write_causes(std::string& out, std::string_view indent, const Judged& judged) {
  if (judged.certainty == Certainty::kUnknown && judged.cause.empty() && !judged.refuted.empty())
    labelled(out, indent, "cause", "not known: what is seen contradicts every cause in the table");
  if (judged.certainty == Certainty::kOneOf) {
    labelled(out, indent, "cause", "one of these:");
    const auto number = [&](std::size_t index, const std::string& cause, const std::string& remedy,
                            const std::string& settle_by) {
      labelled(out, indent, fmt::format("  {}", index), cause);
      labelled(out, indent, "", settle_by.empty() ? "" : "look: " + settle_by);
      labelled(out, indent, "", remedy.empty() ? "" : "remedy: " + remedy);
    };
    number(1, judged.cause, judged.remedy, judged.settle_by);
    for (std::size_t i = 0; i < judged.others.size(); ++i)
      number(i + 2, judged.others[i].cause, judged.others[i].remedy, judged.others[i].settle_by);
  } else {
    // Without a cause the text is what is known of the message itself.
    const std::string_view label = judged.certainty == Certainty::kLikely    ? "likely"
                                   : judged.certainty == Certainty::kUnknown ? "means"
                                                                             : "cause";
    labelled(out, indent, label, judged.cause);
    labelled(out, indent, "remedy", judged.remedy);
    labelled(out, indent, "look", judged.settle_by);
  }
}

// Writes what else may be the cause, and what is not.
template <class Judged>
void write_rivals(std::string& out, std::string_view indent, const Judged& judged) {
  if (judged.certainty != Certainty::kOneOf)
    for (const LogCandidate& other : judged.others) {
      labelled(out, indent, "unless", other.title);
      labelled(out, indent, "", other.settle_by.empty() ? "" : "look: " + other.settle_by);
    }
  std::string before;  // one line often refutes several
  for (const LogCandidate& refuted : judged.refuted) {
    std::string evidence = fmt::format("{}", fmt::join(refuted.evidence, "; "));
    labelled(out, indent, "not",
             fmt::format("{} ({})", refuted.title, evidence == before ? "the same" : evidence));
    before = std::move(evidence);
  }
}

void write_problem(std::string& out, const LogProblem& problem, bool told) {
  std::string where;
  if (!problem.ranks.empty())
    where = fmt::format(", rank{} {}", problem.ranks.size() == 1 ? "" : "s", rank_list(problem.ranks));
  // What follows from several lines has no place of its own.
  const std::string place = problem.line == 0
                                ? ""
                                : fmt::format("{}, {} time{}{}: ", place_text(problem.file, problem.line),
                                              problem.count, problem.count == 1 ? "" : "s", where);
  fmt::format_to(std::back_inserter(out), "  {}: {}\n    {}{}\n",
                 enum_names(Severity{})[static_cast<std::size_t>(problem.severity)], problem.title, place,
                 problem.message);
  if (told || problem.id == "other") return;
  for (const std::string& evidence : problem.evidence) labelled(out, "    ", "why", evidence);
  write_causes(out, "    ", problem);
  write_rivals(out, "    ", problem);
}

std::string gpudirect_text(const LogRank& rank) {
  if (rank.gpudirect_send && rank.gpudirect_receive) return "GPUDirect both ways";
  if (rank.gpudirect_send || rank.gpudirect_receive)
    return rank.gpudirect_send ? "GPUDirect for sending only" : "GPUDirect for receiving only";
  return "through host memory";
}

// Writes which NICs each GPU uses, and how.
void write_network_ranks(std::string& out, const LogCommunicator& communicator) {
  constexpr std::size_t kMost = 16;
  std::vector<const LogRank*> ranks;
  for (const LogRank& rank : communicator.ranks)
    if (rank.network_used) ranks.push_back(&rank);
  if (ranks.empty()) return;
  out += "Through the network\n";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i)
    fmt::format_to(std::back_inserter(out), "  rank {:<4} {} GPU {}  {}  {}\n", ranks[i]->rank,
                   ranks[i]->host, ranks[i]->device, joined(ranks[i]->nics), gpudirect_text(*ranks[i]));
  if (ranks.size() > kMost) fmt::format_to(std::back_inserter(out), "  … {} more\n", ranks.size() - kMost);
}

void write_communicator(std::string& out, const Log& log) {
  const LogCommunicator& largest = log.communicators.front();
  row(out, "Communicator",
      fmt::format(
          "{} rank{}{}, {} complete{}", largest.size, largest.size == 1 ? "" : "s",
          largest.nodes ? fmt::format(" on {} node{}", largest.nodes, largest.nodes == 1 ? "" : "s") : "",
          largest.completed,
          log.communicators.size() > 1 ? fmt::format("; the largest of {}", log.communicators.size()) : ""));
  if (largest.collective_channels > 0)
    row(out, "Channels",
        fmt::format("{} collective, {} P2P{}{}", largest.collective_channels, largest.p2p_channels,
                    largest.nvls_channels ? fmt::format(", {} NVLS", largest.nvls_channels) : "",
                    largest.collnet ? ", CollNet (SHARP)" : ""));
  if (!largest.rings.empty())
    row(out, "Rings", fmt::format("{} ({})", largest.ring_count, joined(largest.rings)));
  if (!largest.trees.empty()) row(out, "Trees", joined(largest.trees));
  if (!largest.connections.empty())
    row(out, "Connections", joined(largest.connections, ", ", connection_text));
  if (largest.slowest_init_seconds > 0)
    row(out, "Init",
        fmt::format("{:.2f} s at the slowest ({})", largest.slowest_init_seconds, largest.slowest_init));
  write_network_ranks(out, largest);
  if (!log.hang) return;
  out += "Ranks\n";
  std::size_t shown = 0;
  for (const LogRank& rank : largest.ranks) {
    if (++shown > 64) {
      fmt::format_to(std::back_inserter(out), "  … {} more\n", largest.ranks.size() - 64);
      break;
    }
    fmt::format_to(std::back_inserter(out), "  {:>4}  {}:{} GPU {}  {}{}\n", rank.rank, rank.host,
                   rank.process, rank.device, describe(rank.step),
                   rank.operations
                       ? fmt::format(", {} operations, last {}", *rank.operations, rank.last_operation)
                       : "");
  }
}

void write_choices(std::string& out, const std::vector<LogChoice>& choices) {
  if (choices.empty()) return;
  out += "Algorithms\n";
  for (const LogChoice& choice : choices)
    fmt::format_to(std::back_inserter(out), "  {:<14}{:>10} – {:<10} {} {}{}\n", choice.function,
                   to_text(ByteCount{choice.from_bytes}), to_text(ByteCount{choice.to_bytes}),
                   choice.algorithm, choice.protocol,
                   choice.channels
                       ? fmt::format(", up to {} channel{}", choice.channels, choice.channels == 1 ? "" : "s")
                       : "");
}

void write_tuning(std::string& out, const std::vector<LogTuning>& cells) {
  if (cells.empty()) return;
  out += "Tuning table (latency, bandwidth of the algorithm)\n";
  std::vector<std::string> functions;
  for (const LogTuning& cell : cells)
    if (std::ranges::find(functions, cell.function) == functions.end()) functions.push_back(cell.function);
  for (const std::string& function : functions) {
    std::string row;
    for (const LogTuning& cell : cells)
      if (cell.function == function)
        row += fmt::format("{}{} {} {:.1f} µs {:.1f} GB/s", row.empty() ? "" : ", ", cell.algorithm,
                           cell.protocol, cell.latency, cell.bandwidth);
    fmt::format_to(std::back_inserter(out), "  {:<14}{}\n", function, row);
  }
}

std::string written_verdict(const Log& log) {
  std::string out = log.verdict.text + "\n";
  for (const std::string& why : log.verdict.why) labelled(out, "  ", "why", why);
  write_causes(out, "  ", log.verdict);
  // Apart, so that the first paragraph holds what is wrong and what to do.
  std::string rivals;
  write_rivals(rivals, "  ", log.verdict);
  if (!rivals.empty()) out += "\n" + rivals;
  return out;
}

std::string written_details(const Log& log) {
  if (log.nccl_lines == 0 && log.problems.empty()) return "";
  std::string out;
  if (!log.versions.empty())
    row(out, "NCCL",
        joined(log.versions) + (log.builds.empty() ? "" : ", built from " + joined(log.builds)) +
            (log.drivers.empty() ? "" : ", driver for CUDA " + joined(log.drivers)));
  if (!log.hosts.empty())
    row(out, "Hosts",
        fmt::format("{} ({} process{})", joined(log.hosts), log.processes, log.processes == 1 ? "" : "es"));
  if (!log.networks.empty())
    row(out, "Network", joined(log.networks, ", ", [](const LogNetwork& network) {
          return network.why.empty() ? network.name : fmt::format("{} ({})", network.name, network.why);
        }));
  if (!log.nics.empty()) row(out, "RDMA ports", joined(log.nics, ", ", nic_text));
  if (!log.interfaces.empty())
    row(out, "IP", joined(log.interfaces, ", ", [](const LogInterface& interface) {
          return fmt::format("{}:{} {}{}", interface.host, interface.name, interface.address,
                             interface.data ? "" : " (first contact only)");
        }));
  if (!log.gpudirect.empty())
    row(out, "GPUDirect",
        log.gpudirect + (log.gpudirect_route.empty() ? "" : fmt::format(" ({})", log.gpudirect_route)));
  if (!log.communicators.empty()) write_communicator(out, log);
  write_choices(out, log.choices);
  write_tuning(out, log.tuning);
  if (!log.variables.empty())
    row(out, "Variables", joined(log.variables, ", ", [](const LogVariable& variable) {
          return fmt::format("{}={}", variable.name, variable.value);
        }));
  if (log.problems.empty()) return out;
  out += "Problems\n";
  for (const LogProblem& problem : log.problems)
    write_problem(out, problem, problem.cause == log.verdict.cause);
  return out;
}

}  // namespace

std::string rank_list(const std::vector<int>& ranks) {
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] <= sorted[last] + 1) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", sorted[i]);
    if (sorted[last] > sorted[i])
      out += fmt::format("{}{}", sorted[last] == sorted[i] + 1 ? ", " : "-", sorted[last]);
    i = last + 1;
  }
  return out;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", rank_list(ranks));
}

std::string verdict_text(const Log& log) {
  std::string out = written_verdict(log);
  if (!log.slow.empty()) out += "\nSlower than it might be\n";
  for (const LogSlow& slow : log.slow)
    fmt::format_to(std::back_inserter(out), "  {} ({})\n    {}\n", slow.title, slow.why, slow.remedy);
  return printable_lines(out);
}

std::string details_text(const Log& log) { return printable_lines(written_details(log)); }

std::string to_text(const Log& log) {
  const std::string details = details_text(log);
  return verdict_text(log) + (details.empty() ? "" : "\n" + details);
}

}  // namespace railbed::diagnose
