#include "bench/storage/storage.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.h"
#include "base/units.h"
#include "bench/storage/scratch.h"
#include "host/host.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr std::uint64_t kKib = 1 << 10;
constexpr std::uint64_t kMib = 1 << 20;

// The first two runs and the block sizes are the usual ones for a drive. One request at a time shows its
// latency, many show its capacity. A checkpoint is written as by training frameworks: several large files at
// the same time, flushed at the end.
constexpr std::array<Workload, 8> kWorkloads{{
    {"sequential write", "write", kMib, 1, 1, false},
    {"sequential read", "read", kMib, 1, 1, false},
    {"sequential write", "write", kMib, 16, 1, false},
    {"sequential read", "read", kMib, 16, 1, false},
    {"random read", "randread", 4 * kKib, 1, 1, false},
    {"random read", "randread", 4 * kKib, 32, 1, false},
    {"random write", "randwrite", 4 * kKib, 32, 1, false},
    {"checkpoint write", "write", 4 * kMib, 1, 4, true},
}};

// The deadline of a run is long enough for this bandwidth. On a slower drive the run fails.
constexpr double kSlowest = 4e6;  // bytes per second
constexpr double kPatience = 15;  // seconds in addition

std::chrono::milliseconds job_deadline(double seconds, std::uint64_t bytes) {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>((kPatience + seconds + static_cast<double>(bytes) / kSlowest) * 1000));
}

// Returns the first useful line of fio's error output, or its exit code.
std::string complaint_of(const CommandOutput& output) {
  std::string text;
  for (const auto line : lines(output.error_output)) {
    if (trim(line).empty() || line.starts_with("note:")) continue;
    text = trim(line).substr(0, 300);
    break;
  }
  return text.empty() ? fmt::format("exit code {}", output.exit_code) : text;
}

Failure failure_of(const CommandOutput& output, const std::stop_token& stop) {
  if (stop.stop_requested()) return stopped_failure();
  if (output.exit_code == 128 + SIGKILL)
    return {"run", "fio was killed (SIGKILL)", "see whether memory ran out: journalctl -k | grep -i oom"};
  if (output.exit_code > 128)
    return {"run", fmt::format("fio ended by signal {}", output.exit_code - 128), ""};
  const std::string complaint = complaint_of(output);
  const bool full =
      complaint.find("No space left") != std::string::npos || complaint.find("quota") != std::string::npos;
  return {"run", "fio: " + complaint, full ? "free some room, or ask for less with --size" : ""};
}

Failure failure_of(const Miss& miss) {
  if (miss.missing == Missing::kAbsent)
    return {"start", "fio is not installed",
            "install it: apt-get install fio (Debian, Ubuntu), dnf install fio (RHEL)"};
  if (miss.missing == Missing::kTimeout)
    return {"run", "fio did not end in time: slower than 4 MB/s, or stuck",
            "look at the drive: journalctl -k, smartctl -a"};
  return {"run", "fio: " + miss.why, ""};
}

class Measuring {
 public:
  Measuring(const Scratch& scratch, const StorageRequest& request, StorageAnswer& answer,
            std::stop_token stop)
      : scratch_(scratch), request_(request), answer_(answer), stop_(std::move(stop)) {}

  // Returns false if it failed; then the runs that follow would fail as well.
  bool run(const Workload& workload) {
    StorageRun& run = answer_.runs.emplace_back();
    run.operation = workload.operation;
    run.block_bytes = workload.block_bytes;
    run.depth = workload.depth;
    run.threads = workload.threads;
    FioJob job = job_of(workload);
    if (job.file_bytes == 0) {
      run.failure = Failure{"run", "nothing was written that could be read", ""};
      return false;
    }
    bool lacks_libaio = false;
    ask(job, run, lacks_libaio);
    if (lacks_libaio) {
      run.failure.reset();
      run.threaded = true;
      job.native = false;
      ask(job, run, lacks_libaio);
    }
    return !run.failure;
  }

 private:
  FioJob job_of(const Workload& workload) const {
    FioJob job;
    job.folder = scratch_.path();
    job.pattern = workload.pattern;
    job.block_bytes = workload.block_bytes;
    job.depth = workload.depth;
    job.threads = workload.threads;
    job.seconds = workload.checkpoint ? 0 : request_.seconds;
    job.direct = answer_.not_direct.empty() && !workload.checkpoint;
    job.sync_at_end = !job.direct && !reads(workload);
    if (workload.checkpoint) scratch_.empty();
    // Reads and random writes stay within the bytes that were written.
    job.file_bytes = workload.pattern == "write" ? answer_.bytes / static_cast<unsigned>(workload.threads)
                                                 : written() / workload.block_bytes * workload.block_bytes;
    return job;
  }

  static bool reads(const Workload& workload) { return workload.pattern.ends_with("read"); }

  std::uint64_t written() const {
    struct stat about = {};
    if (stat(fio_file(scratch_.path(), 0).c_str(), &about) != 0) return 0;
    return static_cast<std::uint64_t>(about.st_size);
  }

  void ask(const FioJob& job, StorageRun& run, bool& lacks_libaio) {
    const auto output = run_program(fio_words(job), job_deadline(job.seconds, answer_.bytes), stop_);
    if (!output) {
      run.failure = failure_of(output.miss());
      return;
    }
    lacks_libaio =
        output->exit_code != 0 && job.native && output->error_output.find("libaio") != std::string::npos;
    if (output->exit_code != 0) {
      run.failure = failure_of(*output, stop_);
      return;
    }
    auto result = parse_fio(output->output, job.pattern.ends_with("read"));
    if (result)
      run.result = std::move(*result);
    else
      run.failure = Failure{"run", result.error().text, "see whether `fio --version` says 3.0 or later"};
  }

  const Scratch& scratch_;
  const StorageRequest& request_;
  StorageAnswer& answer_;
  std::stop_token stop_;
};

Failure refused(const Error& error, std::string remedy) { return {"start", error.text, std::move(remedy)}; }

// Checks the request, and fills in the folder's file system, its free space and the bytes to use.
std::optional<Failure> look(Host& host, const StorageRequest& request, StorageAnswer& answer) {
  const bool plain = std::all_of(request.folder.begin(), request.folder.end(),
                                 [](unsigned char c) { return c >= ' ' && c != 0x7f; });
  if (!plain || !request.folder.starts_with('/') || !(request.seconds > 0 && request.seconds <= 3600))
    return Failure{"start", "not a folder's absolute path, or not a time that can be measured", ""};
  const auto resolved = host.resolve(request.folder);
  if (!resolved)
    return Failure{"start", describe(resolved.miss(), request.folder), "name a folder that is there"};
  answer.folder = *resolved;
  const auto room = room_at(answer.folder);
  if (!room) return refused(room.error(), "");
  answer.free = room->free;
  answer.memory = room->memory;
  const auto bytes = bytes_to_use(request.bytes, room->free, answer.folder);
  if (!bytes) return refused(bytes.error(), "free some room, or ask for less with --size");
  answer.bytes = *bytes;
  if (auto mount = collect_mount(host, answer.folder)) answer.mount = *mount;
  return std::nullopt;
}

}  // namespace

std::span<const Workload> storage_workloads() { return kWorkloads; }

Result<std::uint64_t> bytes_to_use(std::uint64_t asked, std::uint64_t free, std::string_view folder) {
  const std::uint64_t tenth = free / 10;
  if (asked > tenth)
    return fail(ErrorKind::kBadInput,
                fmt::format("{} would be more than a tenth of the {} that are free in {}",
                            to_text(ByteCount{asked}), to_text(ByteCount{free}), folder));
  const std::uint64_t bytes = asked > 0 ? asked : std::min(kDefaultBytes, tenth);
  if (bytes < kFewestBytes)
    return fail(ErrorKind::kUnavailable,
                fmt::format("{} has {} free: a tenth of it, or what was asked for, is less than {}", folder,
                            to_text(ByteCount{free}), to_text(ByteCount{kFewestBytes})));
  return bytes / (16 * kMib) * (16 * kMib);  // whole blocks for every thread of every run
}

std::chrono::milliseconds storage_deadline(const StorageRequest& request) {
  const std::uint64_t bytes = request.bytes > 0 ? request.bytes : kDefaultBytes;
  // Twice, because runs are repeated if libaio is missing.
  return 2 * static_cast<int>(kWorkloads.size()) * job_deadline(request.seconds, bytes);
}

StorageAnswer measure_storage(Host& host, const StorageRequest& request, std::stop_token stop) {
  StorageAnswer answer;
  answer.failure = look(host, request, answer);
  if (answer.failure) return answer;
  answer.swept = sweep_scratch(answer.folder);
  const auto scratch = Scratch::make(answer.folder);
  if (!scratch) {
    answer.failure = refused(scratch.error(), "name a folder that you may write to");
    return answer;
  }
  if (const auto direct = try_direct(scratch->path()); !direct) answer.not_direct = direct.error().text;
  Measuring measuring(*scratch, request, answer, stop);
  for (const Workload& workload : kWorkloads)
    if (stop.stop_requested() || !measuring.run(workload)) break;
  return answer;
}

}  // namespace railbed
