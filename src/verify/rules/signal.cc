// Signals of ports as mlxlink shows them, which a support report may hold: bits that arrive wrong, and the firmware's own
// diagnosis of a link.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/wording.h"
#include "hardware/fec.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Beyond this share of wrong bits after error correction a link breaks its standard: InfiniBand's 1e-12, and the objective
// of IEEE 802.3 at the MAC.
constexpr double kLost = 1e-12;
// NVIDIA's InfiniBand Cluster Bring-up Procedure, of symbols on NDR links: an error from here on.
constexpr double kLostOfNdr = 1e-14;
// Fewer errors are no rate.
constexpr std::uint64_t kLeastErrors = 10;

std::string port_name(const SignalAnswer& signal) {
  return signal.device.empty() ? "mlxlink's port" : fmt::format("{}/{}", signal.device, signal.port);
}

bool is_of(const SignalAnswer& signal, const RailEnd& end) {
  return end.rdma && end.rdma.device->name == signal.device && end.rdma.port->number == signal.port;
}

bool is_of_rail(const SignalAnswer& signal, const NodeView& node) {
  return std::ranges::any_of(node.ends, [&](const RailEnd& end) { return is_of(signal, end); });
}

std::string where(const SignalAnswer& signal, const NodeView& node) {
  return fmt::format("{} of {}", port_name(signal), *node.name);
}

// Calls look(Case&, const NodeView&, const SignalAnswer&) for each port whose signal a report has.
template <class Look>
void each_signal(const Survey& survey, Judge& judge, Look&& look) {
  const auto touches = [](const NodeView& node, const SignalAnswer& signal) {
    return touches_of_ends(node, [&](const RailEnd& end) { return is_of(signal, end); });
  };
  each_of(
      survey, judge, [](const NodeView& node) { return items(node.facts->rdma.signals); }, port_name, touches,
      [&](Case& verdict, const NodeView& node, const SignalAnswer& signal) {
        verdict.seen(node.facts->rdma.signals);
        look(verdict, node, signal);
      });
}

// Errors that reach the receiver: InfiniBand repeats what error correction could not mend, and counts the rest as symbols.
struct Unmended {
  std::optional<double> ratio;
  std::optional<std::uint64_t> errors;
  std::string_view after;
};

Unmended unmended(const SignalAnswer& signal) {
  if (signal.symbol_ber)
    return {signal.symbol_ber, signal.symbol_errors, "error correction and retransmission on the link"};
  return {signal.effective_ber, signal.effective_errors, "error correction"};
}

bool is_rate(const Unmended& rest, double most) {
  return rest.ratio && *rest.ratio > most && rest.errors.value_or(kLeastErrors) >= kLeastErrors;
}

// Returns "; lane 2 has 97 % of the wrong bits"; empty unless one lane has most of them.
std::string worst_lane(const SignalAnswer& signal) {
  constexpr double kMost = 0.9;
  const auto worst = std::ranges::max_element(signal.raw_errors);
  const double all = std::accumulate(signal.raw_errors.begin(), signal.raw_errors.end(), 0.0);
  if (signal.raw_errors.size() < 2 || all < kLeastErrors || static_cast<double>(*worst) < kMost * all)
    return "";
  return fmt::format("; lane {} has {:.0f} % of the wrong bits", worst - signal.raw_errors.begin(),
                     static_cast<double>(*worst) / all * 100);
}

std::string observed_text(const SignalAnswer& signal, const Unmended& rest) {
  std::string text;
  if (signal.raw_ber) text = fmt::format("{:.0e} before correction", *signal.raw_ber);
  if (rest.ratio) text += fmt::format("{}{:.0e} after {}", text.empty() ? "" : ", ", *rest.ratio, rest.after);
  return text;
}

// Returns mstlink with these options, about this port: it is mlxlink of mstflint, which systems package, but for devices that
// mst names.
ShellCommand link_command(const SignalAnswer& signal, const ShellCommand& options) {
  const std::string device = signal.device.empty() ? "DEVICE" : signal.device;
  return device.find("_pci") != device.npos ? command("mlxlink -d {} -p {} {}", device, signal.port, options)
                                            : command("mstlink -d {} -p {} {}", device, signal.port, options);
}

// Clears the counters and looks again: what they hold may be of a cable that has been swapped since.
Remedy look_again(const SignalAnswer& signal) {
  return {
      "Clear the counters, load the link for ten minutes and look again; if the errors come back, clean and reseat the "
      "cable at both ends, then swap it, then the module at the other end.",
      {link_command(signal, command("--pc")), link_command(signal, command("-c -m"))}};
}

void port_bit_errors(const Survey& survey, Judge& judge) {
  each_signal(survey, judge, [](Case& verdict, const NodeView& node, const SignalAnswer& signal) {
    const Unmended rest = unmended(signal);
    if (!signal.raw_ber && !rest.ratio)
      return verdict.not_applicable("the output has no bit error ratio: mlxlink -c prints it");
    if (!signal.up) return verdict.not_applicable("the port has no link");
    const std::string observed = observed_text(signal, rest);
    const std::string since = signal.minutes ? fmt::format(" in the {} since its counters were cleared",
                                                           short_time_text(*signal.minutes * 60))
                                             : "";
    const bool ndr = signal.speed == "IB-NDR" && signal.symbol_ber;
    if (is_rate(rest, ndr ? kLostOfNdr : kLost)) {
      const bool fell = signal.link_downs.value_or(0) > 0;
      const std::string history =
          fell ? fmt::format("; its link went down {} meanwhile, which alone may have left these errors",
                             counted(*signal.link_downs, "time"))
               : "";
      return verdict.red(
          fell || *rest.ratio <= kLost ? Status::kWarn : Status::kFail,
          {.message =
               fmt::format("of the bits that {} received{}, {:.0e} stayed wrong after {}{}{}",
                           where(signal, node), since, *rest.ratio, rest.after, worst_lane(signal), history),
           .expected = ndr ? fmt::format("at most {:.0e} of the symbols (NVIDIA, of NDR)", kLostOfNdr)
                           : fmt::format("at most {:.0e} (InfiniBand; IEEE 802.3)", kLost),
           .observed = observed,
           .remedy = look_again(signal)});
    }
    const FecLimit* fec = fec_named(signal.fec);
    if (fec != nullptr && signal.raw_ber && *signal.raw_ber > fec->bit_errors) {
      return verdict.red(
          rest.ratio ? Status::kWarn : Status::kFail,
          {.message = fmt::format(
               "of the bits that {} received{}, {:.0e} were wrong, more than its error correction, {}, is made for{}{}",
               where(signal, node), since, *signal.raw_ber, fec->name,
               rest.ratio ? ", though what it could not mend is within the limit so far" : "",
               worst_lane(signal)),
           .expected = fmt::format("at most {:.1e} ({})", fec->bit_errors, fec->source),
           .observed = observed,
           .remedy = look_again(signal)});
    }
    if (!rest.ratio && fec == nullptr)
      return verdict.not_applicable(
          fmt::format("what its error correction mends is not known: {}", observed));
    verdict.pass(observed);
  });
}

void link_trouble(const Survey& survey, Judge& judge) {
  each_signal(survey, judge, [](Case& verdict, const NodeView& node, const SignalAnswer& signal) {
    if (!signal.trouble) return verdict.not_applicable("the output has no recommendation");
    if (signal.trouble->empty()) return verdict.pass("no issue");
    // A node without rails may need any of its ports.
    if (!signal.up && !node.ends.empty() && !is_of_rail(signal, node))
      return verdict.not_applicable("it has no link and is no rail's: " + *signal.trouble);
    verdict.warn({.message = fmt::format("the adapter's firmware reports of {}: {}", where(signal, node),
                                         *signal.trouble),
                  .expected = "no issue",
                  .observed = *signal.trouble,
                  .remedy = {"Do what it names, at both ends of the cable; then look again.",
                             {link_command(signal, command("-m"))}}});
  });
}

// Returns the lanes that receive no light at all: they belong to another port that shares the module (model/watched_link.h).
std::set<std::size_t> dark_lanes(const SignalAnswer& signal) {
  constexpr double kDark = -30;  // dBm, kDarkMilliwatts
  std::set<std::size_t> dark;
  for (const ModuleReading& reading : signal.module)
    for (std::size_t lane = 0; reading.name == "Rx Power Current" && lane < reading.values.size(); ++lane)
      if (reading.values[lane] <= kDark) dark.insert(lane);
  return dark;
}

// Returns "Rx Power Current of lane 2 -12.1 dBm, outside -10.4 to 6" of each value beyond the module's limits.
std::vector<std::string> beyond_limits(const ModuleReading& reading, const std::set<std::size_t>& dark) {
  std::vector<std::string> found;
  const bool by_lane = reading.values.size() > 1;
  for (std::size_t lane = 0; lane < reading.values.size(); ++lane) {
    const double value = reading.values[lane];
    if ((by_lane && dark.contains(lane)) || (value >= reading.low && value <= reading.high)) continue;
    found.push_back(fmt::format("{}{} {:g} {}, outside {:g} to {:g}", reading.name,
                                by_lane ? fmt::format(" of lane {}", lane) : "", value, reading.unit,
                                reading.low, reading.high));
  }
  return found;
}

void module_limits(const Survey& survey, Judge& judge) {
  each_signal(survey, judge, [](Case& verdict, const NodeView& node, const SignalAnswer& signal) {
    if (signal.module.empty() && signal.faults.empty())
      return verdict.not_applicable(
          "the output has no readings of a module: mlxlink -m prints those of optics");
    if (!signal.up) return verdict.not_applicable("the port has no link");
    std::vector<std::string> found = signal.faults;
    const auto dark = dark_lanes(signal);
    for (const ModuleReading& reading : signal.module)
      for (std::string& text : beyond_limits(reading, dark)) found.push_back(std::move(text));
    if (found.empty()) return verdict.pass("within the module's limits");
    const std::string text = fmt::format("{}", fmt::join(found, "; "));
    verdict.warn(
        {.message = fmt::format("the module in {} reports: {}", where(signal, node), text),
         .expected = "no fault, and values within the module's own limits",
         .observed = text,
         .remedy = {
             "Faults may be older than the link: look again. If they stay, clean both ends of the fibre and "
             "reseat them, see that the module is cooled, then swap it; for received light first look at "
             "what the module at the other end sends.",
             {link_command(signal, command("-m"))}}});
  });
}

}  // namespace

std::span<const Rule> signal_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.link-trouble",
       .title = "the adapter's firmware observes no issue of the link",
       .why =
           "The firmware knows why a link does not come up: no cable, no partner, a signal too poor to train on.",
       .source = "mlxlink, of a report: Status Opcode, Recommendation",
       .standard = "none, of ports that have a link or are a rail's",
       .remedy = "Do what the firmware names.",
       .fixture = "h100-signal-trouble",
       .explained_by = {},
       .check = link_trouble},
      {.id = "rdma.module",
       .title = "the module of a port is within its own limits",
       .why =
           "Too little light, an old laser or a hot module makes errors first and takes the link down later.",
       .source = "mlxlink -m, of a report: readings with the module's limits, faults by lane",
       .standard = "no fault; each reading between the module's own limits, of ports that have a link",
       .remedy = "Clean and reseat the fibre, see that the module is cooled, then swap it.",
       .fixture = "h100-signal-module",
       .explained_by = {},
       .check = module_limits},
      {.id = "rdma.bit-errors",
       .title = "error correction mends what the port receives",
       .why =
           "Beyond what it is made for, packets are lost; RoCE repeats from the lost one on, InfiniBand on the link.",
       .source = "mlxlink -c, of a report: raw, effective and symbol bit error ratio",
       .standard =
           "after correction at most 1e-12 (InfiniBand; IEEE 802.3), of symbols on NDR 1e-14 (NVIDIA's InfiniBand "
           "Cluster Bring-up Procedure), judged from 10 errors on; before it at most 5e-5 with RS(528,514), 2.4e-4 "
           "with RS(544,514) (IEEE 802.3)",
       .remedy = "Clear the counters and look again; then clean and reseat the cable, then swap it.",
       .fixture = "h100-signal-errors",
       .explained_by = {"rdma.module"},
       .check = port_bit_errors},
  };
  return kRules;
}

}  // namespace railbed
