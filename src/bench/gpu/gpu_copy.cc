#include "bench/gpu/gpu_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/core/child_session.h"
#include "bench/core/typed.h"
#include "bench/statistics/statistics.h"
#include "facts/facts.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_ceilings.h"

namespace railbed {
namespace {

std::string end_name(int ordinal) { return ordinal < 0 ? "host" : fmt::format("GPU {}", ordinal); }

const VisibleGpu* find_gpu(const GpuCopyReport& report, int ordinal) {
  const auto found = std::ranges::find(report.gpus, ordinal, &VisibleGpu::ordinal);
  return found == report.gpus.end() ? nullptr : &*found;
}

bool both_ways(Copy copy) { return copy == Copy::kHostBothWays || copy == Copy::kPeersBothWays; }

Endpoint endpoint(const GpuCopyReport& report, const std::string& node, int ordinal) {
  Endpoint end;
  end.node = node;
  end.interface = end_name(ordinal);
  if (const VisibleGpu* gpu = find_gpu(report, ordinal)) end.device = gpu->address;
  return end;
}

void add(Ceiling& ceiling, std::optional<Limit> limit) {
  if (limit) ceiling.limits.push_back(std::move(*limit));
}

Ceiling ceiling_of(const GpuCopyReport& report, const GpuCopyResult& result, const std::string& node,
                   const Facts& facts) {
  Ceiling ceiling;
  const VisibleGpu* from = find_gpu(report, result.from);
  const VisibleGpu* to = find_gpu(report, result.to);
  if (result.copy == Copy::kWithin && from != nullptr) {
    add(ceiling, memory_copy_limit(from->memory_clock, from->memory_bits));
  } else {
    for (const VisibleGpu* gpu : {from, to}) {
      if (gpu == nullptr) continue;
      auto link = result.peer_access ? nvlink_limit(facts, gpu->address, node) : std::nullopt;
      // The GPU that gets the bytes from host memory reads them, and every other one writes them.
      const PcieWay way = gpu == to && from == nullptr ? PcieWay::kFromMemory : PcieWay::kToMemory;
      if (!link && facts.pci) link = pcie_limit(*facts.pci, gpu->address, node, way);
      add(ceiling, std::move(link));
    }
    if (from != nullptr && to != nullptr && !result.peer_access)
      ceiling.note = "no peer access: through host memory";
  }
  for (Limit& limit : ceiling.limits)
    if (both_ways(result.copy)) {
      limit.rate = limit.rate * 2;
      limit.name += ", both ways";
    }
  std::ranges::stable_sort(ceiling.limits, {}, &Limit::rate);
  if (ceiling.limits.empty() && ceiling.note.empty()) ceiling.note = "neither link nor memory state a speed";
  return ceiling;
}

}  // namespace

std::string copy_name(const GpuCopyResult& result) {
  if (result.copy == Copy::kWithin) return fmt::format("within {}", end_name(result.from));
  return fmt::format("{} {} {}", end_name(result.from), both_ways(result.copy) ? "↔" : "→",
                     end_name(result.to));
}

GpuCopyReport measure_gpu_copies(Peer& peer, const GpuCopyPlan& plan,
                                 const std::function<void(std::string_view)>& on_measuring,
                                 const std::stop_token& stop) {
  GpuCopyReport report;
  report.bytes = plan.bytes;
  const auto session = ask<ChildName>(peer, kGpuCopies, plan, kStartDeadline, stop);
  if (!session) {
    report.failure = Failure{"start", session.error().text, ""};
    return report;
  }
  const auto take = [&](std::string_view line) {
    auto news = json::read<GpuCopyNews>(line);
    if (!news) {
      report.failure = Failure{"run", news.error().text, ""};
      return;
    }
    if (news->gpus) report.gpus = std::move(*news->gpus);
    if (news->result) report.results.push_back(std::move(*news->result));
    if (news->bytes) report.bytes = *news->bytes;
    if (news->cut) report.cut = *news->cut;
    if (news->failure)
      report.failure = Failure{"run", *news->failure, "", news->kind.value_or(FailureKind::kOther)};
  };
  const auto ended =
      follow_session(peer, session->session, {take, on_measuring, [](std::string_view) {}}, stop);
  if (!ended && !report.failure) report.failure = Failure{"run", ended.error().text, ""};
  return report;
}

std::vector<Measurement> copy_measurements(const GpuCopyReport& report, const std::string& node,
                                           const Facts& facts) {
  std::vector<Measurement> all;
  for (const GpuCopyResult& result : report.results) {
    Measurement measurement;
    measurement.engine = Engine::kGpuCopy;
    measurement.operation = copy_name(result);
    measurement.from = endpoint(report, node, result.from);
    measurement.to = endpoint(report, node, result.to);
    measurement.message_bytes = report.bytes;
    measurement.seconds = result.seconds;
    measurement.summary = summarize(result.samples);
    measurement.ceiling = ceiling_of(report, result, node, facts);
    measurement.checked_bytes = result.checked;
    measurement.wrong_bytes = result.wrong;
    if (result.wrong > 0)
      measurement.failure = Failure{
          "verify",
          fmt::format("{} of {} bytes arrived other than they were sent", result.wrong, result.checked),
          "railbed verify --load looks for memory and link errors of this GPU"};
    all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace railbed
