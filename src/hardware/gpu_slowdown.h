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

}  // namespace railbed
