// Error counters of RDMA ports, as rates since boot (verify/error_rate.h). A load window shows whether errors
// still occur (railbed bench).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/link_remedy.h"
#include "verify/areas.h"
#include "verify/error_rate.h"
#include "verify/walk.h"

namespace railbed {
namespace {

struct WatchedCounter {
  std::string_view name;
  std::string_view means;
  ErrorLimit limit;
};

using Counters = std::map<std::string, Reading<std::uint64_t>>;

Reading<std::uint64_t> counter(const Counters& counters, std::string_view name) {
  const auto found = counters.find(std::string(name));
  return found == counters.end() ? Reading<std::uint64_t>() : found->second;
}

// Warns if one of the counters grows faster than its limit; not applicable if the port has none of them.
void judge_counters(const Survey& survey, Judge& judge, Counters RdmaPort::*group,
                    std::span<const WatchedCounter> watched, const Remedy& remedy,
                    std::vector<ShellCommand> (*show)(const RailEnd&) = nullptr) {
  each_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (verdict.lacks_rdma(end)) return;
    const auto span = error_span(verdict, *end.facts, counter(end.rdma.port->counters, "port_rcv_packets"));
    if (!span) return;
    std::vector<std::string> moved;
    std::vector<std::string> too_fast;
    std::vector<std::string_view> meanings;
    std::string expected;
    std::size_t readable = 0;
    for (const WatchedCounter& each : watched) {
      const auto count = counter(end.rdma.port->*group, each.name);
      if (!count) continue;
      ++readable;
      if (*count == 0) continue;
      moved.push_back(fmt::format("{} {}", each.name, rate_text(*count, *span)));
      if (!exceeds(*count, *span, each.limit)) continue;
      verdict.seen(count);
      too_fast.push_back(moved.back());
      meanings.push_back(each.means);
      if (expected.empty()) expected = limit_text(each.limit);
    }
    if (readable == 0) return verdict.not_applicable("the port has no such counter");
    if (too_fast.empty())
      return verdict.pass(moved.empty() ? "0" : fmt::format("{}", fmt::join(moved, "; ")));
    Remedy mend = remedy;
    if (show != nullptr) std::ranges::move(show(end), std::back_inserter(mend.commands));
    verdict.warn({.message = fmt::format("{} counted {}: {}", end.rdma_where(), fmt::join(too_fast, "; "),
                                         fmt::join(meanings, "; ")),
                  .expected = expected,
                  .observed = fmt::format("{}", fmt::join(too_fast, "; ")),
                  .remedy = std::move(mend)});
  });
}

std::vector<ShellCommand> show_signal_with(const RailEnd& end) {
  std::vector<ShellCommand> commands = show_errors_with(end);
  std::ranges::move(show_cable_with(end), std::back_inserter(commands));
  return commands;
}

void link_lost(const Survey& survey, Judge& judge) {
  static constexpr WatchedCounter kWatched[] = {
      {"link_downed", "the link was lost", {1}},
      {"link_error_recovery", "the link had to retrain", {1}},
  };
  judge_counters(survey, judge, &RdmaPort::counters, kWatched,
                 {"Find out when (kernel log). If nobody pulled it: clean, reseat, swap the cable.",
                  {"journalctl -k | grep -i -e 'link down' -e 'link up'"}});
}

void damaged_packets(const Survey& survey, Judge& judge) {
  static constexpr WatchedCounter kWatched[] = {
      {"local_link_integrity_errors", "errors came faster than the link may correct", {10, 1e-8}},
      {"port_rcv_errors", "damaged packets arrived", {10, 1e-8}},
  };
  judge_counters(survey, judge, &RdmaPort::counters, kWatched,
                 {"Clean and reseat the cable, then swap it; then the port."}, show_signal_with);
}

// Returns the bit error ratio that a link may have, counting a symbol error as one bit. InfiniBand's
// specification and ibdiagnet's threshold allow 1e-12 before error correction, which SDR to FDR do not have.
// Faster links count only errors that correction could not repair: two decades fewer.
double error_ratio_allowed(const RdmaPort& port) {
  const std::string lanes = port.rate_text.value_or("");  // "4X QDR"
  const auto is_of = [&](std::string_view speed) { return lanes.ends_with(speed); };
  const bool corrects =
      !is_of(" SDR") && !is_of(" DDR") && !is_of(" QDR") && !is_of(" FDR10") && !is_of(" FDR");
  return corrects ? 1e-14 : 1e-12;
}

void judge_symbols(Case& verdict, const RailEnd& end) {
  const RdmaPort& port = *end.rdma.port;
  const auto errors = counter(port.counters, "symbol_error");
  if (!errors) return verdict.not_applicable("the port has no such counter");
  const auto span = error_span(verdict, *end.facts, counter(port.counters, "port_rcv_packets"));
  if (!span) return;
  const BitRate* rate = verdict.read(port.rate);
  if (rate == nullptr) return;
  const double bits = rate->bits_per_second * span->days * 86400;
  const double ratio = static_cast<double>(*errors) / bits;
  const double allowed = error_ratio_allowed(port);
  const std::string text =
      *errors == 0 ? "0"
                   : fmt::format("{} in {:.1f} days, one bit in {:.1g}", *errors, span->days, 1 / ratio);
  verdict.seen(errors);
  if (ratio <= allowed) return verdict.pass(text);
  verdict.warn(
      {.message = fmt::format("{} misread {} symbols in {:.1f} days: the signal is weak", end.rdma_where(),
                              *errors, span->days),
       .expected = fmt::format("at most one bit in {:g}", 1 / allowed),
       .observed = text,
       .remedy = {"Clean and reseat the cable, then swap it; then the port.", show_signal_with(end)}});
}

void signal_quality(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (!verdict.lacks_rdma(end)) judge_symbols(verdict, end);
  });
}

void buffer_overrun(const Survey& survey, Judge& judge) {
  static constexpr WatchedCounter kWatched[] = {
      {"excessive_buffer_overrun_errors",
       "the peer sent more than it was allowed: flow control is broken",
       {1}},
      {"VL15_dropped", "management packets were dropped", {100}},  // ibqueryerrors' own threshold
  };
  judge_counters(survey, judge, &RdmaPort::counters, kWatched,
                 {"Compare flow control (PFC, credits) at both ends; update the firmware of both."});
}

void packet_loss(const Survey& survey, Judge& judge) {
  static constexpr WatchedCounter kWatched[] = {
      {"packet_seq_err",
       "packets were lost or reordered on the way; in a lossless class PFC is broken",
       {10, 1e-7}},
      {"out_of_sequence", "packets arrived out of order: loss, or several paths", {10, 1e-7}},
      // Each job that is killed leaves its peers waiting for an acknowledgement.
      {"local_ack_timeout_err", "an answer never came: black hole or dead peer", {100, 1e-7}},
      {"rx_icrc_encapsulated", "packets were corrupted on the way", {10, 1e-8}},
      {"rp_cnp_ignored", "the peer asked to slow down and was ignored: ECN is off on this adapter", {10}},
  };
  judge_counters(survey, judge, &RdmaPort::hw_counters, kWatched,
                 {"Read them again under load. Growing: check PFC and ECN on this priority along the path.",
                  {"rdma statistic show"}});
}

}  // namespace

std::span<const Rule> counter_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.link-lost",
       .title = "RDMA link is not lost again and again",
       .why = "Each loss ends every connection on the port. One may be a cable somebody moved; "
              "more are a fault.",
       .source = "/sys/class/infiniband/*/ports/*/counters/{link_downed,link_error_recovery}, /proc/uptime",
       .standard = "at most one a day",
       .remedy = "Read the kernel log, then look at the cable.",
       .fixture = "r730-link-downed",
       .explained_by = {"net.flaps"},
       .check = link_lost},
      {.id = "rdma.signal-quality",
       .title = "signal on the RDMA link is clean",
       .why = "A marginal cable corrects most errors and drops the rest; "
              "every dropped packet stalls its connection.",
       .source = "/sys/class/infiniband/*/ports/*/counters/symbol_error, /proc/uptime",
       .standard = "one bit in 10^12 (InfiniBand's specification, ibdiagnet), "
                   "in 10^14 on links that correct errors (EDR and faster)",
       .remedy = "Clean, reseat, swap the cable.",
       .fixture = "r730-symbol-errors",
       .explained_by = {"net.receive-errors"},
       .check = signal_quality},
      {.id = "rdma.damaged-packets",
       .title = "RDMA packets arrive whole",
       .why = "What arrives damaged is dropped, and its connection waits until it is sent again.",
       .source =
           "/sys/class/infiniband/*/ports/*/counters/{port_rcv_errors,local_link_integrity_errors,port_rcv_packets}",
       .standard = "at most 10 a day, or one packet in 10^8",
       .remedy = "Clean, reseat, swap the cable.",
       .fixture = "r730-damaged-packets",
       .explained_by = {"net.receive-errors", "rdma.signal-quality"},
       .check = damaged_packets},
      {.id = "rdma.buffer-overrun",
       .title = "flow control holds",
       .why = "A buffer that overruns means that the sender ignored its credits or pauses: "
              "the fabric is not lossless.",
       .source = "/sys/class/infiniband/*/ports/*/counters/{excessive_buffer_overrun_errors,VL15_dropped}",
       .standard = "at most one a day; of management packets a hundred",
       .remedy = "Look at flow control and firmware of both ends.",
       .fixture = "r730-buffer-overrun",
       .explained_by = {},
       .check = buffer_overrun},
      {.id = "rdma.packet-loss",
       .title = "RDMA transport saw no loss",
       .why = "RoCE resends from the lost packet on: a loss of one in a million is felt, "
              "one in ten thousand ruins it.",
       .source = "/sys/class/infiniband/*/ports/*/hw_counters",
       .standard = "at most 10 a day (100 unanswered packets), or one packet in 10^7",
       .remedy = "Look at PFC and ECN along the path, then at the cables.",
       .fixture = "h100-packet-loss",
       .explained_by = {"rdma.signal-quality", "rdma.damaged-packets", "net.receive-errors",
                        "rdma.traffic-class"},
       .check = packet_loss},
  };
  return kRules;
}

}  // namespace railbed
