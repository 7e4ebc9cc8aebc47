// The requests that the controller sends to the two agents of a pair. Answers are the engines' own results.
#pragma once

#include <optional>
#include <string>

#include "base/fields.h"
#include "base/ip.h"
#include "bench/tcp/tcp.h"

namespace railbed {

// Both sides of a measurement are the same program (the fleet pushes it), so these shapes carry no version.
inline constexpr std::string_view kTcpListen = "bench.tcp.listen";    // TcpListen → TcpListening
inline constexpr std::string_view kTcpReceive = "bench.tcp.receive";  // TcpServe → TcpReceived
inline constexpr std::string_view kTcpSend = "bench.tcp.send";        // TcpCall → TcpSent
inline constexpr std::string_view kTcpEcho = "bench.tcp.echo";        // TcpServe → TcpEchoed
inline constexpr std::string_view kTcpPing = "bench.tcp.ping";        // TcpCall → TcpPinged

struct TcpListen {
  IpAddress address;
  FIELDS(TcpListen, address);
};
struct TcpListening {
  std::string session;
  int port = 0;
  std::string token;
  FIELDS(TcpListening, session, port, token);
};
// The session ends with this request.
struct TcpServe {
  std::string session;
  std::string peer;  // the other node's name
  TcpPlan plan;
  FIELDS(TcpServe, session, peer, plan);
};
struct TcpCall {
  TcpTarget target;
  TcpPlan plan;
  FIELDS(TcpCall, target, plan);
};

}  // namespace railbed
