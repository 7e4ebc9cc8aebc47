#include "campaign/measure/measure_ways.h"

#include "store/fingerprint.h"

namespace railbed {

Result<BenchRun> measure_ways(const PairChoice& choice, const BenchPlan& plan, const RunRequest& request,
                              ReachOptions reach, const Caller& caller) {
  auto pair = open_pair(choice, std::move(reach), caller);
  if (!pair) return tl::unexpected<Error>(pair.error());
  BenchRun run = begin_run(request);
  // Rails and sizes take turns within a repeat, so that a drift of the machine affects all of them.
  for (int i = 0; i < request.repeat && !caller.stop.stop_requested(); ++i)
    for (const BenchPath& way : pair->ways)
      add_measurements(run, measure_pair(pair->end_a(way), pair->end_b(way), way.rail, plan, caller.progress,
                                         caller.stop));
  add_fingerprint(run, choice.a, pair->facts_a);
  add_fingerprint(run, choice.b, pair->facts_b);
  return run;
}

}  // namespace railbed
