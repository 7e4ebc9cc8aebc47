// One connection of the web service: requests and responses, one after the other, or a stream of events.
// Everything happens on the service's thread. Each state has a deadline:
//
//   kGreeting    accepts the connection; with TLS, the handshake      request (shared with kReading)
//   kIdle        waits for the next request                           idle
//   kReading     reads a request                                      request
//   kJudged      a password is compared on another thread             making
//   kWaiting     the response is made on another thread               making
//   kWriting     writes the response                                  taking, for each 64 KiB
//   kStreaming   sends events                                         taking, for each message
//   kEnding      waits for the client to close its side               2 s, or taking until acknowledged
//
// After kWriting, a connection with keep-alive returns to kIdle, or to kReading if the next request has
// arrived already. Any state may change to kClosed.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "monitor/web/web_request.h"
#include "monitor/web/web_server.h"
#include "monitor/web/web_stream.h"
#include "monitor/web/web_users.h"
#include "monitor/web/web_workers.h"

namespace railbed {

using WebFrame = std::shared_ptr<const std::string>;  // one event; all connections of the stream share it

class WebConnection : public std::enable_shared_from_this<WebConnection> {
 public:
  // The functions of the service that a connection calls.
  class Service {
   public:
    virtual ~Service() = default;
    virtual const WebOptions& options() const = 0;
    virtual bool is_local() const = 0;  // the service listens on a loopback address
    virtual WebUsers& users() = 0;
    // Start work on another thread, which ends with a call of verified() or deliver(). Return null if too
    // much work waits.
    virtual std::shared_ptr<WebErrand> verify(WebConnection& asks, const WebCredentials& given) = 0;
    virtual std::shared_ptr<WebErrand> make(WebConnection& asks, const WebRequest& request) = 0;
    // Returns the last event of a stream; null if the path is no stream.
    virtual WebFrame last_event(const std::string& path) const = 0;
    // Returns whether one more stream may begin. Closes another stream for it if needed.
    virtual bool make_room_for_stream() = 0;
    virtual void count_streams() = 0;  // called after a stream began or ended
    // Reserves memory for an unsent response. Returns false if the limit is reached and no other client is
    // stuck.
    virtual bool hold(std::size_t bytes) = 0;
    // Returns reserved memory.
    virtual void release(std::size_t bytes) = 0;
    // Removes a closed connection.
    virtual void forget(WebConnection& closed) = 0;
  };

  WebConnection(Service& service, boost::asio::ip::tcp::socket socket, const TlsContext& context);

  // Begins with the TLS handshake, if there is one.
  void start();
  // Receives the result of Service::verify().
  void verified(bool good);
  // Receives the response that Service::make() requested.
  void deliver(WebAnswer answer);
  // Sends an event to a stream. While an event is being sent, only the newest one waits.
  void send(const WebFrame& frame);
  // Sends a comment if nothing else is being sent. Proxies keep the connection open for it.
  void send_comment();
  // Closes the connection at once.
  void close();
  // Closes the connection in favor of another one. Unsent data is lost.
  void yield();

  bool is_greeting() const { return state_ == State::kGreeting; }
  bool awaits_request() const { return state_ == State::kIdle || state_ == State::kReading; }
  bool is_writing() const { return state_ == State::kWriting; }
  // Its work has not begun: its password waits to be compared, or its response to be made.
  bool awaits_verdict() const { return state_ == State::kJudged && errand_ && !errand_->is_taken(); }
  bool awaits_answer() const { return state_ == State::kWaiting && errand_ && !errand_->is_taken(); }
  // Sends 503 instead of waiting further. Returns false if the work has begun.
  bool give_up();
  bool reads_events() const { return state_ == State::kStreaming; }
  // Returns whether the connection can be closed without losing a response.
  bool can_go() const { return is_greeting() || awaits_request() || state_ == State::kEnding; }
  // Returns whether the client has not accepted data for a while.
  bool takes_nothing() const;
  bool is_known() const { return known_; }  // authenticated by a password or a certificate
  std::uint64_t origin() const { return origin_; }
  const std::string& path() const { return question_.request.path; }
  std::chrono::steady_clock::time_point since() const { return since_; }

 private:
  enum class State { kGreeting, kIdle, kReading, kJudged, kWaiting, kWriting, kStreaming, kEnding, kClosed };

  void enter(State state, std::chrono::milliseconds patience);
  void arm(std::chrono::milliseconds patience);
  void expired();
  std::size_t untaken() const;
  void next_request();
  void read_more();
  void judge();
  void answer();
  void refuse(int status);         // responds with an error and closes the connection
  void refuse_unread(int status);  // the same for bytes that are not a request
  void reply(WebAnswer answer);
  std::string whole_text(WebAnswer answer) const;
  void write_more();
  void written();
  void begin_stream(const WebFrame& last);
  void send_now(const WebFrame& frame);
  void watch_for_end();
  void leave();
  void end();
  void discard();

  Service& service_;
  std::unique_ptr<WebStream> stream_;
  boost::asio::steady_timer deadline_;
  const std::uint64_t origin_;
  State state_ = State::kGreeting;
  bool known_ = false;
  // The time when it was accepted, entered this state, or was last seen to accept part of a response.
  std::chrono::steady_clock::time_point since_;
  std::chrono::steady_clock::time_point took_;  // in kStreaming: when all data had last been acknowledged
  std::string came_;                            // received, but not parsed yet
  WebQuestion question_;
  std::shared_ptr<WebErrand> errand_;  // in kJudged and kWaiting
  std::string going_;                  // in kWriting
  std::size_t gone_ = 0;
  std::size_t held_ = 0;  // reserved from the service
  WebFrame sending_;      // in kStreaming
  WebFrame next_;
};

}  // namespace railbed
