// The state of the log reader between lines.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "nccl/log.h"
#include "nccl/log_line.h"

namespace railbed::nccl {

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

// A line of the log that may contradict a symptom.
struct LogSight {
  std::uint64_t line = 0;  // 0: not seen
  std::string text = {};
};

struct LogState {
  Log log;
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
  // Observations that refute symptoms (log_rivals.cc).
  LogSight memlock_unlimited;
  LogSight memlock_limited;
  LogSight mig;                                       // a device of the job is a slice of a GPU
  LogSight tests_shape;                               // "# nThread 1 nGpus 8 …" of nccl-tests
  int tests_gpus = 0;                                 // number of GPUs that each of its processes asks for
  std::map<std::string, std::set<int>> tests_failed;  // its processes that failed, by host
  bool dma_buf = false;
  bool network_lines = false;     // NCCL_DEBUG_SUBSYS included NET
  std::size_t ranks = 0;          // in all communicators
  std::size_t kept = 0;           // number of items that has_room() permitted
  std::size_t collected = 0;      // lines that a log collector wrapped
  std::size_t not_collected = 0;  // lines that only look like it

  // Returns whether one more item may be kept in the lists that grow with a log, and counts it.
  bool has_room();
  void read_line(std::string_view line);
  void read_text(std::string_view line);  // after removal of a log collector's wrapper
  void read_record(const LogLine& line);
  // Returns the process of the line, which is added if it is new; the first process if there is no room for
  // more.
  LogProcess& process_of(const LogLine& line);
  // Returns the rank that the line belongs to and sets `place`; null if the log has not shown it yet.
  LogRank* rank_of(LogProcess& process, const LogLine& line, RankPlace* place = nullptr);
  LogRank& at(RankPlace place) { return log.communicators[place.communicator].ranks[place.rank]; }
  // Moves the rank forward to this step, never back.
  void advance(LogRank& rank, Step step);

  // Each reads one kind of message and returns whether the line was one (log_*.cc).
  bool read_versions(const LogLine& line);
  bool read_variable(LogProcess& process, const LogLine& line);
  bool read_network(LogProcess& process, const LogLine& line);
  bool read_communicator(LogProcess& process, const LogLine& line);
  bool read_connection(LogProcess& process, const LogLine& line);
  bool read_shape(LogProcess& process, const LogLine& line);
  bool read_operation(LogProcess& process, const LogLine& line);
  bool read_tuning(const LogLine& line);
  void read_torch(std::string_view line);
  // Returns whether the line is PyTorch's quotation of the last NCCL WARN, or announces it.
  bool read_last_error(std::string_view line);
  // Matches the text against the table of symptoms and counts the problem. `process` and `rank` are null if
  // unknown; `warning`: it is a NCCL WARN.
  void read_symptom(std::string_view text, const LogProcess* process, const LogRank* rank, bool warning);
  // Keeps what the line tells about limits, devices and the shape of nccl-tests.
  void read_sights(std::string_view line);
  // Reads a warning of NCCL that the program repeats; it counts only if NCCL's own line is not in the log.
  void read_quoted(std::string_view text);
};

// Adds `value` if it is not in the list and the list is shorter than `limit`.
void add_once(std::vector<std::string>& list, std::string_view value, std::size_t limit = 1000);

// Returns whether an interface's name is that of a bridge that container and virtual machine tools make.
bool is_bridge(std::string_view name);

// Returns the hosts of the ranks that the log shows.
std::set<std::string_view> hosts_of(const LogCommunicator& communicator);

// Conclusions from the whole log.
void conclude(LogState& state);      // log_verdict.cc: all of it
void weigh_rivals(LogState& state);  // log_rivals.cc: causes that the log contradicts
void judge_hang(LogState& state);    // log_hang.cc: the ranks that the others waited for
void judge_run(LogState& state);     // log_run.cc: the verdict

}  // namespace railbed::nccl
