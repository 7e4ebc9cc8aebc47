// The results of storage in one folder of one node (`railbed bench storage`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/mount.h"
#include "results/measurement.h"

namespace railbed {

// The results of fio, all threads together. Latencies are nanoseconds from submission to completion.
struct FioResult {
  std::string version;          // "fio-3.33"
  double bytes_per_second = 0;  // over the whole run, fsync included
  double requests_per_second = 0;
  double seconds = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  double minimum = 0, mean = 0, deviation = 0, maximum = 0;
  double median = 0, p99 = 0, p999 = 0, p9999 = 0;
  FIELDS(FioResult, version, bytes_per_second, requests_per_second, seconds, requests, bytes, minimum, mean,
         deviation, maximum, median, p99, p999, p9999);
};

// One run of fio with its parameters.
struct StorageRun {
  std::string operation;
  std::uint64_t block_bytes = 0;
  int depth = 1;          // requests in flight
  int threads = 1;        // files written at once
  bool threaded = false;  // one thread per request, because this fio has no libaio
  std::optional<FioResult> result;
  std::optional<Failure> failure;
  FIELDS(StorageRun, operation, block_bytes, depth, threads, threaded, result, failure);
};

// The results of one node.
struct StorageAnswer {
  std::string folder;  // without links
  std::optional<Mount> mount;
  std::uint64_t bytes = 0;         // upper limit on the bytes in use
  std::uint64_t free = 0;          // before the runs
  bool memory = false;             // tmpfs: not storage
  std::string not_direct;          // why the page cache was used; empty if it was not
  std::vector<std::string> swept;  // files of killed processes, removed now
  std::vector<StorageRun> runs;
  std::optional<Failure> failure;  // before the first run
  FIELDS(StorageAnswer, folder, mount, bytes, free, memory, not_direct, swept, runs, failure);
};

struct StoragePlace {
  std::string node;
  StorageAnswer answer;                   // of the last repeat
  std::vector<Measurement> measurements;  // of all repeats
  FIELDS(StoragePlace, node, answer, measurements);
};

}  // namespace railbed
