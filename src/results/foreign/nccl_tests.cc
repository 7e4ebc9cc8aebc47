// nccl-tests prints "# Rank …" for each GPU, and a table: size in bytes, count, type, then time (µs), algbw
// and busbw (10^9 bytes per second) and the number of wrong elements, out of place and in place. `redop` and
// `root` stood in tables of reductions only before 2.13; "error" became "#wrong" there. So the columns are
// found by their names. With -C ("cputime") the times are those of the launch, and are not read. The JSON of
// -J (since October 2025, ad956f1; src/util.cu) has the same numbers with six decimals.
//
// As in railbed's own runs, a size below 1 MiB is a latency, a larger one a bus bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "results/collective.h"
#include "results/foreign/tools.h"

namespace railbed::foreign {
namespace {

constexpr std::uint64_t kTimedBelow = 1 << 20;
constexpr std::size_t kMostRanks = 65'536;

// The numbers of one row, out of place or in place. Unknown ones are 0.
struct NcclTimes {
  double time = 0;   // ns
  double algbw = 0;  // bits per second
  double busbw = 0;
  std::optional<std::uint64_t> wrong;  // nullopt: not checked
};

struct NcclRow {
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  std::string type;
  std::string redop;
  int root = -1;
  NcclTimes out_of_place;
  std::optional<NcclTimes> in_place;
};

// One table, with the settings and the ranks from the lines before it.
struct NcclTable {
  std::optional<Collective> operation;
  std::string program;  // as printed: "hypercube_perf"
  std::string version;  // of NCCL
  std::vector<CollectiveRank> ranks;
  bool ranks_cut = false;  // the list is not of all ranks, or not of one job
  bool blocking = false;
  int iterations = 0;
  bool graph = false;
  bool one_launcher = false;  // a thread has several GPUs (-g)
  bool blank_redop = false;   // a column for what it reduces with, and nothing in it
  std::vector<NcclRow> rows;
};

// Returns the operation of "all_reduce_perf", "./build/all_reduce_perf", "all_reduce_perf_mpi"; nullopt if
// the word is no such program.
std::optional<Collective> operation_of(std::string_view word) {
  word = word.substr(word.rfind('/') + 1);
  const std::size_t end = word.find("_perf");
  if (end == std::string_view::npos) return std::nullopt;
  const auto names = enum_names(Collective{});
  const auto found = std::ranges::find(names, word.substr(0, end));
  if (found == names.end()) return std::nullopt;
  return static_cast<Collective>(found - names.begin());
}

std::optional<DataType> type_of(std::string_view name) {
  if (name == "half") return DataType::kFloat16;
  if (name == "float") return DataType::kFloat32;
  if (name == "double") return DataType::kFloat64;
  const auto names = enum_names(DataType{});
  const auto found = std::ranges::find(names, name);
  if (found == names.end() || name.starts_with("float")) return std::nullopt;
  return static_cast<DataType>(found - names.begin());
}

// Returns busbw ÷ algbw of the largest size; nullopt if the numbers are too small for their two decimals.
std::optional<double> printed_factor(const NcclTable& table) {
  constexpr double kLeast = 5 * kGigabyteRate;
  const auto largest = std::ranges::max_element(table.rows, {}, &NcclRow::bytes);
  if (largest == table.rows.end() || largest->out_of_place.algbw < kLeast) return std::nullopt;
  return largest->out_of_place.busbw / largest->out_of_place.algbw;
}

// Returns the operation that a table without the name of its program is of; nullopt if several are possible. Bus and
// algorithm bandwidth differ by a factor of the operation and the number of ranks (nccl-tests, doc/PERFORMANCE.md), and
// rows name what they reduce with and their root. Above two ranks only an all-reduce has a factor above one.
std::optional<Collective> shown_operation(const NcclTable& table) {
  const bool above_one = std::ranges::any_of(table.rows, [](const NcclRow& row) {
    return row.bytes >= kTimedBelow && row.out_of_place.algbw > 0 &&
           row.out_of_place.busbw > 1.2 * row.out_of_place.algbw;
  });
  if (above_one) return Collective::kAllReduce;
  const auto factor = printed_factor(table);
  if (!factor || table.ranks.size() < 2 || table.ranks_cut) return std::nullopt;
  const NcclRow& row = table.rows.back();
  const bool reduces_rows = !row.redop.empty() && row.redop != "none";
  const int ranks = static_cast<int>(table.ranks.size());
  std::optional<Collective> shown;
  for (std::size_t i = 0; i < enum_names(Collective{}).size(); ++i) {
    const auto operation = static_cast<Collective>(i);
    constexpr double kRounding = .003;
    const bool has_root = operation == Collective::kBroadcast || operation == Collective::kReduce ||
                          operation == Collective::kGather || operation == Collective::kScatter;
    const bool fits = reduces(operation) == reduces_rows && has_root == (row.root >= 0) &&
                      std::abs(bus_factor(operation, ranks) - *factor) < kRounding;
    // Before 2.13 only alltoall and sendrecv had a column for what they reduce with and nothing in it.
    const bool has_blank = operation == Collective::kAllToAll || operation == Collective::kSendReceive;
    if (!fits || (table.blank_redop && !has_blank)) continue;
    if (shown) return std::nullopt;
    shown = operation;
  }
  return shown;
}

Summary time_of(const NcclTimes& times) { return times.time > 0 ? single_number(times.time) : Summary(); }

void add_numbers(const NcclTable& table, const NcclRow& row, const NcclTimes& times, const std::string& name,
                 ForeignRun& read) {
  Measurement measurement;
  measurement.engine = Engine::kCollective;
  measurement.operation = name;
  if (!table.ranks.empty()) {
    measurement.from.node = table.ranks.front().node;
    measurement.to.node = table.ranks.back().node;
  }
  measurement.message_bytes = row.bytes;
  measurement.streams = table.ranks_cut ? 0 : static_cast<int>(table.ranks.size());
  measurement.checked_bytes = times.wrong ? row.bytes : 0;
  if (times.wrong && *times.wrong > 0)
    measurement.failure = Failure{"verify", fmt::format("{} elements are wrong", *times.wrong),
                                  "railbed verify --load looks for memory and link errors"};
  const bool timed = row.bytes < kTimedBelow;
  measurement.metric = timed ? Metric::kLatency : Metric::kBandwidth;
  const double number = timed ? times.time : times.busbw;
  if (is_sane(number))
    measurement.summary = single_number(number);
  else if (!measurement.failure)
    return leave_out(read, fmt::format("{} of {} bytes: its {} is not printed", name, row.bytes,
                                       timed ? "time" : "bus bandwidth"));
  add_measurement(read, std::move(measurement));
}

// Returns the bus bandwidth. The table prints two decimals, which are few for small sizes: if the time gives
// the printed number, what the time gives is used.
double bus_bandwidth_of(const NcclTable& table, const NcclRow& row) {
  constexpr double kRounding = .006 * kGigabyteRate;
  const NcclTimes& times = row.out_of_place;
  if (times.time <= 0) return times.busbw;
  const double computed = static_cast<double>(row.bytes) * 8e9 / times.time *
                          bus_factor(*table.operation, static_cast<int>(table.ranks.size()));
  return std::abs(computed - times.busbw) <= kRounding ? computed : times.busbw;
}

CollectiveReport report_of(const NcclTable& table, DataType type, int root) {
  CollectiveReport report;
  report.operation = *table.operation;
  report.type = type;
  report.root = root;
  report.iterations = table.iterations;
  report.one_launcher = table.one_launcher;
  report.version = table.version;
  report.ranks = table.ranks;
  for (const NcclRow& row : table.rows) {
    if (row.bytes == 0 || type_of(row.type) != type || row.root != root) continue;
    CollectiveRow made;
    made.bytes = row.bytes;
    made.elements = row.elements;
    made.launched = time_of(row.out_of_place);
    made.busbw = bus_bandwidth_of(table, row);
    made.algbw = made.busbw / bus_factor(report.operation, static_cast<int>(table.ranks.size()));
    made.checked = row.out_of_place.wrong.has_value();
    made.wrong = row.out_of_place.wrong.value_or(0);
    if (row.in_place) {
      made.in_place = time_of(*row.in_place);
      made.in_place_wrong = row.in_place->wrong.value_or(0);
    }
    report.rows.push_back(std::move(made));
  }
  return report;
}

// Adds the reports, one for each type and root, from which forecasts are judged. They need the ranks.
void add_reports(const NcclTable& table, ForeignRun& read) {
  if (!table.operation) return;
  if (table.ranks.empty() || table.ranks_cut)
    return leave_out(
        read, "the forecast of a table without a line \"# Rank …\" for each GPU: their number is unknown");
  if (table.graph) return leave_out(read, "the forecast of operations that a CUDA graph replays");
  std::set<std::pair<DataType, int>> kinds;
  for (const NcclRow& row : table.rows)
    if (const auto type = type_of(row.type); type && (row.redop == "sum" || !reduces(*table.operation)))
      kinds.emplace(*type, row.root);
  constexpr std::size_t kMostReports = 64;
  for (const auto& [type, root] : kinds)
    if (read.run.collectives.size() < kMostReports)
      read.run.collectives.push_back(report_of(table, type, root));
}

void add_table(NcclTable table, ForeignRun& read) {
  if (table.rows.empty()) return;
  if (!table.operation && table.program.empty()) table.operation = shown_operation(table);
  if (!table.operation && table.program.empty())
    return leave_out(
        read, "a table without the name of its program (all_reduce_perf, …): its operation is unknown");
  for (const NcclRow& row : table.rows) {
    if (row.bytes == 0) {
      leave_out(read, "rows of 0 bytes");
      continue;
    }
    const auto type = type_of(row.type);
    std::string name = fmt::format("{} {}", table.operation ? to_text(*table.operation) : table.program,
                                   type ? to_text(*type) : row.type);
    if (!row.redop.empty() && row.redop != "sum" && row.redop != "none") name += ", " + row.redop;
    if (row.root > 0) name += fmt::format(", root {}", row.root);
    if (table.graph) name += ", graph";
    if (table.blocking) name += ", blocking";
    add_numbers(table, row, row.out_of_place, name, read);
    if (row.in_place) add_numbers(table, row, *row.in_place, name + ", in place", read);
  }
  add_reports(table, read);
}

// Sets the version from NCCL_VERSION_CODE (nccl.h): up to 2.8 it is 2803 for 2.8.3, later 22803 for 2.28.3.
void set_version(int code, NcclTable& table) {
  if (code >= 10'000)
    table.version = fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
  else if (code >= 1000)
    table.version = fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
}

enum class NcclColumn {
  kSize,
  kCount,
  kType,
  kRedop,
  kRoot,
  kTime,
  kCpuTime,
  kAlgbw,
  kBusbw,
  kWrong,
  kOther
};

NcclColumn column_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, NcclColumn>, 11> kNames{{{"size", NcclColumn::kSize},
                                                                            {"count", NcclColumn::kCount},
                                                                            {"type", NcclColumn::kType},
                                                                            {"redop", NcclColumn::kRedop},
                                                                            {"root", NcclColumn::kRoot},
                                                                            {"time", NcclColumn::kTime},
                                                                            {"cputime", NcclColumn::kCpuTime},
                                                                            {"algbw", NcclColumn::kAlgbw},
                                                                            {"busbw", NcclColumn::kBusbw},
                                                                            {"#wrong", NcclColumn::kWrong},
                                                                            {"error", NcclColumn::kOther}}};
  const auto* const found = std::ranges::find(kNames, name, &std::pair<std::string_view, NcclColumn>::first);
  return found == kNames.end() ? NcclColumn::kOther : found->second;
}

// Removes what mpirun --tag-output and srun --label put before a line: "[1,0]<stdout>:", "0: ".
std::string_view without_tag(std::string_view line) {
  line = trim(line);
  if (line.starts_with('[')) {
    const std::size_t end = line.find(">:");
    if (end != std::string_view::npos && end < 40) return trim(line.substr(end + 2));
  }
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits != 0 && digits != std::string_view::npos && line.substr(digits, 2) == ": ")
    return trim(line.substr(digits + 2));
  return line;
}

class NcclText {
 public:
  explicit NcclText(ForeignRun& read) : read_(read) {}

  void take(std::string_view line) {
    line = without_tag(line);
    if (line.starts_with('#')) return take_comment(trim(line.substr(1)));
    if (!columns_.empty() && !line.empty() && is_digit(line.front())) return take_row(line);
    if (line.find("_perf") != std::string_view::npos) take_program(line);
    if (const std::size_t at = line.find("NCCL version ");
        at != std::string_view::npos && table_.version.empty())
      take_version(line.substr(at + 13));
  }
  void end() {
    add_table(std::exchange(table_, {}), read_);
    columns_.clear();
  }

 private:
  void take_version(std::string_view text) {
    const std::string_view version = text.substr(0, text.find_first_not_of("0123456789."));
    if (version.size() < 12) table_.version = version;
  }
  // A program in a command line or a title begins another table, unless that was only announced so far.
  void take_program(std::string_view line) {
    for (const std::string_view word : words(line.substr(0, 4096))) {
      if (word.find("_perf") == std::string_view::npos) continue;
      const std::string_view name = word.substr(word.rfind('/') + 1);
      const auto operation = operation_of(word);
      if (!operation && !name.ends_with("_perf")) continue;
      if (!table_.rows.empty()) end();
      table_.operation = operation;
      table_.program = short_text(name);
      return;
    }
  }
  void take_comment(std::string_view line) {
    if (line.starts_with("Rank ")) return take_rank(line);
    if (line.find("algbw") != std::string_view::npos && line.find("busbw") != std::string_view::npos)
      return take_header(line);
    if (line.starts_with("Collective test concluded")) return;
    if (line.starts_with("Collective test starting") || line.find("_perf ") != std::string_view::npos)
      take_program(line);
    if (line.starts_with("nThread ")) take_settings(line);
    if (line.starts_with("Blocking Enabled")) table_.blocking = true;
    if (line.starts_with("nccl-tests version")) take_library(line);
  }
  // "nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=22803"
  void take_library(std::string_view line) {
    const std::size_t at = line.find("nccl-library=");
    if (at == std::string_view::npos) return;
    const std::string_view rest = line.substr(at + 13);
    if (const auto code = parse_number<int>(rest.substr(0, rest.find(' ')))) set_version(*code, table_);
  }
  // "nThread 1 nGpus 8 minBytes … iters: 20 agg iters: 1 validation: 1 graph: 0"
  void take_settings(std::string_view line) {
    if (!table_.rows.empty()) {
      const NcclTable before = table_;
      end();
      table_.operation = before.operation;
      table_.program = before.program;
    }
    const auto number = [&](std::string_view key) {
      const std::size_t at = line.find(key);
      if (at == std::string_view::npos) return std::optional<int>();
      const auto found = words(line.substr(at + key.size(), 40));
      return found.empty() ? std::optional<int>() : parse_number<int>(found.front());
    };
    const std::size_t warm = line.find("warmup iters:");
    if (warm != std::string_view::npos) {
      const std::size_t at = line.find("iters:", warm + 13);
      if (at != std::string_view::npos)
        if (const auto found = words(line.substr(at + 6, 40)); !found.empty())
          table_.iterations = std::max(0, parse_number<int>(found.front()).value_or(0));
    }
    table_.graph = number(" graph:").value_or(0) > 0;
    if (const auto aggregated = number("agg iters:"); aggregated && *aggregated > 1)
      add_asked(read_, "aggregated iterations", std::to_string(*aggregated));
    if (const auto threads = number("nThread "); threads)
      add_asked(read_, "threads", std::to_string(*threads));
    if (const auto gpus = number("nGpus "); gpus) {
      add_asked(read_, "GPUs per thread", std::to_string(*gpus));
      table_.one_launcher = *gpus > 1;
    }
  }
  // "Rank  0 Group  0 Pid  14840 on gpu01 device  0 [0000:18:00] NVIDIA H100 80GB HBM3"
  void take_rank(std::string_view line) {
    if (!table_.rows.empty()) return;
    const std::size_t on = line.find(" on ");
    const std::size_t close = line.find(']');
    const std::size_t open = line.find('[');
    const auto ahead = words(line.substr(0, std::min<std::size_t>(on, 80)));
    if (on == std::string_view::npos || close == std::string_view::npos || open == std::string_view::npos ||
        open > close || ahead.size() < 2 || table_.ranks.size() >= kMostRanks) {
      table_.ranks_cut = true;
      return;
    }
    const auto place = words(line.substr(on + 4, open - on - 4));
    const auto rank = parse_number<int>(ahead[1]);
    if (!rank || place.size() < 3) {
      table_.ranks_cut = true;
      return;
    }
    // Programs that MPI did not join are several jobs, each with a rank 0.
    if (*rank != static_cast<int>(table_.ranks.size())) table_.ranks_cut = true;
    CollectiveRank made;
    made.rank = *rank;
    made.node = short_text(place[0]);
    made.gpu.ordinal = parse_number<int>(place[2]).value_or(0);
    made.gpu.name = short_text(trim(line.substr(close + 1)));
    table_.ranks.push_back(std::move(made));
  }
  void take_header(std::string_view line) {
    if (!table_.rows.empty()) {
      const NcclTable before = table_;
      end();
      table_ = before;  // the same command, in another table
      table_.rows.clear();
    }
    columns_.clear();
    for (const std::string_view word : words(line.substr(0, 1000))) columns_.push_back(column_of(word));
    if (columns_.size() < 6 || columns_[0] != NcclColumn::kSize || columns_[1] != NcclColumn::kCount) {
      leave_out(read_, "a table of nccl-tests 1: its times have no unit");
      columns_.clear();
    }
  }
  void take_row(std::string_view line) {
    auto cells = words(line.substr(0, 1000));
    if (const auto redop = std::ranges::find(columns_, NcclColumn::kRedop);
        redop != columns_.end() && cells.size() + 1 == columns_.size()) {
      const auto place = cells.begin() + (redop - columns_.begin());
      if (!parse_real(*place)) return;  // a row that is cut off
      cells.insert(place, std::string_view());
      table_.blank_redop = true;
    }
    if (cells.size() < columns_.size() || table_.rows.size() >= kMostMeasurements) return;
    NcclRow row;
    NcclTimes* times = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      switch (columns_[i]) {
        case NcclColumn::kSize:
          if (!is_digits(cells[i])) return;
          row.bytes = parse_number<std::uint64_t>(cells[i]).value_or(0);
          break;
        case NcclColumn::kCount:
          row.elements = parse_number<std::uint64_t>(cells[i]).value_or(0);
          break;
        case NcclColumn::kType:
          row.type = short_text(cells[i]);
          break;
        case NcclColumn::kRedop:
          row.redop = short_text(cells[i]);
          break;
        case NcclColumn::kRoot:
          row.root = parse_number<int>(cells[i]).value_or(-1);
          break;
        case NcclColumn::kTime:
        case NcclColumn::kCpuTime:
          times = times == nullptr ? &row.out_of_place : &row.in_place.emplace();
          if (columns_[i] == NcclColumn::kTime) times->time = parse_real(cells[i]).value_or(0) * kMicrosecond;
          break;
        case NcclColumn::kAlgbw:
          if (times != nullptr) times->algbw = parse_real(cells[i]).value_or(0) * kGigabyteRate;
          break;
        case NcclColumn::kBusbw:
          if (times != nullptr) times->busbw = parse_real(cells[i]).value_or(0) * kGigabyteRate;
          break;
        case NcclColumn::kWrong:
          if (const auto wrong = parse_real(cells[i]);
              times != nullptr && wrong && *wrong >= 0 && *wrong < 1e18)
            times->wrong = static_cast<std::uint64_t>(*wrong);
          break;
        case NcclColumn::kOther:
          break;
      }
    }
    table_.rows.push_back(std::move(row));
  }

  ForeignRun& read_;
  NcclTable table_;
  std::vector<NcclColumn> columns_;
};

NcclTimes times_in(const json::Value* object) {
  NcclTimes times;
  times.time = number_in(object, "time").value_or(0) * kMicrosecond;
  times.algbw = number_in(object, "alg_bw").value_or(0) * kGigabyteRate;
  times.busbw = number_in(object, "bus_bw").value_or(0) * kGigabyteRate;
  times.wrong = count_in(object, "nwrong");
  return times;
}

void take_ranks(const json::Value* config, NcclTable& table) {
  const json::Value* const devices = member_in(config, "devices");
  if (devices == nullptr || !devices->is_array()) return;
  for (const json::Value& device : *devices) {
    CollectiveRank rank;
    rank.rank = static_cast<int>(std::min<std::uint64_t>(count_in(&device, "rank").value_or(0), kMostRanks));
    rank.node = text_in(&device, "hostname");
    rank.gpu.ordinal =
        static_cast<int>(std::min<std::uint64_t>(count_in(&device, "device").value_or(0), 1024));
    rank.gpu.name = text_in(&device, "device_info");
    if (rank.node.empty() || rank.rank != static_cast<int>(table.ranks.size()) ||
        table.ranks.size() >= kMostRanks) {
      table.ranks_cut = true;
      return;
    }
    table.ranks.push_back(std::move(rank));
  }
}

Result<void> take_json(std::string_view text, ForeignRun& read) {
  auto parsed = json::parse(text);
  if (!parsed) return fail(std::move(parsed.error()), "nccl-tests");
  const json::Value* const document = &*parsed;
  NcclTable table;
  if (const json::Value* const arguments = member_in(document, "args");
      arguments != nullptr && arguments->is_array())
    for (const json::Value& argument : *arguments)
      if (argument.is_string() && !table.operation) {
        const std::string word = short_text(argument.get_ref<const std::string&>());
        table.operation = operation_of(word);
        if (table.program.empty()) table.program = word.substr(word.rfind('/') + 1);
      }
  if (const auto code = count_in(document, "nccl_version"); code && *code < 1'000'000)
    set_version(static_cast<int>(*code), table);
  const json::Value* const config = member_in(document, "config");
  take_ranks(config, table);
  table.iterations =
      static_cast<int>(std::min<std::uint64_t>(count_in(config, "iterations").value_or(0), 1'000'000'000));
  table.graph = count_in(config, "graph").value_or(0) > 0;
  table.blocking = text_in(config, "blocking_collectives") == "true";
  if (const auto aggregated = count_in(config, "aggregated_iterations"); aggregated && *aggregated > 1)
    add_asked(read, "aggregated iterations", std::to_string(*aggregated));
  if (const auto threads = count_in(config, "nthreads")) add_asked(read, "threads", std::to_string(*threads));
  if (const auto gpus = count_in(config, "ngpus")) {
    add_asked(read, "GPUs per thread", std::to_string(*gpus));
    table.one_launcher = *gpus > 1;
  }
  const json::Value* const results = member_in(document, "results");
  if (results == nullptr || !results->is_array())
    return fail(ErrorKind::kBadInput, "nccl-tests: it has no results");
  for (const json::Value& result : *results) {
    if (table.rows.size() >= kMostMeasurements) break;
    NcclRow row;
    row.bytes = count_in(&result, "size").value_or(0);
    row.elements = count_in(&result, "count").value_or(0);
    row.type = text_in(&result, "type");
    row.redop = text_in(&result, "redop");
    row.root = parse_number<int>(text_in(&result, "root")).value_or(-1);
    row.out_of_place = times_in(member_in(&result, "out_of_place"));
    if (const json::Value* const in_place = member_in(&result, "in_place")) row.in_place = times_in(in_place);
    table.rows.push_back(std::move(row));
  }
  add_table(std::move(table), read);
  return {};
}

}  // namespace

Result<ForeignRun> parse_nccl_tests(std::string_view text) {
  ForeignRun read = run_of(ForeignTool::kNcclTests);
  if (text.find("\"alg_bw\"") != std::string_view::npos) {
    RETURN_IF_ERROR(take_json(json_part(text), read));
    return read;
  }
  NcclText tables(read);
  for (const std::string_view line : lines(text)) tables.take(line);
  tables.end();
  return read;
}

}  // namespace railbed::foreign
