// Reads a NCCL_DEBUG=INFO log: which ranks took part, over which paths they communicate, what went wrong and
// why, and how far each rank was at the log's end. Supports NCCL 2.18 to 2.30, and the lines that PyTorch
// adds. The input is untrusted: it may be truncated anywhere, mixed, huge, or no log at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "diagnose/log/communicator.h"
#include "diagnose/observation.h"
#include "diagnose/weigh.h"
#include "nccl/severity.h"

namespace railbed::diagnose {

using nccl::Severity;
struct LogState;  // state.h

// A NCCL variable that the log shows as set, and the number of processes with it.
struct LogVariable {
  std::string name;
  std::string value;
  std::uint64_t processes = 0;
  FIELDS(LogVariable, name, value, processes);
};

struct LogNic {
  std::string host;
  int index = 0;
  std::string device;     // mlx5_0, or the merged mlx5_0+mlx5_1
  int port = 1;           // 0 for a merged one
  std::string link;       // RoCE, IB; empty if unknown
  double gigabits = 0;    // 0: unknown (needs NCCL_DEBUG_SUBSYS=NET)
  std::string gpudirect;  // "enabled", "disabled"; empty if unknown
  FIELDS(LogNic, host, index, device, port, link, gigabits, gpudirect);
};

// An interface that carries NCCL's TCP connections: all of them on a Socket network, else only the first
// contact.
struct LogInterface {
  std::string host;
  std::string name;
  std::string address;
  bool data = false;  // true: NET/Socket carries the data over it
  FIELDS(LogInterface, host, name, address, data);
};

struct LogNetwork {
  std::string name;             // IB, Socket, or a plugin's own: AWS Libfabric, IBext_v8
  std::uint64_t processes = 0;  // number of processes that chose it
  std::string why = {};
  FIELDS(LogNetwork, name, processes, why);
};

// A cell of the table by which NCCL chooses (NCCL_DEBUG_SUBSYS=TUNING); rank 0 prints it. Cells without
// bandwidth are disabled choices, and are not kept.
struct LogTuning {
  std::string function = {};   // AllReduce
  std::string algorithm = {};  // Ring
  std::string protocol = {};   // LL128
  double latency = 0;          // microseconds
  double bandwidth = 0;        // GB/s, of the algorithm
  FIELDS(LogTuning, function, algorithm, protocol, latency, bandwidth);
};

// NCCL's choice between two sizes (NCCL_DEBUG_SUBSYS=TUNING).
struct LogChoice {
  std::string function = {};  // AllReduce
  std::uint64_t from_bytes = 0;
  std::uint64_t to_bytes = 0;
  std::string algorithm = {};  // RING, TREE, NVLS
  std::string protocol = {};   // LL, LL128, SIMPLE
  int channels = 0;            // the largest number of channels
  std::uint64_t count = 0;
  FIELDS(LogChoice, function, from_bytes, to_bytes, algorithm, protocol, channels, count);
};

// Another possible cause of a problem.
struct LogCandidate {
  std::string id;
  std::string title;
  std::string cause;
  std::string remedy;
  std::string settle_by;              // the look that decides whether it holds; empty if unknown
  std::vector<std::string> evidence;  // what confirms it; of a refuted one, what refutes it
  FIELDS(LogCandidate, id, title, cause, remedy, settle_by, evidence);
};

struct LogProblem {
  std::string id;       // of its cause: "registration-unlimited"
  std::string symptom;  // of the message: "memlock"
  Severity severity = Severity::kWarning;
  bool consequence = false;  // usually the consequence of another problem
  std::string title;         // one line
  std::string message;       // the first such line, as it was printed
  std::string file = {};     // empty if the log has no name
  std::uint64_t line = 0;    // line number of that message in its file
  std::uint64_t count = 0;
  std::vector<int> ranks;
  std::vector<std::string> hosts;
  Certainty certainty = Certainty::kUnknown;
  std::string cause;
  std::string remedy;
  std::string source;
  std::string settle_by = {};              // the look that would confirm the cause
  std::vector<std::string> evidence = {};  // observations that confirm the cause
  std::vector<LogCandidate> others = {};   // causes that remain possible, the likeliest first
  std::vector<LogCandidate> refuted = {};  // causes that something contradicts
  FIELDS(LogProblem, id, symptom, severity, consequence, title, message, file, line, count, ranks, hosts,
         certainty, cause, remedy, source, settle_by, evidence, others, refuted);
};

// PyTorch's own counters of one rank.
struct TorchRank {
  int rank = 0;
  std::int64_t enqueued = -1;
  std::int64_t completed = -1;
  std::int64_t timed_out = -1;  // sequence number of the operation that its watchdog gave up on
  std::string operation;        // ALLREDUCE
  FIELDS(TorchRank, rank, enqueued, completed, timed_out, operation);
};

struct Hang {
  std::string communicator = {};
  std::string text = {};             // "rank 1 did not join AllReduce number 5; rank 0 waits in it"
  std::vector<int> behind = {};      // ranks that the others wait for
  std::vector<int> never_came = {};  // ranks without any line in the log
  bool certain = true;               // false: the log may have been cut instead
  FIELDS(Hang, communicator, text, behind, never_came);
};

struct LogVerdict {
  Severity severity = Severity::kNote;
  std::string text = {};              // one line for the user
  std::vector<std::string> why = {};  // the evidence in the log
  Certainty certainty = Certainty::kCause;
  std::string cause = {};
  std::string remedy = {};
  std::string settle_by = {};              // the look that would confirm the cause
  std::vector<LogCandidate> others = {};   // causes that remain possible
  std::vector<LogCandidate> refuted = {};  // causes that something contradicts
  FIELDS(LogVerdict, severity, text, why, certainty, cause, remedy, settle_by, others, refuted);
};

// A fast path that the run does not take although its hardware may have it.
struct LogSlow {
  std::string title;
  std::string why;  // the variable or state that keeps the run from it
  std::string remedy;
  FIELDS(LogSlow, title, why, remedy);
};

struct Log {
  LogVerdict verdict;
  std::vector<LogSlow> slow;
  std::uint64_t lines = 0;
  std::uint64_t nccl_lines = 0;       // 0: not a NCCL log, or NCCL_DEBUG was not set
  std::vector<std::string> versions;  // "2.28.9+cuda13.0"; more than one is a problem
  // Branch and commit, since 2.29: "HEAD 747384637", "master be4d833-dirty".
  std::vector<std::string> builds;
  std::vector<std::string> drivers;  // CUDA driver: "13.0"
  std::vector<std::string> hosts;
  std::uint64_t processes = 0;
  std::vector<LogNetwork> networks;
  std::vector<LogNic> nics;
  std::vector<LogInterface> interfaces;
  std::string gpudirect;                   // "on", "off", "partly"; empty: no network connection, or unknown
  std::string gpudirect_route;             // "DMA-BUF", "peermem"; empty if unknown
  std::vector<std::string> gpudirect_why;  // the log's reasons why it is off
  std::vector<LogVariable> variables;
  std::vector<LogChoice> choices;
  std::vector<LogTuning> tuning;
  std::vector<LogProblem> problems;  // worst and most informative first
  std::vector<TorchRank> torch;
  std::optional<Hang> hang;
  std::vector<LogCommunicator> communicators;  // largest first
  FIELDS(Log, verdict, slow, lines, nccl_lines, versions, builds, drivers, hosts, processes, networks, nics,
         interfaces, gpudirect, gpudirect_route, gpudirect_why, variables, choices, tuning, problems, torch,
         hang, communicators);
};

// Returns whether anything of a job was recognised in the text.
bool is_recognised(const Log& log);

// Reads a log in pieces, so that a file of any size needs little memory and a pipe can be followed.
class LogReader {
 public:
  LogReader();
  ~LogReader();
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;

  // Begins another log of the same job. Its lines are counted from 1.
  void begin_file(std::string name);
  void feed(std::string_view piece);  // a piece need not end at the end of a line
  // Concludes; call once, at the end. `others` was seen elsewhere and is weighed with the log.
  Log finish(std::vector<Observation> others = {});

 private:
  std::unique_ptr<LogState> state_;
};

// Reads a whole log.
Log read_log(std::string_view text);

// Returns a text for people whose first line is the verdict. At most a screen for a healthy run. Control
// characters are removed.
std::string to_text(const Log& log);
// The two parts of that text: the verdict, and all the rest, which is empty if the log shows nothing of NCCL.
std::string verdict_text(const Log& log);
std::string details_text(const Log& log);

// Returns the ranks as "0-3, 7".
std::string rank_list(const std::vector<int>& ranks);
// The same after the word "rank" or "ranks".
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace railbed::diagnose
