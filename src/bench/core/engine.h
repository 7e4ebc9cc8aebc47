// What an engine is to the rest of railbed: one EngineRegistration, made in the engine's folder, with one
// line in the table of engines/engines.cc. docs/contributing/add-an-engine.md adds one step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/agent_side.h"
#include "bench/core/pair.h"

namespace railbed {

// An engine at work on one pair: the controller's side. It lives for all numbers of the pair.
//
// An operation is a way of moving bytes that is measured by itself, such as RDMA's write and send; each has
// numbers of its own. Most engines have one.
class PairEngine {
 public:
  virtual ~PairEngine() = default;
  virtual int operations() const { return 1; }
  // Its name in Measurement::operation; empty where there is nothing to tell apart.
  virtual std::string operation_text(int /*operation*/, Metric /*metric*/) const { return ""; }
  virtual bool can_measure(int /*operation*/, Metric /*metric*/) const { return true; }
  // Messages of bandwidth runs where the plan names none; `usual` are those of PairMeasuring.
  virtual std::vector<std::uint64_t> sizes(int /*operation*/, std::vector<std::uint64_t> usual) const {
    return usual;
  }
  // The largest message, as far as it is known by now.
  virtual std::uint64_t largest_message(int /*operation*/) const { return UINT64_MAX; }
  // Does before the first number what can be done without it, where several engines are to begin at once.
  virtual void get_ready() {}
  // Fills in a measurement whose engine, metric, operation, rail, ends, size and streams are set. Returns
  // within the planned time and some seconds; what went wrong stands in `failure`.
  virtual void measure(int operation, bool from_a, Measurement& measurement) = 0;
  // What the path allows a bandwidth whose MTU is known.
  virtual Ceiling ceiling(bool /*from_a*/, const Measurement& /*measurement*/) const { return {}; }
  // And what a latency takes at least.
  virtual Floor floor(bool /*from_a*/, const Measurement& /*measurement*/) const { return {}; }
};

// How an engine measures pairs of nodes. It then has a command, `railbed bench ID A B`.
struct PairMeasuring {
  std::string_view summary;          // of that command: "TCP between two nodes: bandwidth and latency"
  std::vector<std::uint64_t> sizes;  // of bandwidth runs, unless the plan names some
  std::uint64_t smallest = 1;        // message; a power of two
  int streams = 1;                   // of bandwidth runs, likewise
  // Ends, plan and stop outlive the engine.
  std::unique_ptr<PairEngine> (*open)(const PairEnd& a, const PairEnd& b, const BenchPlan& plan,
                                      const std::stop_token& stop) = nullptr;
};

struct EngineRegistration {
  Engine engine;
  // The methods that an agent answers for it.
  Handlers (*handlers)(AgentSide& side) = nullptr;
  // Nothing: what it measures is not a pair, and it has a command of its own in cli/.
  std::optional<PairMeasuring> pair = std::nullopt;
};

}  // namespace railbed
