// Which engine measured. The set is open: an engine brings an id of its own, and nothing here lists them.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace railbed {

// Stands for its id, as it is written in JSON and on the command line.
class Engine {
 public:
  // An id that is_id() takes; of a constant the compiler sees that it fits.
  explicit constexpr Engine(std::string_view id) { std::copy(id.begin(), id.end(), id_.begin()); }

  static const Engine kTcp;
  static const Engine kRdma;
  static const Engine kPing;
  static const Engine kStorage;
  static const Engine kTrain;
  static const Engine kGpuCopy;
  static const Engine kCollective;

  constexpr std::string_view id() const { return {id_.data(), std::ranges::find(id_, '\0')}; }

  // Both ways as JSON has it. Nothing but lower-case letters, digits and dashes: an id is shown as it came.
  std::string to_text() const { return std::string(id()); }
  static constexpr std::optional<Engine> parse(std::string_view text) {
    if (!is_id(text)) return std::nullopt;
    return Engine(text);
  }
  static constexpr std::string_view kExpected = "an engine's id";

  constexpr bool operator==(const Engine&) const = default;
  // TCP comes first wherever engines are put in order, as what the others are held against.
  constexpr std::strong_ordering operator<=>(const Engine& other) const {
    const bool is_tcp = id() == "tcp";
    const bool other_is_tcp = other.id() == "tcp";
    return is_tcp == other_is_tcp ? id() <=> other.id() : other_is_tcp <=> is_tcp;
  }

 private:
  static constexpr std::size_t kLongest = 23;
  static constexpr bool is_id(std::string_view text) {
    return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
  }
  std::array<char, kLongest + 1> id_{};
};

inline constexpr Engine Engine::kTcp{"tcp"};
inline constexpr Engine Engine::kRdma{"rdma"};
inline constexpr Engine Engine::kPing{"ping"};
inline constexpr Engine Engine::kStorage{"storage"};
inline constexpr Engine Engine::kTrain{"train"};
inline constexpr Engine Engine::kGpuCopy{"gpu"};
inline constexpr Engine Engine::kCollective{"collective"};

}  // namespace railbed
