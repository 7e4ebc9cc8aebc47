// The measurement of storage on one node: the request to an agent and its reply. fio does the reads and
// writes; this code chooses the space that it takes, owns its files, and ends it.
//
// A measurement removes the folders that ended runs left, makes a temporary folder of its own, tests whether
// files there can bypass the page cache (O_DIRECT), and then runs fio once for each workload. Without
// O_DIRECT the runs go through the page cache, and the reply has the reason. A run that fails for lack of
// libaio is repeated with threads.
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
  std::uint64_t bytes = 0;  // the most on disk at any moment; 0: kDefaultBytes, or a tenth of the free space
  double seconds = 3;       // of each run except the checkpoint
  FIELDS(StorageRequest, folder, bytes, seconds);
};
inline constexpr std::uint64_t kDefaultBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kFewestBytes = std::uint64_t{64} << 20;

// Returns how many of `free` bytes a run uses: `asked`, or by default kDefaultBytes or a tenth of `free`,
// whichever is less; rounded down to 16 MiB. Fails if `asked` is more than a tenth of `free`, or if the
// result would be less than kFewestBytes. `folder` is for the error message.
Result<std::uint64_t> bytes_to_use(std::uint64_t asked, std::uint64_t free, std::string_view folder);

// One run: its name, and the parameters of fio.
struct Workload {
  std::string_view operation;
  std::string_view pattern;
  std::uint64_t block_bytes = 0;
  int depth = 1;
  int threads = 1;
  bool checkpoint = false;  // through the page cache, once, fsync at its end
};
// Returns the runs in their order. Later ones read the files that earlier ones wrote.
std::span<const Workload> storage_workloads();

// Runs all workloads until one fails. Removes its files in every case. Returns within storage_deadline(), or
// soon after a stop.
StorageAnswer measure_storage(Host& host, const StorageRequest& request, std::stop_token stop);
std::chrono::milliseconds storage_deadline(const StorageRequest& request);

// Returns one bandwidth and one latency for each run, with the limit of the drives' PCIe links as the ceiling
// of the bandwidth. `facts` may be null.
std::vector<Measurement> storage_measurements(const std::string& node, const StorageAnswer& answer,
                                              const Facts* facts);

}  // namespace railbed
