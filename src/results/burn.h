// The result of a burn-in (`railbed burn`): what each GPU did for hours under full load, and the verdict on it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "results/measurement.h"

namespace railbed {

// A kind of load. The first four are products of matrices on the units of that precision, kPcie and kPeers copies to the
// host and between the GPUs of a node. In kCollectives the controller leads all GPUs of all nodes.
enum class BurnPhase { kBf16, kFp16, kFp8, kFp64, kMemory, kPcie, kPeers, kCollectives };
constexpr auto enum_names(BurnPhase) {
  return std::array<std::string_view, 8>{"bf16",   "fp16", "fp8",   "fp64",
                                         "memory", "pcie", "peers", "collectives"};
}
inline constexpr std::size_t kBurnPhases = enum_names(BurnPhase{}).size();
constexpr std::string_view burn_phase_word(BurnPhase phase) {
  return enum_names(phase)[static_cast<std::size_t>(phase)];
}
// Phases of which each GPU has a tally: all but the collectives, whose result is no GPU's own.
inline constexpr std::size_t kGpuPhases = kBurnPhases - 1;
static_assert(static_cast<std::size_t>(BurnPhase::kCollectives) == kGpuPhases);
inline bool is_product(BurnPhase phase) { return phase < BurnPhase::kMemory; }
inline bool is_copy(BurnPhase phase) { return phase == BurnPhase::kPcie || phase == BurnPhase::kPeers; }

// A phase and its part of the time.
struct BurnShare {
  BurnPhase phase = BurnPhase::kBf16;
  int share = 1;  // of the sum of all
  FIELDS(BurnShare, phase, share);
};

// A fault that the test itself made on a GPU (`--inject`). Whatever it causes is marked as injected.
enum class BurnInjection { kWrongResult, kSlow, kWrongCpu, kWrongHostMemory, kWrongDrive, kWrongCollective };
constexpr auto enum_names(BurnInjection) {
  return std::array<std::string_view, 6>{"wrong-result",      "slow",        "wrong-cpu",
                                         "wrong-host-memory", "wrong-drive", "wrong-collective"};
}
struct BurnDrill {
  BurnInjection kind = BurnInjection::kWrongResult;
  int gpu = 0;        // ordinal, on the first node; of the other kinds the number of a CPU or of a drive
  double amount = 0;  // seconds from the start, or percent of the time in which nothing is computed
  FIELDS(BurnDrill, kind, gpu, amount);
};

// The work of one GPU in one phase, summed over all its turns.
struct BurnTally {
  BurnPhase phase = BurnPhase::kBf16;
  std::string skipped = {};    // why it did not run; empty if it did
  bool no_units = false;       // it did not run because the GPU lacks what it needs: units, or a peer
  double seconds = 0;          // that the GPU worked, by its own clock
  double work = 0;             // floating-point operations, or bytes that were read and written
  double rate = 0;             // work in a second: the median of short pieces
  std::uint64_t compared = 0;  // results compared, of a product its elements, of memory its words of 8 bytes
  std::uint64_t wrong = 0;     // of these, those that differed
  double watts = 0;            // mean of the samples in the phase; 0: none
  double clock = 0;            // MHz, likewise
  int temperature = 0;         // °C, the highest; 0: not known
  std::string digest = {};  // of the reference result; equal on sound GPUs of one kind. Empty: of no product
  bool by_place = false;    // the rate depends on the GPU's place in its node, so siblings are not compared
  FIELDS(BurnTally, phase, skipped, no_units, seconds, work, rate, compared, wrong, watts, clock, temperature,
         digest, by_place);
};

// One comparison in which results differed.
struct BurnFault {
  BurnPhase phase = BurnPhase::kBf16;
  double at = 0;               // seconds from the start of the burn
  std::uint64_t elements = 0;  // that differed
  std::uint64_t first = 0;     // index of the first of them; of memory the offset in 8 bytes
  std::string bits = {};       // all bits that differed, "0000000000000400"
  std::string of = {};  // what differed: "result", "reference", "factors", "memory", "memory kept", "copy"
  std::optional<int> temperature = {};
  bool injected = false;
  std::optional<int> peer = {};  // ordinal of the GPU that a copy went to
  FIELDS(BurnFault, phase, at, elements, first, bits, of, temperature, injected, peer);
};

struct BurnXid {
  int code = 0;
  double at = 0;  // seconds from the start of the burn
  FIELDS(BurnXid, code, at);
};

// The course of a burn: means over equal intervals, at most kMostBurnPoints of them. When they are full, two
// become one and the interval doubles, so that memory does not grow with the time.
inline constexpr std::size_t kMostBurnPoints = 120;
struct BurnCourse {
  double interval = 1;  // seconds
  std::vector<int> watts = {};
  std::vector<int> clock = {};        // MHz
  std::vector<int> temperature = {};  // °C
  FIELDS(BurnCourse, interval, watts, clock, temperature);
};

// A reason for lower clocks, and the number of samples in which NVML gave it.
struct BurnSlowdown {
  std::string reason = {};  // "power cap", "power brake", …
  std::uint64_t samples = 0;
  FIELDS(BurnSlowdown, reason, samples);
};

// All of one GPU.
struct BurnGpu {
  int ordinal = 0;  // in PCI order on its node
  std::string address = {};
  std::string name = {};
  bool began = false;        // its first phase began
  bool ended = false;        // its work came to its end
  std::string trouble = {};  // why it ended early; empty if it did not
  double seconds = 0;        // from the start of the burn to this report
  std::string phase = {};    // the present one; empty after the end
  std::string library = {};  // cuBLAS's version
  std::uint64_t side = 0;    // of the matrices
  std::uint64_t memory = 0;  // bytes of its memory that were tested
  std::vector<BurnTally> tallies = {};
  std::uint64_t fault_count = 0;
  std::vector<BurnFault> faults = {};  // the first of them
  std::vector<BurnXid> xids = {};      // likewise
  std::string no_samples = {};         // why NVML gave none; empty if it did
  std::uint64_t samples = 0;
  double watts = 0;  // mean of all samples
  double watts_max = 0;
  double watts_limit = 0;  // enforced; 0: not known
  double paused = 0;       // seconds without work, so that --watts is kept
  int temperature = 0;     // °C, the highest; 0: not known
  int memory_temperature = 0;
  int clock_max = 0;  // MHz that the GPU can have
  std::vector<BurnSlowdown> slowdowns = {};
  std::optional<std::uint64_t> ecc_uncorrectable = {};  // more than at the start; nullopt: not known
  std::optional<std::uint64_t> ecc_corrected = {};
  std::optional<std::uint64_t> pcie_replays = {};
  std::map<std::string, std::uint64_t> nvlink_errors = {};
  BurnCourse course = {};
  FIELDS(BurnGpu, ordinal, address, name, began, ended, trouble, seconds, phase, library, side, memory,
         tallies, fault_count, faults, xids, no_samples, samples, watts, watts_max, watts_limit, paused,
         temperature, memory_temperature, clock_max, slowdowns, ecc_uncorrectable, ecc_corrected,
         pcie_replays, nvlink_errors, course);
};

// One comparison on a CPU in which results differed.
struct BurnHostFault {
  int cpu = 0;                 // logical, as in /proc/cpuinfo
  double at = 0;               // seconds from the start of the burn
  std::string of = {};         // "product", "integers", "memory", "memory kept"
  std::uint64_t elements = 0;  // that differed
  std::uint64_t first = 0;  // index of the first of them; of memory the offset in 8 bytes, in that CPU's part
  std::string bits = {};    // all bits that differed
  bool injected = false;
  FIELDS(BurnHostFault, cpu, at, of, elements, first, bits, injected);
};

// The processors and the memory of one node (`--host`).
struct BurnHost {
  bool began = false;
  bool ended = false;          // its work came to its end
  std::string trouble = {};    // why it ended early; empty if it did not
  double seconds = 0;          // from the start of the burn to this report
  std::string processor = {};  // its model; empty: not known
  std::string units = {};      // what the products use: "AVX-512", "AVX2", "SSE2", "NEON"
  int cpus = 0;                // that worked
  std::uint64_t memory = 0;    // bytes that were tested
  bool gave_back = false;      // memory became short, so that part of the test ended early
  double products = 0;         // FLOP/s of all CPUs together, by their own clocks
  double memory_rate = 0;      // bytes that all CPUs together wrote and read in a second
  std::uint64_t compared = 0;  // products' elements, and words of memory
  std::uint64_t fault_count = 0;
  std::vector<BurnHostFault> faults = {};               // the first of them
  std::optional<std::uint64_t> ecc_uncorrectable = {};  // more than at the start (EDAC); nullopt: not known
  std::optional<std::uint64_t> ecc_corrected = {};
  std::optional<std::uint64_t> throttled = {};  // times that a core was too hot
  FIELDS(BurnHost, began, ended, trouble, seconds, processor, units, cpus, memory, gave_back, products,
         memory_rate, compared, fault_count, faults, ecc_uncorrectable, ecc_corrected, throttled);
};

// A block of a drive's file that was read wrong, or of which the drive gave back an older content.
struct BurnDriveFault {
  double at = 0;               // seconds from the start of the burn
  std::uint64_t elements = 0;  // words of 8 bytes that differed
  std::uint64_t first = 0;     // offset of the first of them in the file, in bytes
  std::string bits = {};       // all bits that differed
  std::string of = {};         // "written": never read right since it was written; "kept": it had been
  std::string again = {};      // what a second read gave: "same", "right", "other", "failed"
  bool stale = false;          // it holds what was written there before
  bool injected = false;
  FIELDS(BurnDriveFault, at, elements, first, bits, of, again, stale, injected);
};

// A drive below a file system. Of counters only what came since the start; nullopt: not known.
struct BurnDevice {
  std::string name = {};       // nvme0n1, sda
  std::string model = {};      // empty: not known
  std::string address = {};    // of an NVMe controller on PCI; else empty
  std::string no_health = {};  // why the SMART / Health page is not known; empty if it is
  int warning = 0;             // critical warnings that it gave, as bits: hardware/nvme_warning.h
  int warned_before = 0;       // those that it gave at the start
  int used = 0;                // percent of its rated endurance
  int spare = 0;               // percent
  int temperature = 0;         // °C, the highest; 0: not known
  std::optional<std::uint64_t> media_errors = {};
  std::optional<std::uint64_t> log_entries = {};  // of its error log
  std::optional<std::uint64_t> hot_minutes = {};  // above its warning or its critical temperature
  std::optional<std::uint64_t> throttled = {};    // seconds slowed down by its own thermal management
  std::optional<std::uint64_t> unsafe_shutdowns = {};
  std::optional<std::uint64_t> pcie_corrected = {};
  std::optional<std::uint64_t> pcie_uncorrected = {};
  std::string link_before = {};  // "16 GT/s x4"; empty: not known
  std::string link = {};         // one that was below that; else empty
  std::string no_log = {};       // why the kernel's log is not known; empty if it is
  std::uint64_t log_errors = 0;  // of the kernel's log
  std::string log_error = {};    // one of them
  FIELDS(BurnDevice, name, model, address, no_health, warning, warned_before, used, spare, temperature,
         media_errors, log_entries, hot_minutes, throttled, unsafe_shutdowns, pcie_corrected,
         pcie_uncorrected, link_before, link, no_log, log_errors, log_error);
};

// A file on one file system (`--drives`), and the drives below.
struct BurnDrive {
  int ordinal = 0;                 // on its node
  std::string folder = {};         // in which the file is; it has no name
  std::string system = {};         // type of the file system
  bool named = false;              // by --drive-paths
  bool rotational = false;         // or one of the drives is
  std::string family = {};         // what siblings have in common: "2 x MODEL, md"; empty: no model is known
  std::string skipped = {};        // why it is not tested; empty if it is
  bool began = false;              // the first block was written
  bool ended = false;              // its work came to its end
  std::string trouble = {};        // why it ended early; empty if it did not
  double seconds = 0;              // from the start of the burn to this report
  std::uint64_t bytes = 0;         // of the file at most
  std::uint64_t most_written = 0;  // bytes in the whole burn
  std::uint64_t held = 0;          // bytes of the file that were written and are compared
  std::uint64_t written = 0;       // bytes
  std::uint64_t read = 0;          // likewise
  std::optional<std::uint64_t> reached = {};  // bytes read of its drives, by whomever; nullopt: not known
  bool full = false;                          // the file system became full while the file was written
  bool gave_back = false;                     // or nearly so, and the file was given up for others
  double rate = 0;                            // bytes in a second, of reads
  double write_rate = 0;                      // likewise
  std::uint64_t compared = 0;                 // words of 8 bytes
  std::uint64_t fault_count = 0;              // blocks
  std::vector<BurnDriveFault> faults = {};    // the first of them
  std::uint64_t failed_reads = 0;
  std::string failed_read = {};  // the first of them
  std::vector<BurnDevice> devices = {};
  FIELDS(BurnDrive, ordinal, folder, system, named, rotational, family, skipped, began, ended, trouble,
         seconds, bytes, most_written, held, written, read, reached, full, gave_back, rate, write_rate,
         compared, fault_count, faults, failed_reads, failed_read, devices);
};

// A node's port on a rail (`--rails`).
struct BurnPort {
  std::string rail = {};
  std::string node = {};
  std::string interface = {};
  std::string skipped = {};  // why it was not loaded; empty if it was
  std::string engine = {};   // "rdma", "tcp"; empty before its first turn
  int turns = 0;             // directions that were measured, with whichever node
  int wrong = 0;             // of these, those in which data arrived changed
  int failed = 0;            // of these, those that failed for another reason
  double seconds = 0;        // under load, both directions added
  double sent = 0;           // B/s: the median of the turns
  double received = 0;       // likewise
  double ceiling = 0;        // B/s of each direction; 0: not known, or only claimed by a virtual device
  std::string ceiling_name = {};
  std::uint64_t packets = 0;  // in its turns, of both ends
  std::uint64_t lost = 0;     // of these
  std::map<std::string, std::int64_t> counters =
      {};  // those of trouble that moved: "mlx5_0/1 out_of_sequence"
  FIELDS(BurnPort, rail, node, interface, skipped, engine, turns, wrong, failed, seconds, sent, received,
         ceiling, ceiling_name, packets, lost, counters);
};

// A turn in which a rail failed.
struct BurnRailFault {
  double at = 0;  // seconds from the start of the burn
  std::string rail = {};
  std::string from = {};  // node
  std::string to = {};
  bool wrong = false;  // data arrived changed; else nothing arrived
  std::string cause = {};
  std::string remedy = {};
  FIELDS(BurnRailFault, at, rail, from, to, wrong, cause, remedy);
};
inline constexpr std::size_t kMostRailFaults = 256;  // that are described; all are counted

// Ports with the same ceiling, in one direction.
struct BurnRailFamily {
  std::string name = {};  // the ceiling
  std::string what = {};  // "sent", "received"
  int ports = 0;
  double median = 0;  // B/s
  double low = 0;
  double high = 0;
  double spread = 0;                    // as in BurnFamily
  std::optional<double> smallest = {};  // likewise
  double ceiling = 0;                   // B/s
  FIELDS(BurnRailFamily, name, what, ports, median, low, high, spread, smallest, ceiling);
};

// The rails of all nodes.
struct BurnRails {
  int turns = 0;
  std::uint64_t bytes = 0;    // sent
  std::uint64_t checked = 0;  // of these, bytes that were compared
  std::uint64_t fault_count = 0;
  std::vector<BurnRailFault> faults = {};  // the first of them
  std::vector<BurnPort> ports = {};
  std::vector<BurnRailFamily> families = {};
  FIELDS(BurnRails, turns, bytes, checked, fault_count, faults, ports, families);
};

// A turn of the collectives in which a result was wrong, or which failed.
struct BurnCollectiveFault {
  double at = 0;                       // seconds from the start of the burn
  std::uint64_t elements = 0;          // that were wrong, over all GPUs; 0: it failed
  std::vector<std::string> gpus = {};  // that got wrong elements, "GPU 3 of gpu02"; the first of them
  int gpu_count = 0;                   // all of them
  std::string cause = {};              // why it failed
  std::string remedy = {};
  bool injected = false;
  FIELDS(BurnCollectiveFault, at, elements, gpus, gpu_count, cause, remedy, injected);
};
inline constexpr std::size_t kMostCollectiveFaults = 64;  // that are described; all are counted
inline constexpr std::size_t kMostWrongGpus = 8;          // of one fault, that are named

// NCCL's all_reduce over all GPUs (`--collectives`).
struct BurnCollectives {
  std::string skipped = {};  // why a turn was left out, the last of these; empty if none was
  int left_out = 0;          // turns that were left out
  std::string version = {};  // NCCL's
  int gpus = 0;              // of the largest turn
  int nodes = 0;             // likewise
  int turns = 0;             // in which something was measured
  int smaller = 0;           // of these, those with fewer GPUs
  int interrupted = 0;       // turns that ended because a node was away
  int drills = 0;            // drills that were made
  std::uint64_t bytes = 0;   // of one operation, the largest
  double rate = 0;           // bus bandwidth of that size in B/s: the median of the turns' medians
  double low = 0;            // the slowest turn
  double high = 0;           // the fastest
  double ceiling = 0;        // B/s; 0: not known
  std::string ceiling_name = {};
  bool by_links =
      false;  // the ceiling is one of NVLinks or RDMA ports, which operations of this size come near to
  std::string note = {};       // why NCCL took another way than it could
  std::uint64_t compared = 0;  // bytes of results
  std::uint64_t fault_count = 0;
  std::vector<BurnCollectiveFault> faults = {};  // the first of them
  FIELDS(BurnCollectives, skipped, left_out, version, gpus, nodes, turns, smaller, interrupted, drills, bytes,
         rate, low, high, ceiling, ceiling_name, by_links, note, compared, fault_count, faults);
};

struct BurnNode {
  std::string node = {};
  std::string trouble = {};  // why nothing could be burned in, or why the node was lost; empty if neither
  bool lost = false;         // it had started
  double lost_after = 0;     // seconds from its start to its last report
  double away = 0;           // seconds in which the controller did not reach it, and it worked on
  bool unseen = false;       // it ended early, because no controller looked for too long
  std::vector<BurnGpu> gpus = {};
  std::string peers_trouble = {};     // why the copies between its GPUs ended early; empty if they did not
  std::optional<BurnHost> host = {};  // nullopt unless it was asked for
  std::vector<BurnDrive> drives = {};
  FIELDS(BurnNode, node, trouble, lost, lost_after, away, unseen, gpus, peers_trouble, host, drives);
};

// In the order in which they are shown. kUnknown: it could not be tested, so nothing is known.
enum class BurnStatus { kFailure, kUnknown, kWarning, kNote };
constexpr auto enum_names(BurnStatus) {
  return std::array<std::string_view, 4>{"fail", "unknown", "warn", "note"};
}

// One thing that the verdict names.
struct BurnFinding {
  BurnStatus status = BurnStatus::kNote;
  std::string node = {};     // empty: all
  int gpu = -1;              // ordinal; -1: the node, or all
  std::string what = {};     // "wrong-result", "slow", "lost", …: docs/reference/burn.md lists them
  std::string message = {};  // one sentence
  std::string remedy = {};   // what to do; may be empty
  bool injected = false;
  FIELDS(BurnFinding, status, node, gpu, what, message, remedy, injected);
};

// The GPUs of one product in one phase.
struct BurnFamily {
  std::string name = {};
  BurnPhase phase = BurnPhase::kBf16;
  int gpus = 0;
  double median = 0;                      // work in a second
  double low = 0;                         // the slowest
  double high = 0;                        // the fastest
  double spread = 0;                      // robust standard deviation as a share of the median
  std::optional<double> smallest = {};    // the smallest share that a GPU may be slower and still be found
  std::optional<double> data_sheet = {};  // of the product; nullopt: no table has it
  double watts = 0;                       // mean
  FIELDS(BurnFamily, name, phase, gpus, median, low, high, spread, smallest, data_sheet, watts);
};

// The processors of one model, by node.
struct BurnHostFamily {
  std::string name = {};
  std::string what = {};  // "products", "memory"
  int nodes = 0;
  double median = 0;  // FLOP/s, or B/s
  double low = 0;
  double high = 0;
  double spread = 0;                    // as in BurnFamily
  std::optional<double> smallest = {};  // likewise
  FIELDS(BurnHostFamily, name, what, nodes, median, low, high, spread, smallest);
};

// Drives of one model.
struct BurnDriveFamily {
  std::string name = {};
  int drives = 0;
  double median = 0;  // B/s, of reads
  double low = 0;
  double high = 0;
  double spread = 0;                    // as in BurnFamily
  std::optional<double> smallest = {};  // likewise
  FIELDS(BurnDriveFamily, name, drives, median, low, high, spread, smallest);
};

struct BurnReport {
  double planned = 0;    // seconds
  double seconds = 0;    // that the burn lasted
  bool stopped = false;  // by Ctrl-C
  double watts_cap = 0;  // of --watts, for each GPU; 0: none
  std::vector<BurnShare> phases = {};
  std::vector<BurnDrill> injected = {};
  bool drives = false;  // drives were to be tested
  std::vector<BurnNode> nodes = {};
  std::vector<BurnFamily> families = {};
  std::vector<BurnHostFamily> host_families = {};
  std::vector<BurnDriveFamily> drive_families = {};
  std::optional<BurnRails> rails = {};              // nullopt without --rails
  std::optional<BurnCollectives> collectives = {};  // nullopt without that phase
  std::vector<BurnFinding> findings = {};           // failures first
  FIELDS(BurnReport, planned, seconds, stopped, watts_cap, phases, injected, drives, nodes, families,
         host_families, drive_families, rails, collectives, findings);
};

}  // namespace railbed
