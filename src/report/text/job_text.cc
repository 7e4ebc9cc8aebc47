#include "report/text/job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/moment.h"
#include "base/result.h"
#include "base/wording.h"
#include "report/escape.h"

namespace railbed {
namespace {

constexpr std::size_t kMostChanges = 60;
constexpr std::size_t kMostGpuRows = 32;
constexpr std::size_t kWidestId = 40;

std::string_view change_word(JobStatus status) {
  switch (status) {
    case JobStatus::kFailure:
      return "FAIL";
    case JobStatus::kWarning:
      return "WARN";
    case JobStatus::kUnknown:
      return "UNKNOWN";
    case JobStatus::kNote:
      return "NOTE";
  }
  return "";
}

std::size_t changes_of(const JobRecord& record, JobStatus status) {
  return static_cast<std::size_t>(std::ranges::count(record.changes, status, &JobChange::status));
}

// Returns "2 failures, 1 warning, 1 unknown", or why there is no such count.
std::string verdict_of(const JobRecord& record) {
  if (!record.begin) return "no begin was recorded";
  if (!record.end) return "not ended";
  std::string text;
  for (const auto& [status, word] :
       {std::pair{JobStatus::kFailure, "failure"}, std::pair{JobStatus::kWarning, "warning"}})
    if (const std::size_t count = changes_of(record, status); count > 0)
      text += (text.empty() ? "" : ", ") + counted(count, word);
  if (const std::size_t count = changes_of(record, JobStatus::kUnknown); count > 0)
    text += fmt::format("{}{} unknown", text.empty() ? "" : ", ", count);
  return text.empty() ? "nothing went wrong" : text;
}

std::string length_of(const JobRecord& record) {
  if (const auto seconds = seconds_of(record)) return short_time_text(*seconds);
  return "?";
}

template <class T>
std::string both(const std::optional<T>& before, const std::optional<T>& after, std::string_view unit) {
  const auto one = [](const std::optional<T>& value) {
    return value ? fmt::format("{:.0f}", static_cast<double>(*value)) : std::string("?");
  };
  return before || after ? fmt::format("{} → {} {}", one(before), one(after), unit) : std::string("–");
}

std::string gpus_text(const JobRecord& record) {
  if (!record.begin || !record.end) return {};
  std::string text;
  std::size_t number = 0;
  for (const auto& [address, before] : record.begin->gpus) {
    const auto after = record.end->gpus.find(address);
    if (after == record.end->gpus.end() || !before.unread.empty() || !after->second.unread.empty()) {
      ++number;
      continue;
    }
    if (number == kMostGpuRows) break;
    text += fmt::format("  GPU {:<3} {:<14} {:>16} {:>18} {:>18}\n", number++, printable(address),
                        both(before.temperature, after->second.temperature, "°C"),
                        both(before.sm_clock, after->second.sm_clock, "MHz"),
                        both(before.power, after->second.power, "W"));
  }
  return text;
}

}  // namespace

std::string looked_at_text(const JobLook& look) {
  return fmt::format("{}, {}", counted(look.gpus.size(), "GPU"), counted(look.ports.size(), "RDMA port"));
}

std::string job_text(const JobRecord& record) {
  std::string text = fmt::format("job {} on {}: ", printable(record.id), printable(record.node));
  if (record.begin && record.end)
    text +=
        fmt::format("{}, until {}: {}\n", length_of(record), utc_text(record.end->time), verdict_of(record));
  else if (record.begin)
    text += fmt::format("began {}, and has not ended\n", utc_text(record.begin->time));
  else
    text += "nothing was recorded before it, so nothing can be compared\n";
  if (record.begun > 1)
    text += fmt::format("  it was started {} times; this is since the last\n", record.begun);
  if (!record.beside.empty()) {
    std::string names;
    for (const std::string& id : record.beside)
      names += (names.empty() ? "" : ", ") + printable(shortened(id, kWidestId));
    text += fmt::format("  beside it ran {}: what changed may be of {} as well\n", names,
                        record.beside.size() == 1 ? "that job" : "those jobs");
  }
  std::size_t shown = 0;
  for (const JobChange& change : record.changes) {
    if (++shown > kMostChanges) break;
    text += fmt::format("{:<8}{}\n", change_word(change.status), printable(change.message));
    if (!change.remedy.empty()) text += fmt::format("        do: {}\n", printable(change.remedy));
  }
  if (record.changes.size() > kMostChanges)
    text += fmt::format("        and {} more: --json has them\n", record.changes.size() - kMostChanges);
  if (record.begin) text += fmt::format("  looked at: {}\n", looked_at_text(*record.begin));
  return text + gpus_text(record);
}

std::string node_jobs_text(const std::string& id, const std::vector<NodeJob>& nodes, bool all) {
  const auto with = [&](JobStatus status) {
    return static_cast<std::size_t>(std::ranges::count_if(
        nodes, [&](const NodeJob& node) { return node.record && changes_of(*node.record, status) > 0; }));
  };
  const auto records = static_cast<std::size_t>(
      std::ranges::count_if(nodes, [](const NodeJob& node) { return node.record.has_value(); }));
  std::string text =
      fmt::format("job {} on {} of {}: ", printable(id), records, counted(nodes.size(), "node"));
  const std::size_t failed = with(JobStatus::kFailure);
  const std::size_t warned = with(JobStatus::kWarning);
  if (failed > 0) text += fmt::format("failures on {}", failed);
  if (warned > 0) text += fmt::format("{}warnings on {}", failed > 0 ? ", " : "", warned);
  text += failed + warned > 0 ? "\n" : records > 0 ? "nothing that was read became worse\n" : "no record\n";
  for (const NodeJob& node : nodes)
    if (node.record && (all || exit_code(*node.record) != kExitClean))
      text += fmt::format("\n{}: {}", printable(node.node), job_text(*node.record));
  for (const NodeJob& node : nodes)
    if (!node.record) text += fmt::format("\n{}: {}\n", printable(node.node), printable(node.why));
  return text;
}

std::string jobs_text(const std::vector<JobRecord>& records) {
  std::string text;
  std::size_t width = 4;
  for (const JobRecord& record : records) width = std::clamp(columns(printable(record.id)), width, kWidestId);
  for (const JobRecord& record : records) {
    const std::string id = printable(shortened(record.id, kWidestId));
    const JobLook* first = record.begin ? &*record.begin : record.end ? &*record.end : nullptr;
    text += fmt::format("{}{}  {}  {:>7}  {}", id, std::string(width - std::min(columns(id), width), ' '),
                        first == nullptr ? "an unknown time" : utc_text(first->time), length_of(record),
                        verdict_of(record));
    if (!record.changes.empty() && record.changes.front().status != JobStatus::kNote)
      text += ": " + printable(shortened(record.changes.front().message, 80));
    text += '\n';
  }
  return text;
}

}  // namespace railbed
