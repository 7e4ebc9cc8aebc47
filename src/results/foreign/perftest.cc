// An output of perftest has a title ("RDMA_Write Bidirectional BW Test"), the options, the names of the
// columns with their units, and one row for each message size. Its units (linux-rdma/perftest,
// src/perftest_parameters.c, print_report_bw: format_factor):
//  * "MB/sec", since March 2024 (1d202bb) "MiB/sec", is 2^20 bytes per second; "Gb/sec" (--report_gbits) is
//    10^9 bits per second.
//  * --out_json prints no unit. It follows from the message rate: size × rate is the bandwidth in bytes, and
//    the two units differ by a factor of 119.
//  * Latencies are µs: of half a round trip for write and send, to the answer for read and atomic.
// A bandwidth of a bidirectional test is the sum of both ways. `t_stdev` is not read: perftest truncates each
// deviation to whole µs before it squares it (print_report_lat: temp_var is an int).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/text.h"
#include "results/foreign/tools.h"

namespace railbed::foreign {
namespace {

constexpr double kGigabitRate = 1e9;

enum class Column {
  kBytes,
  kIterations,
  kAverage,
  kMessageRate,
  kMinimum,
  kMaximum,
  kMedian,
  kMean,
  kP99,
  kP999,
  kOther
};

struct ColumnName {
  std::string_view name;
  Column column;
};
constexpr std::array kColumnNames{
    ColumnName{"#bytes", Column::kBytes},           ColumnName{"#sl", Column::kOther},
    ColumnName{"#iterations", Column::kIterations}, ColumnName{"BW peak[", Column::kOther},
    ColumnName{"BW average[", Column::kAverage},    ColumnName{"MsgRate[", Column::kMessageRate},
    ColumnName{"t_min[", Column::kMinimum},         ColumnName{"t_max[", Column::kMaximum},
    ColumnName{"t_typical[", Column::kMedian},      ColumnName{"t_avg[", Column::kMean},
    ColumnName{"99% percentile[", Column::kP99},    ColumnName{"99.9% percentile[", Column::kP999},
    ColumnName{"tps average", Column::kOther},
};

// The columns of a table in order, and the unit of its bandwidths or times; empty if it is not known.
struct Header {
  std::vector<Column> columns;
  std::string unit;
};

// Parses "#bytes #iterations BW peak[MB/sec] …". Names may have spaces, so each is found by its beginning.
Header parse_header(std::string_view line) {
  Header header;
  for (line = trim(line); !line.empty(); line = trim(line)) {
    const auto* const known = std::ranges::find_if(
        kColumnNames, [&](const ColumnName& name) { return line.starts_with(name.name); });
    const Column column = known == kColumnNames.end() ? Column::kOther : known->column;
    header.columns.push_back(column);
    if (known != kColumnNames.end() && !known->name.ends_with('[')) {
      line.remove_prefix(known->name.size());
      continue;
    }
    const std::size_t close = line.find(']');
    const std::size_t open = line.substr(0, close).rfind('[');
    if (close == std::string_view::npos || open == std::string_view::npos) break;
    if (column == Column::kAverage || column == Column::kMean)
      header.unit = line.substr(open + 1, close - open - 1);
    line.remove_prefix(close + 1);
  }
  return header;
}

// One test of a file: what its title and its options name.
struct PerftestTest {
  std::string operation;  // empty before a title
  bool latency = false;
  bool duplex = false;
  bool gpu_memory = false;
  bool two_ports = false;
  std::string connection;
  std::string device;
  int queue_pairs = 0;  // 0: unknown
  int mtu = 0;

  // Returns railbed's name of the operation, followed by each property that forbids a comparison with the
  // plain operation.
  std::string name() const {
    std::string text = operation == "send" && connection == "UD" ? "datagram" : operation;
    if (duplex) text += " duplex";
    if (!connection.empty() && connection != "RC" && text.find("datagram") != 0) text += ", " + connection;
    if (two_ports) text += ", two ports";
    return gpu_memory ? text + ", GPU memory" : text;
  }
  // A read moves data from the server to the client.
  bool from_server() const { return operation == "read"; }
};

// Sets operation, metric and direction from "RDMA_Write Bidirectional BW Test", or its form in JSON, with "_"
// for spaces. Returns false if the text is no title.
bool take_title(std::string title, PerftestTest& test) {
  std::ranges::replace(title, '_', ' ');
  const std::vector<std::string_view> all = words(title);
  if (all.size() < 3 || all.size() > 10 || all.back() != "Test") return false;
  PerftestTest made;
  bool metric = false;
  for (const std::string_view word : all) {
    if (word == "BW" || word == "Latency") {
      metric = true;
      made.latency = word == "Latency";
    } else if (word == "Bidirectional") {
      made.duplex = true;
    } else if (word == "Write" || word == "Read" || word == "Send" || word == "Atomic") {
      if (!made.operation.empty()) return false;
      made.operation = lower(word);
    } else if (word == "imm") {
      made.operation += " with immediate";
    } else if (word == "forwarding" || word == "Multicast") {
      made.operation += ", " + lower(word);
    } else if (word == "CMP" || word == "FETCH") {
      made.operation += word == "CMP" ? " compare-and-swap" : " fetch-and-add";
    } else if (word != "RDMA" && word != "Post" && word != "List" && word != "Test" && word != "AND" &&
               word != "SWAP" && word != "ADD") {
      return false;
    }
  }
  if (!metric || made.operation.empty()) return false;
  test = std::move(made);
  return true;
}

// Returns the word after "KEY :"; empty if the line has no such key.
std::string_view value_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  line = trim(line.substr(at + key.size()));
  if (!line.starts_with(':')) return {};
  const std::vector<std::string_view> found = words(line.substr(1, 200));
  return found.empty() ? std::string_view() : found.front();
}

constexpr std::array<std::string_view, 5> kOptions{"TX depth", "RX depth", "Post List", "CQ Moderation",
                                                   "Max inline data"};

void take_option(std::string_view line, PerftestTest& test, ForeignRun& read) {
  if (const auto word = value_after(line, "Device"); !word.empty()) test.device = short_text(word);
  if (const auto word = value_after(line, "Connection type"); !word.empty())
    test.connection = short_text(word);
  if (value_after(line, "Dual-port") == "ON") test.two_ports = true;
  if (const auto number = parse_number<int>(value_after(line, "Number of qps")); number && *number > 0)
    test.queue_pairs = *number;
  if (std::string_view word = value_after(line, "Mtu"); !word.empty()) {
    word = word.substr(0, word.find('['));
    if (const auto number = parse_number<int>(word); number && *number > 0) test.mtu = *number;
  }
  for (const std::string_view option : kOptions)
    if (const auto word = value_after(line, option); !word.empty())
      add_asked(read, std::string(option), word.substr(0, word.find('[')));
}

Measurement measurement_of(const PerftestTest& test, std::uint64_t bytes) {
  Measurement measurement;
  measurement.engine = Engine::kRdma;
  measurement.metric = test.latency ? Metric::kLatency : Metric::kBandwidth;
  measurement.operation = test.name();
  measurement.from.node = test.from_server() ? kServer : kClient;
  measurement.to.node = test.from_server() ? kClient : kServer;
  // The output is that of one end, and does not name which: the device is kept at the client's.
  (test.from_server() ? measurement.to : measurement.from).device = test.device;
  measurement.message_bytes = bytes;
  measurement.streams = test.queue_pairs;
  measurement.mtu = test.mtu;
  return measurement;
}

// The numbers of one row by column.
using Row = std::map<Column, double>;

double at(const Row& row, Column column) {
  const auto found = row.find(column);
  return found == row.end() ? 0 : found->second;
}

// Adds the measurement of a row. `unit` is nanoseconds for latencies, bits per second for bandwidths.
void add_row(const PerftestTest& test, const Row& row, double unit, ForeignRun& read) {
  const double bytes = at(row, Column::kBytes);
  if (bytes < 1 || bytes > 0x1p50)
    return leave_out(read, "a row whose message size is not a number of bytes");
  Measurement measurement = measurement_of(test, static_cast<std::uint64_t>(bytes));
  if (!test.latency) {
    const double rate = at(row, Column::kAverage) * unit;
    if (!is_sane(rate))
      return leave_out(read, fmt::format("{} of {} bytes: its bandwidth is printed as zero", test.name(),
                                         measurement.message_bytes));
    measurement.summary = single_number(rate);
    return add_measurement(read, std::move(measurement));
  }
  const bool has_median = row.contains(Column::kMedian);
  // -D yields a mean only. It gets a name of its own, so that it is never compared with a median.
  if (!has_median) measurement.operation += ", mean";
  const double median = at(row, has_median ? Column::kMedian : Column::kMean) * unit;
  if (!is_sane(median))
    return leave_out(read, fmt::format("{} of {} bytes: its time is printed as zero", test.name(),
                                       measurement.message_bytes));
  Summary& summary = measurement.summary;
  summary.median = summary.low = summary.high = median;
  summary.samples = static_cast<std::uint64_t>(std::clamp(at(row, Column::kIterations), 1.0, 1e15));
  summary.mean = at(row, Column::kMean) * unit;
  summary.minimum = at(row, Column::kMinimum) * unit;
  summary.maximum = at(row, Column::kMaximum) * unit;
  summary.p99 = at(row, Column::kP99) * unit;
  summary.p999 = at(row, Column::kP999) * unit;
  add_measurement(read, std::move(measurement));
}

std::optional<double> unit_named(std::string_view unit, bool latency) {
  if (latency) return unit == "usec" ? std::optional(kMicrosecond) : std::nullopt;
  if (unit == "MB/sec" || unit == "MiB/sec") return kMebibyteRate;
  if (unit == "Gb/sec") return kGigabitRate;
  return std::nullopt;
}

// Returns the numbers of a line by the columns above it; empty if it is no row.
Row row_of(std::string_view line, const Header& header) {
  const std::vector<std::string_view> cells = words(line);
  if (cells.empty() || cells.size() + 1 < header.columns.size() || !is_digits(cells.front())) return {};
  Row row;
  for (std::size_t i = 0; i < std::min(cells.size(), header.columns.size()); ++i) {
    const auto number = parse_real(cells[i]);
    if (!number || *number < 0) return {};
    if (header.columns[i] != Column::kOther) row[header.columns[i]] = *number;
  }
  return row;
}

class PerftestText {
 public:
  explicit PerftestText(ForeignRun& read) : read_(read) {}

  void take(std::string_view line) {
    line = trim(line);
    if (line.starts_with("#bytes")) return take_header(line);
    if (take_title(std::string(line.substr(0, 200)), test_)) return end_table();
    if (line.starts_with("---")) return end_table();
    if (line.find("onflicting CPU frequency") != std::string_view::npos)
      leave_out(read_, "nothing, but perftest warns of conflicting CPU frequencies: its times may be wrong");
    if (line.find("initializing CUDA") != std::string_view::npos ||
        value_after(line, "Use ROCm memory") == "ON" || line.find("--use_cuda") != std::string_view::npos)
      gpu_memory_ = true;
    if (header_) return take_row(line);
    take_option(line, test_, read_);
  }

 private:
  void take_header(std::string_view line) {
    header_ = parse_header(line);
    test_.gpu_memory = gpu_memory_;
    unit_.reset();
    if (test_.operation.empty())
      leave_out(read_,
                "a table without the title above it (\"RDMA_Write BW Test\"): its operation is unknown");
    else if (unit_ = unit_named(header_->unit, test_.latency); !unit_)
      leave_out(read_, fmt::format("a table of {} in the unknown unit \"{}\"", test_.name(),
                                   short_text(header_->unit)));
  }
  void take_row(std::string_view line) {
    const Row row = row_of(line, *header_);
    if (!row.empty() && unit_) add_row(test_, row, *unit_, read_);
  }
  void end_table() {
    if (header_) gpu_memory_ = false;
    header_.reset();
  }

  ForeignRun& read_;
  PerftestTest test_;
  std::optional<Header> header_;
  std::optional<double> unit_;
  bool gpu_memory_ = false;  // of the next table: notes on it stand above
};

// Returns the names and values of what --out_json writes, without a tree: before January 2024 (f9e82f7) it is
// no JSON, because names and texts have no quotes.
std::map<std::string, std::string> flat_members(std::string_view text) {
  constexpr std::size_t kMostMembers = 200;
  constexpr std::string_view kGap = " \t\r\n,{}";
  std::map<std::string, std::string> members;
  const auto token = [&](std::string_view stops) {
    std::string found;
    if (text.starts_with('"')) {
      const std::size_t end = std::min(text.find('"', 1), text.size());
      found = text.substr(1, end - 1);
      text.remove_prefix(std::min(end + 1, text.size()));
    } else {
      const std::size_t end = std::min(text.find_first_of(stops), text.size());
      found = trim(text.substr(0, end));
      text.remove_prefix(end);
    }
    return found;
  };
  while (members.size() < kMostMembers) {
    text.remove_prefix(std::min(text.find_first_not_of(kGap), text.size()));
    if (text.empty()) break;
    std::string name = token(":\n{}");
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (!text.starts_with(':')) continue;
    text.remove_prefix(std::min(text.find_first_not_of(" \t", 1), text.size()));
    if (text.starts_with('{')) continue;
    members[std::move(name)] = token(",\n}");
  }
  return members;
}

// Returns the unit of a bandwidth that is printed without one; nullopt if neither fits the message rate.
std::optional<double> unit_by_rate(double average, double bytes, double million_messages) {
  constexpr double kNear = 1.2;  // rates are printed with six decimals
  const double rate = million_messages * 1e6 * bytes * 8;
  if (!is_sane(rate) || !is_sane(average)) return std::nullopt;
  for (const double unit : {kMebibyteRate, kGigabitRate})
    if (const double ratio = average * unit / rate; ratio < kNear && ratio > 1 / kNear) return unit;
  return std::nullopt;
}

void take_document(std::string_view text, ForeignRun& read) {
  const std::map<std::string, std::string> members = flat_members(text);
  const auto text_of = [&](const char* name) {
    const auto found = members.find(name);
    return found == members.end() ? std::string_view() : std::string_view(found->second);
  };
  PerftestTest test;
  if (!take_title(std::string(text_of("test").substr(0, 200)), test))
    return leave_out(read, "a document without the name of its test");
  test.connection = short_text(text_of("Connection_type"));
  test.device = short_text(text_of("Device"));
  test.two_ports = text_of("Dual_port") == "ON";
  test.queue_pairs = std::max(0, parse_number<int>(text_of("Number_of_qps")).value_or(0));
  test.mtu = std::max(0, parse_number<int>(text_of("Mtu")).value_or(0));
  test.gpu_memory = members.contains("cuda_device") || text_of("Use_ROCm_memory") == "ON";
  constexpr std::array<const char*, 5> kNames{"TX_depth", "RX_depth", "Post_List", "CQ_Moderation",
                                              "Max_inline_data"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    add_asked(read, std::string(kOptions[i]), text_of(kNames[i]));
  Row row;
  for (const auto& [name, column] : {std::pair{"MsgSize", Column::kBytes},
                                     {"n_iterations", Column::kIterations},
                                     {"BW_average", Column::kAverage},
                                     {"MsgRate", Column::kMessageRate},
                                     {"t_min", Column::kMinimum},
                                     {"t_max", Column::kMaximum},
                                     {"t_typical", Column::kMedian},
                                     {"t_avg", Column::kMean},
                                     {"percentile_99", Column::kP99},
                                     {"percentile_99.9", Column::kP999}})
    if (const auto number = parse_real(text_of(name)); number && *number >= 0) row[column] = *number;
  if (test.latency) return add_row(test, row, kMicrosecond, read);
  const auto unit =
      unit_by_rate(at(row, Column::kAverage), at(row, Column::kBytes), at(row, Column::kMessageRate));
  if (!unit)
    return leave_out(read,
                     fmt::format("the bandwidth of {}: the document names no unit, and its message rate does "
                                 "not show it",
                                 test.name()));
  add_row(test, row, *unit, read);
}

}  // namespace

Result<ForeignRun> parse_perftest(std::string_view text) {
  ForeignRun read = run_of(ForeignTool::kPerftest);
  if (text.find("test_info") != std::string_view::npos && text.find("#bytes") == std::string_view::npos) {
    const std::size_t first = text.find("test_info");
    take_document(text.substr(first), read);
    if (text.find("test_info", first + 1) != std::string_view::npos)
      leave_out(read, "documents after the first: each is read from a file of its own");
    return read;
  }
  PerftestText tables(read);
  for (const std::string_view line : lines(text)) tables.take(line);
  return read;
}

}  // namespace railbed::foreign
