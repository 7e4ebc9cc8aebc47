// Reads a log into runs and ranks in one pass, a line at a time.
//
// read_line() removes a log collector's JSON (Docker's and others'), then the colors, and looks for NCCL's
// records on the line (line.cc). A line without any may be PyTorch's (torch.cc). read_record() finds
// the process by host and PID and passes an INFO text to one reader after the other until one accepts it:
// versions, variables, network, communicators, connections and so on, each in its files beside it. Every text that
// none accepts, and every warning, is compared with the table of symptoms (verdict.cc).
//
// Few lines name their rank. "Init START" does: it maps to a rank the thread, and the pointer by which NCCL
// names the communicator. A later line belongs to the rank that its thread last printed for; in a process
// with one rank, to that one; else to the newest rank on the CUDA device of the line's prefix. A line that
// was understood moves its rank's step forward, never back. At the end conclude() judges the whole
// (verdict.cc).
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "diagnose/log/job_log.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

// A log is untrusted, so the kept data is bounded.
constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::size_t kMostProcesses = 1 << 17;
constexpr std::size_t kMostVariables = 4096;
constexpr std::size_t kLongestValue = 1024;
constexpr std::size_t kLongestName = 64;  // HOST_NAME_MAX
constexpr std::size_t kMostKept = 1 << 20;
// A log from a collector is wrapped on every line. After this many lines that only look like it, no more are
// tried.
constexpr std::size_t kMostNotCollected = 1000;

}  // namespace

void add_once(std::vector<std::string>& list, std::string_view value, std::size_t limit) {
  if (list.size() < limit && std::ranges::find(list, value) == list.end()) list.emplace_back(value);
}

bool LogState::has_room() { return kept < kMostKept && ++kept > 0; }

LogProcess& LogState::process_of(const LogLine& line) {
  if (!processes.empty()) {
    LogProcess& last = processes[last_process];
    if (last.id == line.process && last.host == line.host) return last;
  }
  const auto key_of = [&](std::string_view host) {
    return std::string(host) + ':' + std::to_string(line.process);
  };
  std::string_view host = line.host;
  auto found = process_places.find(key_of(host));
  if (found == process_places.end()) {
    if (processes.size() >= kMostProcesses) {
      last_process = 0;
      return processes.front();
    }
    // Text that a program printed without a newline is attached to the host: "-1node0" is node0.
    const bool may_be_known = !process_numbers.insert(line.process).second;
    for (std::size_t left = may_be_known ? std::min(host.size(), kLongestName) : 0; left > 0; --left) {
      const std::string_view end = host.substr(host.size() - left);
      if (!process_places.contains(key_of(end))) continue;
      host = end;
      break;
    }
    const auto [at, added] = process_places.try_emplace(key_of(host), processes.size());
    if (added) processes.push_back({.host = std::string(host), .id = line.process});
    found = at;
  }
  last_process = found->second;
  return processes[last_process];
}

LogRank* LogState::rank_of(LogProcess& process, const LogLine& line, RankPlace* place) {
  const auto answer = [&](RankPlace found) {
    if (place != nullptr) *place = found;
    return &at(found);
  };
  if (const auto thread = process.threads.find(line.thread); thread != process.threads.end())
    return answer(thread->second);
  if (process.ranks.size() == 1) return answer(process.ranks.front());
  const auto found = process.by_device.find(line.device);
  return found == process.by_device.end() ? nullptr : answer(found->second);
}

void LogState::advance(LogRank& rank, Step step) {
  if (step == Step::kConnecting && rank.step >= Step::kReady) step = Step::kConnectingOn;
  if (step == Step::kConnected && rank.step >= Step::kReady) step = Step::kConnectedOn;
  rank.step = std::max(rank.step, step);
  rank.last_line = log.lines;
}

bool LogState::read_versions(const LogLine& line) {
  Scan scan(line.text);
  if (scan.take("NCCL version ")) {
    add_once(log.versions, scan.until(" "), 16);
    return true;
  }
  if (scan.take("NCCL git version ")) {
    add_once(log.builds, trim(scan.rest()).substr(0, 80), 16);
    return true;
  }
  if (!scan.take("cudaDriverVersion ")) return false;
  if (const auto number = scan.number())
    add_once(log.drivers, std::to_string(*number / 1000) + "." + std::to_string(*number % 1000 / 10), 16);
  return true;
}

bool LogState::read_variable(LogProcess& process, const LogLine& line) {
  if (!line.text.starts_with("NCCL_")) return false;
  Scan scan(line.text);
  const std::string_view name = scan.until(" ");
  if (!scan.take(" set by environment to ") && !scan.take(" set to ")) return false;
  std::string_view value = trim(scan.rest()).substr(0, kLongestValue);
  // NCCL prints a period after numbers.
  if (value.ends_with('.') && parse_number<long long>(value.substr(0, value.size() - 1)))
    value.remove_suffix(1);
  if (variables.size() < kMostVariables && has_room())
    variables[{std::string(name), std::string(value)}].insert(last_process);
  if (name == "NCCL_IB_DISABLE" && value != "0") process.disabled_ib = true;
  return true;
}

void LogState::read_record(const LogLine& line) {
  ++log.nccl_lines;
  if (line.level == Level::kVersion) {
    read_versions(line);
    return;
  }
  LogProcess& process = process_of(line);
  if (line.level == Level::kInfo) {
    const bool known = read_versions(line) || read_variable(process, line) || read_network(process, line) ||
                       read_communicator(process, line) || read_connection(process, line) ||
                       read_shape(process, line) || read_operation(process, line) || read_tuning(line);
    if (known) return;
  }
  // Old versions print this as a warning.
  if (line.text.starts_with("Failed to open libibverbs")) process.no_verbs_library = true;
  read_symptom(line.text, &process, rank_of(process, line), line.level == Level::kWarn);
}

void LogState::read_line(std::string_view line) {
  ++log.lines;
  line = line.substr(0, kLongestLine);
  if (!may_be_collected(line) || not_collected > kMostNotCollected + collected) return read_text(line);
  const auto message = collected_message(line);
  ++(message ? collected : not_collected);
  if (!message) return read_text(line);
  for (const std::string_view part : lines(*message)) read_text(part);
}

void LogState::end_file() {
  if (!partial.empty()) read_line(partial);
  partial.clear();
  read_command({});  // ends the output of the last command
  ends_in_nccl |= std::exchange(last_is_nccl, false);
}

void LogState::read_text(std::string_view line) {
  line = plain(line, uncoloured);
  last_is_nccl &= line.empty();
  read_sights(line);
  read_torch_sights(line);
  read_driver(line);
  read_launchers(line);
  if (line.find("NCCL ") != std::string_view::npos) {
    const auto records = parse_log_line(line);
    for (const LogLine& record : records) read_record(record);
    last_is_nccl |= !records.empty();
    if (last_is_nccl) return;
    // People remove the origin before they post a warning: "ibvwrap.cc:252 NCCL WARN Call to …".
    constexpr std::string_view kWarning = "NCCL WARN ";
    if (const auto at = line.find(kWarning); at != std::string_view::npos)
      read_symptom(line.substr(at + kWarning.size()), nullptr, nullptr, true);
  }
  read_rdma(line);
  read_torch(line);
}

bool is_recognised(const Log& log) {
  // A run that is sound but slow has evidence, and no problem.
  const bool slow = log.verdict.certainty <= Certainty::kLikely && !log.verdict.why.empty();
  return log.nccl_lines > 0 || !log.problems.empty() || slow;
}

LogReader::LogReader() : state_(std::make_unique<LogState>()) {}
LogReader::~LogReader() = default;
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;

void LogReader::feed(std::string_view piece) {
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    const std::string_view line = piece.substr(0, end);
    piece.remove_prefix(end + 1);
    if (state_->partial.empty()) {
      state_->read_line(line);
    } else {
      state_->partial.append(line.substr(0, kLongestLine));
      state_->read_line(state_->partial);
      state_->partial.clear();
    }
  }
  if (state_->partial.size() < kLongestLine) state_->partial.append(piece.substr(0, kLongestLine));
}

void LogReader::begin_file(std::string name) {
  state_->end_file();
  state_->last_error_prefix.reset();
  state_->rdma.device.clear();
  state_->file = std::move(name);
  state_->lines_before = state_->log.lines;
}

Log LogReader::finish(std::vector<Observation> others) {
  state_->end_file();
  state_->others = std::move(others);
  conclude(*state_);
  return std::move(state_->log);
}

Log read_log(std::string_view text) {
  LogReader reader;
  reader.feed(text);
  return reader.finish();
}

}  // namespace railbed::diagnose
