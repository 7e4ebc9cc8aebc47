#include "report/familiar.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace railbed {
namespace {

constexpr double kInterval = 0.1;  // seconds between Measurement::intervals
constexpr std::size_t kPerSecond = 10;

bool has_number(const Measurement& measurement, Metric metric) {
  return measurement.metric == metric && measurement.summary.samples > 0 && !measurement.failure;
}

double bytes_of(const Measurement& measurement) { return measurement.summary.mean / 8 * measurement.seconds; }

std::string perftest_bandwidth_row(const Measurement& measurement) {
  const double size = static_cast<double>(std::max<std::uint64_t>(measurement.message_bytes, 1));
  return fmt::format(" {:<7}    {:<10.0f}     {:<7.2f}            {:<7.2f}\t\t     {:<7.6f}\n",
                     measurement.message_bytes, bytes_of(measurement) / size,
                     measurement.summary.maximum / 1e9, measurement.summary.mean / 1e9,
                     measurement.summary.mean / 8 / size / 1e6);
}

std::string perftest_latency_row(const Measurement& measurement) {
  const Summary& summary = measurement.summary;
  return fmt::format(
      " {:<7} {:<10}          {:<7.2f}        {:<7.2f}      {:<7.2f}  \t       {:<7.2f}     \t{:<7.2f}\t\t{:<7.2f} \t\t{:<7.2f}\n",
      measurement.message_bytes, summary.samples, summary.minimum / 1e3, summary.maximum / 1e3,
      summary.median / 1e3, summary.mean / 1e3, summary.deviation / 1e3, summary.p99 / 1e3,
      summary.p999 / 1e3);
}

// Returns "11.2 GBytes" and "38.5 Gbits/sec" as iperf3 writes them: binary bytes, decimal bits, three digits.
std::string scaled(double value, double base, std::string_view unit) {
  static constexpr const char* kPrefixes[] = {"", "K", "M", "G", "T"};
  std::size_t at = 0;
  while (value >= base && at < 4) {
    value /= base;
    ++at;
  }
  return fmt::format("{} {}{}",
                     value < 9.995   ? fmt::format("{:.2f}", value)
                     : value < 99.95 ? fmt::format("{:.1f}", value)
                                     : fmt::format("{:.0f}", value),
                     kPrefixes[at], unit);
}

struct Second {
  double start = 0;
  double end = 0;
  double rate = 0;
};

std::vector<Second> seconds_of(const Measurement& measurement) {
  std::vector<Second> seconds;
  for (std::size_t at = 0; at < measurement.intervals.size(); at += kPerSecond) {
    const std::size_t count = std::min(kPerSecond, measurement.intervals.size() - at);
    double sum = 0;
    for (std::size_t i = at; i < at + count; ++i) sum += measurement.intervals[i];
    const double start = static_cast<double>(at) * kInterval;
    seconds.push_back(
        {start, start + static_cast<double>(count) * kInterval, sum / static_cast<double>(count)});
  }
  return seconds;
}

std::string sum_row(double start, double end, double rate, std::string_view tail) {
  return fmt::format("[SUM] {:>6.2f}-{:<6.2f} sec  {:>11}  {:>14}{}\n", start, end,
                     scaled(rate / 8 * (end - start), 1024, "Bytes"), scaled(rate, 1000, "bits/sec"), tail);
}

std::string iperf3_table(const Measurement& measurement) {
  std::string text =
      fmt::format("Connecting to host {}, {} streams\n[ ID] Interval           Transfer     Bitrate\n",
                  measurement.to.address, measurement.streams);
  for (const Second& second : seconds_of(measurement))
    text += sum_row(second.start, second.end, second.rate, "");
  text += "- - - - - - - - - - - - - - - - - - - - - - - - -\n";
  text += "[ ID] Interval           Transfer     Bitrate         Retr\n";
  text += sum_row(0, measurement.seconds, measurement.summary.mean,
                  fmt::format("  {:>4}             sender", measurement.lost));
  return text + sum_row(0, measurement.seconds, measurement.summary.mean, "                  receiver") +
         "\niperf Done.\n";
}

json::Value sum_object(double start, double end, double rate) {
  json::Value sum = json::Value::object();
  sum["start"] = start;
  sum["end"] = end;
  sum["seconds"] = end - start;
  sum["bytes"] = static_cast<std::uint64_t>(rate / 8 * (end - start));
  sum["bits_per_second"] = rate;
  return sum;
}

json::Value iperf3_document(const Measurement& measurement) {
  json::Value document = json::Value::object();
  json::Value& start = document["start"];
  start["connected"] = json::Value::array();
  for (int i = 0; i < measurement.streams; ++i)
    start["connected"].push_back(
        {{"local_host", measurement.from.address}, {"remote_host", measurement.to.address}});
  start["test_start"] = {{"protocol", "TCP"},
                         {"num_streams", measurement.streams},
                         {"blksize", measurement.message_bytes},
                         {"duration", measurement.seconds}};
  document["intervals"] = json::Value::array();
  for (const Second& second : seconds_of(measurement))
    document["intervals"].push_back({{"sum", sum_object(second.start, second.end, second.rate)}});
  json::Value& end = document["end"];
  end["sum_sent"] = sum_object(0, measurement.seconds, measurement.summary.mean);
  end["sum_sent"]["retransmits"] = measurement.lost;
  end["sum_received"] = sum_object(0, measurement.seconds, measurement.summary.mean);
  return document;
}

}  // namespace

std::string perftest_text(const std::vector<Measurement>& measurements) {
  std::string bandwidths;
  std::string latencies;
  for (const Measurement& measurement : measurements) {
    if (has_number(measurement, Metric::kBandwidth)) bandwidths += perftest_bandwidth_row(measurement);
    if (has_number(measurement, Metric::kLatency)) latencies += perftest_latency_row(measurement);
  }
  std::string text;
  if (!bandwidths.empty())
    text += " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n" + bandwidths;
  if (!latencies.empty())
    text +=
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n" +
        latencies;
  return text;
}

std::string iperf3_text(const std::vector<Measurement>& measurements) {
  std::string text;
  for (const Measurement& measurement : measurements)
    if (has_number(measurement, Metric::kBandwidth)) text += iperf3_table(measurement);
  return text;
}

std::string iperf3_json(const std::vector<Measurement>& measurements) {
  json::Value all = json::Value::array();
  for (const Measurement& measurement : measurements)
    if (has_number(measurement, Metric::kBandwidth))
      all.push_back(iperf3_document(measurement));
    else if (measurement.failure)
      all.push_back({{"error", measurement.failure->cause}});
  return json::dump_pretty(all.size() == 1 ? all.front() : all);
}

}  // namespace railbed
