// gdscheck prints names of GPUs and machines, and /etc/cufile.json is written by hand.
//
// Rooms: facts host nvidia os base results
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/software/gds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto check = parse_gdscheck(text)) {
    if (check->drivers.empty() || check->drivers.size() > 64)
      std::abort();  // no release: its head was cut off
    if (check->gpus_supported > check->gpus || check->gpus > 1024 || check->warning.size() > 4096)
      std::abort();
    for (const GdsDriver& driver : check->drivers)
      if (driver.modes.empty() || driver.modes.size() > 8) std::abort();
    direct_way_of_nvme(*check);
  }
  if (parse_cufile(text) && !parse_cufile(used_cufile(text))) std::abort();
  return 0;
}
