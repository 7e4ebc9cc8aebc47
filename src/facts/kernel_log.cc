#include "facts/kernel_log.h"

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

}  // namespace

// The log reader has already folded repeated lines. This folds them further, to one event per kind, subject
// and code. The counts add up, except for lines that came together with those before.
Reading<KernelLog> collect_kernel_log(Host& host, const std::string& since) {
  const auto text = host.call(since.empty() ? "kernel-log" : "kernel-log " + since);
  if (!text) return {text.miss(), text.from()};
  const auto answer = json::read<KernelLogAnswer>(*text);
  if (!answer) return {Miss{Missing::kGarbled, answer.error().text}, text.from()};
  KernelLog log{answer->begins, answer->ends, answer->beginning_lost, answer->dropped, {}};
  std::map<std::tuple<LogKind, std::string, int>, LogEvent> events;
  for (const KernelLogLine& line : answer->lines) {
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
