// What storage did in one folder of one node (`railbed bench storage`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/mount.h"
#include "results/measurement.h"

namespace railbed {

// What fio found, of all threads together. Latencies are nanoseconds from submission to completion.
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

struct StorageRun {
  std::string operation;
  std::uint64_t block_bytes = 0;
  int depth = 1;          // requests under way
  int threads = 1;        // files written at once
  bool threaded = false;  // each request had a thread of its own: this fio has no libaio
  std::optional<FioResult> result;
  std::optional<Failure> failure;
  FIELDS(StorageRun, operation, block_bytes, depth, threads, threaded, result, failure);
};

struct StorageAnswer {
  std::string folder;  // resolved
  std::optional<Mount> mount;
  std::uint64_t bytes = 0;         // used at most
  std::uint64_t free = 0;          // before
  bool memory = false;             // tmpfs: no storage
  std::string not_direct;          // why it went through the page cache; empty: it did not
  std::vector<std::string> swept;  // left by processes that were killed, removed now
  std::vector<StorageRun> runs;
  std::optional<Failure> failure;  // before the first run
  FIELDS(StorageAnswer, folder, mount, bytes, free, memory, not_direct, swept, runs, failure);
};

struct StoragePlace {
  std::string node;
  StorageAnswer answer;                   // the last repeat's
  std::vector<Measurement> measurements;  // of all repeats
  FIELDS(StoragePlace, node, answer, measurements);
};

}  // namespace railbed
