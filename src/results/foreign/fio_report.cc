// fio's JSON has an entry for each job, or for each group of jobs with --group_reporting. Units changed
// between the versions (axboe/fio, stat.c, add_ddir_status_json):
//  * `bw` is KiB per second in all; `bw_bytes` (since 3.0) is bytes per second. `io_bytes` was KiB before
//    3.0.
//  * `lat`, `clat` and `slat` were µs; `lat_ns`, `clat_ns` and `slat_ns` (since 3.0) are ns.
// Percentiles are usually those of the completion (`clat`), without the time of the submission: railbed's own
// are of the whole request, so the operation names them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "results/foreign/tools.h"

namespace railbed::foreign {
namespace {

constexpr std::uint64_t kDefaultBlock = 4096;  // fio's HOWTO, "blocksize"
constexpr int kMostStreams = 1'000'000;

// The options of a job: its own before those of all.
class FioOptions {
 public:
  FioOptions(const json::Value* global, const json::Value* own) : global_(global), own_(own) {}
  // True if fio lists the options. Then one that is not listed has its default.
  bool known() const { return global_ != nullptr || own_ != nullptr; }
  std::string text(std::initializer_list<const char*> names) const {
    for (const json::Value* const options : {own_, global_})
      for (const char* name : names)
        if (std::string found = text_in(options, name); !found.empty()) return found;
    return {};
  }
  // True if the option is given, with or without a value, and is not "0".
  bool is_on(const char* name) const {
    for (const json::Value* const options : {own_, global_})
      if (member_in(options, name) != nullptr) return text_in(options, name) != "0";
    return false;
  }
  // Returns a count, 1 if it is not listed, 0 if it is unknown.
  int count(const char* name) const {
    const std::string found = text({name});
    if (found.empty()) return known() ? 1 : 0;
    const auto number = parse_number<int>(found);
    return number && *number > 0 && *number <= kMostStreams ? *number : 0;
  }

 private:
  const json::Value* global_;
  const json::Value* own_;
};

// Parses a size as fio does: "4k" is 4096, "1m" 2^20 (kb_base=1024), "4kb" and "4KiB" the same. Returns 0 for
// other texts, as ranges and splits.
std::uint64_t fio_size(std::string_view text) {
  const std::string size = lower(trim(text));
  const std::size_t digits = std::min(size.find_first_not_of("0123456789"), size.size());
  const auto number = parse_number<std::uint64_t>(size.substr(0, digits));
  if (!number || *number > (1u << 30)) return 0;
  std::string_view unit = std::string_view(size).substr(digits);
  if (unit.ends_with("ib"))
    unit.remove_suffix(2);
  else if (unit.ends_with('b'))
    unit.remove_suffix(1);
  if (unit.empty()) return *number;
  constexpr std::string_view kPrefixes = "kmg";
  const std::size_t power = kPrefixes.find(unit);
  if (unit.size() != 1 || power == std::string_view::npos) return 0;
  return *number << (10 * (power + 1));
}

// Returns the block size of reads or writes: "bs=8k,4k" names one for each. 0 if it is unknown.
std::uint64_t block_of(const FioOptions& options, bool reads) {
  const std::string text = options.text({"bs", "blocksize"});
  if (text.empty())
    return options.known() && options.text({"bsrange", "bssplit"}).empty() ? kDefaultBlock : 0;
  const auto parts = split(text, ',');
  return fio_size(!reads && parts.size() > 1 ? parts[1] : parts[0]);
}

// Returns "random read", "sequential write", …; empty for patterns that are not reads or writes.
std::string operation_of(const FioOptions& options, bool reads) {
  std::string pattern = options.text({"rw", "readwrite"});
  pattern = pattern.substr(0, pattern.find(':'));
  const std::string_view way = reads ? "read" : "write";
  if (pattern.empty()) return options.known() ? fmt::format("sequential {}", way) : std::string(way);
  if (pattern == "read" || pattern == "write") return fmt::format("sequential {}", way);
  if (pattern == "randread" || pattern == "randwrite") return fmt::format("random {}", way);
  if (pattern == "rw" || pattern == "readwrite") return fmt::format("sequential {} of a mix", way);
  if (pattern == "randrw") return fmt::format("random {} of a mix", way);
  return {};
}

double percentile_in(const json::Value* latency, const char* key) {
  return std::max(0.0, number_in(member_in(latency, "percentile"), key).value_or(0));
}

// The member of a direction that has the latencies, and their unit in nanoseconds.
struct FioLatency {
  const json::Value* object = nullptr;
  double unit = 1;
  bool whole = false;  // from submission to completion
};

FioLatency latency_in(const json::Value* way) {
  for (const FioLatency& tried :
       {FioLatency{member_in(way, "lat_ns"), 1, true}, FioLatency{member_in(way, "clat_ns"), 1, false},
        FioLatency{member_in(way, "lat"), kMicrosecond, true},
        FioLatency{member_in(way, "clat"), kMicrosecond, false}})
    if (percentile_in(tried.object, "50.000000") > 0) return tried;
  return {};
}

void add_latency(Measurement measurement, const json::Value* way, ForeignRun& read) {
  const FioLatency latency = latency_in(way);
  const double median = percentile_in(latency.object, "50.000000") * latency.unit;
  if (!is_sane(median))
    return leave_out(read, fmt::format("the latency of {}: it has no median", measurement.rail));
  measurement.metric = Metric::kLatency;
  if (!latency.whole) measurement.operation += ", completion";
  Summary summary;
  summary.samples = std::max<std::uint64_t>(1, count_in(way, "total_ios").value_or(0));
  summary.median = summary.low = summary.high = median;
  const auto number = [&](const char* name) {
    return std::max(0.0, number_in(latency.object, name).value_or(0)) * latency.unit;
  };
  summary.mean = number("mean");
  summary.minimum = number("min");
  summary.maximum = number("max");
  summary.deviation = number("stddev");
  summary.p99 = percentile_in(latency.object, "99.000000") * latency.unit;
  summary.p999 = percentile_in(latency.object, "99.900000") * latency.unit;
  summary.p9999 = percentile_in(latency.object, "99.990000") * latency.unit;
  measurement.summary = summary;
  add_measurement(read, std::move(measurement));
}

void add_way(const json::Value& job, const FioOptions& options, bool reads, ForeignRun& read) {
  const json::Value* const way = member_in(&job, reads ? "read" : "write");
  if (count_in(way, "total_ios").value_or(0) == 0) return;
  const std::string name = text_in(&job, "jobname");
  Measurement measurement;
  measurement.engine = Engine::kStorage;
  measurement.operation = operation_of(options, reads);
  if (measurement.operation.empty())
    return leave_out(read, fmt::format("job {}: a pattern that is no read or write", name));
  if (options.known() && !options.is_on("direct")) measurement.operation += " buffered";
  measurement.rail = name;
  measurement.from.device = options.text({"filename", "directory"});
  measurement.message_bytes = block_of(options, reads);
  const bool grouped = options.is_on("group_reporting");
  const std::int64_t streams =
      std::int64_t{options.count("iodepth")} * (grouped ? options.count("numjobs") : 1);
  measurement.streams = streams <= kMostStreams ? static_cast<int>(streams) : 0;
  measurement.seconds = std::clamp(number_in(way, "runtime").value_or(0) / 1000, 0.0, 1e9);
  const auto bytes = number_in(way, "bw_bytes");
  const double rate = bytes ? *bytes * 8 : number_in(way, "bw").value_or(0) * kKibibyteRate;
  if (is_sane(rate)) {
    measurement.summary = single_number(rate);
    add_measurement(read, measurement);
  } else {
    leave_out(read, fmt::format("the bandwidth of job {}: it is zero or missing", name));
  }
  add_latency(std::move(measurement), way, read);
}

void add_job(const json::Value& job, const json::Value* global, bool alone, ForeignRun& read) {
  const FioOptions options(global, member_in(&job, "job options"));
  const std::string name = text_in(&job, "jobname");
  if (const auto error = number_in(&job, "error"); error && *error != 0)
    return leave_out(read, fmt::format("job {}: fio failed with error {:.0f}", name, *error));
  // Jobs of one name run at once; as repeats of one thing they would be compared wrongly.
  if (!alone)
    return leave_out(
        read,
        fmt::format("job {}: several entries of that name (numjobs): give fio --group_reporting", name));
  if (const std::string engine = options.text({"ioengine"}); !engine.empty())
    add_asked(read, "ioengine", engine);
  for (const bool reads : {true, false}) add_way(job, options, reads, read);
  if (count_in(member_in(&job, "trim"), "total_ios").value_or(0) > 0)
    leave_out(read, fmt::format("the trims of job {}", name));
}

}  // namespace

Result<ForeignRun> parse_fio_report(std::string_view text) {
  auto document = json::parse(json_part(text));
  if (!document) return fail(std::move(document.error()), "fio");
  ForeignRun read = run_of(ForeignTool::kFio);
  if (const std::string version = text_in(&*document, "fio version"); !version.empty())
    read.run.fingerprint["fio"] = version;
  if (member_in(&*document, "client_stats") != nullptr)
    leave_out(read, "the statistics of clients (fio --client): give the file of one client");
  const json::Value* const jobs = member_in(&*document, "jobs");
  if (jobs == nullptr || !jobs->is_array()) return read;
  std::map<std::string, int> names;
  for (const json::Value& job : *jobs) ++names[text_in(&job, "jobname")];
  for (const json::Value& job : *jobs)
    add_job(job, member_in(&*document, "global options"), names[text_in(&job, "jobname")] == 1, read);
  return read;
}

}  // namespace railbed::foreign
