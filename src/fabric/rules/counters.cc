// Rules on error counters. Growth between two readings shows errors that happen now; a high value shows that
// they happened at some time.
#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "fabric/fabric_rules.h"

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

// Returns "port 7 of leaf03", of a port in planes "plane 2 of port 7 of leaf03".
std::string place_of(const FabricView& view, const IbCounterReading& reading) {
  const std::string port = place_of(view.fabric, reading.end);
  return reading.plane > 0 ? fmt::format("plane {} of {}", reading.plane, port) : port;
}

Case on_reading(const FabricView& view, Judge& judge, const IbCounterReading& reading) {
  return on_part(view, judge, place_of(view, reading), {thing_of(view, reading.end)});
}

std::uint64_t growth(const IbCounterReading& reading, std::size_t counter) {
  const std::uint64_t first = reading.first.value[counter], second = reading.second->value[counter];
  return second >= first ? second - first : second;  // it was reset in between
}

std::string text_of(const std::vector<Grown>& all, bool grown) {
  std::string text;
  for (const Grown& counter : all)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", counter.row->name, grown ? "+" : "",
                        grown ? counter.by : counter.total);
  return text;
}

// Returns the counters; null after ending the rule as not applicable if none were read.
const IbCounterLook* counters_of(const FabricView& view, Judge& judge) {
  const auto& look = view.evidence.counters;
  if (look && (!look->ports.empty() || look->unanswered > 0)) return &*look;
  on_subnet(view, judge)
      .not_applicable(look               ? "no port with a cable is active"
                      : view.fabric.live ? "counters were not asked for"
                                         : "a file has no counters");
  return nullptr;
}

// Like counters_of(), for rules on growth: null as well if the counters were read once.
const IbCounterLook* growth_of(const FabricView& view, Judge& judge) {
  const IbCounterLook* look = counters_of(view, judge);
  if (look == nullptr || look->seconds > 0) return look;
  on_subnet(view, judge).not_applicable("counters were read once");
  return nullptr;
}

void judge_port_errors(const FabricView& view, Judge& judge, const IbCounterReading& reading,
                       double seconds) {
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
  const IbEnd peer = view.fabric.port(reading.end).peer;
  on_reading(view, judge, reading)
      .fail({.message = fmt::format("{}{} counts errors now: {} in {:g} s", place_of(view, reading),
                                    peer ? fmt::format(", cabled to {},", place_of(view.fabric, peer)) : "",
                                    text_of(bad, true), seconds),
             .expected = std::move(standard),
             .observed = text_of(bad, true),
             .remedy = {"Clean and reseat the cable at both ends, then try another; then another port."}});
}

void judge_errors(const FabricView& view, Judge& judge) {
  const IbCounterLook* look = growth_of(view, judge);
  if (look == nullptr) return;
  for (const IbCounterReading& reading : look->ports)
    if (reading.second) judge_port_errors(view, judge, reading, look->seconds);
  pass_unless_found(view, judge,
                    fmt::format("{} in {:g} s", counted(look->ports.size(), "port"), look->seconds));
}

void judge_congestion(const FabricView& view, Judge& judge) {
  const IbCounterLook* look = growth_of(view, judge);
  if (look == nullptr) return;
  for (const IbCounterReading& reading : look->ports) {
    if (!reading.second) continue;
    const auto waits = static_cast<double>(growth(reading, static_cast<std::size_t>(IbCounter::kXmitWait)));
    const auto sent = static_cast<double>(growth(reading, static_cast<std::size_t>(IbCounter::kXmitData)));
    // True if the port lacks the 64-bit counter and this one has stopped.
    const bool full = (*reading.second)[IbCounter::kXmitData] == 0xFFFFFFFFU;
    if (waits < kFewestWaits || full || waits / (waits + sent) < kCongestedShare) continue;
    on_reading(view, judge, reading)
        .warn(
            {.message = fmt::format("{} waited to send for {:.0f} of 100 ticks while it had data",
                                    place_of(view, reading), 100 * waits / (waits + sent)),
             .expected = fmt::format("less than {:.0f} of 100", 100 * kCongestedShare),
             .observed = fmt::format("PortXmitWait +{:.0f}, PortXmitData +{:.0f} in {:g} s", waits, sent,
                                     look->seconds),
             .remedy = {
                 "What it sends to is slower or shared: look for a narrow cable behind it, for many senders "
                 "to one receiver, and at the routing engine (railbed fabric sm)."}});
  }
  pass_unless_found(view, judge,
                    fmt::format("{} in {:g} s", counted(look->ports.size(), "port"), look->seconds));
}

void judge_port_totals(const FabricView& view, Judge& judge, const IbCounterReading& reading) {
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
  on_reading(view, judge, reading)
      .warn({.message = fmt::format("{} has counted errors at some time: {}", place_of(view, reading),
                                    text_of(high, false)),
             .expected = fmt::format("at most {} (ibqueryerrors' thresholds)", limits),
             .observed = text_of(high, false),
             .remedy = {"Set the counters to zero and look again after a day of work.",
                        {"ibqueryerrors -k -K"}}});
}

void judge_totals(const FabricView& view, Judge& judge) {
  const IbCounterLook* look = counters_of(view, judge);
  if (look == nullptr) return;
  for (const IbCounterReading& reading : look->ports) judge_port_totals(view, judge, reading);
  if (look->unanswered > 0)
    on_subnet(view, judge)
        .unknown(fmt::format("{} did not return {} counters", counted(look->unanswered, "port"),
                             look->unanswered == 1 ? "its" : "their"));
  pass_unless_found(view, judge, counted(look->ports.size(), "port"));
}

}  // namespace

std::span<const Rule> ib_counter_rules() {
  static const Rule kRules[] = {
      {.id = "fabric.errors",
       .title = "No port counts errors now",
       .why = "Each costs a packet sent again, or a link that trains anew.",
       .source = "PerfMgt PortCounters of every cabled port",
       .standard = "Grown within --window: see docs/how-to/infiniband-fabric.md for each counter's rate",
       .remedy = "Reseat the cable, then swap it, then use another port.",
       .fixture = "errors-now",
       .explained_by = {},
       .check = judge_errors},
      {.id = "fabric.counters",
       .title = "No port has counted many errors",
       .why = "It was sick at some time, and may be again.",
       .source = "PerfMgt PortCounters of every cabled port",
       .standard = "ibqueryerrors' thresholds (error_thresholds of infiniband-diags)",
       .remedy = "Set the counters to zero and look again after a day.",
       .fixture = "old-errors",
       .explained_by = {"fabric.errors"},
       .check = judge_totals},
      {.id = "fabric.congestion",
       .title = "No port waits for credits",
       .why = "Its traffic, and what queues behind it, is late.",
       .source = "PerfMgt PortCounters of every cabled port",
       .standard = "XmitWait below half of XmitWait and XmitData (ours)",
       .remedy = "Look for the narrow cable or the many senders behind it.",
       .fixture = "waiting-port",
       .explained_by = {},
       .check = judge_congestion},
  };
  return kRules;
}

}  // namespace railbed
