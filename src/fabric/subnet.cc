#include "fabric/subnet.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace railbed {
namespace {

struct SpeedRow {
  std::string_view word;
  double gigabits_a_lane;
};
// In the enum's order. The rates follow a lane's name, not its signaling: 4xHDR is sold as 200 Gb/s.
constexpr std::array<SpeedRow, 10> kSpeeds = {{{"none", 0},
                                               {"SDR", 2.5},
                                               {"DDR", 5},
                                               {"QDR", 10},
                                               {"FDR10", 10},
                                               {"FDR", 14},
                                               {"EDR", 25},
                                               {"HDR", 50},
                                               {"NDR", 100},
                                               {"XDR", 200}}};

const SpeedRow& row_of(IbSpeed speed) { return kSpeeds[static_cast<std::size_t>(speed)]; }

}  // namespace

std::string_view word(IbSpeed speed) { return row_of(speed).word; }

std::string_view word(IbState state) {
  constexpr std::array<std::string_view, 5> kWords = {"not said", "DOWN", "INIT", "ARMED", "ACTIVE"};
  return kWords[static_cast<std::size_t>(state)];
}

std::string_view word(IbManagerState state) {
  constexpr std::array<std::string_view, 4> kWords = {"NOTACTIVE", "DISCOVERING", "STANDBY", "MASTER"};
  return kWords[static_cast<std::size_t>(state)];
}

std::optional<IbSpeed> ib_speed(std::string_view name) {
  for (std::size_t i = 1; i < kSpeeds.size(); ++i)
    if (kSpeeds[i].word == name) return static_cast<IbSpeed>(i);
  return std::nullopt;
}

IbSpeed signaled_speed(std::string_view gigabits) {
  constexpr std::pair<std::string_view, IbSpeed> kSignaling[] = {
      {"2.5", IbSpeed::kSdr},     {"5.0", IbSpeed::kDdr},      {"10.0", IbSpeed::kQdr},
      {"14.0625", IbSpeed::kFdr}, {"25.78125", IbSpeed::kEdr}, {"53.125", IbSpeed::kHdr},
      {"106.25", IbSpeed::kNdr},  {"212.5", IbSpeed::kXdr}};
  for (const auto& [text, speed] : kSignaling)
    if (text == gigabits) return speed;
  return IbSpeed::kNone;
}

int ib_width(std::string_view text) {
  constexpr std::size_t kLongest = 3;  // "12X"
  if (text.size() > kLongest || !(text.ends_with('X') || text.ends_with('x'))) return 0;
  const int lanes = parse_number<int>(text.substr(0, text.size() - 1)).value_or(0);
  return is_ib_width(lanes) ? lanes : 0;
}

IbState ib_state(std::string_view name) {
  constexpr std::pair<std::string_view, IbState> kStates[] = {{"Down", IbState::kDown},
                                                              {"Init", IbState::kInit},
                                                              {"Initialize", IbState::kInit},
                                                              {"Armed", IbState::kArmed},
                                                              {"Active", IbState::kActive}};
  for (const auto& [text, state] : kStates)
    if (text == name) return state;
  return IbState::kNotSaid;
}

std::string IbLink::to_text() const {
  return width == 0 ? "no link" : fmt::format("{}x{}", width, word(speed));
}

std::optional<IbLink> IbLink::parse(std::string_view text) {
  const std::size_t x = text.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto lanes = parse_number<int>(text.substr(0, x));
  const auto speed = ib_speed(text.substr(x + 1));
  if (!lanes || !is_ib_width(*lanes) || !speed) return std::nullopt;
  return IbLink{*lanes, *speed};
}

double IbLink::gigabits() const { return width * row_of(speed).gigabits_a_lane; }

std::string guid_text(std::uint64_t guid) { return fmt::format("0x{:016x}", guid); }

void tell_apart(IbFabric& fabric) {
  std::unordered_map<std::string_view, int> count;
  for (const IbNode& node : fabric.nodes) ++count[node.description];
  for (IbNode& node : fabric.nodes)
    if (!node.description.empty() && count[node.description] > 1)
      node.label = fmt::format("{} ({})", node.description, guid_text(node.guid));
}

std::string name_of(const IbNode& node) {
  if (!node.label.empty()) return node.label;
  return node.description.empty() ? guid_text(node.guid) : node.description;
}

std::string host_of(const IbNode& node) {
  const auto parts = words(node.description);
  return parts.empty() ? guid_text(node.guid) : std::string(parts.front());
}

std::string device_of(const IbNode& node) {
  const auto parts = words(node.description);
  return parts.size() < 2 ? std::string() : std::string(parts[1]);
}

std::string place_of(const IbFabric& fabric, const IbEnd& end) {
  return fmt::format("port {} of {}", end.port, name_of(fabric.at(end)));
}

void join(IbFabric& fabric, const IbEnd& end, const IbEnd& other) {
  fabric.port(end).peer = other;
  fabric.port(other).peer = end;
}

}  // namespace railbed
