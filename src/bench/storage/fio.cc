#include "bench/storage/fio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "base/fields.h"
#include "base/json.h"
#include "base/text.h"

namespace railbed {
namespace {

// Names and units: fio's HOWTO, "Interpreting the output", and its stat.c.
struct Latency {
  double min = 0, max = 0, mean = 0, stddev = 0;
  std::map<std::string, double> percentile;
  FIELDS(Latency, min, max, mean, stddev, percentile);
};
struct Direction {
  std::uint64_t io_bytes = 0;
  double bw_bytes = 0;  // bytes per second
  double iops = 0;
  double runtime = 0;  // milliseconds
  std::uint64_t total_ios = 0;
  Latency lat_ns;
  FIELDS(Direction, io_bytes, bw_bytes, iops, runtime, total_ios, lat_ns);
};
struct FioReportJob {
  int error = 0;
  Direction read;
  Direction write;
  FIELDS(FioReportJob, error, read, write);
};
struct Document {
  std::string version;
  std::vector<FioReportJob> jobs;
  static void fields(auto&& field) {
    field("fio version", &Document::version);
    field("jobs", &Document::jobs);
  }
};

// A terabyte per second, and a day. Larger numbers are impossible.
constexpr double kMostBytesPerSecond = 1e12;
constexpr double kMostNanoseconds = 86400e9;

bool sane(double value, double most) { return std::isfinite(value) && value >= 0 && value <= most; }

double percentile(const Latency& latency, const char* key) {
  const auto found = latency.percentile.find(key);
  return found == latency.percentile.end() ? 0 : found->second;
}

bool sane(const FioResult& result) {
  if (!sane(result.bytes_per_second, kMostBytesPerSecond) ||
      !sane(result.requests_per_second, kMostBytesPerSecond) || !sane(result.seconds, 86400) ||
      result.requests == 0 || result.bytes_per_second == 0)
    return false;
  for (const double value : {result.minimum, result.mean, result.deviation, result.maximum, result.median,
                             result.p99, result.p999, result.p9999})
    if (!sane(value, kMostNanoseconds)) return false;
  return result.median <= result.p99 && result.p99 <= result.p999 && result.p999 <= result.p9999;
}

// fio splits names of files and folders at colons: its HOWTO, "filename".
std::string escape_colons(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == ':' ? std::string("\\:") : std::string(1, c);
  return escaped;
}

}  // namespace

std::string fio_file(const std::string& folder, int index) {
  return fmt::format("{}/data.{}", folder, index);
}

std::vector<std::string> fio_words(const FioJob& job) {
  const bool queued = job.depth > 1 && job.native;
  std::vector<std::string> words = {
      "fio", "--name=railbed", "--thread", "--output-format=json", "--eta=never", "--group_reporting",
      // Percentiles of the whole time of a request. Without this option they leave out the submission.
      "--lat_percentiles=1", "--clat_percentiles=0", "--percentile_list=50:99:99.9:99.99",
      // If the space of a file is only reserved, reads do not touch the drive.
      "--fallocate=none", "--norandommap", "--directory=" + escape_colons(job.folder), "--rw=" + job.pattern,
      fmt::format("--bs={}", job.block_bytes), fmt::format("--size={}", job.file_bytes),
      fmt::format("--direct={}", job.direct ? 1 : 0), queued ? "--ioengine=libaio" : "--ioengine=psync"};
  if (queued) words.push_back(fmt::format("--iodepth={}", job.depth));
  // Without libaio each request in flight needs a thread; all are on one file.
  const int threads = queued ? job.threads : job.threads * job.depth;
  words.push_back(fmt::format("--numjobs={}", threads));
  words.push_back(job.threads > 1 ? "--filename_format=data.$jobnum" : "--filename=data.0");
  if (job.seconds > 0) {
    words.push_back("--time_based");
    words.push_back(fmt::format("--runtime={:.0f}ms", job.seconds * 1000));
  }
  if (job.sync_at_end) words.push_back("--end_fsync=1");
  return words;
}

Result<FioResult> parse_fio(std::string_view text, bool reads) {
  const auto begin = text.starts_with('{') ? 0 : text.find("\n{");
  if (begin == std::string_view::npos) return fail(ErrorKind::kUnavailable, "fio answered no JSON");
  const auto document = json::read<Document>(text.substr(begin));
  if (!document) return fail(document.error(), "fio's answer");
  if (document->version.find("fio") == std::string::npos || document->jobs.size() != 1)
    return fail(ErrorKind::kUnavailable, "fio's answer is not of one group of jobs");
  const FioReportJob& job = document->jobs.front();
  if (job.error != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("fio failed: {}", std::strerror(job.error)));
  const Direction& direction = reads ? job.read : job.write;
  const Latency& latency = direction.lat_ns;
  FioResult result{document->version.substr(0, 40),
                   direction.bw_bytes,
                   direction.iops,
                   direction.runtime / 1000,
                   direction.total_ios,
                   direction.io_bytes,
                   latency.min,
                   latency.mean,
                   latency.stddev,
                   latency.max,
                   percentile(latency, "50.000000"),
                   percentile(latency, "99.000000"),
                   percentile(latency, "99.900000"),
                   percentile(latency, "99.990000")};
  // Percentiles come from buckets 1.6 % wide (fio's stat.h, FIO_IO_U_PLAT_BITS), so they may exceed the
  // maximum.
  for (double* value : {&result.median, &result.p99, &result.p999, &result.p9999})
    *value = std::min(*value, result.maximum);
  if (!sane(result)) return fail(ErrorKind::kUnavailable, "fio's numbers make no sense");
  return result;
}

}  // namespace railbed
