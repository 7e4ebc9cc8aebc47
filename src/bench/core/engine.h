// The interface between an engine and the rest of railbed: one EngineRegistration, made in the engine's
// folder, with one line in the table of engines/engines.cc. docs/contributing/add-an-engine.md adds an engine
// step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/agent_side.h"
#include "bench/core/other_traffic.h"
#include "bench/core/pair.h"

namespace railbed {

// An engine at work on one pair: the controller's side. It lives for all numbers of the pair.
//
// An operation is a way of moving bytes that is measured by itself, such as RDMA's write and send; each has
// numbers of its own. Most engines have one.
class PairEngine {
 public:
  virtual ~PairEngine() = default;
  // The number of operations. Operations are numbered from 0.
  virtual int operations() const { return 1; }
  // Returns the operation's name for Measurement::operation; empty if there is nothing to distinguish.
  virtual std::string operation_text(int /*operation*/, Metric /*metric*/) const { return ""; }
  virtual bool can_measure(int /*operation*/, Metric /*metric*/) const { return true; }
  // Returns the message sizes, in bytes, of bandwidth runs if the plan names none. `usual` are those of
  // PairMeasuring.
  virtual std::vector<std::uint64_t> sizes(int /*operation*/, std::vector<std::uint64_t> usual) const {
    return usual;
  }
  // The largest message in bytes, as far as the engine knows it by now.
  virtual std::uint64_t largest_message(int /*operation*/) const { return UINT64_MAX; }
  // Does the setup that needs no measurement, so that several engines can then begin at the same time.
  virtual void get_ready() {}
  // Fills in a measurement whose engine, metric, operation, rail, ends, size and streams are set. Returns
  // within the planned time and some seconds; a failure is reported in `failure`.
  virtual void measure(int operation, bool from_a, Measurement& measurement) = 0;
  // Returns the most that the last measure() put on the wire; nullopt if it cannot tell. Then nothing is known
  // of other traffic.
  virtual std::optional<OwnTraffic> own_traffic() const { return std::nullopt; }
  // Returns the highest bandwidth that the path allows. The measurement's MTU must be known.
  virtual Ceiling ceiling(bool /*from_a*/, const Measurement& /*measurement*/) const { return {}; }
  // Returns the lowest latency that the path allows.
  virtual Floor floor(bool /*from_a*/, const Measurement& /*measurement*/) const { return {}; }
};

// The part of an engine that measures pairs of nodes. Such an engine has a command, `railbed bench ID A B`.
struct PairMeasuring {
  std::string_view summary;          // of that command: "TCP between two nodes: bandwidth and latency"
  std::vector<std::uint64_t> sizes;  // messages of bandwidth runs in bytes, unless the plan names some
  std::uint64_t smallest = 1;        // the smallest message in bytes; a power of two
  int streams = 1;                   // of bandwidth runs, unless the plan sets a number
  // Makes the engine for one pair. Ends, plan and stop must outlive it.
  std::unique_ptr<PairEngine> (*open)(const PairEnd& a, const PairEnd& b, const BenchPlan& plan,
                                      const std::stop_token& stop) = nullptr;
};

struct EngineRegistration {
  Engine engine;
  // Makes the handlers with which an agent runs the engine.
  Handlers (*handlers)(AgentSide& side) = nullptr;
  // Empty: the engine measures something other than pairs and has a command of its own in cli/.
  std::optional<PairMeasuring> pair = std::nullopt;
};

}  // namespace railbed
