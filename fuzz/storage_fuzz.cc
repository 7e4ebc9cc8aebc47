// fio's answer comes from another program, mountinfo holds names that users chose.
//
// Rooms: bench hardware facts host nvidia os base
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bench/storage/fio.h"
#include "facts/mount.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool reads : {false, true}) {
    const auto result = railbed::parse_fio(text, reads);
    if (!result) continue;
    if (!std::isfinite(result->bytes_per_second) || result->bytes_per_second <= 0 || result->requests == 0 ||
        result->median > result->p99 || result->p9999 > result->maximum)
      std::abort();
  }
  if (const auto mount = railbed::find_mount(text, "/scratch/run"))
    if (mount->point.size() > size || !mount->devices.empty()) std::abort();
  return 0;
}
