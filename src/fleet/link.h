// The stream to one agent: a child process (ssh, or the agent itself), the bytes to be sent to it, and those
// received. For one thread; only wake() may be called from others.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "fleet/frame.h"
#include "os/child.h"

namespace railbed::fleet {

using Clock = std::chrono::steady_clock;

// Interrupts poll() from another thread, or when a stop is requested.
class Waker {
 public:
  Waker();
  int fd() const { return fd_.get(); }
  void wake() const;
  // Removes pending wake-ups.
  void clear() const;
  // Sleeps until `time`. A requested stop ends it early; a caller must wake the waker then.
  void wait_until(Clock::time_point time, const std::stop_token& stop) const;

 private:
  Fd fd_;
};

// See the head of this file. Movable.
class Link {
 public:
  // Starts the program.
  static Result<Link> start(const std::vector<std::string>& words);

  enum class Event {
    kProgress,  // bytes were received or sent, or it was woken
    kEnd,       // the child closed its output; no more data follows
    kTimeout,   // the deadline has passed
  };
  // Waits for the next event, and receives and sends what is possible.
  Event pump(Clock::time_point deadline, const Waker& waker);

  // Queues bytes, which pump() sends.
  void send(std::string_view bytes) { outbox_.append(bytes); }
  // Returns the next complete frame, as FrameDecoder::next() does.
  Result<std::optional<Frame>> next() { return decoder_.next(); }

  const std::string& noise() const { return decoder_.noise(); }
  const std::string& errors() const { return errors_; }  // the end of its stderr; at most 4 KiB
  void forget_errors() { errors_.clear(); }
  std::optional<int> exit_code() { return program_.child.ended(); }

  // Closes its input, so that the agent ends. After `grace` sends SIGTERM, half a second later SIGKILL.
  // Returns when the process has ended, or 6 s after `grace` if no signal of this user ends it, as with sudo,
  // which runs as root. Its last output on stderr is in errors().
  void close(std::chrono::milliseconds grace);

 private:
  explicit Link(Program program) : program_(std::move(program)) {}
  bool read_output();  // returns false at the end of output
  void read_errors();
  void write_input();

  Program program_;
  FrameDecoder decoder_{kMaxToController, kMaxNoise};
  std::string errors_;
  std::string outbox_;
  std::size_t sent_ = 0;  // bytes of the outbox
};

}  // namespace railbed::fleet
