// The state of the log reader between lines.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "diagnose/log/job_log.h"
#include "diagnose/log/kept_lines.h"
#include "diagnose/log/line.h"
#include "diagnose/symptom.h"

namespace railbed::diagnose {

// Identifies a rank by its indexes in Log::communicators and LogCommunicator::ranks.
struct RankPlace {
  std::size_t communicator = 0;
  std::size_t rank = 0;
};

struct LogProcess {
  std::string host = {};
  int id = 0;
  std::vector<RankPlace> ranks = {};                  // in the order of their creation
  std::unordered_map<int, RankPlace> by_device = {};  // the newest rank on a device
  std::unordered_map<int, RankPlace> by_number = {};  // the newest rank of a number
  std::unordered_map<int, RankPlace> threads = {};    // the rank that a thread last printed for
  // The key is NCCL's own name of the communicator, such as "0x2f33a2b0".
  std::unordered_map<std::string, RankPlace> pointers = {};
  std::set<std::string> networks = {};
  bool no_rdma_device = false;
  bool disabled_ib = false;
  bool no_verbs_library = false;
};

// The hosts and ranks that a problem affects.
struct LogConcerned {
  std::set<std::string> hosts;
  std::set<int> ranks;
  bool warned = false;  // NCCL gave up: the problem's message is that of a warning
};

// A line that reports a failure in words that no row knows.
struct TellingLine {
  LogSight sight;
  int weight = 0;  // how much such lines tell
};

// Returns whether it is a warning that states no failure (Role::kAside).
bool is_aside(const LogProblem& problem);

struct LogState {
  Log log;
  TorchLines torch_lines;
  std::string partial;  // an unfinished last line
  std::string uncoloured;
  std::unordered_map<std::string, std::size_t> process_places;  // "host:pid" → processes
  std::unordered_set<int> process_numbers;                      // PIDs, of all hosts
  std::vector<LogProcess> processes;
  std::size_t last_process = 0;
  std::unordered_map<std::string, std::size_t> communicator_places;
  std::vector<std::unordered_map<int, std::size_t>> rank_places;  // per communicator: rank → place
  std::map<std::pair<std::string, std::string>, std::set<std::size_t>> variables;
  std::map<std::string, std::size_t> problem_places;
  std::vector<LogConcerned> concerned;  // one for each of log.problems
  std::map<int, TorchRank> torch;
  std::map<std::tuple<std::string, std::string, int>, LogNic> nics;  // host, device, port
  std::unordered_map<std::string, std::size_t> interface_places;     // host, name, address → log.interfaces
  std::set<std::string, std::less<>> networks;
  // Function, algorithm, protocol → log.choices; and the same key for each cell in log.tuning.
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> choice_places;
  std::set<std::tuple<std::string, std::string, std::string>> tuning_cells;
  std::vector<std::pair<std::string, std::string>> tuning_columns;  // algorithm, protocol
  // The number of operations that each rank of the first communicator had called when a watchdog first gave
  // up.
  std::map<int, std::uint64_t> called_at_timeout;
  bool timed_out = false;
  // Set after a line that ends in PyTorch's "Last error:", to the text before it. The next line with the same
  // prefix has NCCL's message.
  std::optional<std::string> last_error_prefix;
  std::string file = {};           // the name of the log that is read
  std::uint64_t lines_before = 0;  // lines of the files before it
  std::vector<Observation> others;
  // Lines that confirm or refute causes: those of the tables by the id of their row, and those that sights.cc
  // reads.
  std::map<std::string_view, LogSight> seen;
  RdmaLines rdma;
  LogSight memlock_unlimited;
  LogSight memlock_limited;
  LogSight mig;                                       // a device of the job is a slice of a GPU
  LogSight tests_shape;                               // "# nThread 1 nGpus 8 …" of nccl-tests
  bool awaits_result = false;                         // its table has a head, and no row yet
  int tests_gpus = 0;                                 // number of GPUs that each of its processes asks for
  std::map<std::string, std::set<int>> tests_failed;  // its processes that failed, by host
  std::map<std::string, bool> interfaces_listed;      // by `ip -brief`: whether each is up
  std::map<std::string, std::set<int>> sole_gpu;      // processes by the one GPU that each may see
  std::map<std::string, std::set<int>> active_mtus;   // of the RDMA ports, by the file that lists them
  LogSight shm_small;                                 // df shows a /dev/shm as small as a container's default
  LogSight shm_large;                                 // or a larger one
  LogSight shm_mode;                                  // ls -ld /dev/shm
  LogSight gpu_model;                                 // a line that names the GPU's product
  bool sockets = false;                               // a connection goes to another node over TCP
  bool p2p = false;                                   // a connection goes from GPU to GPU
  DriverLines driver;
  LauncherLines launchers;
  bool dma_buf = false;
  bool network_lines = false;        // NCCL_DEBUG_SUBSYS included NET
  bool ends_in_nccl = false;         // the last line of a file is NCCL's
  bool last_is_nccl = false;         // the last line so far is
  std::vector<TellingLine> telling;  // lines that report a failure which no row knows
  std::size_t ranks = 0;             // in all communicators
  std::size_t kept = 0;              // number of items that has_room() permitted
  std::size_t collected = 0;         // lines that a log collector wrapped
  std::size_t not_collected = 0;     // lines that only look like it

  // Returns whether one more item may be kept in the lists that grow with a log, and counts it.
  bool has_room();
  void read_line(std::string_view line);
  void read_text(std::string_view line);  // after removal of a log collector's wrapper
  void end_file();
  void read_record(const LogLine& line);
  // Returns the process of the line, which is added if it is new; the first process if there is no room for
  // more.
  LogProcess& process_of(const LogLine& line);
  // Returns the rank that the line belongs to and sets `place`; null if the log has not shown it yet.
  LogRank* rank_of(LogProcess& process, const LogLine& line, RankPlace* place = nullptr);
  LogRank& at(RankPlace place) { return log.communicators[place.communicator].ranks[place.rank]; }
  // Moves the rank forward to this step, never back.
  void advance(LogRank& rank, Step step);

  // Each reads one kind of message and returns whether the line was one (files beside it).
  bool read_versions(const LogLine& line);
  bool read_variable(LogProcess& process, const LogLine& line);
  bool read_network(LogProcess& process, const LogLine& line);
  bool read_communicator(LogProcess& process, const LogLine& line);
  bool read_connection(LogProcess& process, const LogLine& line);
  bool read_shape(LogProcess& process, const LogLine& line);
  bool read_operation(LogProcess& process, const LogLine& line);
  bool read_tuning(const LogLine& line);
  void read_torch(std::string_view line);
  void read_torch_ranks(std::string_view line);   // torch_ranks.cc
  void read_torch_sights(std::string_view line);  // torch_sights.cc
  // Returns whether the line is PyTorch's quotation of the last NCCL WARN, or announces it.
  bool read_last_error(std::string_view line);
  // Returns the first row of the tables that the text matches; null if none. Keeps the lines that confirm or
  // refute causes. `nccl`: the text is NCCL's; `warning`: it is a NCCL WARN.
  const Symptom* find_symptom(std::string_view text, bool nccl, bool warning);
  // Matches the text against the table of symptoms and counts the problem. `process` and `rank` are null if
  // unknown; `warning`: it is a NCCL WARN. Returns whether a row of the tables knows it as harmless.
  bool read_symptom(std::string_view text, const LogProcess* process, const LogRank* rank, bool warning);
  // Keeps what the line contains about limits, devices and the shape of nccl-tests.
  void read_sights(std::string_view line);
  // Keeps what the line shows of GPUs, the driver and container runtimes.
  void read_driver(std::string_view line);
  // Keeps what commands and RDMA tests print about adapters, modules and addresses.
  void read_rdma(std::string_view line);
  void read_rate(std::string_view line);     // of perftest, and a link's of ethtool
  void read_command(std::string_view line);  // empty: the output of the last command ends
  void read_output(std::string_view line);
  // Keeps what the line contains about nodes of Ray, steps of Slurm, keys of munge and processes of nccl-tests.
  void read_launchers(std::string_view line);
  // Keeps the line if its words report a failure.
  void read_telling(std::string_view line);
  // Keeps the line if it is the first of its kind.
  void keep_sight(LogSight& sight, std::string_view text) const;
  // Reads a warning of NCCL that the program repeats; it counts only if NCCL's own line is not in the log.
  void read_quoted(std::string_view text);
};

// Adds `value` if it is not in the list and the list is shorter than `limit`.
void add_once(std::vector<std::string>& list, std::string_view value, std::size_t limit = 1000);

// Returns whether an interface's name is that of a bridge that container and virtual machine tools make.
bool is_bridge(std::string_view name);

// Returns the hosts of the ranks that the log shows.
std::set<std::string_view> hosts_of(const LogCommunicator& communicator);

// Returns "line 12", or "train.log:12" where the file has a name.
std::string place_text(std::string_view file, std::uint64_t line);
// Returns the sight with its place: "line 12: max locked memory 64".
std::string at_line(const LogSight& sight);
std::string at_line(const LogProblem& problem);  // the same of a problem's message

// Where the ranks were when a watchdog of PyTorch gave up (torch_ranks.cc).
struct TorchStory {
  std::int64_t number = -1;  // of the operation; -1: no watchdog gave up
  std::string operation = {};
  std::vector<int> waiting = {};  // ranks that waited in it
  std::vector<int> behind = {};   // ranks that had not called it by PyTorch's counters
  std::vector<int> silent = {};   // other ranks that the log shows and that did not give up
  bool all = false;               // every rank of the job waited in it
  std::string different = {};     // ranks called different operations under one number: which
  int failed = -1;                // a rank that failed before, by its line
  int busy = -1;                  // a rank that still did something else
  int ahead = -1;                 // a rank that is in a later batch than one that waits
  std::string why = {};           // the lines that show it
};
TorchStory torch_story(const LogState& state);
// Returns the number of ranks of the job; 0 if unknown.
int torch_world(const LogState& state);

// Returns the rank that printed the line, from a launcher's or PyTorch's prefix; -1 if it has none. `local`: it may be
// the rank on its node only.
int speaking_rank(std::string_view line, bool* local = nullptr);
// Returns whether the line reports that this process failed by itself, not because another rank did.
bool reports_failure(std::string_view line);
// Returns whether the line is a progress bar or reports preparation of data.
bool reports_progress(std::string_view line);
bool reports_preparation(std::string_view line);

// The knowledge about a message that no row of the tables has; each part is empty if it is not known.
struct LineMeaning {
  std::string printer = {};  // who prints lines of this form
  std::string text = {};     // what the call in it does, and what its error stands for
  std::string look = {};     // where to look
  int weight = 0;            // how much of it is known
};
LineMeaning meaning_of(std::string_view line);

// Returns the lines that report a failure in words that no row knows, those that say most, in their order.
std::vector<LogSight> most_telling(const LogState& state, std::size_t most);

// Returns whether a symptom reports that a process ended, by whatever it was ended.
bool reports_an_end(std::string_view symptom);

// Returns the last exception of a program that no row knows and that stands before this problem in its file; null if
// there is none.
const LogSight* exception_before(const LogState& state, const LogProblem& problem);

// Returns the first of these that was seen, with its place: lines, problems other than `but`, and what was seen
// elsewhere. Nothing if none was.
std::optional<std::string> first_seen(const LogState& state, std::span<const std::string_view> ids,
                                      const LogProblem* but = nullptr);
inline std::optional<std::string> first_seen(const LogState& state,
                                             std::initializer_list<std::string_view> ids) {
  return first_seen(state, std::span(ids.begin(), ids.size()));
}

// How an observation was made; nothing if it was not.
using Evidence = std::optional<std::string>;

// Returns the line with its place; nothing if it was not seen.
inline Evidence seen_at(const LogSight& sight) {
  return sight.line == 0 ? std::nullopt : Evidence(at_line(sight));
}
// Returns the first of `ids` that was seen besides the problem.
template <const auto& ids>
Evidence seen_any(const LogState& state, const LogProblem& problem) {
  return first_seen(state, ids, &problem);
}
inline bool message_has(const LogProblem& problem, std::string_view words) {
  return problem.message.find(words) != std::string::npos;
}

// An observation that follows from more than one line, or from the problem's own message.
struct Question {
  std::string_view id;
  // Returns how it was seen; nothing if it was not.
  std::optional<std::string> (*look)(const LogState& state, const LogProblem& problem);
};
// Two observations that exclude each other.
using Opposites = std::pair<std::string_view, std::string_view>;

// The questions and opposites of each file of sights/.
std::span<const Question> nccl_questions();
std::span<const Question> nccl_network_questions();
std::span<const Question> torch_questions();
std::span<const Question> store_questions();
std::span<const Question> rdma_questions();
std::span<const Question> ucx_questions();
std::span<const Question> rdma_library_questions();
std::span<const Question> gpu_questions();
std::span<const Question> container_questions();
std::span<const Question> kernel_questions();
std::span<const Question> slurm_questions();
std::span<const Question> mpi_questions();
std::span<const Question> ray_questions();
std::span<const Question> job_questions();
std::span<const Question> cluster_questions();
std::span<const Question> operating_questions();
std::span<const Opposites> nccl_opposites();
std::span<const Opposites> nccl_network_opposites();
std::span<const Opposites> torch_opposites();
std::span<const Opposites> store_opposites();
std::span<const Opposites> rdma_opposites();
std::span<const Opposites> ucx_opposites();
std::span<const Opposites> rdma_library_opposites();
std::span<const Opposites> gpu_opposites();
std::span<const Opposites> container_opposites();
std::span<const Opposites> slurm_opposites();
std::span<const Opposites> mpi_opposites();
std::span<const Opposites> ray_opposites();
std::span<const Opposites> job_opposites();
std::span<const Opposites> operating_opposites();

// Answers whether an observation was made: in the log, or in what was seen elsewhere (sights.cc).
Seen look_for(std::string_view observation, const LogState& state, const LogProblem& problem);

// Conclusions from the whole log.
void conclude(LogState& state);  // verdict.cc: all of it
// Lowers what failed before the ranks were up to notes: a launcher that tried again, a step that waited.
void settle_launch(LogState& state);
void find_causes(LogState& state);  // causes.cc: the cause of each problem
void judge_hang(LogState& state);   // hang.cc: the ranks that the others waited for
void judge_slow(LogState& state);   // slow.cc: fast paths that are not taken
void judge_run(LogState& state);    // run.cc: the verdict

}  // namespace railbed::diagnose
