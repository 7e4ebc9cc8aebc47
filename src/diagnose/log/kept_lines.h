// The state that each reader (*_lines.cc) keeps between lines, from which questions (sights/) are answered at the end.
// A log is untrusted, so whoever adds to a list here limits it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace railbed::diagnose {

// A line that may confirm or refute a cause.
struct LogSight {
  std::string file = {};
  std::uint64_t line = 0;  // 0: not seen
  std::string text = {};
};

// What one rank printed besides NCCL's own lines (torch_ranks.cc).
struct RankLines {
  LogSight failure = {};   // its first exception or fatal signal that follows from no other rank's
  LogSight error = {};     // its first exception of any kind
  LogSight progress = {};  // its newest line of progress
  LogSight newest = {};    // its newest line that is not the process group's
  LogSight batch = {};     // its newest line with the number of a batch or step
  std::int64_t batch_number = -1;
  std::uint64_t newest_at = 0;
  std::uint64_t failed_at = 0;  // line numbers in all files together
  std::uint64_t progress_at = 0;
  bool local = false;  // known by the launcher's local rank only ("[default0]:")
};

// A watchdog's line: the operation that a rank gave up on.
struct TorchWait {
  int rank = 0;
  std::int64_t number = -1;
  std::string operation = {};
  std::string sizes = {};  // "5056"
  std::string group = {};  // of the process group; empty if unknown
  LogSight sight = {};
};

// What PyTorch's processes printed (torch_ranks.cc, torch_lines.cc).
struct TorchLines {
  std::map<int, RankLines> ranks = {};
  bool local_differs = false;  // a local rank of the launcher is not the rank
  std::vector<TorchWait> waits = {};
  std::set<std::string, std::less<>> groups = {};
  int world = 0;                      // number of ranks of the job; 0: unknown
  LogSight preparation = {};          // the newest line of data preparation without a rank
  std::uint64_t preparation_at = 0;   // line numbers in all files together
  std::uint64_t timed_out_at = 0;     // of the first watchdog line
  std::uint64_t store_failed_at = 0;  // of the first failed wait for NCCL's id
  std::string timed_out_in = {};      // the file of the first watchdog line
  std::string store_failed_in = {};
  std::map<std::string, bool, std::less<>> addressed =
      {};                                  // of `ip -brief address`: name, whether it has an address
  std::map<int, int> parents = {};         // of `ps -o pid,ppid`
  bool in_processes = false;               // the last lines were those of ps
  std::map<int, LogSight> listeners = {};  // TCP ports that a process listens on
  std::map<int, int> exits = {};           // exit code by local rank
  std::set<int> local_ranks = {};          // ranks whose channels stay inside a node (P2P, SHM)
  LogSight p2p = {};                       // the first channel over P2P
  LogSight network = {};                   // the first channel over a network
  // Parameters without a gradient, by rank: their indices as they were printed.
  std::map<int, std::string> without_gradient = {};
};

// The command whose answer the next line has.
enum class DriverAsked {
  kNothing,
  kNvidiaOnPci,     // lspci | grep -ci nvidia
  kNvswitch,        // ls /dev/nvidia-nvswitch* | wc -l
  kFabricManager,   // systemctl is-active nvidia-fabricmanager
  kContext,         // docker context show
  kLibraryPath,     // echo $LD_LIBRARY_PATH
  kKernel,          // uname -r
  kHmm,             // cat /sys/module/nvidia_uvm/parameters/uvm_disable_hmm
  kInitWithoutHmm,  // cuInit after a reload with uvm_disable_hmm=1
  kPstore           // ls -l /sys/fs/pstore
};

// What lines show of GPUs, the driver and container runtimes (gpu_lines.cc).
struct DriverLines {
  DriverAsked asked = DriverAsked::kNothing;
  std::uint64_t unit = 0;   // the line that last named nvidia-fabricmanager
  std::set<int> gpus = {};  // of nvidia-smi -L
  LogSight list = {};
  bool list_is_cut = false;           // nvidia-smi -L | head
  std::set<int> failed = {};          // local ranks that ended with an error
  std::map<int, LogSight> xids = {};  // by number
  LogSight nvlink_fatal = {};         // the first Xid of NVLink that is fatal
  LogSight fm_started_again = {};
  std::set<std::string, std::less<>> cdi_names = {};
  LogSight cdi_version = {};
  int cdi_minor = 0;  // 7 of 0.7.0
  LogSight asked_which_toolkit = {};
  std::uint64_t allocatable = 0;         // the line "Allocatable:" of kubectl describe node
  std::string kernel = {};               // the running one
  std::set<std::string> built_for = {};  // kernels for which DKMS has the driver's module
  LogSight built = {};
  // Of the table that nvidia-smi --query-gpu prints: the columns that are read.
  std::optional<std::size_t> persistence_column = {}, limit_column = {}, state_column = {};
  std::optional<std::size_t> generation_column = {}, most_generation_column = {};
  double limit_watts = 0;   // of all GPUs of the last table
  double supply_watts = 0;  // of all power supplies (dmidecode)
  LogSight supply = {};
  std::uint64_t asked_last = 0;                        // the line of the command last -x; 0 after its answer
  bool after_boot = false;                             // below its line of the last boot
  LogSight slurm_start = {}, slurm_gpus = {};          // srun or #SBATCH; one that asks for GPUs
  LogSight container_start = {}, container_gpus = {};  // docker run; one that asks for GPUs
};

// An active_mtu that ibv_devinfo reports of an active port.
struct RdmaMtu {
  std::string port = {};  // "mlx5_0/1"; empty if the log does not show it
  int bytes = 0;
  // Set by "gpu01:~$ ibv_devinfo -d mlx5_0 | grep mtu", whose output does not name the port; else empty.
  std::string node = {};
  std::string device = {};
  LogSight sight = {};
};

// State that rdma_lines.cc keeps between lines.
struct RdmaLines {
  enum class Command { kOther, kModules, kDevices, kLimit, kInspect, kVersion, kPageSize };
  Command command = Command::kOther;  // the command whose output is read
  bool on_host = false;               // its prompt names the host, beside a container
  bool asks_peer = false;             // its output is filtered for the peer memory module
  std::string adapter = {};           // the CA of ibstat
  std::string device = {};            // the hca_id of ibv_devinfo
  std::string port = {};              // its port
  std::string asked_node = {};        // of the last command, if that was ibv_devinfo -d: the prompt's host
  std::string asked_device = {};      // and the device
  bool port_active = true;
  std::vector<RdmaMtu> mtus = {};
  bool remote = false;  // perftest: the next GID is the remote one
  int lowest_gid = -1;  // the lowest index in show_gids; -1: none
  LogSight lowest_gid_line = {};
  std::map<int, LogSight> link_local_gids = {};  // by index, of show_gids and ibv_devinfo -v
  std::set<int> routable_gids = {};              // indexes at which a port has another GID
  LogSight local_gid = {};
  LogSight remote_gid = {};
  double link_gigabits = 0;        // of ethtool; 0: unknown
  bool asked_opensm = false;       // the last line listed the processes of opensm
  int error_rows = 0;              // rows of an error completion of libmlx5 that are still to come
  bool in_gigabit_table = false;   // the last line was the head of perftest's table in Gb/s, or a row of it
  bool in_test_table = false;      // the last line was the head of any table of perftest, or a row of it
  LogSight test_result = {};       // its last row
  double measured_gigabits = 0;    // perftest's average for large messages; 0: unknown
  bool measured_on_spark = false;  // by the names of DGX Spark's devices
  bool test_on_gpu = false;        // the last command of perftest had a GPU's buffer
  double host_gigabits = 0;        // perftest's average with host memory; 0: unknown
  double gpu_gigabits = 0;         // and with a GPU's
  LogSight measured_gpu = {};
  int iperf_version = 0;      // 7 of 3.7, the oldest; 0: unknown
  double iperf_gigabits = 0;  // of all streams of iperf3 together; 0: unknown
  LogSight iperf = {};
  LogSight measured = {};
  std::set<std::string, std::less<>> test_versions = {};  // of perftest
  std::set<std::string, std::less<>> zones = {};          // of AWS
  std::set<std::string, std::less<>> retry_targets = {};  // LIDs and GIDs to which UCX sent
  std::set<std::string, std::less<>> retry_hosts = {};    // hosts whose UCX reports retries without an answer
};

// What a job or a step of Slurm has, from "scontrol show". -1: not known.
struct SlurmShare {
  std::string step = {};  // "1135.617", empty for the job
  LogSight sight = {};
  double cpus = -1;
  double mebibytes = -1;
  double gpus = -1;
};

// What launchers print in more than one line (launcher_lines.cc).
struct LauncherLines {
  std::set<std::string> ray_addresses;  // under which nodes joined Ray
  LogSight ray_address;
  std::string vllm_address;  // VLLM_HOST_IP
  LogSight ray_gpus;         // "3.0/3.0 GPU" of ray status
  double ray_used = 0;
  double ray_total = -1;
  SlurmShare job;
  std::vector<SlurmShare> steps;
  bool in_step = false;   // the last line was about a step
  std::string munge_key;  // the first hash of munge.key
  LogSight same_key;
  LogSight other_key;
  std::set<int> sought_ports;  // an ss was run to find their listener
  std::set<int> open_ports;
  LogSight sought;
  LogSight opened;
  LogSight shm_small;  // /dev/shm has 64 MiB or is full
  LogSight shm_roomy;
  LogSight srun_with_mpi;
  LogSight srun_without_mpi;
  std::string first_rank_zero;  // the process of nccl-tests that printed "Rank  0"
  std::string first_rank_file;
  bool second_rank = false;  // the test has a rank 1, too
  std::string mpi_library;   // the folder of libmpi.so
  std::string mpi_launcher;  // the folder of mpirun
  int job_tasks = -1;        // that the Slurm job has
  int srun_tasks = -1;       // the most that an srun asks for
  int slots = -1;            // of all hosts in a host file
  LogSight job_tasks_line;
  LogSight srun_tasks_line;
  LogSight slots_line;
};

}  // namespace railbed::diagnose
