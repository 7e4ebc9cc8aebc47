#include "bench/verbs/port_counters.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace railbed {
namespace {

enum class Meaning {
  kPackets,   // packets that this end sent
  kReceived,  // packets that this end received
  kLost,      // lost packets, counted by the end that noticed; also in `troubles`
  kTrouble,
};
struct Row {
  std::string_view name;
  Meaning meaning;
};

// rxe: drivers/infiniband/sw/rxe/rxe_hw_counters.c. mlx5: NVIDIA's "Understanding mlx5 Linux Counters and
// Status Parameters". For rxe, the gaps that the receiver sees count as losses, not the retries, which a peer
// with a busy processor also causes. The rest is the InfiniBand PortCounters attribute (specification, volume
// 1,
// 16.1.3.5).
constexpr std::array kRows{
    Row{"sent_pkts", Meaning::kPackets},
    Row{"port_xmit_packets", Meaning::kPackets},
    Row{"rcvd_pkts", Meaning::kReceived},
    Row{"port_rcv_packets", Meaning::kReceived},
    Row{"completer_retry_err", Meaning::kTrouble},
    Row{"packet_seq_err", Meaning::kLost},
    Row{"local_ack_timeout_err", Meaning::kLost},
    Row{"implied_nak_seq_err", Meaning::kLost},
    Row{"roce_adp_retrans", Meaning::kLost},
    Row{"out_of_seq_request", Meaning::kLost},
    Row{"duplicate_request", Meaning::kTrouble},
    Row{"rcvd_seq_err", Meaning::kTrouble},
    Row{"retry_exceeded_err", Meaning::kTrouble},
    Row{"rcvd_rnr_err", Meaning::kTrouble},
    Row{"send_rnr_err", Meaning::kTrouble},
    Row{"retry_rnr_exceeded_err", Meaning::kTrouble},
    Row{"send_err", Meaning::kTrouble},
    Row{"link_downed", Meaning::kTrouble},
    Row{"out_of_sequence", Meaning::kTrouble},
    Row{"out_of_buffer", Meaning::kTrouble},
    Row{"rnr_nak_retry_err", Meaning::kTrouble},
    Row{"req_cqe_error", Meaning::kTrouble},
    Row{"resp_cqe_error", Meaning::kTrouble},
    Row{"rx_icrc_encapsulated", Meaning::kTrouble},
    Row{"np_cnp_sent", Meaning::kTrouble},
    Row{"rp_cnp_handled", Meaning::kTrouble},
    Row{"np_ecn_marked_roce_packets", Meaning::kTrouble},
    Row{"symbol_error", Meaning::kTrouble},
    Row{"port_rcv_errors", Meaning::kTrouble},
    Row{"port_xmit_discards", Meaning::kTrouble},
    Row{"port_rcv_remote_physical_errors", Meaning::kTrouble},
    Row{"local_link_integrity_errors", Meaning::kTrouble},
    Row{"excessive_buffer_overrun_errors", Meaning::kTrouble},
};

}  // namespace

RdmaCounters read_counters(const RdmaPort& port) {
  RdmaCounters result;
  for (const auto* counters : {&port.hw_counters, &port.counters})
    for (const auto& [name, value] : *counters) {
      const auto row = std::ranges::find(kRows, std::string_view(name), &Row::name);
      if (row == kRows.end() || !value) continue;
      // If a driver has the packets in both groups of counters, these are the same packets.
      if (row->meaning == Meaning::kPackets)
        result.packets = std::max(result.packets, *value);
      else if (row->meaning == Meaning::kReceived)
        result.received = std::max(result.received, *value);
      else
        result.troubles[name] = *value;
      if (row->meaning == Meaning::kLost) result.lost += *value;
    }
  return result;
}

}  // namespace railbed
