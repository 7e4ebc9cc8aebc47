// What is spoken with one reader: requests and their answers, one after the other, or a stream of events. All
// of it happens on the service's one thread, and each state has a deadline.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "monitor/web_request.h"
#include "monitor/web_server.h"
#include "monitor/web_stream.h"
#include "monitor/web_users.h"
#include "monitor/web_workers.h"

namespace railbed {

using WebFrame = std::shared_ptr<const std::string>;  // of a stream of events; all its readers share it

class WebConnection : public std::enable_shared_from_this<WebConnection> {
 public:
  // What a connection asks of the service that it is a part of.
  class Service {
   public:
    virtual ~Service() = default;
    virtual const WebOptions& options() const = 0;
    virtual bool is_local() const = 0;  // it listens on loopback
    virtual WebUsers& users() = 0;
    // Beside this thread; then verified() or deliver() is called. Nothing: too much waits already.
    virtual std::shared_ptr<WebErrand> verify(WebConnection& asks, const WebCredentials& given) = 0;
    virtual std::shared_ptr<WebErrand> make(WebConnection& asks, const WebRequest& request) = 0;
    virtual WebFrame last_event(const std::string& path) const = 0;  // nothing: it is no stream
    // Another's place where there is no other. False: nobody has one to give.
    virtual bool make_room_for_stream() = 0;
    virtual void count_streams() = 0;  // one began or ended
    // Bytes of an answer that will wait to be taken. False: too many do already, and all are being taken.
    virtual bool hold(std::size_t bytes) = 0;
    virtual void release(std::size_t bytes) = 0;
    virtual void forget(WebConnection& closed) = 0;
  };

  WebConnection(Service& service, boost::asio::ip::tcp::socket socket, const TlsContext& context);

  void start();
  void verified(bool good);
  void deliver(WebAnswer answer);
  void send(const WebFrame& frame);  // to a reader of events; the newest waits while one is being sent
  void send_comment();               // where nothing else is being sent
  void close();
  void yield();  // its place to another: what it has not taken is lost

  bool is_greeting() const { return state_ == State::kGreeting; }
  bool awaits_request() const { return state_ == State::kIdle || state_ == State::kReading; }
  bool is_writing() const { return state_ == State::kWriting; }
  // Its turn has not come: for its password to be compared, for its answer to be made.
  bool awaits_verdict() const { return state_ == State::kJudged && errand_ && !errand_->is_taken(); }
  bool awaits_answer() const { return state_ == State::kWaiting && errand_ && !errand_->is_taken(); }
  bool give_up();  // waiting, and gets 503; false: its turn has come
  bool reads_events() const { return state_ == State::kStreaming; }
  // Nobody would miss an answer.
  bool can_go() const { return is_greeting() || awaits_request() || state_ == State::kEnding; }
  // What it was given a while ago is still here.
  bool takes_nothing() const;
  bool is_known() const { return known_; }  // by a password, or by a certificate
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
  void refuse(int status);         // and hang up
  void refuse_unread(int status);  // what came is no request
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
  // When it came, or came to this state, or was last seen to take something of an answer.
  std::chrono::steady_clock::time_point since_;
  std::chrono::steady_clock::time_point took_;  // in kStreaming: when nothing was left that it had not taken
  std::string came_;                            // and is not yet understood
  WebQuestion question_;
  std::shared_ptr<WebErrand> errand_;  // in kJudged and kWaiting
  std::string going_;                  // in kWriting
  std::size_t gone_ = 0;
  std::size_t held_ = 0;  // bytes that the service counts
  WebFrame sending_;      // in kStreaming
  WebFrame next_;
};

}  // namespace railbed
