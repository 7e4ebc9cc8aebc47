// What storage did in one folder of one node (`railbed bench storage`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  static void fields(auto&& field) {
    field("version", &FioResult::version);
    field("bytes_per_second", &FioResult::bytes_per_second);
    field("requests_per_second", &FioResult::requests_per_second);
    field("seconds", &FioResult::seconds);
    field("requests", &FioResult::requests);
    field("bytes", &FioResult::bytes);
    field("minimum", &FioResult::minimum);
    field("mean", &FioResult::mean);
    field("deviation", &FioResult::deviation);
    field("maximum", &FioResult::maximum);
    field("median", &FioResult::median);
    field("p99", &FioResult::p99);
    field("p999", &FioResult::p999);
    field("p9999", &FioResult::p9999);
  }
};

struct StorageRun {
  std::string operation;
  std::uint64_t block_bytes = 0;
  int depth = 1;          // requests under way
  int threads = 1;        // files written at once
  bool threaded = false;  // each request had a thread of its own: this fio has no libaio
  std::optional<FioResult> result;
  std::optional<Failure> failure;
  static void fields(auto&& field) {
    field("operation", &StorageRun::operation);
    field("block_bytes", &StorageRun::block_bytes);
    field("depth", &StorageRun::depth);
    field("threads", &StorageRun::threads);
    field("threaded", &StorageRun::threaded);
    field("result", &StorageRun::result);
    field("failure", &StorageRun::failure);
  }
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
  static void fields(auto&& field) {
    field("folder", &StorageAnswer::folder);
    field("mount", &StorageAnswer::mount);
    field("bytes", &StorageAnswer::bytes);
    field("free", &StorageAnswer::free);
    field("memory", &StorageAnswer::memory);
    field("not_direct", &StorageAnswer::not_direct);
    field("swept", &StorageAnswer::swept);
    field("runs", &StorageAnswer::runs);
    field("failure", &StorageAnswer::failure);
  }
};

struct StoragePlace {
  std::string node;
  StorageAnswer answer;                   // the last repeat's
  std::vector<Measurement> measurements;  // of all repeats
  static void fields(auto&& field) {
    field("node", &StoragePlace::node);
    field("answer", &StoragePlace::answer);
    field("measurements", &StoragePlace::measurements);
  }
};

}  // namespace railbed
