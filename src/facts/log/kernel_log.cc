#include "facts/log/kernel_log.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/json.h"
#include "host/host.h"
#include "host/kernel_log.h"

namespace railbed {
namespace {

// Seconds within which several lines of one failure count as one event: "BUG: unable to handle …" and "Oops:
// …".
constexpr double kSameMoment = 1;

// NVIDIA's driver writes some messages in several lines, of which only the first names the GPU: "NVRM: The NVIDIA GPU
// 0000:1b:00.0", "NVRM: (PCI ID: 10de:2330) installed in this system has", "NVRM: fallen off the bus and …" (nv.c,
// nv-pci.c). The kernel's own log keeps them in one record; syslog and dmesg make lines of them.
constexpr std::string_view kNvrm = "NVRM: ";
constexpr std::string_view kNvrmHead = "NVRM: The NVIDIA GPU ";
constexpr std::size_t kMostOfNvrm = 4;  // lines that belong to one head

bool within(const KernelLogLine& inner, const KernelLogLine& outer, double seconds) {
  return inner.first >= outer.first - seconds && inner.last <= outer.last + seconds;
}

// Joins the lines after a head to it, and marks those that end its message as taken.
void join_to_head(KernelLogLine& head, std::size_t place, const std::vector<KernelLogLine>& lines,
                  std::vector<bool>& taken) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < lines.size() && count < kMostOfNvrm; ++i) {
    const KernelLogLine& next = lines[i];
    const bool follows = i > place || next.count > 1;  // a folded line stands where it first occurred
    if (!follows || !next.text.starts_with(kNvrm) || next.text.starts_with(kNvrmHead)) continue;
    if (!within(head, next, kSameMoment)) continue;
    ++count;
    const std::string text = head.text + "\\x0a" + next.text;
    const bool whole = parse_log_line(text).has_value();
    if (!whole && parse_log_line(next.text)) continue;  // another event of this moment
    head.text = text;
    taken[i] = taken[i] || whole;
    if (whole) return;
  }
}

// Returns the lines with the heads joined to what follows them. Several GPUs may share lines that do not name one,
// because the log reader folds equal lines: each head takes them, and they no longer stand alone.
std::vector<KernelLogLine> join_nvrm(const std::vector<KernelLogLine>& lines) {
  std::vector<KernelLogLine> joined = lines;
  std::vector<bool> taken(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].text.starts_with(kNvrmHead) && !parse_log_line(lines[i].text))
      join_to_head(joined[i], i, lines, taken);
  std::vector<KernelLogLine> kept;
  for (std::size_t i = 0; i < joined.size(); ++i)
    if (!taken[i]) kept.push_back(std::move(joined[i]));
  return kept;
}

}  // namespace

// The log reader has already folded repeated lines. This folds them further, to one event per kind, subject
// and code. The counts add up, except for lines that came together with those before.
Reading<KernelLog> collect_kernel_log(Host& host, const std::string& since) {
  const auto text = host.call(since.empty() ? "kernel-log" : "kernel-log " + since);
  if (!text) return {text.miss(), text.from()};
  const auto answer = json::read<KernelLogAnswer>(*text);
  if (!answer) return {Miss{Missing::kGarbled, answer.error().text}, text.from()};
  KernelLog log{answer->begins, answer->ends, answer->beginning_lost, answer->dropped, {}, answer->part};
  std::map<std::tuple<LogKind, std::string, int>, LogEvent> events;
  for (const KernelLogLine& line : join_nvrm(answer->lines)) {
    const auto found = parse_log_line(line.text);
    if (!found) continue;
    const auto [place, fresh] = events.try_emplace({found->kind, found->subject, found->code}, *found);
    LogEvent& event = place->second;
    if (fresh) {
      event.first = line.first;
      event.last = line.last;
    }
    if (!came_together(event, line, kSameMoment)) event.count += line.count;
    event.first = std::min(event.first, line.first);
    if (line.last >= event.last) event.text = found->text;
    event.last = std::max(event.last, line.last);
  }
  for (auto& [key, one] : events) log.events.push_back(std::move(one));
  return {std::move(log), answer->source};
}

}  // namespace railbed
