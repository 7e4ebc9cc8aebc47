// Pictures of each engine's results. Texts and numbers may come from a file: values that cannot be drawn are
// left out, and an index is used only if run_from_json() and the store have checked it.
#pragma once

#include <vector>

#include "predict/collective_forecast.h"
#include "report/page/html.h"
#include "results/run.h"

namespace railbed {

// Draws a bar for each rung beside its ceiling; the one that loses most is marked. Adds the likely causes.
Html draw_ladder(const Ladder& ladder);
// Draws bus bandwidth over the size, logarithmic, under its ceiling; sizes with wrong data are marked.
// `forecasts`: one for each row, or none.
Html draw_collective(const CollectiveReport& report, const std::vector<Forecast>& forecasts = {});
// Draws copies of each GPU as bars, copies between GPUs as a matrix. Only measurements of the engine `gpu`
// count.
Html draw_gpu_copies(const std::vector<Measurement>& measurements);
// Names the slow nodes and draws every pair of nodes as a cell.
Html draw_pairs(const RailReport& rail);
// Draws a bar for each workload beside the PCIe ceiling of the drives.
Html draw_storage(const StoragePlace& place);
// Draws a step as one bar of computing and exchange, and the bandwidth that would hide the exchange.
Html draw_train(const TrainReport& report);
// Draws power, clock and temperature of each GPU over the time of a burn-in, with its findings and its text.
Html draw_burn(const BurnReport& burn);
// Draws measurements without a picture of their own, as bars and numbers.
Html draw_others(const std::vector<Measurement>& measurements);

// Returns a line of a list, "✕ run: NCCL: unhandled system error. Next: …"; empty without a failure.
Html draw_failure(const std::optional<Failure>& failure);

}  // namespace railbed
