#include <algorithm>

#include "base/units.h"
#include "report/page/page_pictures.h"
#include "report/picture/bars.h"
#include "report/text/storage_table.h"

namespace railbed {
namespace {

const Measurement* latency_beside(const Measurement& bandwidth, const std::vector<Measurement>& all) {
  const auto found = std::ranges::find_if(all, [&](const Measurement& one) {
    return one.metric == Metric::kLatency && one.operation == bandwidth.operation &&
           one.message_bytes == bandwidth.message_bytes && one.streams == bandwidth.streams;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string workload_text(const Measurement& one) {
  return fmt::format("{}, {} × {}", one.operation, to_text(ByteCount{one.message_bytes}), one.streams);
}

Html workload_row(const Measurement& one, const StoragePlace& place, const std::vector<Measurement>& all,
                  double axis) {
  if (one.failure)
    return html(R"(<tr><th scope="row">{}</th><td class="bad" colspan="5">✕ {}: {}</td></tr>)",
                workload_text(one), one.failure->stage, one.failure->cause);
  const Measurement* latency = latency_beside(one, all);
  const Bar bar{one.summary.median, "rdma", one.summary.low, one.summary.high, &one.ceiling};
  return html(
      R"(<tr><th scope="row">{}</th>{}<td class="number">{}</td>{}<td class="number quiet aside" title="99 % of requests took no longer">{}</td><td class="quiet">{}</td></tr>)",
      workload_text(one), draw_bar_cell(bar, axis), bytes_rate_text({one.summary.median}),
      draw_share_cell(one.summary.median, one.ceiling),
      latency == nullptr ? std::string("–") : "p99 " + to_text(Nanoseconds{latency->summary.p99}),
      bound_of(one, place));
}

Html storage_meaning(const StorageAnswer& answer, const std::vector<Measurement>& all) {
  Html lines = draw_failure(answer.failure);
  if (answer.memory) lines += html("<li>This folder lies in memory (tmpfs): no storage was measured.</li>");
  if (!answer.not_direct.empty() && !answer.memory)
    lines += html("<li>Buffered: the file system refuses direct I/O ({}); memory may hold what is read.</li>",
                  answer.not_direct);
  for (const Measurement& one : all) {
    if (one.metric != Metric::kBandwidth) continue;
    for (const Limit& limit : one.ceiling.limits)
      lines += html(R"(<li class="remark">Ceiling {}: {}, {}</li>)", bytes_rate_text(limit.rate), limit.name,
                    limit.source);
    if (!one.ceiling.note.empty())
      lines += html(R"(<li class="remark">{}{}</li>)", one.ceiling.limits.empty() ? "No ceiling: " : "",
                    one.ceiling.note);
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
  for (const Measurement& one : all)
    if (one.metric == Metric::kBandwidth)
      axis = std::max(
          {axis, one.summary.median, one.summary.high, one.ceiling.nominal ? 0 : ceiling_rate(one.ceiling)});
  Html rows;
  for (const Measurement& one : all)
    if (one.metric == Metric::kBandwidth) rows += workload_row(one, place, all, axis * 1.02);
  const Html chart =
      rows.empty() ? rows
                   : draw_chart("Storage: what each workload gets of the drives' PCIe links",
                                {"Workload", "Bar", "Rate", "Of the ceiling", "p99", "Limited by"}, rows);
  return html(
      R"(<article class="path"><h3>{} <span>{}</span> <span class="quiet">{}</span></h3>{}{}</article>)",
      place.node, place.answer.folder, mount_text(place.answer), storage_meaning(place.answer, all), chart);
}

}  // namespace railbed
