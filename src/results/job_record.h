// The record of a job on a node (`railbed job`): a look before it, a look after it, and the changes in between. Records
// are read back from files that others may have written: their texts are untrusted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed {

inline constexpr int kJobRecordVersion = 1;

// The counters by their names in the kernel and in NVML; those that could not be read are not there.
using JobCounters = std::map<std::string, std::uint64_t>;

// An RDMA port. Counters are those of counters/ and hw_counters/ that a fault moves.
struct JobPort {
  std::string state = {};  // "ACTIVE"
  std::string rate = {};   // "4X NDR"
  JobCounters counters = {};
  FIELDS(JobPort, state, rate, counters);
};

// An interface with a device. Counters: carrier_changes, rx_errors, and those of its driver that a fault moves.
struct JobInterface {
  std::string rdma = {};             // the RDMA device on it: "mlx5_0"; empty if none
  std::optional<bool> on = {};       // `ip link set up`
  std::optional<bool> carrier = {};  // the link is there
  JobCounters counters = {};
  FIELDS(JobInterface, rdma, on, carrier, counters);
};

// A GPU, by NVML. MHz, watts, degrees Celsius.
struct JobGpu {
  std::string unread = {};  // why it could not be read; empty if it was
  std::string uuid = {};
  std::string name = {};
  // ecc_uncorrectable, ecc_corrected, pcie_replays, energy (mJ): since the driver was loaded.
  // ecc_lifetime, rows_remapped_corrected, rows_remapped_uncorrectable, pages_retired: in the GPU's life.
  JobCounters counters = {};
  JobCounters nvlink = {};  // error counters by name, summed over the links
  JobCounters held_back =
      {};  // nanoseconds since the driver was loaded, by the reason's word (hardware/gpu_slowdown.h)
  std::optional<bool> remap_pending = {};
  std::optional<bool> remap_failed = {};
  std::string recovery_action = {};  // "none", "reset", …; empty if the driver does not report it
  std::optional<int> nvlinks = {};   // links that are active
  std::optional<int> pcie_generation_max = {};
  std::optional<int> pcie_width_max = {};
  std::optional<int> pcie_width = {};
  std::optional<int> sm_clock = {};
  std::optional<int> memory_clock = {};
  std::optional<int> temperature = {};
  std::optional<int> memory_temperature = {};
  std::optional<double> power = {};
  std::optional<double> power_limit = {};
  std::optional<std::uint64_t> event_reasons = {};  // bits, at this moment
  FIELDS(JobGpu, unread, uuid, name, counters, nvlink, held_back, remap_pending, remap_failed,
         recovery_action, nvlinks, pcie_generation_max, pcie_width_max, pcie_width, sm_clock, memory_clock,
         temperature, memory_temperature, power, power_limit, event_reasons);
};

// One look at a node.
struct JobLook {
  double time = 0;                                      // Unix seconds
  double took = 0;                                      // seconds
  std::string boot_id = {};                             // empty if unknown
  std::optional<double> uptime = {};                    // seconds
  std::string driver = {};                              // version of NVIDIA's driver; empty if none is loaded
  std::map<std::string, JobPort> ports = {};            // by "mlx5_0/1"
  std::map<std::string, JobInterface> interfaces = {};  // by name
  // By address: AER's correctable, nonfatal, fatal, and each error by its name ("fatal CmpltTO"); of devices that count any.
  std::map<std::string, JobCounters> pci = {};
  std::map<std::string, JobGpu> gpus = {};  // by PCI address
  std::vector<std::string> unread = {};     // what could not be read, and why
  FIELDS(JobLook, time, took, boot_id, uptime, driver, ports, interfaces, pci, gpus, unread);
};

enum class JobStatus { kFailure, kWarning, kUnknown, kNote };
constexpr auto enum_names(JobStatus) {
  return std::array<std::string_view, 4>{"fail", "warn", "unknown", "note"};
}

// Whose fault a change may be.
enum class JobFault {
  kHardware,   // this node's hardware
  kLink,       // a cable, its module, or the port at either end
  kNetwork,    // something between this node and its peers, or a peer
  kNode,       // this node: hardware, firmware, driver or system; which of them is open
  kProgram,    // a program of the job
  kPeople,     // somebody with root's rights, or a service
  kUndecided,  // the change alone does not show it
  kNobody,     // no fault
};
constexpr auto enum_names(JobFault) {
  return std::array<std::string_view, 8>{"hardware", "link",   "network",   "node",
                                         "program",  "people", "undecided", "nobody"};
}

struct JobChange {
  JobStatus status = JobStatus::kNote;
  JobFault fault = JobFault::kUndecided;
  std::string what = {};     // "link-lost": the kind of change
  std::string thing = {};    // "mlx5_2/1", "0000:9b:00.0"; empty for the node
  std::string message = {};  // one sentence, with whose fault it may be
  std::string remedy = {};   // what to do; may be empty
  FIELDS(JobChange, status, fault, what, thing, message, remedy);
};

struct JobRecord {
  int version = kJobRecordVersion;
  std::string id = {};
  std::string node = {};
  std::string railbed = {};  // version of the program that wrote it
  std::string gpus = {};     // as Slurm names the job's GPUs on this node; empty if it does not
  int begun = 0;             // how often `job begin` ran: more than once if the job was started again
  std::optional<JobLook> begin = {};
  std::optional<JobLook> end = {};
  std::vector<std::string> beside = {};  // other jobs of the same time on this node
  std::vector<JobChange> changes = {};   // the worst first; judged at the end
  FIELDS(JobRecord, version, id, node, railbed, gpus, begun, begin, end, beside, changes);
};

// The record of a job on one node of several; nullopt with the reason why there is none.
struct NodeJob {
  std::string node = {};  // as the controller names it
  std::optional<JobRecord> record = {};
  std::string why = {};
  FIELDS(NodeJob, node, record, why);
};

// Returns the length of the job in seconds: by the uptime if the node did not restart, since clocks may be set. Nullopt
// without both looks, or if the clock went back over a restart.
std::optional<double> seconds_of(const JobRecord& record);
// Returns true if both looks know their boot and it is not the same one.
bool restarted(const JobRecord& record);
// Returns the exit code of a record: 3 if it has no end or no begin, else by its worst change.
int exit_code(const JobRecord& record);
// The same for the nodes of a job: failures of any of them first; a node without a record could not be looked at.
int exit_code(const std::vector<NodeJob>& nodes);

}  // namespace railbed
