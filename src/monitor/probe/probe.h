// Probes of rails: the plan of a node's probes, the result of one round, and the sums over all rounds.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/result.h"
#include "inventory/cluster.h"
#include "monitor/metrics/priority_counts.h"
#include "monitor/probe/probe_histogram.h"
#include "verify/verify.h"

namespace railbed {

inline constexpr int kProbePort = 9886;
inline constexpr std::size_t kPartnersPerRound = 4;  // limit for each rail
// Messages of one burst. The first one wakes the path and is not in the histogram. There are more reads than
// packets of the TCP connection that sets them up, because those move counters as well.
inline constexpr std::uint64_t kProbePings = 17;
inline constexpr std::uint64_t kProbeReads = 65;
// On a rail with more other ports than this, histograms and counters sum up all peers.
inline constexpr std::size_t kMostNamedPeers = 16;
// Limit for the bytes of one probe of one peer on the wire, in both directions, with all headers and RDMA.
// Measured: 13 to 14 KiB (docs/how-to/monitor.md), rounded up.
inline constexpr std::uint64_t kProbeWireBytes = 40'000;

// A port that can be probed.
struct ProbePeer {
  std::string node = {};
  std::string interface = {};
  IpAddress address = {};
};
// One rail as seen from the node that probes it.
struct ProbeRail {
  std::string name = {};
  std::string interface = {};
  std::string counted = {};  // the interface whose driver counts packets; under a VLAN, its parent
  IpAddress address = {};
  bool rdma = false;
  bool named = true;  // whether series name each peer; see kMostNamedPeers
  int traffic_class = 0;
  // The expected priority of RDMA probes; nullopt if cluster.yaml does not define it.
  std::optional<int> priority = {};
  std::size_t own = 0;                 // index of this node's port in `others`
  std::vector<ProbePeer> others = {};  // all ports with addresses, including its own
};
// The probes of one node.
struct ProbePlan {
  std::string node = {};
  std::vector<ProbeRail> rails = {};
};
// Returns the rails on which both the node and another one have an address.
ProbePlan plan_probes(const Cluster& cluster, const std::string& node);

enum class ProbeTransport { kTcp, kRdma };
constexpr auto enum_names(ProbeTransport) { return std::array<std::string_view, 2>{"tcp", "rdma"}; }

// The reason why probes failed or were not made.
enum class ProbeReason {
  kNone,
  kUnreachable,  // no TCP connection was established
  kStranger,     // the peer did not prove that it knows the secret
  kRefused,      // the peer does not accept this node, or does not know the rail
  kLost,         // messages were sent, but not answered
  kRdma,         // RDMA could not be set up, or broke before the first answer
};
constexpr auto enum_names(ProbeReason) {
  return std::array<std::string_view, 6>{"", "unreachable", "stranger", "refused", "lost", "rdma"};
}

// The result of one burst of messages to one peer.
struct ProbeBurst {
  std::uint64_t sent = 0;
  std::vector<double> round_trips = {};  // in seconds, without the first
  std::uint64_t answered = 0;            // includes the first
  ProbeReason reason = ProbeReason::kNone;
  std::string why = {};
};

// The result of probing one peer over one rail.
struct PeerProbe {
  std::string rail = {};
  std::string peer = {};
  std::string skipped = {};  // why the peer requested no probe, such as "job"; empty if it was probed
  ProbeBurst tcp = {};
  std::optional<ProbeBurst> rdma = {};
  std::vector<PrioritySight> priorities = {};
  std::string priority_untold = {};  // why priorities cannot be judged; empty if they can
};

// The reason for probing nothing at all, or for not probing a peer. `reason` is a word such as "job", `why`
// the full sentence. It converts to false if there is none.
struct ProbePause {
  std::string reason = {};
  std::string why = {};
  explicit operator bool() const { return !reason.empty(); }
  FIELDS(ProbePause, reason, why);
};

// The result of one round.
struct ProbeRound {
  double when = 0;  // Unix seconds
  double seconds = 0;
  ProbePause pause = {};
  std::vector<PeerProbe> probes = {};
};

// The sums of all rounds, for one rail, peer and transport.
struct ProbeSeries {
  RoundTrips round_trips = {};
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::map<ProbeReason, std::uint64_t> failures = {};
  std::optional<double> last_success = {};  // Unix seconds
  std::optional<double> latest = {};        // median of the last burst that was answered, in seconds
};
// Counters of the responder, which answers the probes of others.
struct ProbeService {
  std::uint64_t visits = 0;
  std::uint64_t turned_away = 0;
  std::map<std::string, std::string> trouble = {};  // rail → why the responder cannot listen there
};

// Everything that is remembered of probes, for the metrics.
struct ProbeState {
  using Key = std::tuple<std::string, std::string, ProbeTransport>;  // rail, peer or "", transport
  std::map<Key, ProbeSeries> series = {};
  std::map<std::pair<std::string, std::string>, std::uint64_t> skipped = {};  // rail, reason
  ProbeRound last = {};
  std::map<std::string, double> floors = {};  // rail → lower bound for RDMA's round trip, in seconds
  double bytes_per_minute = 0;                // upper limit
  ProbeService service = {};
  // Adds the result of one round of this plan.
  void add(ProbeRound round, const ProbePlan& plan);
};

// Returns the result of a round as text for people.
std::string probe_text(const ProbeRound& round);
// Returns the exit code: 0 if all peers responded; 2 if one did not or a priority is wrong; 3 if nothing was
// probed.
int probe_exit_code(const ProbeRound& round);

}  // namespace railbed
