// What the log reader keeps between lines.
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

// A rank of a communicator, by their places in Log::communicators and LogCommunicator::ranks.
struct RankPlace {
  std::size_t communicator = 0;
  std::size_t rank = 0;
};

struct LogProcess {
  std::string host = {};
  int id = 0;
  std::vector<RankPlace> ranks = {};                  // in the order they were created
  std::unordered_map<int, RankPlace> by_device = {};  // the newest rank on it
  std::unordered_map<int, RankPlace> by_number = {};  // the newest of that number
  std::unordered_map<int, RankPlace> threads = {};    // the rank that a thread last spoke for
  std::unordered_map<std::string, RankPlace> pointers =
      {};  // "0x2f33a2b0", NCCL's own name of the communicator
  std::set<std::string> networks = {};
  bool no_rdma_device = false;
  bool disabled_ib = false;
  bool no_verbs_library = false;
};

// Whom a problem concerned.
struct LogConcerned {
  std::set<std::string> hosts;
  std::set<int> ranks;
};

struct LogState {
  Log log;
  std::string partial;  // an unfinished last line
  std::string uncoloured;
  std::unordered_map<std::string, std::size_t> process_places;  // "host:pid" → processes
  std::unordered_set<int> process_numbers;                      // PIDs, of whatever host
  std::vector<LogProcess> processes;
  std::size_t last_process = 0;
  std::unordered_map<std::string, std::size_t> communicator_places;
  std::vector<std::unordered_map<int, std::size_t>> rank_places;  // per communicator: rank → place
  std::map<std::pair<std::string, std::string>, std::set<std::size_t>> variables;
  std::map<std::string, std::size_t> problem_places;
  std::vector<LogConcerned> concerned;  // by each of log.problems
  std::map<int, TorchRank> torch;
  std::map<std::tuple<std::string, std::string, int>, LogNic> nics;  // host, device, port
  std::unordered_map<std::string, std::size_t> interface_places;     // host, name, address → log.interfaces
  std::set<std::string, std::less<>> networks;
  // Function, algorithm, protocol → log.choices, and of each cell that log.tuning has.
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> choice_places;
  std::set<std::tuple<std::string, std::string, std::string>> tuning_cells;
  std::vector<std::pair<std::string, std::string>> tuning_columns;  // algorithm, protocol
  // How many operations each rank of the first communicator had called when a watchdog first gave up.
  std::map<int, std::uint64_t> called_at_timeout;
  bool timed_out = false;
  // After PyTorch's "Last error:", what stood before it on its line: the next line behind the same says what
  // NCCL said.
  std::optional<std::string> last_error_prefix;
  bool dma_buf = false;
  bool network_lines = false;     // NCCL_DEBUG_SUBSYS held NET
  std::size_t ranks = 0;          // of all communicators
  std::size_t kept = 0;           // of what has_room() allowed
  std::size_t collected = 0;      // lines that a log collector wrapped
  std::size_t not_collected = 0;  // and that only look like it

  // Whether one thing more may be kept of those that grow with a log. What is asked for is counted.
  bool has_room();
  void read_line(std::string_view line);
  void read_text(std::string_view line);  // without what a log collector put around it
  void read_record(const LogLine& line);
  LogProcess& process_of(const LogLine& line);
  // Null when the log has not said which rank this is.
  LogRank* rank_of(LogProcess& process, const LogLine& line, RankPlace* place = nullptr);
  LogRank& at(RankPlace place) { return log.communicators[place.communicator].ranks[place.rank]; }
  void advance(LogRank& rank, Step step);

  // Each looks at one kind of message and says whether it was one (log_*.cc).
  bool read_versions(const LogLine& line);
  bool read_variable(LogProcess& process, const LogLine& line);
  bool read_network(LogProcess& process, const LogLine& line);
  bool read_communicator(LogProcess& process, const LogLine& line);
  bool read_connection(LogProcess& process, const LogLine& line);
  bool read_shape(LogProcess& process, const LogLine& line);
  bool read_operation(LogProcess& process, const LogLine& line);
  bool read_tuning(const LogLine& line);
  void read_torch(std::string_view line);
  // Whether the line is PyTorch's quotation of the last NCCL WARN, or announces it.
  bool read_last_error(std::string_view line);
  void read_symptom(std::string_view text, const LogProcess* process, const LogRank* rank, bool warning);
  // A warning of NCCL's that the program says again: news only where NCCL's own line is not in the log.
  void read_quoted(std::string_view text);
};

// Adds `value` when it is not there yet, up to `limit`.
void add_once(std::vector<std::string>& list, std::string_view value, std::size_t limit = 1000);

// What follows from the whole log.
void conclude(LogState& state);    // log_verdict.cc: all of it
void judge_hang(LogState& state);  // log_hang.cc: who was waited for
void judge_run(LogState& state);   // log_run.cc: the verdict

}  // namespace railbed::nccl
