#include "monitor/events/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/text.h"
#include "report/findings.h"

namespace railbed {
namespace {

constexpr std::size_t kLongestSummary = 1024;

// Returns a time in the local time zone: "2026-11-24 03:07:11".
std::string local_time(const UtcTime& time) {
  const auto seconds = static_cast<std::time_t>(std::floor(time.unix_seconds));
  std::tm parts{};
  if (localtime_r(&seconds, &parts) == nullptr) return time.to_text();
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return {text, size};
}

std::string_view word_of(Status status) {
  switch (status) {
    case Status::kFail:
      return "fails";
    case Status::kWarn:
      return "warns";
    case Status::kUnknown:
      return "cannot be told";
    default:
      return "is fine";
  }
}

std::string times_text(std::uint64_t times_before) {
  if (times_before == 0) return "";
  return times_before == 1 ? " (once before)" : fmt::format(" ({} times before)", times_before);
}

// Returns the rule and its subject: "rdma.port-state mlx5_0/1". The subject is left out if the message starts
// with it, as most do.
std::string title_of(const NodeEvent& event) {
  if (event.subject.empty() || event.message.starts_with(event.subject)) return event.rule;
  return event.rule + ' ' + event.subject;
}

std::string there_for(const NodeEvent& event) {
  if (!event.since) return "";
  const double until = event.until.value_or(event.time).unix_seconds;
  return fmt::format(", after {}", span_text(until - event.since->unix_seconds));
}

std::string flaps_in_braces(const NodeEvent& event) {
  const std::string flaps = flaps_text(event);
  return flaps.empty() ? "" : fmt::format(" ({})", flaps);
}

std::string body_of(const NodeEvent& event) {
  const std::string title = title_of(event);
  switch (event.kind) {
    case EventKind::kAppeared:
      return fmt::format("{} {}: {}{}", title, word_of(event.status), event.message,
                         times_text(event.times_before));
    case EventKind::kChanged:
      return fmt::format(
          "{} {}{}: {}", title, word_of(event.status),
          event.was ? fmt::format(", and {} before", enum_names(Status{})[int(*event.was)]) : "",
          event.message);
    case EventKind::kGone:
      return fmt::format("{} is gone{}: {}", title, there_for(event), event.message);
    case EventKind::kFlapping:
      return fmt::format("{} comes and goes{}; it is not reported again until it settles: {}", title,
                         flaps_in_braces(event), event.message);
    case EventKind::kCalm:
      return fmt::format("{} has settled and {}{}: {}", title,
                         event.present ? word_of(event.status) : "is gone", flaps_in_braces(event),
                         event.message);
    case EventKind::kStarted:
    case EventKind::kFactChanged:
      return event.message;
  }
  return event.message;
}

}  // namespace

std::string span_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e12));
  const auto both = [](std::int64_t much, std::string_view unit, std::int64_t little, std::string_view rest) {
    return little == 0 ? fmt::format("{} {}", much, unit)
                       : fmt::format("{} {} {} {}", much, unit, little, rest);
  };
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min", whole / 60);
  if (whole < 86400) return both(whole / 3600, "h", whole % 3600 / 60, "min");
  return both(whole / 86400, "d", whole % 86400 / 3600, "h");
}

std::string flaps_text(const NodeEvent& event) {
  if (event.flaps == 0 || !event.flapping_since) return "";
  return fmt::format("{} changes since {}", event.flaps, local_time(*event.flapping_since));
}

std::string event_summary(const NodeEvent& event) {
  return shortened_bytes(printable(event.node + ' ' + body_of(event)), kLongestSummary);
}

std::string events_text(const std::vector<NodeEvent>& events) {
  std::string text;
  for (const NodeEvent& event : events) {
    const std::string_view kind = enum_names(EventKind{})[static_cast<std::size_t>(event.kind)];
    text += fmt::format("{}  {:<12}  {}\n", local_time(event.time), kind, event_summary(event));
    const auto add = [&](std::string_view what, const std::string& said) {
      text += fmt::format("{:35}{}: {}\n", "", what, shortened_bytes(printable(said), kLongestSummary));
    };
    for (const std::string& change : event.changes_before) add("before it", change);
    const bool is_new = event.kind == EventKind::kAppeared || event.kind == EventKind::kChanged;
    if (is_new && !event.remedy.empty()) add("remedy", event.remedy);
  }
  return text;
}

}  // namespace railbed
