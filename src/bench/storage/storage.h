// Storage as it is measured on one node: what an agent is asked and what it answers. The work is fio's; the
// room it takes, its files and its end are ours.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "bench/storage/fio.h"
#include "facts/mount.h"
#include "results/measurement.h"
#include "results/storage.h"

namespace railbed {

class Host;
struct Facts;

inline constexpr std::string_view kStorage = "bench.storage";  // StorageRequest → StorageAnswer

struct StorageRequest {
  std::string folder;       // absolute
  std::uint64_t bytes = 0;  // at most, at any moment; 0: kDefaultBytes, or what there is room for
  double seconds = 3;       // of each run but the checkpoint
  FIELDS(StorageRequest, folder, bytes, seconds);
};
inline constexpr std::uint64_t kDefaultBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kFewestBytes = std::uint64_t{64} << 20;

// How much of `free` bytes a run uses: what was asked for, never more than a tenth.
Result<std::uint64_t> bytes_to_use(std::uint64_t asked, std::uint64_t free, std::string_view folder);

// One run: what it is called, and how fio does it.
struct Workload {
  std::string_view operation;
  std::string_view pattern;
  std::uint64_t block_bytes = 0;
  int depth = 1;
  int threads = 1;
  bool checkpoint = false;  // through the page cache, once, fsync at its end
};
// In the order in which they run: later ones read what earlier ones wrote.
std::span<const Workload> storage_workloads();

// Measures, and removes its files however it ends. Within storage_deadline(), or soon after a stop.
StorageAnswer measure_storage(Host& host, const StorageRequest& request, std::stop_token stop);
std::chrono::milliseconds storage_deadline(const StorageRequest& request);

// One bandwidth and one latency of each run, beside what the drives' PCIe links allow. `facts` may be null.
std::vector<Measurement> storage_measurements(const std::string& node, const StorageAnswer& answer,
                                              const Facts* facts);

}  // namespace railbed
