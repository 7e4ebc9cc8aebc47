// The TCP engines as they run on the two nodes: their parameters and their results.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/result.h"
#include "bench/tcp/socket.h"
#include "results/measurement.h"

namespace railbed {

// The parameters of a run. Both sides get the same ones.
struct TcpPlan {
  int streams = 1;
  std::uint64_t message_bytes = 0;  // size of a block, or of a ping
  double warmup = 0;                // seconds that are not counted
  double seconds = 0;
  std::uint64_t seed = 0;  // of the pattern
  bool busy_poll = false;  // ping-pong: never sleep
  bool zero_copy = false;  // throughput: send without a copy
  FIELDS(TcpPlan, streams, message_bytes, warmup, seconds, seed, busy_poll, zero_copy);
};

// The address, port and token for the connecting side, and the address of its own that it connects from.
struct TcpTarget {
  IpAddress from;
  IpAddress to;
  int port = 0;
  std::string token;
  std::string peer;  // the other node's name, for error messages
  FIELDS(TcpTarget, from, to, port, token, peer);
};

// The listener and its token, which the listening side keeps between the request to listen and the run.
struct TcpDoor {
  Listener listener;
  std::string token;
};

// The bytes and segments of all connections of a run, from connecting to closing, as the sending side knows
// them.
struct TcpTotals {
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_segments = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t received_segments = 0;
  FIELDS(TcpTotals, sent_bytes, sent_segments, received_bytes, received_segments);
};
// Adds those of a connection.
void add_totals(TcpTotals& totals, const TcpInfo& info);

struct TcpSent {
  std::uint64_t packets = 0;
  std::uint64_t lost = 0;  // retransmitted
  double cpu_seconds = 0;
  double round_trip_us = 0;
  int mtu = 0;
  std::uint64_t copied = 0;  // zero-copy calls whose bytes the kernel copied
  TcpTotals totals;
  std::optional<Failure> failure;
  FIELDS(TcpSent, packets, lost, cpu_seconds, round_trip_us, mtu, copied, totals, failure);
};

struct TcpReceived {
  std::vector<double> intervals;  // bits per second, 100 ms each, all streams together
  std::uint64_t bytes = 0;        // in the measured time
  double seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<Failure> failure;
  FIELDS(TcpReceived, intervals, bytes, seconds, cpu_seconds, checked_bytes, wrong_bytes, failure);
};

struct TcpPinged {
  Summary summary;
  double seconds = 0;
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::uint64_t packets = 0;
  std::uint64_t lost = 0;
  int mtu = 0;
  TcpTotals totals;
  std::optional<Failure> failure;
  FIELDS(TcpPinged, summary, seconds, checked_bytes, wrong_bytes, packets, lost, mtu, totals, failure);
};

struct TcpEchoed {
  std::uint64_t messages = 0;
  std::optional<Failure> failure;
  FIELDS(TcpEchoed, messages, failure);
};

// The stall limits: the longest time without any progress. The sender's limit is shorter than the receiver's,
// because the sender knows more about the cause.
inline constexpr std::chrono::milliseconds kSenderPatience{3000};
inline constexpr std::chrono::milliseconds kReceiverPatience{4000};
inline constexpr std::chrono::milliseconds kConnectDeadline{5000};

// All four functions return within the planned time and a few seconds, whatever the network or the other side
// does. `peer` is the other node's name. Plans must have passed check_plan().
TcpSent tcp_send(const TcpTarget& target, const TcpPlan& plan, std::stop_token stop);
TcpReceived tcp_receive(const TcpDoor& door, const TcpPlan& plan, std::string_view peer,
                        std::stop_token stop);
TcpPinged tcp_ping(const TcpTarget& target, const TcpPlan& plan, std::stop_token stop);
TcpEchoed tcp_echo(const TcpDoor& door, const TcpPlan& plan, std::string_view peer, std::stop_token stop);

// Checks numbers from an untrusted caller. Fails if the streams, the message size or the duration are outside
// their limits.
Result<void> check_plan(const TcpPlan& plan, std::uint64_t smallest_message);

}  // namespace railbed
