// Asks NCCL's RAS service about a running job. Each process of a job listens (NCCL 2.24 and newer, NCCL_RAS_ENABLE), by
// default at localhost:28028 of its node, and answers for the whole job. The processes of a node share that port, so the
// kernel chooses who answers. The protocol is lines of text: "CLIENT PROTOCOL 2", "SET FORMAT json" (2.28.7), "VERBOSE
// STATUS"; the server closes when its answer is complete (NVIDIA/nccl, src/ras/client_support.cc).
//
// The answer is untrusted: its size and time are limited, and it is read strictly. Each wait ends, that for a name server
// by the resolver's own timeouts (resolv.conf(5)).
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "diagnose/ras/ras_verdict.h"

namespace railbed {

inline constexpr int kRasPort = 28028;  // NCCL_RAS_CLIENT_PORT

struct RasAddress {
  std::string host = "localhost";  // a name or an address
  int port = kRasPort;
  // Parses "node4", "node4:28028", "10.0.0.4:28028", "::1", "[::1]:28028": as NCCL_RAS_ADDR has it, or without the port.
  static std::optional<RasAddress> parse(std::string_view text);
  std::string to_text() const;
  bool operator==(const RasAddress&) const = default;
};

struct RasLimits {
  std::chrono::milliseconds greeting{1000};  // for a connection, and then for each short reply
  // For the answer: RAS itself gives up after 10 s (RAS_COLLECTIVE_LEG_TIMEOUT and …_EXTRA_TIMEOUT).
  std::chrono::milliseconds answer{15000};
  std::size_t bytes = 24 << 20;  // some 40 000 ranks in JSON: fewer values than json::parse() takes
  int tries = 8;  // connections: one that meets a stopped process is accepted by the kernel, and silent
};

// Asks once, for JSON if the service knows it; for text if JSON is too long and NCCL's text is sound. Fails with kUnavailable if nothing listens there, kTimeout if nothing is
// answered, kBadInput if it is no answer of RAS, kCancelled on a stop.
Result<diagnose::RasAnswer> ask_ras(const RasAddress& address, const RasLimits& limits,
                                    const std::stop_token& stop);

struct RasLook {
  std::string address;  // that answered
  diagnose::RasPair pair;
};

// Asks the first of the addresses that answers, and again when `apart` has passed. Fails if none answers, with what was
// tried, or if the second answer is never about the job of the first.
Result<RasLook> look_at_ras(const std::vector<RasAddress>& addresses, std::chrono::milliseconds apart,
                            const RasLimits& limits, const Caller& caller);

}  // namespace railbed
