// Probes of rails: what is to be probed, what one round of them gave, and what is remembered of all rounds.
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
#include "monitor/priority_counts.h"
#include "monitor/probe_histogram.h"
#include "verify/verify.h"

namespace railbed {

inline constexpr int kProbePort = 9886;
inline constexpr std::size_t kPartnersPerRound = 4;  // on each rail
// The first of each wakes the path, and is no part of the histogram. Reads are more than the packets of the
// TCP connection that arranges them, which move counters as well.
inline constexpr std::uint64_t kProbePings = 17;
inline constexpr std::uint64_t kProbeReads = 65;
// On a rail with more others than that, histograms and counters are of all of them together.
inline constexpr std::size_t kMostNamedPeers = 16;
// What a probe of one peer puts on the wire at most, both ways, all headers and RDMA included: measured 13 to
// 14 KiB (docs/how-to/monitor.md), rounded up.
inline constexpr std::uint64_t kProbeWireBytes = 40'000;

struct ProbePeer {
  std::string node = {};
  std::string interface = {};
  IpAddress address = {};
};
// One rail as this node probes it.
struct ProbeRail {
  std::string name = {};
  std::string interface = {};
  std::string counted = {};  // the interface whose driver counts: that under a VLAN
  IpAddress address = {};
  bool rdma = false;
  bool named = true;  // its peers, one by one; see kMostNamedPeers
  int traffic_class = 0;
  std::optional<int> priority = {};    // that probes by RDMA should go by; nothing: nobody says
  std::size_t own = 0;                 // of all ports with addresses, this node's
  std::vector<ProbePeer> others = {};  // all ports with addresses, its own as well
};
struct ProbePlan {
  std::string node = {};
  std::vector<ProbeRail> rails = {};
};
// The rails on which the node and somebody else have an address.
ProbePlan plan_probes(const Cluster& cluster, const std::string& node);

enum class ProbeTransport { kTcp, kRdma };
constexpr auto enum_names(ProbeTransport) { return std::array<std::string_view, 2>{"tcp", "rdma"}; }

// Why probes failed, or were not made.
enum class ProbeReason {
  kNone,
  kUnreachable,  // no TCP connection came about
  kStranger,     // what answers does not prove the secret
  kRefused,      // it takes us for a stranger, or knows no such rail
  kLost,         // pings went out and brought no answer
  kRdma,         // RDMA could not be set up, or broke
};
constexpr auto enum_names(ProbeReason) {
  return std::array<std::string_view, 6>{"", "unreachable", "stranger", "refused", "lost", "rdma"};
}

struct ProbeBurst {
  std::uint64_t sent = 0;
  std::vector<double> round_trips = {};  // seconds, without the first
  std::uint64_t answered = 0;            // the first as well
  ProbeReason reason = ProbeReason::kNone;
  std::string why = {};
};

struct PeerProbe {
  std::string rail = {};
  std::string peer = {};
  std::string skipped = {};  // why it was left alone at its own wish: a job, as "job"
  ProbeBurst tcp = {};
  std::optional<ProbeBurst> rdma = {};
  std::vector<PrioritySight> priorities = {};
  std::string priority_untold = {};  // why nothing can be said of them
};

// Why nothing is probed at all, or a peer does not want to be: a word, "job", and the whole of it.
struct ProbePause {
  std::string reason = {};
  std::string why = {};
  explicit operator bool() const { return !reason.empty(); }
  FIELDS(ProbePause, reason, why);
};

struct ProbeRound {
  double when = 0;  // Unix seconds
  double seconds = 0;
  ProbePause pause = {};
  std::vector<PeerProbe> probes = {};
};

struct ProbeSeries {
  RoundTrips round_trips = {};
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::map<ProbeReason, std::uint64_t> failures = {};
  std::optional<double> last_success = {};  // Unix seconds
  std::optional<double> latest = {};        // median of the last burst that was answered, seconds
};
// Of who answers others' probes.
struct ProbeService {
  std::uint64_t visits = 0;
  std::uint64_t turned_away = 0;
  std::map<std::string, std::string> trouble = {};  // rail → why nobody can come in there
};

struct ProbeState {
  using Key = std::tuple<std::string, std::string, ProbeTransport>;  // rail, peer or "", transport
  std::map<Key, ProbeSeries> series = {};
  std::map<std::pair<std::string, std::string>, std::uint64_t> skipped = {};  // rail, why
  ProbeRound last = {};
  std::map<std::string, double> floors = {};  // rail → RDMA's least round trip, seconds
  double bytes_per_minute = 0;                // at most
  ProbeService service = {};
  // Adds what one round of this plan gave.
  void add(ProbeRound round, const ProbePlan& plan);
};

// What a round gave, for people.
std::string probe_text(const ProbeRound& round);
// 0: all answered; 2: some did not, or a priority is wrong; 3: nothing was probed.
int probe_exit_code(const ProbeRound& round);

}  // namespace railbed
