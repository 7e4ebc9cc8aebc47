// Why a GPU's clocks are below their maximum: the bits of nvmlClocksEventReasons (nvml.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace railbed {

struct GpuSlowdown {
  std::uint64_t bit;
  std::string_view word;
  bool sound;  // a sound GPU under full load may show it
};

inline constexpr GpuSlowdown kGpuSlowdowns[] = {
    {0x2, "application clocks", true},
    {0x4, "power cap", true},
    {0x8, "hardware slowdown", false},
    {0x10, "sync boost", true},
    {0x20, "software thermal slowdown", false},
    {0x40, "hardware thermal slowdown", false},
    {0x80, "power brake", false},
};

// Shares of the time for which a reason that a sound GPU does not show is a warning, and a failure. Our values.
inline constexpr double kSlowdownNamedFrom = 0.001;
inline constexpr double kSlowdownFailsFrom = 0.05;

// Returns what may be behind such a reason, and what to look at. Power brake is a signal of the board: supplies that fail
// raise it, and so does a BMC or a rack that keeps to a budget; "hardware slowdown" stands for both brake and heat.
constexpr std::string_view cause_of_slowdown(std::string_view word) {
  if (word.find("thermal") != std::string_view::npos) return "the cooling or the room";
  if (word == "hardware slowdown") return "its heat, or its power";
  return "the power supplies or their cables, or a power budget of the BMC or the rack";
}
constexpr std::string_view remedy_of_slowdown(std::string_view word) {
  if (word.find("thermal") != std::string_view::npos)
    return "Look at fans, air flow, heat sink and the room.";
  if (word == "hardware slowdown")
    return "nvidia-smi -q -d PERFORMANCE shows which: then its cooling, or its power.";
  return "Look at power supplies and their cables, and at the BMC's power budget.";
}

}  // namespace railbed
