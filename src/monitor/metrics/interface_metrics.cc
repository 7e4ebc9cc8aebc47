// Exports network interfaces under node_exporter's names, and those counters of their drivers that concern
// pauses, discards and cables. Each driver has its own names for a pause:
//
//   mlx5   rx_prio3_pause, rx_prio3_pause_duration (µs), rx_global_pause, rx_prio3_discards,
//          tx_pause_storm_warning_events   (Documentation/networking/device_drivers/…/mlx5/counters.rst)
//   mlx4   rx_pause_prio_3, rx_pause_duration_prio_3 (drivers/net/ethernet/mellanox/mlx4/en_ethtool.c)
//   bnxt   rx_pfc_ena_frames_pri3 (drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c)
//   ice    rx_priority_3_xoff.nic (drivers/net/ethernet/intel/ice/ice_ethtool.c)
//
// "rx" counts what the peer sent to stop this port, "tx" what this port sent to stop the peer.
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "monitor/metrics/families.h"

namespace railbed {
namespace {

using Statistics = std::map<std::string, std::uint64_t>;

struct LinkStatistic {
  std::string_view metric;
  std::string_view help;
  std::string_view file;       // in the interface's folder statistics/
  std::string_view more = {};  // another file to add, as /proc/net/dev does
};
constexpr std::array kStatistics = {
    LinkStatistic{"node_network_receive_bytes_total", "Bytes received.", "rx_bytes"},
    LinkStatistic{"node_network_receive_packets_total", "Packets received.", "rx_packets"},
    LinkStatistic{"node_network_receive_errs_total", "Packets received with an error.", "rx_errors"},
    LinkStatistic{"node_network_receive_drop_total", "Packets received and dropped.", "rx_dropped",
                  "rx_missed_errors"},
    LinkStatistic{"node_network_transmit_bytes_total", "Bytes sent.", "tx_bytes"},
    LinkStatistic{"node_network_transmit_packets_total", "Packets sent.", "tx_packets"},
    LinkStatistic{"node_network_transmit_errs_total", "Packets that could not be sent.", "tx_errors"},
    LinkStatistic{"node_network_transmit_drop_total", "Packets dropped before they were sent.", "tx_dropped"},
};

std::optional<std::uint64_t> value_of(const Statistics& statistics, std::string_view name) {
  const auto found = statistics.find(std::string(name));
  return found == statistics.end() ? std::nullopt : std::optional(found->second);
}

class Interfaces {
 public:
  Interfaces(const Counts& counts, Exposition& out) : counts_(counts), out_(out) {}

  template <class Value>
  void each(std::string_view metric, std::string_view type, std::string_view help, Value&& value) {
    bool announced = false;
    for (const InterfaceCounts& counts : counts_.interfaces) {
      const auto found = value(counts);
      if (!found) continue;
      if (!announced) out_.announce(metric, type, help);
      announced = true;
      out_.sample(metric, {{"device", counts.link.name}}, *found);
    }
  }

 private:
  const Counts& counts_;
  Exposition& out_;
};

template <class T>
std::optional<double> scaled(const Reading<T>& reading, double unit = 1) {
  return reading.ok() ? std::optional(static_cast<double>(*reading) * unit) : std::nullopt;
}

// Returns the digit between a beginning and an end of a name: 3 of "rx_prio3_pause" without "rx_".
std::optional<char> priority_in(std::string_view name, std::string_view begin, std::string_view end) {
  if (name.size() != begin.size() + 1 + end.size() || !name.starts_with(begin) || !name.ends_with(end))
    return std::nullopt;
  const char digit = name[begin.size()];
  return digit >= '0' && digit <= '7' ? std::optional(digit) : std::nullopt;
}

// The beginning and the end of a counter's name, with the priority between them.
struct Pattern {
  std::string_view begin;
  std::string_view end;
};
constexpr std::array kPauses = {Pattern{"prio", "_pause"}, Pattern{"pause_prio_", ""},
                                Pattern{"pfc_ena_frames_pri", ""}, Pattern{"priority_", "_xoff.nic"}};
constexpr std::array kDurations = {Pattern{"prio", "_pause_duration"}, Pattern{"pause_duration_prio_", ""}};
constexpr std::array kDiscards = {Pattern{"prio", "_discards"}};

// Returns the priority in a counter's name, "3", or "all" for a counter of the whole port; empty if neither.
// The result may point into `digit`.
template <std::size_t Size>
std::string_view priority_of(std::string_view name, const std::array<Pattern, Size>& patterns,
                             std::string_view whole, std::array<char, 1>& digit) {
  if (!whole.empty() && name == whole) return "all";
  for (const Pattern& pattern : patterns)
    if (const auto found = priority_in(name, pattern.begin, pattern.end)) {
      digit[0] = *found;
      return {digit.data(), 1};
    }
  return "";
}

std::string_view direction_of(std::string_view name) {
  return name.starts_with("rx_") ? "received" : name.starts_with("tx_") ? "transmitted" : "";
}

template <std::size_t Size>
void add_by_priority(const Counts& counts, std::string_view metric, std::string_view help,
                     const std::array<Pattern, Size>& patterns, std::string_view whole, double unit,
                     Exposition& out) {
  bool announced = false;
  for (const InterfaceCounts& interface_counts : counts.interfaces)
    for (const auto& [name, value] : interface_counts.driver) {
      const std::string_view direction = direction_of(name);
      if (direction.empty()) continue;
      std::array<char, 1> digit = {};
      const auto priority = priority_of(std::string_view(name).substr(3), patterns, whole, digit);
      if (priority.empty()) continue;
      if (!announced) out.announce(metric, "counter", help);
      announced = true;
      const Exposition::Labels labels = {
          {"device", interface_counts.link.name}, {"priority", priority}, {"direction", direction}};
      if (unit == 1)
        out.sample(metric, labels, value);
      else
        out.sample(metric, labels, static_cast<double>(value) * unit);
    }
}

void add_storms(const Counts& counts, Exposition& out) {
  out.announce(
      "railbed_pause_storms_total", "counter",
      "Times that this port saw itself stop its peer for too long: a warning, and an error when it then "
      "dropped what it could not take.");
  for (const InterfaceCounts& interface_counts : counts.interfaces)
    for (const std::string_view kind : {"warning", "error"})
      if (const auto value =
              value_of(interface_counts.driver,
                       kind == "warning" ? "tx_pause_storm_warning_events" : "tx_pause_storm_error_events"))
        out.sample("railbed_pause_storms_total",
                   {{"device", interface_counts.link.name}, {"direction", "transmitted"}, {"kind", kind}},
                   *value);
}

// Returns whether a counter concerns the cable or the module. Histograms of frame sizes do not:
// "rx_64_bytes_phy", "rx_1024_to_1518_bytes_phy".
bool is_of_the_cable(std::string_view name) {
  return (name.ends_with("_phy") && !name.ends_with("bytes_phy") && !name.ends_with("packets_phy")) ||
         name.starts_with("module_");
}

void add_cables(const Counts& counts, Exposition& out) {
  out.announce(
      "railbed_phy_counter_total", "counter",
      "A counter of the port's physical layer and its module, by the name that the driver gives it.");
  for (const InterfaceCounts& interface_counts : counts.interfaces)
    for (const auto& [name, value] : interface_counts.driver)
      if (is_of_the_cable(name))
        out.sample("railbed_phy_counter_total", {{"device", interface_counts.link.name}, {"counter", name}},
                   value);
}

}  // namespace

void add_interfaces(const NodeState& state, Exposition& out) {
  if (!state.counts) return;
  const Counts& counts = *state.counts;
  Interfaces interfaces(counts, out);
  interfaces.each("node_network_up", "gauge", "1 where the kernel calls the interface up.",
                  [](const InterfaceCounts& counts) {
                    return std::optional(counts.link.operational_state.value_or("") == "up" ? 1.0 : 0.0);
                  });
  interfaces.each("node_network_carrier", "gauge", "1 where there is a link.",
                  [](const InterfaceCounts& counts) { return scaled(counts.link.carrier); });
  interfaces.each("node_network_carrier_changes_total", "counter", "Times the link came or went.",
                  [](const InterfaceCounts& counts) { return scaled(counts.link.carrier_changes); });
  interfaces.each("node_network_mtu_bytes", "gauge", "The largest packet.",
                  [](const InterfaceCounts& counts) { return scaled(counts.link.mtu); });
  constexpr double kMegabit = 1e6 / 8;
  interfaces.each("node_network_speed_bytes", "gauge", "What the link runs at, in bytes a second.",
                  [](const InterfaceCounts& counts) { return scaled(counts.link.speed_mbps, kMegabit); });
  for (const LinkStatistic& name : kStatistics)
    interfaces.each(name.metric, "counter", name.help, [&](const InterfaceCounts& counts) {
      auto value = value_of(counts.statistics, name.file);
      if (value && !name.more.empty()) *value += value_of(counts.statistics, name.more).value_or(0);
      return value;
    });
  add_by_priority(counts, "railbed_pause_frames_total",
                  "Pause frames: received, the peer stops us; transmitted, we stop the peer.", kPauses,
                  "global_pause", 1, out);
  add_by_priority(counts, "railbed_pause_seconds_total", "How long those pauses lasted together.", kDurations,
                  "global_pause_duration", 1e-6, out);
  add_by_priority(counts, "railbed_priority_discards_total",
                  "Packets of the priority that were dropped: of a lossless one there should be none.",
                  kDiscards, "", 1, out);
  add_storms(counts, out);
  add_cables(counts, out);
}

namespace {

// Calls visit(name, const FecState&) for each interface whose driver reports its error correction.
template <class Visit>
void each_fec(const NodeState& state, Visit&& visit) {
  for (const NetInterface& interface : items(state.look->facts.net.interfaces))
    if (interface.fec.ok()) visit(interface.name, *interface.fec);
}

// Returns the modes that a port is set to, as a label: "Auto", "RS,BaseR".
std::string modes_label(const FecState& fec) {
  std::string text;
  for (const FecMode mode : fec.configured)
    text += (text.empty() ? "" : ",") + std::string(fec_mode_text(mode));
  return text;
}

struct FecFamily {
  std::string_view result;
  std::optional<FecCounter> FecState::*counter;
};
constexpr std::array kFecBlocks = {FecFamily{"corrected", &FecState::corrected_blocks},
                                   FecFamily{"uncorrectable", &FecState::uncorrectable_blocks}};

void add_fec_blocks(const NodeState& state, Exposition& out) {
  out.announce(
      "railbed_fec_blocks_total", "counter",
      "Blocks that error correction had to mend, and those that it could not: their packets are lost.");
  each_fec(state, [&](const std::string& name, const FecState& fec) {
    for (const FecFamily& family : kFecBlocks)
      if (const auto& counter = fec.*family.counter)
        out.sample("railbed_fec_blocks_total", {{"device", name}, {"result", family.result}}, counter->total);
  });
  out.announce("railbed_fec_lane_blocks_total", "counter",
               "The same by lane, where the driver counts lanes.");
  each_fec(state, [&](const std::string& name, const FecState& fec) {
    for (const FecFamily& family : kFecBlocks)
      for (std::size_t lane = 0; fec.*family.counter && lane < (fec.*family.counter)->lanes.size(); ++lane)
        out.sample("railbed_fec_lane_blocks_total",
                   {{"device", name}, {"lane", std::to_string(lane)}, {"result", family.result}},
                   (fec.*family.counter)->lanes[lane]);
  });
}

}  // namespace

void add_fec(const NodeState& state, Exposition& out) {
  if (!state.look) return;
  bool any = false;
  each_fec(state, [&](const std::string&, const FecState&) { any = true; });
  if (!any) return;
  out.announce("railbed_fec_info", "gauge",
               "The error correction that the link uses, and what its port is set to; always 1.");
  each_fec(state, [&](const std::string& name, const FecState& fec) {
    out.sample("railbed_fec_info",
               {{"device", name}, {"active", fec_mode_text(fec.active)}, {"configured", modes_label(fec)}},
               1);
  });
  add_fec_blocks(state, out);
  out.announce("railbed_fec_corrected_bits_total", "counter", "Bits that error correction mended.");
  each_fec(state, [&](const std::string& name, const FecState& fec) {
    if (fec.corrected_bits)
      out.sample("railbed_fec_corrected_bits_total", {{"device", name}}, fec.corrected_bits->total);
  });
}

namespace {

using Links = std::map<std::string, WatchedLink>;

void add_light(const Links& links, Exposition& out) {
  out.announce("railbed_optics_power_dbm", "gauge", "Light of a lane of the module; -40: none.");
  for (const auto& [interface, link] : links)
    for (const OpticsLane& lane : link.optics ? link.optics->lanes : std::vector<OpticsLane>())
      for (const auto& [value, direction] :
           {std::pair(lane.receive, "receive"), std::pair(lane.send, "transmit")})
        if (value)
          out.sample("railbed_optics_power_dbm",
                     {{"device", interface}, {"lane", std::to_string(lane.number)}, {"direction", direction}},
                     dbm_of(*value));
  out.announce("railbed_optics_power_limit_dbm", "gauge", "The module's own limit of it.");
  for (const auto& [interface, link] : links) {
    if (!link.optics) continue;
    for (const auto& [limits, direction] :
         {std::pair(&link.optics->receive, "receive"), std::pair(&link.optics->send, "transmit")})
      for (const auto& [limit, name] :
           {std::pair(limits->low_alarm, "low alarm"), std::pair(limits->low_warning, "low warning"),
            std::pair(limits->high_warning, "high warning"), std::pair(limits->high_alarm, "high alarm")})
        if (limit)
          out.sample("railbed_optics_power_limit_dbm",
                     {{"device", interface}, {"direction", direction}, {"limit", name}}, dbm_of(*limit));
  }
}

void add_lasers(const Links& links, Exposition& out) {
  out.announce("railbed_optics_bias_milliamperes", "gauge", "Current of the laser of a lane.");
  for (const auto& [interface, link] : links)
    for (const OpticsLane& lane : link.optics ? link.optics->lanes : std::vector<OpticsLane>())
      if (lane.bias)
        out.sample("railbed_optics_bias_milliamperes",
                   {{"device", interface}, {"lane", std::to_string(lane.number)}}, *lane.bias);
  out.announce("railbed_optics_volts", "gauge", "Supply of the module.");
  for (const auto& [interface, link] : links)
    if (link.optics && link.optics->volts)
      out.sample("railbed_optics_volts", {{"device", interface}}, *link.optics->volts);
}

void add_bit_errors(const Links& links, Exposition& out) {
  out.announce("railbed_fec_lost_block_ratio", "gauge",
               "Share of blocks that error correction could not mend, between two readings.");
  for (const auto& [interface, link] : links)
    if (link.lost && link.lost->share)
      out.sample("railbed_fec_lost_block_ratio", {{"device", interface}}, *link.lost->share);
  out.announce("railbed_fec_bit_error_ratio", "gauge",
               "Share of wrong bits that error correction mended, between two readings.");
  for (const auto& [interface, link] : links)
    if (link.bit_errors) out.sample("railbed_fec_bit_error_ratio", {{"device", interface}}, *link.bit_errors);
  out.announce("railbed_fec_bit_error_limit_ratio", "gauge", "What it is made for, where that is certain.");
  for (const auto& [interface, link] : links)
    if (const FecLimit* fec = fec_of(link); fec != nullptr && link.bit_errors)
      out.sample("railbed_fec_bit_error_limit_ratio", {{"device", interface}}, fec->bit_errors);
}

}  // namespace

void add_optics(const NodeState& state, Exposition& out) {
  if (state.look && state.look->watched && !state.look->watched->links.empty()) {
    const Links& links = state.look->watched->links;
    add_light(links, out);
    add_lasers(links, out);
    add_bit_errors(links, out);
  }
  if (!state.optics || state.optics->empty()) return;
  out.announce("railbed_optics_celsius", "gauge", "Temperature of the module in the port.");
  for (const auto& [interface, optics] : *state.optics)
    if (optics.celsius) out.sample("railbed_optics_celsius", {{"device", interface}}, *optics.celsius);
  out.announce("railbed_optics_alarm", "gauge", "An alarm or warning that the module raises; always 1.");
  for (const auto& [interface, optics] : *state.optics)
    for (const std::string& alarm : optics.alarms)
      out.sample("railbed_optics_alarm", {{"device", interface}, {"alarm", alarm}}, 1);
}

// Several rails may share one port, each in its own VLAN. Their expectation of the port is one series.
void add_rails(const NodeState& state, Exposition& out) {
  if (!state.look || state.look->rails.empty()) return;
  const auto& rails = state.look->rails;
  out.announce(
      "railbed_rail_info", "gauge",
      "Which rail of cluster.yaml runs over which interface and RDMA port, and to which node; always 1.");
  for (const RailView& view : rails)
    out.sample("railbed_rail_info",
               {{"rail", view.rail},
                {"device", view.device},
                {"port", view.device.empty() ? "" : std::to_string(view.port)},
                {"interface", view.interface},
                {"peer", view.peer}},
               1);
  out.announce("railbed_port_rate_expected_bytes_per_second", "gauge",
               "What the RDMA port should run at: by cluster.yaml, else as its peers do.");
  std::set<std::pair<std::string_view, int>> told;
  for (const RailView& view : rails)
    if (view.rate && !view.device.empty() && told.emplace(view.device, view.port).second)
      out.sample("railbed_port_rate_expected_bytes_per_second",
                 {{"device", view.device}, {"port", std::to_string(view.port)}},
                 view.rate->bits_per_second / 8);
  out.announce("railbed_interface_mtu_expected_bytes", "gauge", "The MTU that cluster.yaml wants.");
  std::set<std::string_view> interfaces;
  for (const RailView& view : rails)
    if (view.mtu && interfaces.insert(view.interface).second)
      out.sample("railbed_interface_mtu_expected_bytes", {{"device", view.interface}},
                 static_cast<double>(*view.mtu));
}

}  // namespace railbed
