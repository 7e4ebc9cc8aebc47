// Burn-in of a node's GPUs, processors and drives, as it runs on the node: the request to an agent, and its reply.
//
// Each GPU and each drive has a child process of its own, so that one that hangs or falls off the bus disturbs no other. A
// child sends the whole state (BurnGpu, BurnDrive) every second or two; the agent keeps the last one. The controller
// reads it at any time, so a burn costs no memory for the time that it lasts.
//
// All children follow the same timetable, counted from the same moment: all GPUs are in the same phase, and load
// the power supplies and the cooling together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "results/burn.h"

namespace railbed {

inline constexpr double kLongestBurn = 14 * 86'400;  // seconds
inline constexpr int kMostBurnGpus = 64;
inline constexpr std::size_t kMostBurnDrives = 64;
inline constexpr std::size_t kMostDrivePaths = 16;
inline constexpr std::size_t kMostDevices = 32;  // below one file system, that are described

// The parts of a node that are loaded.
enum class BurnLoad { kGpus, kGpusAndHost, kHost, kDrives, kRails };
constexpr auto enum_names(BurnLoad) {
  return std::array<std::string_view, 5>{"gpus", "gpus-and-host", "host", "drives", "rails"};
}

// The drives that are loaded beside that, and how much they are written.
struct BurnDrivePlan {
  std::vector<std::string> paths;  // folders; empty: one on each local drive that this user may write
  std::uint64_t writes = 0;  // bytes that each gets at most in the whole burn; 0: by the file system's size
  FIELDS(BurnDrivePlan, paths, writes);
};

// Lets a node's work go on without its controller: a process of its own holds it (held_burn.h).
struct BurnKeep {
  std::string name;   // of lower-case letters, digits and "-"; no other burn-in of this user there has it
  double unseen = 0;  // seconds without a look, after which it ends
  FIELDS(BurnKeep, name, unseen);
};
inline constexpr std::size_t kLongestBurnName = 64;

struct BurnPlan {
  BurnLoad load = BurnLoad::kGpus;
  std::vector<int> gpus;  // ordinals; empty: all
  double seconds = 3600;
  std::vector<BurnShare> phases;
  double watts = 0;               // mean of each GPU that must not be exceeded; 0: no limit
  double patience = 60;           // seconds that one step may take
  std::uint64_t memory = 0;       // bytes that each GPU's memory phase takes at most; 0: what can be spared
  std::uint64_t host_memory = 0;  // bytes of the node's memory that are tested at most; 0: what can be spared
  std::uint64_t side = 0;         // of the matrices; 0: by the memory
  std::string cublas;             // cublasLt's file; empty: the usual places
  std::string nccl;               // NCCL's file; likewise
  std::vector<BurnDrill> drills;
  std::optional<BurnDrivePlan> drives;
  bool rails = false;            // the controller loads the rails between the nodes meanwhile
  std::optional<BurnKeep> keep;  // nullopt: the work ends with its agent
  FIELDS(BurnPlan, load, gpus, seconds, phases, watts, patience, memory, host_memory, side, cublas, nccl,
         drills, drives, rails, keep);
  bool has_gpus() const { return load == BurnLoad::kGpus || load == BurnLoad::kGpusAndHost; }
  bool has(BurnPhase phase) const {
    return std::ranges::find(phases, phase, &BurnShare::phase) != phases.end();
  }
  bool has_host() const { return load == BurnLoad::kHost || load == BurnLoad::kGpusAndHost; }
};
// Checks a plan from an untrusted caller. Fails if a number is outside its limits.
Result<void> check_burn(const BurnPlan& plan);

// Returns the phases and shares of a burn that names none.
std::vector<BurnShare> default_burn_phases();
// Returns the share of collectives beside those, if they are wanted.
inline constexpr int kCollectivesShare = 15;
// Returns those that are products of matrices, with equal shares.
std::vector<BurnShare> product_phases();

// The timetable: the time is divided into rounds of at most two minutes, at least two of them, and each round into all
// phases by their shares. With collectives a round may last ten minutes, because NCCL needs many seconds to start.
struct BurnTurn {
  std::size_t phase = 0;  // index in the plan's phases
  double ends = 0;        // seconds from the start of the burn
};
// Returns the turn at this moment, in seconds from the start. Precondition: there is a phase with a share above 0.
BurnTurn burn_turn(const std::vector<BurnShare>& phases, double seconds, double at);

// The present turn of a phase, or its next one. Seconds from the start of the burn.
struct BurnSpan {
  double begin = 0;  // of the present turn: `at`
  double end = 0;
};
// Returns nullopt if the phase has no turn any more.
std::optional<BurnSpan> burn_span(const BurnPlan& plan, BurnPhase phase, double at);

// Returns the phase of this moment. Precondition: as of burn_turn().
BurnPhase burn_phase_at(const BurnPlan& plan, double at);

// The bit that a drill flips, in a word of 8 bytes.
inline constexpr std::uint64_t kDrillBit = std::uint64_t{1} << 10;
// Returns the moments of the drills of one kind on one GPU, CPU or drive, in order.
std::vector<double> drill_moments(const BurnPlan& plan, BurnInjection kind, int which);
// Returns true if the first moment has come, and removes it.
bool take_due(std::vector<double>& moments, double at);

// Adds a sample to the course. Samples come about once in a second.
class BurnCourseKeeper {
 public:
  void add(double seconds, int watts, int clock, int temperature);
  const BurnCourse& course() const { return course_; }

 private:
  struct Sum {
    int count = 0;
    double watts = 0, clock = 0, temperature = 0;
  };
  void close();
  BurnCourse course_;
  Sum sum_;
};

// The median of rates, with bounded memory: when it is full, every other rate goes, and from then on every other one
// is taken.
class BurnRates {
 public:
  void add(double rate);
  double median() const;  // 0 without rates

 private:
  std::vector<double> rates_;
  std::uint64_t count_ = 0;
  std::uint64_t stride_ = 1;
};

inline constexpr std::size_t kMostFaults =
    16;  // of one GPU, host or drive, that are described; all are counted

inline constexpr std::string_view kBurnFind = "bench.burn.find";    // BurnPlan → BurnFound; loads nothing
inline constexpr std::string_view kBurnBegin = "bench.burn.begin";  // BurnPlan → BurnName
inline constexpr std::string_view kBurnLook = "bench.burn.look";    // BurnName → BurnState
inline constexpr std::string_view kBurnEnd = "bench.burn.end";  // BurnName → BurnState, and stops the work

// The GPUs and drives that a plan would load.
struct BurnFound {
  std::vector<std::string> names;
  std::vector<double> watts;  // power limit of each GPU; 0: not known
  std::vector<BurnDrive> drives;
  FIELDS(BurnFound, names, watts, drives);
};
struct BurnName {
  std::string session;
  bool held = false;  // by a process of its own: then any agent on the node knows the session
  FIELDS(BurnName, session, held);
};
struct BurnState {
  std::vector<BurnGpu> gpus;
  std::string peers_trouble;  // why the copies between the GPUs ended early; empty if they did not
  std::optional<BurnHost> host;
  std::vector<BurnDrive> drives;
  bool ended = false;   // all of the node's work
  bool unseen = false;  // it ended early, because no controller looked
  std::string gone;     // why the process that held the work died before its end; empty if it did not
  FIELDS(BurnState, gpus, peers_trouble, host, drives, ended, unseen, gone);
};

}  // namespace railbed
