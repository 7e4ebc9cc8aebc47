// The requests that the controller sends to the two agents of a pair. The replies are the engines' own
// results.
//
// One measurement: kTcpListen opens a port on the receiving node and returns a session, the port and a token.
// Then kTcpReceive with that session on this node, and kTcpSend with port and token on the other node, run at
// the same time. For latency these are kTcpEcho and kTcpPing.
#pragma once

#include <optional>
#include <string>

#include "base/fields.h"
#include "base/ip.h"
#include "bench/tcp/tcp.h"

namespace railbed {

// Both sides of a measurement are the same program (the fleet pushes it), so these types carry no version.
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
// The request to run a listening engine. The session ends with this request.
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
