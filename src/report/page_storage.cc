#include <algorithm>

#include "base/units.h"
#include "report/bars.h"
#include "report/page_pictures.h"
#include "report/storage_table.h"

namespace railbed {
namespace {

const Measurement* latency_beside(const Measurement& bandwidth, const std::vector<Measurement>& all) {
  const auto found = std::ranges::find_if(all, [&](const Measurement& measurement) {
    return measurement.metric == Metric::kLatency && measurement.operation == bandwidth.operation &&
           measurement.message_bytes == bandwidth.message_bytes && measurement.streams == bandwidth.streams;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string workload_text(const Measurement& measurement) {
  return fmt::format("{}, {} × {}", measurement.operation, to_text(ByteCount{measurement.message_bytes}),
                     measurement.streams);
}

Html workload_row(const Measurement& measurement, const StoragePlace& place,
                  const std::vector<Measurement>& all, double axis) {
  if (measurement.failure)
    return html(R"(<tr><th scope="row">{}</th><td class="bad" colspan="5">✕ {}: {}</td></tr>)",
                workload_text(measurement), measurement.failure->stage, measurement.failure->cause);
  const Measurement* latency = latency_beside(measurement, all);
  const Bar bar{measurement.summary.median, "rdma", measurement.summary.low, measurement.summary.high,
                &measurement.ceiling};
  return html(
      R"(<tr><th scope="row">{}</th>{}<td class="number">{}</td>{}<td class="number quiet aside" title="99 % of requests took no longer">{}</td><td class="quiet">{}</td></tr>)",
      workload_text(measurement), draw_bar_cell(bar, axis), bytes_rate_text({measurement.summary.median}),
      draw_share_cell(measurement.summary.median, measurement.ceiling),
      latency == nullptr ? std::string("–") : "p99 " + to_text(Nanoseconds{latency->summary.p99}),
      bound_of(measurement, place));
}

Html storage_meaning(const StorageAnswer& answer, const std::vector<Measurement>& all) {
  Html lines = draw_failure(answer.failure);
  if (answer.memory) lines += html("<li>This folder lies in memory (tmpfs): no storage was measured.</li>");
  if (!answer.not_direct.empty() && !answer.memory)
    lines += html("<li>Buffered: the file system refuses direct I/O ({}); memory may hold what is read.</li>",
                  answer.not_direct);
  for (const Measurement& measurement : all) {
    if (measurement.metric != Metric::kBandwidth) continue;
    for (const Limit& limit : measurement.ceiling.limits)
      lines += html(R"(<li class="remark">Ceiling {}: {}, {}</li>)", bytes_rate_text(limit.rate), limit.name,
                    limit.source);
    if (!measurement.ceiling.note.empty())
      lines += html(R"(<li class="remark">{}{}</li>)",
                    measurement.ceiling.limits.empty() ? "No ceiling: " : "", measurement.ceiling.note);
    break;
  }
  return lines.empty() ? lines : html(R"(<ul class="meaning">{}</ul>)", lines);
}

std::string mount_text(const StorageAnswer& answer) {
  if (!answer.mount) return "";
  std::string text = answer.mount->type;
  for (std::size_t i = 0; i < answer.mount->devices.size(); ++i)
    text += (i == 0 ? " on " : ", ") + answer.mount->devices[i];
  return answer.mount->devices.empty() ? text + " from " + answer.mount->source : text;
}

}  // namespace

Html draw_storage(const StoragePlace& place) {
  const auto all = merge_repeats(place.measurements);
  double axis = 1;
  for (const Measurement& measurement : all)
    if (measurement.metric == Metric::kBandwidth)
      axis = std::max({axis, measurement.summary.median, measurement.summary.high,
                       measurement.ceiling.nominal ? 0 : ceiling_rate(measurement.ceiling)});
  Html rows;
  for (const Measurement& measurement : all)
    if (measurement.metric == Metric::kBandwidth) rows += workload_row(measurement, place, all, axis * 1.02);
  const Html chart =
      rows.empty() ? rows
                   : draw_chart("Storage: what each workload gets of the drives' PCIe links",
                                {"Workload", "Bar", "Rate", "Of the ceiling", "p99", "Limited by"}, rows);
  return html(
      R"(<article class="path"><h3>{} <span>{}</span> <span class="quiet">{}</span></h3>{}{}</article>)",
      place.node, place.answer.folder, mount_text(place.answer), storage_meaning(place.answer, all), chart);
}

}  // namespace railbed
