#include "campaign/climb_ladders.h"

#include "campaign/measure_ladder.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

// Each rung is measured as often as asked for; ways take turns.
void climb_all(OpenPair& pair, double seconds, int repeat, const Caller& caller, BenchRun& run) {
  std::vector<std::vector<Ladder>> climbs(pair.ways.size());
  for (int i = 0; i < repeat && !caller.stop.stop_requested(); ++i)
    for (std::size_t way = 0; way < pair.ways.size() && !caller.stop.stop_requested(); ++way) {
      climbs[way].push_back(measure_ladder(pair, pair.ways[way], seconds, caller));
      for (const Rung& rung : climbs[way].back().rungs)
        if (rung.measurement) run.measurements.push_back(*rung.measurement);
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
