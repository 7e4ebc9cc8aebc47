#include "campaign/look/predicted.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/json.h"
#include "campaign/look/evidence.h"
#include "campaign/measure/history.h"
#include "predict/shape_from_nodes.h"
#include "results/foreign/foreign.h"

namespace railbed {
namespace {

Result<BenchRun> run_of_document(const std::string& file, const Caller& caller) {
  ASSIGN_OR_RETURN(const auto text, read_file(file));
  if (find_foreign_tool(text)) return run_of_text(text, file, caller);
  auto document = json::parse(text);
  if (document && document->is_object() && document->contains("runs")) {
    auto reports = json::decode<std::vector<CollectiveReport>>((*document)["runs"]);
    if (!reports) return fail(std::move(reports.error()), file);
    BenchRun run;
    run.collectives = std::move(*reports);
    return run;
  }
  const bool measured = document && (document->is_array() || document->contains("measurements"));
  if (!measured || document->contains("started_at")) return run_of_text(text, file, caller);
  auto measurements = measurements_from_json(text);
  if (!measurements) return fail(std::move(measurements.error()), file);
  BenchRun run;
  run.measurements = std::move(*measurements);
  return run;
}

// True if a finding of this rule can slow down a path through the network, or one within a node.
bool is_of_the_path(std::string_view rule, bool network) {
  const auto in = [&](std::initializer_list<std::string_view> areas) {
    return std::ranges::any_of(areas, [&](std::string_view area) { return rule.starts_with(area); });
  };
  return network ? in({"pcie.", "rdma.", "net.", "ib.", "nccl.", "gpu.gpudirect", "measured."})
                 : in({"pcie.gpu", "pcie.acs", "gpu.", "nccl.", "measured."});
}

}  // namespace

Result<BenchRun> find_run_to_check(const std::string& store, const std::string& word, const Caller& caller) {
  return is_run_file(word) ? run_of_document(word, caller) : find_run(store, word, caller);
}

std::vector<Finding> explaining(const Findings& findings, bool network) {
  std::vector<Finding> chosen;
  for (const Finding& finding : findings)
    if ((finding.status == Status::kFail || finding.status == Status::kWarn) && !finding.caused_by &&
        is_of_the_path(finding.rule, network))
      chosen.push_back(finding);
  std::ranges::stable_sort(chosen, {}, [](const Finding& finding) { return severity(finding.status); });
  return chosen;
}

Result<Calibration> read_calibration(const std::string& file) {
  ASSIGN_OR_RETURN(const auto text, read_file(file));
  return calibration_from_json(text, file);
}

std::vector<MeasuredTime> times_to_fit(const std::vector<BenchRun>& runs, const ClusterShape& shape) {
  std::vector<MeasuredTime> times;
  for (const BenchRun& run : runs)
    for (const CollectiveReport& report : run.collectives) {
      ClusterShape fitted = shape;
      fit_to_report(fitted, report);
      if (fitted.ranks() < 2) continue;
      for (const CollectiveRow& row : report.rows) {
        if (row.launched.median <= 0 || row.bytes == 0) continue;
        times.push_back({fmt::format("run {}", run.id), fitted, report.operation, row.bytes,
                         row.launched.median, choice_of(report)});
      }
    }
  return times;
}

}  // namespace railbed
