#include "campaign/measure/measure_gpus.h"

#include "campaign/look/survey.h"
#include "facts/facts.h"
#include "store/fingerprint.h"

namespace railbed {

Result<MeasuredGpus> measure_gpus(const std::string& node, const GpuCopyPlan& plan, const RunRequest& request,
                                  ReachOptions reach, const Caller& caller,
                                  const std::function<void(const std::vector<Measurement>&)>& on_repeat) {
  const bool local = node == "localhost";
  fleet::Fleet fleet({{node, local ? "" : node, local}}, std::move(reach));
  Peer& peer = fleet.peer(0);
  MeasuredGpus all{begin_run(request), {}, {}, ""};
  for (int i = 0; i < request.repeat && !all.failure && !caller.stop.stop_requested(); ++i) {
    const auto report = measure_gpu_copies(peer, plan, caller.progress, caller.stop);
    all.failure = report.failure;
    all.gpus = report.gpus;
    if (all.cut.empty()) all.cut = report.cut;
    if (report.results.empty()) continue;
    // Facts are read at once, while the links still run at full speed: idle ones may have stepped down.
    caller.progress("looking at " + peer.node());
    const auto facts = facts_of(peer, caller);
    caller.progress("");
    if (!facts) return tl::unexpected<Error>(facts.error());
    auto measured = copy_measurements(report, node, *facts);
    on_repeat(measured);
    add_measurements(all.run, std::move(measured));
    if (i == 0) add_fingerprint(all.run, node, *facts);
  }
  caller.progress("");
  return all;
}

}  // namespace railbed
