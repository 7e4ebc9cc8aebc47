#include "campaign/measure/climb_ladders.h"

#include <iterator>

#include "campaign/measure/measure_ladder.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

// Measures the paths one by one, then all at once.
std::vector<Ladder> climb_once(OpenPair& pair, double seconds, const Caller& caller, BenchRun& run) {
  std::vector<Ladder> ladders;
  for (const BenchPath& way : pair.ways) {
    if (caller.stop.stop_requested()) return ladders;
    ladders.push_back(measure_ladder(pair, way, seconds, caller));
    for (const Rung& rung : ladders.back().rungs)
      if (rung.measurement) run.measurements.push_back(*rung.measurement);
  }
  auto at_once = measure_ladders_at_once(pair, ladders, seconds, caller);
  std::ranges::move(at_once, std::back_inserter(run.measurements));
  return ladders;
}

// Repeats the whole climb, so that the paths take turns and a drift affects all of them.
void climb_all(OpenPair& pair, double seconds, int repeat, const Caller& caller, BenchRun& run) {
  std::vector<std::vector<Ladder>> climbs(pair.ways.size());
  for (int i = 0; i < repeat && !caller.stop.stop_requested(); ++i) {
    auto ladders = climb_once(pair, seconds, caller, run);
    for (std::size_t way = 0; way < ladders.size(); ++way) climbs[way].push_back(std::move(ladders[way]));
  }
  for (std::size_t way = 0; way < pair.ways.size(); ++way)
    if (!climbs[way].empty()) run.ladders.push_back(judge_ladders(climbs[way], pair, pair.ways[way]));
}

}  // namespace

Result<BenchRun> climb_ladders(const PairChoice& choice, double seconds, const RunRequest& request,
                               ReachOptions reach, const Caller& caller) {
  auto pair = open_pair(choice, std::move(reach), caller);
  if (!pair) return tl::unexpected<Error>(pair.error());
  BenchRun run = begin_run(request);
  climb_all(*pair, seconds, request.repeat, caller, run);
  add_fingerprint(run, choice.a, pair->facts_a);
  add_fingerprint(run, choice.b, pair->facts_b);
  return run;
}

}  // namespace railbed
