// NVLink: the number of active links times the data sheet's rate of one, each way. NVML reports a link's
// speed with its coding, a few percent above the data sheet's 25 or 50 GB/s, so it is rounded down to a
// multiple of 25. All links count with the speed of the slowest one.
//
// Memory: a copy within it reads each byte and writes it, over a bus that transfers data twice per clock. 2 ×
// clock × width is the memory's rate, and half of it remains for the copy.
#include "hardware/gpu_ceilings.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/facts.h"
#include "hardware/gpu_model.h"

namespace railbed {

std::optional<Limit> nvlink_limit(const Facts& facts, std::string_view address, std::string_view node) {
  const Gpu* gpu = find_gpu(facts.gpus, address);
  if (gpu == nullptr || !gpu->nvml.ok() || !gpu->nvml->nvlinks.ok()) return std::nullopt;
  int links = 0;
  int slowest = 0;
  for (const auto& [number, link] : *gpu->nvml->nvlinks) {
    if (!link.active || link.speed_mbps.value_or(0) <= 0) continue;
    ++links;
    slowest = slowest == 0 ? *link.speed_mbps : std::min(slowest, *link.speed_mbps);
  }
  const int each = nvlink_sheet_mbps(slowest);
  if (links == 0 || each == 0) return std::nullopt;
  return Limit{fmt::format("NVLink, {} links of {} at {}", links, node, address),
               BitRate::gigabytes(links * (each / 1e3)),
               fmt::format("{} × {} GB/s each way (data sheet; NVML states {} MB/s a link, coding included)",
                           links, each / 1000, slowest)};
}

std::optional<Limit> memory_copy_limit(int clock, int bus_bits) {
  if (clock <= 0 || bus_bits <= 0) return std::nullopt;
  const double bytes = 2.0 * clock * 1e3 * bus_bits / 8;
  return Limit{"its memory, read and written", BitRate::gigabytes(bytes / 2 / 1e9),
               fmt::format("{:.0f} MHz × 2 × {} bit = {:.2f} TB/s, half for each", clock / 1e3, bus_bits,
                           bytes / 1e12)};
}

}  // namespace railbed
