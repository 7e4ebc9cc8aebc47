// The engine that made a measurement. The set is open: an engine defines its own id, and no list of all
// exists.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace railbed {

// An engine, identified by the id that JSON and the command line use.
class Engine {
 public:
  // `id` must satisfy is_id(). A longer id in a constant expression does not compile.
  explicit constexpr Engine(std::string_view id) { std::copy(id.begin(), id.end(), id_.begin()); }

  static const Engine kTcp;
  static const Engine kRdma;
  static const Engine kPing;
  static const Engine kRdmaCm;
  static const Engine kStorage;
  static const Engine kTrain;
  static const Engine kGpuCopy;
  static const Engine kCollective;
  static const Engine kBurn;

  constexpr std::string_view id() const { return {id_.data(), std::ranges::find(id_, '\0')}; }

  // Convert for JSON. An id has only lower-case letters, digits and dashes, because it is shown unchanged.
  std::string to_text() const { return std::string(id()); }
  static constexpr std::optional<Engine> parse(std::string_view text) {
    if (!is_id(text)) return std::nullopt;
    return Engine(text);
  }
  static constexpr std::string_view kExpected = "an engine's id";

  constexpr bool operator==(const Engine&) const = default;
  // Orders by id, but TCP comes first: it is the reference for the other engines.
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
inline constexpr Engine Engine::kRdmaCm{"rdma-cm"};
inline constexpr Engine Engine::kStorage{"storage"};
inline constexpr Engine Engine::kTrain{"train"};
inline constexpr Engine Engine::kGpuCopy{"gpu"};
inline constexpr Engine Engine::kCollective{"collective"};
inline constexpr Engine Engine::kBurn{"burn"};

}  // namespace railbed
