// The stream to one agent: a child process (ssh, or the agent itself), what it still has to be sent, and what
// came from it. Used by one thread; only wake() may be called from others.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "fleet/frame.h"
#include "host/child.h"

namespace railbed::fleet {

using Clock = std::chrono::steady_clock;

// Makes poll() return: from another thread, or when a stop is requested.
class Waker {
 public:
  Waker();
  int fd() const { return fd_.get(); }
  void wake() const;
  void clear() const;
  // Sleeps; a wake-up or a requested stop ends it.
  void wait_until(Clock::time_point time, const std::stop_token& stop) const;

 private:
  Fd fd_;
};

class Link {
 public:
  static Result<Link> start(const std::vector<std::string>& words);

  enum class Event {
    kProgress,  // bytes came or left, or it was woken
    kEnd,       // the child closed its output: nothing more will come
    kTimeout,   // the deadline passed
  };
  Event pump(Clock::time_point deadline, const Waker& waker);

  void send(std::string_view bytes) { outbox_.append(bytes); }
  Result<std::optional<Frame>> next() { return decoder_.next(); }

  const std::string& noise() const { return decoder_.noise(); }
  const std::string& errors() const { return errors_; }  // the end of what it wrote to stderr
  void forget_errors() { errors_.clear(); }
  std::optional<int> exit_code() { return program_.child.ended(); }

  // Closes its input, so that the agent ends by itself; after `grace` SIGTERM, half a second later SIGKILL.
  // Returns when the process is gone, or after some seconds more where no signal of ours ends it: sudo is
  // root's. What it still said is in errors().
  void close(std::chrono::milliseconds grace);

 private:
  explicit Link(Program program) : program_(std::move(program)) {}
  bool read_output();  // false at its end
  void read_errors();
  void write_input();

  Program program_;
  FrameDecoder decoder_{kMaxToController, kMaxNoise};
  std::string errors_;
  std::string outbox_;
  std::size_t sent_ = 0;  // of outbox_
};

}  // namespace railbed::fleet
