// What else a node's processors did while it was measured.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "bench/core/pair.h"
#include "facts/programs.h"
#include "host/host.h"

namespace railbed {

inline constexpr std::string_view kWorkBegin = "bench.work.begin";  // WorkName → WorkName
inline constexpr std::string_view kWorkEnd = "bench.work.end";      // WorkName → OtherWork

// The agent's side.
Handlers work_handlers(std::shared_ptr<Host> host);

// What programs that are not called `own_name` took between two looks, so many seconds and ticks a second
// apart. Who ended in between is not in it.
OtherWork other_work(const Programs& before, const Programs& after, double seconds, double ticks);

// The controller's side: begins when it is made. Where a node does not say, its end stays without.
class WorkWatch {
 public:
  WorkWatch(const PairEnd& from, const PairEnd& to, const std::stop_token& stop);
  void end(Measurement& measurement);

 private:
  struct Side {
    Peer* peer = nullptr;
    std::string session = {};  // empty: it could not begin
  };
  std::optional<OtherWork> ask_end(const Side& side) const;

  Side from_;
  Side to_;
  const std::stop_token& stop_;
};

}  // namespace railbed
