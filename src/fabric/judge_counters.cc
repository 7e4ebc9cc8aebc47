// Rules on error counters. Growth between two readings shows errors that happen now; a high value shows that
// they happened at some time.
#include <fmt/format.h>

#include <algorithm>

#include "fabric/judging.h"

namespace railbed {
namespace {

// A port that waits for credits as long as it sends is congested. The limit is ours: the specification names
// none, and a tick of XmitWait is as long as a word of data takes on the ports that are sold.
constexpr double kCongestedShare = 0.5;
constexpr double kFewestWaits = 1e6;

struct Grown {
  const IbCounterRow* row = nullptr;
  std::uint64_t by = 0;
  std::uint64_t total = 0;
};

std::uint64_t growth(const IbCounterReading& reading, std::size_t counter) {
  const std::uint64_t first = reading.first.value[counter], second = reading.second->value[counter];
  return second >= first ? second - first : second;  // it was reset in between
}

std::string text_of(const std::vector<Grown>& all, bool grown) {
  std::string text;
  for (const Grown& one : all)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", one.row->name, grown ? "+" : "",
                        grown ? one.by : one.total);
  return text;
}

void grown_errors(const IbFabric& fabric, const IbCounterReading& reading, double seconds,
                  FabricFindings& findings) {
  std::vector<Grown> bad;
  std::string standard;
  const auto& rows = ib_counter_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t by = growth(reading, i);
    if (rows[i].a_second == 0 || by == 0 || static_cast<double>(by) / seconds <= rows[i].a_second) continue;
    // One error within a short window is not yet a rate.
    if (by < 2 && rows[i].a_second > 1e-6) continue;
    bad.push_back({&rows[i], by, reading.second->value[i]});
    if (standard.empty()) standard = fmt::format("{}: {} at most", rows[i].name, rows[i].standard);
  }
  if (bad.empty()) return;
  const std::string place = place_of(fabric, reading.end);
  const IbEnd peer = fabric.port(reading.end).peer;
  findings.fail(
      "fabric.errors", place,
      {.message = fmt::format("{}{} counts errors now: {} in {:g} s", place,
                              peer ? fmt::format(", cabled to {},", place_of(fabric, peer)) : "",
                              text_of(bad, true), seconds),
       .expected = std::move(standard),
       .observed = text_of(bad, true),
       .remedy = {"Clean and reseat the cable at both ends, then try another; then another port."}});
}

void congestion(const IbFabric& fabric, const IbCounterReading& reading, double seconds,
                FabricFindings& findings) {
  const auto waits = static_cast<double>(growth(reading, static_cast<std::size_t>(IbCounter::kXmitWait)));
  const auto sent = static_cast<double>(growth(reading, static_cast<std::size_t>(IbCounter::kXmitData)));
  // True if the port lacks the 64-bit counter and this one has stopped.
  const bool full = (*reading.second)[IbCounter::kXmitData] == 0xFFFFFFFFU;
  if (waits < kFewestWaits || full || waits / (waits + sent) < kCongestedShare) return;
  const std::string place = place_of(fabric, reading.end);
  findings.warn(
      "fabric.congestion", place,
      {.message = fmt::format("{} waited to send for {:.0f} of 100 ticks while it had data", place,
                              100 * waits / (waits + sent)),
       .expected = fmt::format("less than {:.0f} of 100", 100 * kCongestedShare),
       .observed = fmt::format("PortXmitWait +{:.0f}, PortXmitData +{:.0f} in {:g} s", waits, sent, seconds),
       .remedy = {"What it sends to is slower or shared: look for a narrow cable behind it, for many senders "
                  "to one receiver, and at the routing engine (railbed fabric sm)."}});
}

void old_errors(const IbFabric& fabric, const IbCounterReading& reading, FabricFindings& findings) {
  const auto& rows = ib_counter_rows();
  std::vector<Grown> high;
  std::string limits;
  const IbCounts& now = reading.second ? *reading.second : reading.first;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // A counter of four bits stops at fifteen.
    if (rows[i].total == 0 || now.value[i] <= std::min(rows[i].total, rows[i].end() - 1)) continue;
    high.push_back({&rows[i], 0, now.value[i]});
    limits += fmt::format("{}{} {}", limits.empty() ? "" : ", ", rows[i].name, rows[i].total);
  }
  if (high.empty()) return;
  const std::string place = place_of(fabric, reading.end);
  findings.warn(
      "fabric.counters", place,
      {.message = fmt::format("{} has counted errors at some time: {}", place, text_of(high, false)),
       .expected = fmt::format("at most {} (ibqueryerrors' thresholds)", limits),
       .observed = text_of(high, false),
       .remedy = {"Set the counters to zero and look again after a day of work.", {"ibqueryerrors -k -K"}}});
}

}  // namespace

void judge_counters(const FabricEvidence& evidence, FabricFindings& findings) {
  const auto none = [&](std::string_view why) {
    for (const std::string_view rule : {"fabric.errors", "fabric.congestion", "fabric.counters"})
      findings.calm(Status::kNotApplicable, rule, std::string(why));
  };
  if (!evidence.counters)
    return none(evidence.fabric.live ? "counters were not asked for" : "a file says nothing of counters");
  const IbCounterLook& look = *evidence.counters;
  if (look.ports.empty() && look.unanswered == 0) return none("no port with a cable is active");
  for (const IbCounterReading& reading : look.ports) {
    const std::size_t before = findings.list().size();
    if (reading.second && look.seconds > 0) {
      grown_errors(evidence.fabric, reading, look.seconds, findings);
      congestion(evidence.fabric, reading, look.seconds, findings);
    }
    // Current growth explains a high value.
    if (findings.list().size() == before) old_errors(evidence.fabric, reading, findings);
  }
  if (look.unanswered > 0)
    findings.calm(Status::kUnknown, "fabric.counters",
                  fmt::format("{} ports did not say their counters", look.unanswered));
  const std::string ports = fmt::format("{} ports", look.ports.size());
  if (look.seconds > 0) {
    findings.pass_unless_red("fabric.errors", fmt::format("{} in {:g} s", ports, look.seconds));
    findings.pass_unless_red("fabric.congestion", fmt::format("{} in {:g} s", ports, look.seconds));
  } else {
    findings.calm(Status::kNotApplicable, "fabric.errors", "counters were read once");
    findings.calm(Status::kNotApplicable, "fabric.congestion", "counters were read once");
  }
  findings.pass_unless_red("fabric.counters", ports);
}

}  // namespace railbed
