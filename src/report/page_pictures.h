// What each engine found, as a picture of its own. Texts and numbers may come from a file: whatever cannot be
// drawn is left out, and no index is trusted that run_from_json() and the store have not looked at.
#pragma once

#include <vector>

#include "predict/collective_forecast.h"
#include "report/html.h"
#include "results/run.h"

namespace railbed {

// A bar for each rung beside its ceiling, the one that loses marked, and the likely causes.
Html draw_ladder(const Ladder& ladder);
// Bus bandwidth over the size, logarithmic, under its ceiling; sizes whose data was wrong are marked.
// `forecasts`: one for each row, or none.
Html draw_collective(const CollectiveReport& report, const std::vector<Forecast>& forecasts = {});
// Copies of each GPU as bars, copies between GPUs as a matrix. Measurements of the engine `gpu`, others are
// passed over.
Html draw_gpu_copies(const std::vector<Measurement>& measurements);
// Who is slow, and every pair of nodes as a cell.
Html draw_pairs(const RailReport& rail);
// A bar a workload beside the PCIe ceiling of the drives.
Html draw_storage(const StoragePlace& place);
// A step as one bar of computing and exchange, and what bandwidth would hide the exchange.
Html draw_train(const TrainReport& report);
// Measurements that have no picture of their own, as bars and numbers.
Html draw_others(const std::vector<Measurement>& measurements);

// "✕ run: NCCL: unhandled system error. Next: …", a line of a list; empty without a failure.
Html draw_failure(const std::optional<Failure>& failure);

}  // namespace railbed
