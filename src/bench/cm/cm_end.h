// One end of a connection that the RDMA connection manager makes: from an address to messages with checked
// data and the disconnect. Each step that fails returns a Failure that names the call with its error, or the
// event with its status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/ip.h"
#include "bench/cm/cm_library.h"
#include "results/measurement.h"

namespace railbed {

using CmFault = std::optional<Failure>;  // empty: the step succeeded

class CmEnd {
 public:
  // The libraries must outlive it. `peer` is the other node's name for messages. Messages have `bytes` bytes.
  CmEnd(const CmLibrary& cm, const VerbsLibrary& verbs, std::string peer, std::size_t bytes);
  CmEnd(const CmEnd&) = delete;
  CmEnd& operator=(const CmEnd&) = delete;
  ~CmEnd();

  // Opens the event channel of the connection manager.
  CmFault open();

  // The side that accepts. listen() binds the address at a port that the kernel chooses.
  CmFault listen(const IpAddress& address);
  int port() const;
  // Waits for a peer that shows the token; refuses others.
  CmFault accept(std::string_view token, double seconds, const std::stop_token& stop);

  // The side that connects.
  CmFault resolve(const IpAddress& from, const IpAddress& to, int port, const std::stop_token& stop);
  CmFault connect(std::string_view token, const std::stop_token& stop);

  // The device that the address belongs to: "mlx5_0"; empty until it is known.
  std::string device() const;

  // Sends the outgoing message. The ends take turns: what has arrived stays in incoming() until the next send.
  CmFault send();
  struct Arrived {
    CmFault fault;
    bool message = false;  // false without a fault: the other end has disconnected
  };
  // Waits, spinning, until a message has arrived.
  Arrived await_message(std::uint64_t patience_ns, const std::stop_token& stop);
  std::span<std::byte> outgoing();
  std::span<std::byte> incoming();

  // Ends the connection and waits until the other end has, too.
  CmFault disconnect(const std::stop_token& stop);

 private:
  struct State;
  CmFault prepare();
  CmFault post_receive();
  std::unique_ptr<State> state_;
};

}  // namespace railbed
