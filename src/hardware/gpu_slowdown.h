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

// Returns what to look at where such a reason held a GPU back.
constexpr std::string_view remedy_of_slowdown(std::string_view word) {
  return word.find("thermal") != std::string_view::npos ? "Look at fans, air flow, heat sink and the room."
                                                        : "Look at power supplies and their cables.";
}

}  // namespace railbed
