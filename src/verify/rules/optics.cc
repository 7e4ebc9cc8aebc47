// Links as a monitor sees them over time: the light of their modules, the bits that are mended, and where both lead.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/wording.h"
#include "model/watched.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Calls look(Case&, const std::string& where, const std::string& interface, const WatchedLink&) for each watched link.
template <class Look>
void each_link(const Survey& survey, Judge& judge, Look&& look) {
  for (const auto& [node, watched] : survey.evidence.watched)
    for (const auto& [interface, link] : watched->links) {
      Things touches{"netdev:" + interface};
      if (const NodeView* view = survey.find(node))
        for (const RailEnd& end : view->ends)
          if (end.name == interface) touches = end.touches;
      Case verdict = judge.on_node(node, interface, std::move(touches));
      verdict.add_evidence(fmt::format("ethtool -m {}", interface));
      look(verdict, fmt::format("{} of {}", interface, node), interface, link);
    }
}

// Returns the module's lanes; null after ending the case if there is nothing to judge.
const Optics* lanes_of(Case& verdict, const WatchedLink& link) {
  if (!link.carrier) {
    verdict.not_applicable("no carrier (net.carrier)");
    return nullptr;
  }
  if (!link.optics) {
    verdict.not_applicable(
        "its module could not be read: that needs root, and a module that says what it sees");
    return nullptr;
  }
  if (link.optics->lanes.empty()) {
    verdict.not_applicable("its module measures no light, as copper does not");
    return nullptr;
  }
  return &*link.optics;
}

// A value of a lane beyond the module's own limit.
struct Excess {
  Status status = Status::kPass;
  std::string text = {};   // "lane 2 -11.4 dBm, below the warning at -10.3 dBm"
  std::string limit = {};  // "more than -10.3 dBm"
};

std::string text_of(double value, bool light) {
  return light ? fmt::format("{:.1f} dBm", dbm_of(value)) : fmt::format("{:.1f} mA", value);
}

Excess excess_of(const OpticsLane& lane, double value, const OpticsLimits& limits, bool light) {
  const auto beyond = [&](std::string_view side, std::string_view kind, double limit, Status status) {
    return Excess{status,
                  fmt::format("lane {} {}, {} the {} at {}", lane.number, text_of(value, light), side, kind,
                              text_of(limit, light)),
                  fmt::format("{} than {}", side == "below" ? "more" : "less", text_of(limit, light))};
  };
  if (limits.low_alarm && value < *limits.low_alarm)
    return beyond("below", "alarm", *limits.low_alarm, Status::kFail);
  if (limits.high_alarm && value > *limits.high_alarm)
    return beyond("above", "alarm", *limits.high_alarm, Status::kFail);
  if (limits.low_warning && value < *limits.low_warning)
    return beyond("below", "warning", *limits.low_warning, Status::kWarn);
  if (limits.high_warning && value > *limits.high_warning)
    return beyond("above", "warning", *limits.high_warning, Status::kWarn);
  return {};
}

bool has_limits(const OpticsLimits& limits) {
  return limits.low_alarm || limits.high_alarm || limits.low_warning || limits.high_warning;
}

void end_by(Case& verdict, const std::vector<Excess>& found, const std::string& message, Remedy remedy) {
  const auto worst =
      std::ranges::min_element(found, {}, [](const Excess& one) { return severity(one.status); });
  std::vector<std::string> texts;
  for (const Excess& one : found) texts.push_back(one.text);
  const std::string text = fmt::format("{}", fmt::join(texts, "; "));
  verdict.red(worst->status, {.message = fmt::format("{}: {}", message, text),
                              .expected = worst->limit,
                              .observed = text,
                              .remedy = std::move(remedy)});
}

void receive_light(const Survey& survey, Judge& judge) {
  each_link(
      survey, judge,
      [](Case& verdict, const std::string& where, const std::string& interface, const WatchedLink& link) {
        const Optics* module = lanes_of(verdict, link);
        if (module == nullptr) return;
        if (!has_limits(module->receive)) return verdict.not_applicable("its module states no limits");
        std::vector<Excess> found;
        std::optional<double> least;
        for (const OpticsLane& lane : module->lanes) {
          if (!lane.receive || *lane.receive <= kDarkMilliwatts) continue;
          least = std::min(least.value_or(*lane.receive), *lane.receive);
          Excess excess = excess_of(lane, *lane.receive, module->receive, true);
          if (excess.status != Status::kPass) found.push_back(std::move(excess));
        }
        if (!least) return verdict.not_applicable("its module does not measure what it receives");
        if (found.empty()) return verdict.pass(fmt::format("at least {}", text_of(*least, true)));
        end_by(
            verdict, found, fmt::format("the module in {} receives light beyond its own limits", where),
            {"Clean both ends of the fibre and reseat them; if the light stays, the fibre is bent or the module at the other "
             "end ages: compare what that one sends, then swap it.",
             {command("ethtool -m {}", interface)}});
      });
}

void laser(const Survey& survey, Judge& judge) {
  each_link(
      survey, judge,
      [](Case& verdict, const std::string& where, const std::string& interface, const WatchedLink& link) {
        const Optics* module = lanes_of(verdict, link);
        if (module == nullptr) return;
        if (!has_limits(module->bias) && !has_limits(module->send))
          return verdict.not_applicable("its module states no limits");
        std::vector<Excess> found;
        bool measured = false;
        for (const OpticsLane& lane : module->lanes) {
          const bool off = lane.send.value_or(0) <= kDarkMilliwatts && lane.bias.value_or(0) <= 0;
          if (off) continue;
          measured = true;
          for (const auto& [value, limits, light] :
               {std::tuple(lane.bias, &module->bias, false), std::tuple(lane.send, &module->send, true)}) {
            if (!value || (light && *value <= kDarkMilliwatts)) continue;
            Excess excess = excess_of(lane, *value, *limits, light);
            if (excess.status != Status::kPass) found.push_back(std::move(excess));
          }
        }
        if (!measured) return verdict.not_applicable("its module does not measure its lasers");
        if (found.empty()) return verdict.pass("within the module's limits");
        end_by(
            verdict, found, fmt::format("a laser of the module in {} is beyond its own limits", where),
            {"A laser that ages needs more current for less light: see that the module is cooled, and plan to swap it.",
             {command("ethtool -m {}", interface)}});
      });
}

void bit_errors(const Survey& survey, Judge& judge) {
  each_link(
      survey, judge,
      [](Case& verdict, const std::string& where, const std::string& interface, const WatchedLink& link) {
        if (!link.carrier) return verdict.not_applicable("no carrier (net.carrier)");
        if (!link.bit_errors)
          return verdict.not_applicable("its driver counts no corrected bits, or has just begun");
        const FecLimit* fec = fec_of(link);
        if (fec == nullptr)
          return verdict.not_applicable(
              "which error correction it uses is not certain by its rate and lanes");
        if (*link.bit_errors <= fec->bit_errors) return verdict.pass(fmt::format("{:.1e}", *link.bit_errors));
        verdict.fail(
            {.message = fmt::format(
                 "of the bits that {} receives, {:.1e} are wrong, more than its error correction, "
                 "{}, is made for: packets will be lost",
                 where, *link.bit_errors, fec->name),
             .expected = fmt::format("at most {:.1e} ({})", fec->bit_errors, fec->source),
             .observed = fmt::format("{:.1e}", *link.bit_errors),
             .remedy = {
                 "Clean and reseat the cable at both ends, then swap it; then the module at the other end.",
                 {command("ethtool -S {} | grep -E 'corrected|symbol'", interface)}}});
      });
}

void lost_blocks(const Survey& survey, Judge& judge) {
  each_link(
      survey, judge,
      [](Case& verdict, const std::string& where, const std::string& interface, const WatchedLink& link) {
        verdict.add_evidence(fmt::format("ethtool -I --show-fec {}", interface));
        if (!link.carrier) return verdict.not_applicable("no carrier (net.carrier)");
        if (!link.lost)
          return verdict.not_applicable(
              "its driver reports no such blocks, the link came or went meanwhile, or they have just begun to be watched");
        const std::string observed =
            fmt::format("{} in {:.0f} s", counted(link.lost->count, "block"), link.lost->seconds);
        if (link.lost->count < kLeastLostBlocks) return verdict.pass(observed);
        if (!link.lost->share)
          return verdict.not_applicable("the size of its blocks is not known: " + observed);
        if (*link.lost->share <= kLostBlocks) return verdict.pass(observed);
        verdict.fail(
            {.message = fmt::format(
                 "error correction could not mend {} that {} received in {:.0f} s: their packets are lost",
                 counted(link.lost->count, "block"), where, link.lost->seconds),
             .expected = fmt::format("at most {:.1e} of the blocks", kLostBlocks),
             .observed = fmt::format("{:.1e} of the blocks", *link.lost->share),
             .remedy = {
                 "Clean and reseat the cable at both ends, then swap it; then the module at the other end.",
                 {command("ethtool -I --show-fec {}", interface), command("ethtool -m {}", interface)}}});
      });
}

std::string days_text(const Foretold& at) {
  constexpr double kLongest = 90;
  const auto whole = [](double days) { return fmt::format("{:.0f}", days); };
  return fmt::format("in about {} days ({} to {})", whole(at.days), whole(at.soonest),
                     at.latest > kLongest ? "more than 90" : whole(at.latest));
}

// The value that reaches its limit first.
struct Coming {
  double days = 0;
  std::string message = {};
  std::string observed = {};
  std::string expected = {};
};

// Returns whether the series still goes on: a module that is no longer read has no trend.
bool goes_on(const DaySeries& series, const WatchedLink& link) {
  constexpr double kDay = 86400;
  return series.day >= link.when / kDay - 2;
}

std::vector<Coming> coming_of(const WatchedLink& link) {
  std::vector<Coming> found;
  const OpticsLimits limits = link.optics ? link.optics->receive : OpticsLimits();
  const auto low = limits.low_warning ? limits.low_warning : limits.low_alarm;
  for (const auto& [lane, series] : link.receive)
    if (const auto at =
            low && goes_on(series, link) ? foretell(series, dbm_of(*low), kLeastFall) : std::nullopt;
        at && at->per_day < 0)
      found.push_back({at->days,
                       fmt::format("lane {} receives less light each day and reaches its module's {} {}",
                                   lane, limits.low_warning ? "warning" : "alarm", days_text(*at)),
                       fmt::format("lane {}: {:.1f} dBm, {:.2f} dB a day", lane, at->now, at->per_day),
                       fmt::format("more than {:.1f} dBm", dbm_of(*low))});
  const FecLimit* fec = fec_of(link);
  if (const auto at = fec != nullptr && goes_on(link.bit_error_powers, link)
                          ? foretell(link.bit_error_powers, std::log10(fec->bit_errors), kLeastPowers)
                          : std::nullopt;
      at && at->per_day > 0)
    found.push_back(
        {at->days,
         fmt::format("its bit errors grow each day and reach what {} corrects {}", fec->name, days_text(*at)),
         fmt::format("{:.1e}, times {:.2f} a day", std::pow(10, at->now), std::pow(10, at->per_day)),
         fmt::format("at most {:.1e}", fec->bit_errors)});
  std::ranges::sort(found, {}, &Coming::days);
  return found;
}

void trend(const Survey& survey, Judge& judge) {
  each_link(
      survey, judge,
      [](Case& verdict, const std::string& where, const std::string& interface, const WatchedLink& link) {
        if (!link.carrier) return verdict.not_applicable("no carrier (net.carrier)");
        const bool has_series = !link.receive.empty() || !link.bit_error_powers.days.empty();
        if (!has_series)
          return verdict.not_applicable("neither its light nor its bit errors are known over days");
        const auto found = coming_of(link);
        if (found.empty()) return verdict.pass(fmt::format("no limit within {:.0f} days", kForetoldDays));
        verdict.warn(
            {.message = fmt::format("{}: {}", where, found.front().message),
             .expected = found.front().expected,
             .observed = found.front().observed,
             .remedy = {
                 "Clean both ends of the fibre at the next drain, then see whether the light comes back; else swap "
                 "the module at the other end.",
                 {command("ethtool -m {}", interface)}}});
      });
}

}  // namespace

std::span<const Rule> optics_rules() {
  static const Rule kRules[] = {
      {.id = "optics.receive-light",
       .title = "module receives as much light as it needs",
       .why = "A lane with too little light makes errors first and takes the whole link down later.",
       .source = "railbed monitor: ethtool -m: receive power of each lane",
       .standard =
           "the module's own limits (SFF-8472, SFF-8636, CMIS): beyond a warning warns, beyond an alarm fails",
       .remedy = "Clean and reseat the fibre, then swap the module at the other end.",
       .fixture = "h100-optics-light",
       .explained_by = {"load.optics"},
       .check = receive_light},
      {.id = "optics.laser",
       .title = "lasers of the module are within its limits",
       .why = "A laser that ages needs more current for less light, until it goes out.",
       .source = "railbed monitor: ethtool -m: bias current and power of each lane",
       .standard =
           "the module's own limits (SFF-8472, SFF-8636, CMIS): beyond a warning warns, beyond an alarm fails",
       .remedy = "See that the module is cooled, and swap it.",
       .fixture = "h100-optics-laser",
       .explained_by = {"load.optics"},
       .check = laser},
      {.id = "optics.bit-errors",
       .title = "error correction mends what the link receives",
       .why = "Beyond what it is made for, packets are lost, and RoCE repeats from the lost one on.",
       .source =
           "railbed monitor: ethtool -S: rx_corrected_bits_phy between two readings, by the rate of the port",
       .standard = "at most 5e-5 with RS(528,514), 2.4e-4 with RS(544,514) (IEEE 802.3)",
       .remedy = "Clean and reseat the cable, then swap it.",
       .fixture = "h100-optics-bit-errors",
       .explained_by = {"optics.receive-light"},
       .check = bit_errors},
      {.id = "optics.lost-blocks",
       .title = "error correction loses no blocks",
       .why =
           "A block that cannot be mended takes its packets with it, and RoCE repeats from the lost one on.",
       .source = "railbed monitor, watch: ETHTOOL_MSG_FEC_GET: uncorrectable blocks between two readings",
       .standard =
           "at most 5.1e-10 of the blocks (IEEE 802.3's bit error ratio of 1e-12), judged from 10 blocks on",
       .remedy = "Clean and reseat the cable, then swap it.",
       .fixture = "h100-optics-lost-blocks",
       .explained_by = {"optics.receive-light", "optics.bit-errors"},
       .check = lost_blocks},
      {.id = "optics.trend",
       .title = "light and bit errors stay as they are",
       .why = "A fibre that gets dirty or a laser that ages announces the end of its link days ahead.",
       .source =
           "railbed monitor: medians by day of the receive power of each lane and of the corrected bits",
       .standard = "no limit within 30 days, by the slope of the last 8 to 14 days (railbed's own)",
       .remedy = "Clean the fibre at the next drain; if that does not help, swap the module.",
       .fixture = "h100-optics-trend",
       .explained_by = {"optics.receive-light", "optics.laser", "optics.bit-errors", "optics.lost-blocks"},
       .check = trend},
  };
  return kRules;
}

}  // namespace railbed
