// Error counters of RDMA ports. Totals since the driver was loaded: nonzero says that it happened, a load
// window (railbed bench) says whether it still does.
#include <fmt/format.h>

#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

struct Watched {
  std::string_view name;
  std::string_view means;
};

using Counters = std::map<std::string, Reading<std::uint64_t>>;

// Warns when one of the counters is not zero; not applicable when the port has none of them.
void judge_counters(const Survey& survey, Judge& judge, Counters RdmaPort::*group,
                    std::span<const Watched> watched, const Remedy& remedy) {
  each_end(survey, judge, [&](Case& one, const RailEnd& end) {
    if (one.lacks_rdma(end)) return;
    const Counters& counters = end.rdma.port->*group;
    std::vector<std::string> moved;
    std::vector<std::string_view> meanings;
    std::size_t readable = 0;
    for (const Watched& each : watched) {
      const auto found = counters.find(std::string(each.name));
      if (found == counters.end() || !found->second.ok()) continue;
      ++readable;
      if (*found->second == 0) continue;
      one.seen(found->second);
      moved.push_back(fmt::format("{} {}", each.name, *found->second));
      meanings.push_back(each.means);
    }
    if (readable == 0)
      one.not_applicable("the port has no such counter");
    else if (moved.empty())
      one.pass("0");
    else
      one.warn({.message = fmt::format("{} counted {}: {}", end.rdma_where(), fmt::join(moved, ", "),
                                       fmt::join(meanings, "; ")),
                .expected = "0",
                .observed = fmt::format("{}", fmt::join(moved, ", ")),
                .remedy = remedy});
  });
}

void link_lost(const Survey& survey, Judge& judge) {
  static constexpr Watched kWatched[] = {
      {"link_downed", "the link was lost"},
      {"link_error_recovery", "the link had to retrain"},
  };
  judge_counters(survey, judge, &RdmaPort::counters, kWatched,
                 {"Find out when (kernel log). If nobody pulled it: clean, reseat, swap the cable.",
                  {"journalctl -k | grep -i -e 'link down' -e 'link up'"}});
}

void signal_quality(const Survey& survey, Judge& judge) {
  static constexpr Watched kWatched[] = {
      {"symbol_error", "the signal is so weak that symbols were misread"},
      {"local_link_integrity_errors", "errors came faster than the link may correct"},
      {"port_rcv_errors", "damaged packets arrived"},
  };
  judge_counters(
      survey, judge, &RdmaPort::counters, kWatched,
      {"Clean and reseat the cable, then swap it; then the port.", {"ibqueryerrors", "ethtool -m IF"}});
}

void buffer_overrun(const Survey& survey, Judge& judge) {
  static constexpr Watched kWatched[] = {
      {"excessive_buffer_overrun_errors", "the peer sent more than it was allowed: flow control is broken"},
      {"VL15_dropped", "management packets were dropped"},
  };
  judge_counters(survey, judge, &RdmaPort::counters, kWatched,
                 {"Compare flow control (PFC, credits) at both ends; update the firmware of both."});
}

void packet_loss(const Survey& survey, Judge& judge) {
  static constexpr Watched kWatched[] = {
      {"packet_seq_err", "packets were lost or reordered on the way; in a lossless class PFC is broken"},
      {"out_of_sequence", "packets arrived out of order: loss, or several paths"},
      {"local_ack_timeout_err", "an answer never came: black hole or dead peer"},
      {"rx_icrc_encapsulated", "packets were corrupted on the way"},
      {"rp_cnp_ignored", "the peer asked to slow down and was ignored: ECN is off on this adapter"},
  };
  judge_counters(survey, judge, &RdmaPort::hw_counters, kWatched,
                 {"Read them again under load. Growing: check PFC and ECN on this priority along the path.",
                  {"rdma statistic show"}});
}

}  // namespace

std::span<const Rule> counter_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.link-lost",
       .title = "RDMA link was never lost",
       .why = "Each loss ends every connection on the port. One may be a cable somebody moved; "
              "more are a fault.",
       .source = "/sys/class/infiniband/*/ports/*/counters/{link_downed,link_error_recovery}",
       .standard = "0 since the driver was loaded",
       .remedy = "Kernel log, then the cable.",
       .fixture = "r730-link-downed",
       .explained_by = {"net.flaps"},
       .check = link_lost},
      {.id = "rdma.signal-quality",
       .title = "signal on the RDMA link is clean",
       .why = "A marginal cable corrects most errors and drops the rest; "
              "every dropped packet stalls its connection.",
       .source =
           "/sys/class/infiniband/*/ports/*/counters/{symbol_error,local_link_integrity_errors,port_rcv_errors}",
       .standard = "0 since the driver was loaded",
       .remedy = "Clean, reseat, swap the cable.",
       .fixture = "r730-symbol-errors",
       .explained_by = {"net.receive-errors"},
       .check = signal_quality},
      {.id = "rdma.buffer-overrun",
       .title = "flow control holds",
       .why = "A buffer that overruns means that the sender ignored its credits or pauses: "
              "the fabric is not lossless.",
       .source = "/sys/class/infiniband/*/ports/*/counters/excessive_buffer_overrun_errors",
       .standard = "0 since the driver was loaded",
       .remedy = "Flow control and firmware of both ends.",
       .fixture = "r730-buffer-overrun",
       .explained_by = {},
       .check = buffer_overrun},
      {.id = "rdma.packet-loss",
       .title = "RDMA transport saw no loss",
       .why = "RoCE resends from the lost packet on: a loss of one in a million is felt, "
              "one in ten thousand ruins it.",
       .source = "/sys/class/infiniband/*/ports/*/hw_counters",
       .standard = "0 since the driver was loaded",
       .remedy = "PFC and ECN along the path; then cables.",
       .fixture = "h100-packet-loss",
       .explained_by = {"rdma.signal-quality", "net.receive-errors", "rdma.traffic-class"},
       .check = packet_loss},
  };
  return kRules;
}

}  // namespace railbed
