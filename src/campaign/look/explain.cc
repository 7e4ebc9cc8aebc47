// Inputs are recognised by kind: a dump of PyTorch's flight recorder by its first bytes, a folder and a .tree file are
// machines, a .yaml file is a cluster.yaml, a JSON document of railbed's holds facts or measurements, and a file that
// host/support recognises as the output of commands is a machine. NCCL's topology file begins with its root element.
// Any other text is what a job printed.
//
// A text of standard input or of the command line is recognised as a file of it would be.
//
// The output of a job often has lines of a kernel log, and the outputs of commands, among its own. Lines of the
// kernel's are taken out and read as the log of a machine, so that the rules judge them. A machine's report in one
// text is read as a job's output, too, and counts as one if it has a symptom.
#include "campaign/look/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/files.h"
#include "base/readable.h"
#include "base/text.h"
#include "base/wording.h"
#include "campaign/look/evidence.h"
#include "campaign/look/gather.h"
#include "campaign/look/sent_bmc.h"
#include "fabric/counter_list.h"
#include "fabric/fabric_file.h"
#include "fabric/judge.h"
#include "fabric/named_text.h"
#include "fabric/port_report.h"
#include "facts/facts.h"
#include "host/kernel_log.h"
#include "host/support/bug_report.h"
#include "host/support/pasted.h"
#include "host/support/sent.h"
#include "host/support/support.h"
#include "host/support/texts.h"
#include "host/tree.h"
#include "inventory/load.h"
#include "model/nccl_topology.h"
#include "results/foreign/foreign.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFlightHead = 4096;
constexpr std::size_t kMostFlights = 1 << 16;
constexpr std::size_t kLargestOutput = 8 << 20;  // of commands; a larger text is a log
constexpr std::string_view kNoFile = "-";        // standard input, or a text of the command line

// Returns whether the file is a dump of PyTorch's flight recorder, by its first bytes.
bool is_flight(const std::string& path) {
  const Fd file = open_named(path);
  std::array<char, kFlightHead> head;
  const ssize_t size = file ? ::read(file.get(), head.data(), head.size()) : -1;
  return size > 0 && diagnose::may_be_flight_dump({head.data(), static_cast<std::size_t>(size)});
}

// Returns whether a kernel log would keep the line, whose message may follow a tag and a stamp.
bool is_of_the_kernel(std::string_view line) {
  constexpr std::string_view kKernel = "kernel: ";
  if (const auto tag = line.find(kKernel); tag != std::string_view::npos)
    line = line.substr(tag + kKernel.size());
  const auto stamp = line.starts_with('[') ? line.find("] ") : std::string_view::npos;
  return worth_keeping(stamp == std::string_view::npos ? line : line.substr(stamp + 2));
}

// Returns the name of the file; empty for standard input and for a pipe of the shell, whose number names nothing.
std::string input_name(const std::string& path) {
  const bool has_none = path == kNoFile || path == "/dev/stdin" || path.starts_with("/dev/fd/");
  return has_none ? "" : fs::path(path).filename().string();
}

// Collects the lines of a text that the kernel's log would keep.
class KernelLines {
 public:
  void feed(std::string_view piece) {
    for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      take(partial_.empty() ? piece.substr(0, end) : partial_.append(piece.substr(0, end)));
      partial_.clear();
      piece.remove_prefix(end + 1);
    }
    if (partial_.size() < kLongest) partial_.append(piece.substr(0, kLongest));
  }
  std::string finish() {
    take(partial_);
    return std::move(text_);
  }

 private:
  static constexpr std::size_t kLongest = 4096;
  static constexpr std::size_t kMost = 1 << 20;

  void take(std::string_view line) {
    line = line.substr(0, kLongest);
    if (text_.size() < kMost && is_of_the_kernel(line)) text_.append(line).append("\n");
  }

  std::string partial_;
  std::string text_;
};

// Returns the failure of a GPU that an nvidia-bug-report shows of the boot before, else of the one before that, as a
// warning: the machine has been restarted since. What /var/log/kern.log has of boots before may be weeks old, and is a
// note.
std::optional<diagnose::Log> earlier_boot(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::path(path).stem().extension() == ".tar") return std::nullopt;
  const auto sent = read_archive(path);
  if (!sent || sent->files.size() != 1 || !is_bug_report(sent->files.begin()->second.content))
    return std::nullopt;
  const std::string& text = sent->files.begin()->second.content;
  const auto failure_in = [&](std::string_view messages, nccl::Severity severity,
                              std::string_view when) -> std::optional<diagnose::Log> {
    diagnose::LogReader reader;
    reader.begin_file(input_name(path));
    reader.feed(messages);
    diagnose::Log log = reader.finish({});
    if (!diagnose::is_recognised(log) || log.verdict.severity != nccl::Severity::kError) return std::nullopt;
    log.verdict.severity = severity;
    log.verdict.text = fmt::format("{}: {}", when, log.verdict.text);
    return log;
  };
  using enum nccl::Severity;
  if (auto log = failure_in(messages_of_boot(text, 1), kWarning, "In the boot before")) return log;
  if (auto log = failure_in(messages_of_boot(text, 2), kWarning, "Two boots before")) return log;
  return failure_in(messages_of_log_file(text), kNote, "In earlier boots, by /var/log/kern.log");
}

// Everything that is read before the verdict.
struct Mixture {
  Hear note;
  Explanation explanation;
  Sent loose;                          // outputs in loose files
  std::size_t only_beside_others = 0;  // how many of these hold nothing that is read alone
  diagnose::LogReader log;
  bool has_log = false;  // something was fed to it
  bool has_job = false;  // something that can be nothing but a job's output
  std::vector<diagnose::FlightDump> flights;
  std::string cluster_path;
  std::vector<FabricEvidence> subnets;
  std::vector<std::pair<std::string, IbCounterList>>
      errors;                           // of ibqueryerrors or ibdiagnet2.pm, with their paths
  std::size_t read_of_fabrics = 0;      // the bytes of both
  std::vector<IbPortReport> ports;      // outputs of perfquery, ibportstate and smpquery, by files
  std::size_t read_of_ports = 0;        // their bytes
  std::optional<diagnose::Log> before;  // what an nvidia-bug-report shows of an earlier boot

  std::string add_machine(const std::string& name, Facts facts);
  Result<void> add_log(const std::string& path, std::string_view begin, std::FILE* rest);
  Result<void> add_stream(const std::string& path, std::FILE* input);
  void add_reports(SupportReports reports);
  void add_kernel_lines(const std::string& name, std::string lines);
  Result<void> add(const std::string& path);
  Result<void> add_yaml(const std::string& path);
  bool add_json(const std::string& path, std::string_view text);
  Result<void> add_captured(const std::string& path);
  Result<bool> add_outputs(const std::string& path, std::string text);
  Result<void> add_flight(const std::string& path, std::string_view bytes);
  Result<bool> add_flight_folder(const std::string& path);
  Result<void> add_topology(const std::string& path, std::string_view text);
  Result<void> add_graphs(const std::string& path, std::string_view text);
  bool add_fabric(const std::string& path, std::string_view text);
  Result<void> add_counters(const std::string& path, std::string_view text);
  Result<void> add_ports(const std::string& path, std::string_view text);
  void add_named(const std::string& path, std::string what, std::string_view text);
  void read_messages(const std::string& path, std::string_view text);
  bool has_room_for_fabric(const std::string& path, std::string_view text);
  template <class List>
  bool add_counters_to_subnet(const List& list, const std::string& from);
  void judge_fabrics();
  Result<void> read_loose();
};

// Returns the key of the machine in the evidence.
std::string Mixture::add_machine(const std::string& name, Facts facts) {
  auto& nodes = explanation.evidence.nodes;
  std::string key = name;
  for (int i = 2; nodes.contains(key); ++i) key = fmt::format("{} ({})", name, i);
  nodes.emplace(key, std::move(facts));
  return key;
}

void Mixture::add_reports(SupportReports reports) {
  for (SupportReport& report : reports.nodes) {
    Gaps gaps = report.tree.gaps();
    const auto host = open_tree(std::move(report.tree).tree(), std::move(gaps));
    CollectOptions options;
    options.gds = true;  // reading what was sent runs nothing
    const std::string name = add_machine(report.node, collect_facts(*host, options));
    if (auto bmc = sent_bmc(*host, name)) explanation.evidence.bmcs.emplace(name, std::move(*bmc));
  }
}

void Mixture::add_kernel_lines(const std::string& name, std::string lines) {
  if (lines.empty()) return;
  Sent sent;
  sent.files[std::string(kSingleFile)] = {std::move(lines), 0};
  auto reports = reports_of(std::move(sent), name);
  if (!reports) return;  // lines without times, of which a kernel log has none
  add_reports(std::move(*reports));
  explanation.inputs.back().what += ", with lines of a kernel log";
}

// Reads a text that begins with `begin` and goes on with what `rest` still holds, if that is not null.
Result<void> Mixture::add_log(const std::string& path, std::string_view begin, std::FILE* rest) {
  log.begin_file(input_name(path));
  KernelLines kernel;
  std::array<char, 1 << 16> piece;
  const auto next = [&] {
    const std::size_t size = rest != nullptr ? std::fread(piece.data(), 1, piece.size(), rest) : 0;
    return std::string_view(piece.data(), size);
  };
  if (begin.find('\0') != std::string_view::npos)
    return fail(ErrorKind::kBadInput,
                path + ": not a text; railbed reads logs, outputs of commands and support reports");
  for (std::string_view text = begin; !text.empty(); text = next()) {
    log.feed(text);
    kernel.feed(text);
  }
  if (rest != nullptr && std::ferror(rest) != 0)
    return fail(ErrorKind::kBadInput, fmt::format("{}: {}", path, std::strerror(errno)));
  has_log = has_job = true;
  // A file that was recognised, and of which nothing else is read, has its name in the list already.
  constexpr std::string_view kJob = "a job's output";
  const bool is_named = !explanation.inputs.empty() && explanation.inputs.back().path == path &&
                        !explanation.inputs.back().what.starts_with(kJob);
  if (!is_named) explanation.inputs.push_back({path, std::string(kJob)});
  add_kernel_lines(input_name(path).empty() ? "the log's machine" : fs::path(path).stem().string(),
                   kernel.finish());
  return {};
}

// Recognises by its content what has no other sign, be it a file of any name or a pipe, which can be read only once.
Result<void> Mixture::add_stream(const std::string& path, std::FILE* input) {
  std::string begin;
  const auto read_on = [&](std::size_t most) {
    std::array<char, 1 << 16> piece;
    while (begin.size() <= most) {
      const std::size_t size = std::fread(piece.data(), 1, piece.size(), input);
      if (size == 0) return;
      begin.append(piece.data(), size);
    }
  };
  read_on(kFlightHead);
  if (diagnose::may_be_flight_dump(std::string_view(begin).substr(0, kFlightHead))) {
    read_on(kMaxReadBytes);
    if (begin.size() > kMaxReadBytes)
      return fail(ErrorKind::kUnavailable,
                  fmt::format("cannot read {}: it is larger than {} MiB", path, kMaxReadBytes >> 20));
    // Facts are JSON, too; a .json file that is no dump after all is read as before.
    if (auto added = add_flight(path, begin); added || fs::path(path).extension() != ".json") return added;
  }
  struct stat status = {};
  const bool is_large = fstat(fileno(input), &status) == 0 && S_ISREG(status.st_mode) &&
                        status.st_size > static_cast<off_t>(kLargestOutput);
  if (!is_large) read_on(kLargestOutput);
  if (is_large || begin.size() > kLargestOutput || std::ferror(input) != 0 ||
      begin.find('\0') != std::string::npos)
    return add_log(path, begin, input);
  if (add_json(path, begin)) return {};
  ASSIGN_OR_RETURN(const bool outputs, add_outputs(path, begin));
  return outputs ? Result<void>() : add_log(path, begin, nullptr);
}

// Returns whether a YAML file is a description of a cluster, whole or not, rather than another program's.
bool may_be_cluster(std::string_view text) {
  for (const std::string_view line : lines(text))
    for (const std::string_view key : {"railbed:", "cluster:", "rails:"})
      if (line.starts_with(key)) return true;
  return false;
}

Result<void> Mixture::add_yaml(const std::string& path) {
  if (const auto text = read_file(path); text && !may_be_cluster(*text)) {
    explanation.inputs.push_back({path, "a YAML file of another program, read as text"});
    log.begin_file(input_name(path));
    log.feed(*text);
    has_log = has_job = true;
    return {};
  }
  ASSIGN_OR_RETURN(auto cluster, load_cluster(path));
  if (!cluster_path.empty())
    return fail(ErrorKind::kBadInput,
                fmt::format("{} and {}: one cluster.yaml at a time", cluster_path, path));
  cluster_path = path;
  explanation.evidence.cluster = std::move(cluster);
  explanation.inputs.push_back({path, "a description of a cluster"});
  return {};
}

// Adds a document of facts or of measurements. Returns false if the text is none.
bool Mixture::add_json(const std::string& path, std::string_view text) {
  const std::string_view begin = trim(text.substr(0, 256));
  if (!begin.starts_with('{') && !begin.starts_with('[')) return false;
  // A machine without a name of its own has that of the file.
  const std::string name = input_name(path).empty() ? "the text's machine" : path;
  if (add_facts(text, name, explanation.evidence))
    explanation.inputs.push_back({path, "the facts of a machine"});
  else if (add_measurements(text, name, explanation.evidence))
    explanation.inputs.push_back({path, "measurements"});
  else
    return false;
  return true;
}

Result<void> Mixture::add_captured(const std::string& path) {
  RETURN_IF_ERROR(add_root(path, explanation.evidence, note));
  explanation.inputs.push_back({path, "a machine's report"});
  if (!before) before = earlier_boot(path);
  return {};
}

Result<void> Mixture::add_topology(const std::string& path, std::string_view text) {
  auto graph = parse_nccl_topology(text);
  if (!graph) return fail(std::move(graph).error(), path);
  explanation.inputs.push_back({path, fmt::format("NCCL's topology of a node; GPUs: {}, adapters: {}",
                                                  graph->gpus.size(), graph->adapters.size())});
  explanation.topologies.push_back(std::move(*graph));
  return {};
}

// Names a file of NCCL's channels. Of a machine it has only the numbers of its devices.
Result<void> Mixture::add_graphs(const std::string& path, std::string_view text) {
  const auto graphs = parse_nccl_graphs(text);
  if (!graphs) return fail(graphs.error(), path);
  const auto numbers = [](const std::set<int>& devices) {
    return devices.empty() ? "none" : fmt::format("{}", fmt::join(devices, ", "));
  };
  explanation.inputs.push_back(
      {path,
       fmt::format(
           "NCCL's channels for NCCL_GRAPH_FILE, which fit only a machine with these numbers; channels: {}, "
           "graphs: {}, GPUs: {}, adapters: {}",
           graphs->channels, graphs->graphs, numbers(graphs->gpus), numbers(graphs->adapters))});
  return {};
}

// Files of subnets are kept until all are read. Returns false, and names the file, if they are too many.
bool Mixture::has_room_for_fabric(const std::string& path, std::string_view text) {
  read_of_fabrics += text.size();
  if (read_of_fabrics <= kMaxReadBytes) return true;
  explanation.inputs.push_back(
      {path, fmt::format("not judged: more than {} MiB of subnets in one call", kMaxReadBytes >> 20)});
  return false;
}

// Returns false for a part of a subnet, which is read like any text.
bool Mixture::add_fabric(const std::string& path, std::string_view text) {
  auto fabric = parse_fabric_file(text, path);
  if (!fabric) {
    const std::string& why = fabric.error().text;
    explanation.inputs.push_back({path, "no whole subnet: " + printable(why.substr(0, why.find('\n')))});
    return false;
  }
  if (!has_room_for_fabric(path, text)) return true;
  explanation.inputs.push_back({path, "an InfiniBand subnet, " + counted(fabric->nodes.size(), "node")});
  FabricEvidence& subnet = subnets.emplace_back();
  subnet.fabric = std::move(*fabric);
  subnet.from = path;
  return true;
}

Result<void> Mixture::add_counters(const std::string& path, std::string_view text) {
  auto list = parse_counter_list(text, path);
  if (!list) return tl::unexpected(std::move(list.error()));
  if (!has_room_for_fabric(path, text)) return {};
  explanation.inputs.push_back(
      {path, "error counters of an InfiniBand subnet, " + counted(list->look.ports.size(), "port")});
  errors.emplace_back(path, std::move(*list));
  return {};
}

// Adds outputs about single ports, which are judged together.
Result<void> Mixture::add_ports(const std::string& path, std::string_view text) {
  auto report = parse_port_report(text, path);
  if (!report) return tl::unexpected(std::move(report.error()));
  explanation.inputs.push_back({path, report->summary()});
  read_of_ports += text.size();
  if (read_of_ports > kMaxReadBytes)
    return fail(ErrorKind::kBadInput, path + ": more outputs about ports than are read together");
  ports.push_back(std::move(*report));
  return {};
}

// Names an output of which no rule judges anything, and reads it for messages.
void Mixture::add_named(const std::string& path, std::string what, std::string_view text) {
  explanation.inputs.push_back({path, std::move(what)});
  read_messages(path, text);
}

// Reads an output for messages, of which it may have none: a tool's own, and those of a job that somebody put beside it.
void Mixture::read_messages(const std::string& path, std::string_view text) {
  log.begin_file(input_name(path));
  log.feed(without_unknown_supplies(text));
  has_log = true;
}

// Gives counters to the subnet that has most of their ports. A subnet that has some already is judged by the others as well.
// Returns false if no subnet has any of the ports.
template <class List>
bool Mixture::add_counters_to_subnet(const List& list, const std::string& from) {
  FabricEvidence* owner = nullptr;
  IbCounterLook best;
  std::size_t best_unknown = 0;
  for (FabricEvidence& subnet : subnets) {
    std::size_t unknown = 0;
    IbCounterLook look = counters_in(subnet.fabric, list, unknown);
    if (look.ports.size() <= best.ports.size()) continue;
    owner = &subnet;
    best = std::move(look);
    best_unknown = unknown;
  }
  if (owner == nullptr) return false;
  if (best_unknown > 0)
    explanation.inputs.push_back(
        {from, counted(best_unknown, "port") + " of it not in the subnet of " + owner->from});
  if (!owner->counters) {
    owner->counters = std::move(best);
    return true;
  }
  const FabricEvidence again{
      .fabric = owner->fabric, .from = from, .plan = {}, .oversubscription = {}, .counters = std::move(best)};
  explanation.fabrics.push_back({from, again.fabric.nodes.size(), verify_counters(again)});
  return true;
}

// Judges each subnet with its counters; counters and ports without a subnet for themselves.
void Mixture::judge_fabrics() {
  std::vector<ExplainedFabric> alone;
  for (auto& [from, list] : errors) {
    if (add_counters_to_subnet(list, from)) continue;
    if (!subnets.empty())
      explanation.inputs.push_back({from, "none of its ports is in a subnet that was given"});
    FabricEvidence evidence;
    evidence.fabric = std::move(list.fabric);
    evidence.from = from;
    evidence.counters = std::move(list.look);
    alone.push_back({from, evidence.fabric.nodes.size(), verify_counters(evidence)});
  }
  if (!ports.empty()) {
    IbPortReport report = joined(std::move(ports));
    const bool has_counters = !report.look.ports.empty();
    if (!errors.empty()) {
      explanation.inputs.push_back({report.from, "not judged beside a list of the subnet's counters"});
    } else if (!subnets.empty() && has_counters) {
      if (!add_counters_to_subnet(report, report.from))
        explanation.inputs.push_back({report.from, counted(report.look.ports.size(), "port") +
                                                       " of it not in the subnet of " +
                                                       subnets.front().from});
    } else if (subnets.empty() && (report.fabric.states || has_counters)) {
      FabricEvidence evidence;
      evidence.fabric = std::move(report.fabric);
      evidence.from = report.from;
      evidence.counters = std::move(report.look);
      alone.push_back({report.from, evidence.fabric.nodes.size(), verify_ports(evidence)});
    }
  }
  std::vector<ExplainedFabric> whole;
  for (const FabricEvidence& subnet : subnets)
    whole.push_back({subnet.from, subnet.fabric.nodes.size(), verify_fabric(subnet)});
  auto& fabrics = explanation.fabrics;
  fabrics.insert(fabrics.begin(), std::make_move_iterator(whole.begin()),
                 std::make_move_iterator(whole.end()));
  fabrics.insert(fabrics.end(), std::make_move_iterator(alone.begin()), std::make_move_iterator(alone.end()));
}

// Returns what another measuring tool measured, in a line; empty if the text is no such tool's.
std::string measured_by(std::string_view text) {
  const auto tool = find_foreign_tool(text);
  const auto read = tool ? parse_foreign(text) : Result<ForeignRun>();
  if (!tool || !read) return "";
  std::size_t rows = read->run.measurements.size();
  for (const CollectiveReport& report : read->run.collectives) rows += report.rows.size();
  return fmt::format(
      "{} of {}: railbed compare FILE FILE judges two such files, railbed predict --against FILE one",
      counted(rows, "measurement"), to_text(*tool));
}

// Reads a text as the output of commands. Returns false if it is none that a rule reads.
Result<bool> Mixture::add_outputs(const std::string& path, std::string text) {
  if (is_nccl_topology(text)) {
    RETURN_IF_ERROR(add_topology(path, text));
    return true;
  }
  if (is_nccl_graphs(text)) {
    RETURN_IF_ERROR(add_graphs(path, text));
    return true;
  }
  if (is_counter_list(text)) {
    RETURN_IF_ERROR(add_counters(path, text));
    return true;
  }
  if (fabric_file(text) != FabricFile::kNone && add_fabric(path, text)) return true;
  const bool has_ports = is_port_report(text);
  if (has_ports) RETURN_IF_ERROR(add_ports(path, text));
  if (std::error_code error; fs::is_regular_file(path, error) && is_bug_report(text)) {
    RETURN_IF_ERROR(add_captured(path));
    return true;
  }
  const std::string measured = measured_by(text);
  const std::string name = input_name(path).empty() ? "the text's machine" : input_name(path);
  Sent alone;
  alone.files[std::string(kSingleFile)] = {text, 0};
  if (!reports_of(std::move(alone), name)) {
    // Such as `nvidia-smi topo`, which names GPUs by numbers that another output explains.
    const std::string command = command_shown_by(text);
    const bool is_output =
        !command.empty() && command != "dmesg";  // a job's lines may have stamps like the kernel's
    if (has_ports) {
      read_messages(path, text);
      return true;
    }
    if (std::string what = named_fabric_text(text); !is_output && measured.empty() && !what.empty()) {
      add_named(path, std::move(what), text);
      return true;
    }
    if (!is_output && measured.empty()) return false;
    explanation.inputs.push_back(
        {path, measured.empty()
                   ? fmt::format("the output of `{}` on a machine, of which nothing is read alone",
                                 printable(command))
                   : measured});
    ++only_beside_others;
  } else {
    explanation.inputs.push_back({path, measured.empty() ? "outputs of commands" : measured});
  }
  // Outputs confirm or refute causes, too, and a session may hold what a job printed.
  log.begin_file(input_name(path));
  log.feed(is_gdscheck(text) ? without_gdscheck_tables(text) : without_unknown_supplies(text));
  has_log = true;
  std::string key = name;
  for (int i = 2; loose.files.contains(key); ++i) key = fmt::format("{}-{}", i, name);
  loose.files[key] = {std::move(text), 0};
  return true;
}

Result<void> Mixture::add_flight(const std::string& path, std::string_view bytes) {
  auto dump = diagnose::read_flight_dump(bytes, input_name(path));
  if (!dump) return fail(std::move(dump.error()), path);
  explanation.inputs.push_back({path, dump->rank < 0
                                          ? "a flight recorder's dump, of a rank that its name does not state"
                                          : fmt::format("the flight recorder of rank {}", dump->rank)});
  flights.push_back(std::move(*dump));
  return {};
}

// Adds the dumps in a folder, and the files beside them as what they are. Returns false if it holds no dump.
Result<bool> Mixture::add_flight_folder(const std::string& path) {
  std::vector<std::string> dumps, others;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error) || dumps.size() + others.size() >= kMostFlights) continue;
    (is_flight(at->path().string()) ? dumps : others).push_back(at->path().string());
  }
  if (dumps.empty()) return false;
  std::ranges::sort(dumps);
  for (const std::string& dump : dumps) {
    ASSIGN_OR_RETURN(const std::string bytes, read_file(dump));
    RETURN_IF_ERROR(add_flight(dump, bytes));
  }
  for (const std::string& other : others) RETURN_IF_ERROR(add(other));
  return true;
}

// Several files of one machine are one report.
Result<void> Mixture::read_loose() {
  if (loose.files.empty()) return {};
  const std::string name = loose.files.begin()->first;
  if (loose.files.size() == 1) {
    auto only = loose.files.extract(loose.files.begin());
    only.key() = kSingleFile;
    loose.files.insert(std::move(only));
  }
  const bool may_be_none = only_beside_others == loose.files.size();
  auto reports = reports_of(std::move(loose), name);
  if (reports)
    add_reports(std::move(*reports));
  else if (!may_be_none)
    return tl::unexpected(std::move(reports.error()));
  return {};
}

Result<void> Mixture::add(const std::string& path) {
  if (path == kNoFile) return add_stream(path, stdin);
  std::error_code error;
  const fs::path name(path);
  RETURN_IF_ERROR(check_reachable(path));
  const std::string ending = name.extension().string();
  if (ending == ".yaml" || ending == ".yml") return add_yaml(path);
  if (fs::is_directory(name, error)) {
    ASSIGN_OR_RETURN(const bool dumps, add_flight_folder(path));
    return dumps ? Result<void>() : add_captured(path);
  }
  if (fs::is_regular_file(name, error) && (ending == ".tree" || kind_of(path) == SentKind::kPacked))
    return add_captured(path);
  Fd named = open_named(path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      named ? fdopen(named.release(), "rb") : nullptr, [](std::FILE* open) { return std::fclose(open); });
  if (!file) return fail(ErrorKind::kBadInput, fmt::format("{}: {}", path, std::strerror(errno)));
  return add_stream(path, file.get());
}

// Returns what the rules saw, as observations that a hypothesis may name.
std::vector<diagnose::Observation> observations_of(const Findings& findings) {
  std::vector<diagnose::Observation> observations;
  for (const Finding& finding : findings) {
    if (!is_red(finding) && finding.status != Status::kPass) continue;
    observations.push_back(
        {.id = fmt::format("{}:{}", is_red(finding) ? "red" : "green", finding.rule),
         .node = finding.node,
         .evidence = fmt::format("{}{}{}", finding.node, finding.node.empty() ? "" : ": ", finding.message)});
  }
  return observations;
}

Explanation conclude(Mixture mixture) {
  Explanation& explanation = mixture.explanation;
  if (!explanation.evidence.nodes.empty() || !explanation.evidence.unreachable.empty())
    explanation.machines = verify(explanation.evidence);
  if (!mixture.has_log) explanation.job = std::move(mixture.before);
  if (mixture.has_log) explanation.job = mixture.log.finish(observations_of(explanation.machines.findings));
  if (!mixture.flights.empty()) explanation.flight = diagnose::judge_flights(mixture.flights);
  // Outputs of machines are no job, unless a line of theirs is telling.
  if (mixture.has_log && !mixture.has_job && explanation.job && !diagnose::is_recognised(*explanation.job) &&
      explanation.job->verdict.why.empty())
    explanation.job.reset();
  return std::move(explanation);
}

}  // namespace

Result<Explanation> explain(const std::vector<std::string>& paths, ReachOptions reach, const Caller& caller) {
  Mixture mixture;
  mixture.note = caller.note;
  for (const std::string& path : paths) {
    std::error_code error;
    constexpr std::uintmax_t kSlow = 64 << 20;  // takes a second or more
    if (fs::is_regular_file(path, error) && fs::file_size(path, error) > kSlow)
      caller.progress("reading " + path);
    RETURN_IF_ERROR(mixture.add(path));
  }
  RETURN_IF_ERROR(mixture.read_loose());
  mixture.judge_fabrics();
  caller.progress("");
  if (!mixture.cluster_path.empty() && mixture.explanation.evidence.nodes.empty()) {
    Sources sources;
    sources.cluster = mixture.cluster_path;
    ASSIGN_OR_RETURN(auto evidence, gather_evidence(sources, std::move(reach), caller));
    evidence.measurements = std::move(mixture.explanation.evidence.measurements);
    mixture.explanation.evidence = std::move(evidence);
  }
  return conclude(std::move(mixture));
}

Result<Explanation> explain_text(std::string_view text) {
  Mixture mixture;
  ASSIGN_OR_RETURN(const bool outputs, mixture.add_outputs(std::string(kNoFile), std::string(text)));
  if (!outputs) RETURN_IF_ERROR(mixture.add_log(std::string(kNoFile), text, nullptr));
  RETURN_IF_ERROR(mixture.read_loose());
  mixture.judge_fabrics();
  mixture.explanation.inputs.front().path = "the text";
  return conclude(std::move(mixture));
}

}  // namespace railbed
