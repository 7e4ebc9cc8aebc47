// The processor time that other programs took on a node while it was measured.
//
// Two looks at the node's process table, one at the beginning and one at the end of a measurement, give the
// CPU ticks that each process spent in between. The sum over all programs but railbed itself, divided by the
// time between the looks, is the number of processors that were busy with other work.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "bench/core/pair.h"
#include "facts/software/programs.h"
#include "host/host.h"

namespace railbed {

inline constexpr std::string_view kWorkBegin = "bench.work.begin";  // WorkName → WorkName
inline constexpr std::string_view kWorkEnd = "bench.work.end";      // WorkName → OtherWork

// The agent's side: the handlers of kWorkBegin and kWorkEnd.
Handlers work_handlers(std::shared_ptr<Host> host);

// Returns the processors that programs other than `after.own_name` kept busy between two looks, and the
// busiest of these programs. `seconds` is the time between the looks; `ticks` is the number of clock ticks
// per second. A program that ended between the looks is not counted.
OtherWork other_work(const Programs& before, const Programs& after, double seconds, double ticks);

// The controller's side: the constructor takes the first look at both nodes, end() the second. If a node
// reports nothing, or impossible numbers, the other work of its end stays empty.
class WorkWatch {
 public:
  WorkWatch(const PairEnd& from, const PairEnd& to, const std::stop_token& stop);
  void end(Measurement& measurement);

 private:
  struct Side {
    Peer* peer = nullptr;
    std::string session = {};  // empty: the first look failed
  };
  std::optional<OtherWork> ask_end(const Side& side) const;

  Side from_;
  Side to_;
  const std::stop_token& stop_;
};

}  // namespace railbed
