// Nodes and groups of processes without memory, and what was killed for it.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kMoreMemory =
    "sacct -j JOB --format=JobID,ReqMem,MaxRSS shows what was asked for and used: ask for more (sbatch --mem=0 takes all of the node), or use less: "
    "fewer data loader workers, smaller caches.";

// clang-format off
constexpr Symptom kProgramOutOfMemorySymptoms[] = {
    {"file-max",              kError,   kCause, kAnyone, {"VFS: file-max limit ", " reached"},
     kFileTable,
     "The machine has no more file handles: fs.file-max is reached"},
    {"kernel-oom",            kError,   kCause, kAnyone, {"Out of memory: Kill"},
     "Linux mm/oom_kill.c",
     "A node, or the NUMA nodes that a process may use, ran out of memory, and the kernel killed a process"},
    {"cgroup-oom",            kError,   kCause, kAnyone, {"emory cgroup out of memory: Kill"},
     "Linux mm/oom_kill.c",
     "A process reached the memory limit of its job or container, and the kernel killed it"},
    {"pod-oom",               kError,   kCause, kAnyone, {"OOMKilled", "eason"},
     "Kubernetes, container status",
     "The kernel killed a container's process for lack of memory (OOMKilled)"},
    {"pod-oom-list",          kError,   kCause, kAnyone, {" OOMKilled "},
     "kubectl get pods",
     "The kernel killed a container's process for lack of memory (OOMKilled)"},
    {"container-oom",         kError,   kCause, kAnyone, {"\"OOMKilled\": true"},
     "docker inspect",
     "The kernel killed a container's process for lack of memory (OOMKilled)"},
    {"slurm-oom",             kError,   kCause, kAnyone, {"Detected ", "oom_kill event"},
     kSlurmd,
     "The kernel killed a process of the Slurm job for lack of memory"},
    {"slurm-oom-old",         kError,   kCause, kAnyone, {"Detected ", "oom-kill event"},
     kSlurmd,
     "The kernel killed a process of the Slurm job for lack of memory"},
    {"slurm-memory-limit",    kError,   kCause, kAnyone, {"exceeded memory limit", "being killed"},
     kSlurmd,
     "The job used more memory than it had requested, and Slurm ended it"},
    {"slurm-task-oom",        kError,   kCause, kAnyone, {"srun: error: ", "Out Of Memory"},
     kSrunSource,
     "The kernel killed a process of the Slurm job for lack of memory"},
    {"talos-oom",             kError,   kCause, kAnyone, {"Sending SIGKILL to cgroup", "OOMController"},
     "github.com/siderolabs/talos, internal/app/machined/pkg/controllers/runtime/oom.go",
     "Talos' own OOM controller killed the processes of a pod"},
    {"systemd-oomd",          kError,   kCause, kAnyone, {"systemd-oomd", "due to memory pressure for"},
     "github.com/systemd/systemd, src/oom/oomd-manager.c",
     "systemd-oomd killed a group of processes for memory pressure"},

    // Lines that confirm or refute
    {"memory-total",          kNote,    kSight, kAnyone, {"MemTotal:", " kB"}, "/proc/meminfo", "The node's memory"},
    {"memory-available",      kNote,    kSight, kAnyone, {"MemAvailable:", " kB"}, "/proc/meminfo", "The node's available memory"},
    {"oom-of-group",          kNote,    kSight, kAnyone, {"constraint=CONSTRAINT_MEMCG"},
     "Linux mm/oom_kill.c", "The kernel killed for the memory limit of a group"},
    {"oom-of-node",           kNote,    kSight, kAnyone, {"constraint=CONSTRAINT_NONE"},
     "Linux mm/oom_kill.c", "The kernel killed for the memory of the whole node"},
};

constexpr Hypothesis kProgramOutOfMemoryHypotheses[] = {
    {.id = "kernel-oom", .explains = {"kernel-oom"}, .common = kUsual, .stated = true,
     .cause = "The kernel had no memory left to give, on the whole node or on the NUMA nodes to which the process is bound; the line names the process that it chose.",
     .remedy = "dmesg -T | grep -A40 'invoked oom-killer' lists who used how much (constraint=CONSTRAINT_MEMORY_POLICY or CPUSET: one NUMA node alone was full); use less (data loader workers, pinned memory, files in /dev/shm) or give the job the node alone.",
     .source = "Linux mm/oom_kill.c"},
    {.id = "cgroup-oom", .explains = {"cgroup-oom"}, .common = kUsual, .stated = true,
     .cause = "The limit belongs to the job or container, and the node itself may have had memory left. Files in /dev/shm count.",
     .remedy = "Raise the limit (sbatch --mem, docker --memory, resources.limits.memory), or use less; the oom-kill line in dmesg names the group.",
     .source = "Linux mm/oom_kill.c"},
    {.id = "talos-oom-pressure", .explains = {"talos-oom"}, .needs = {"memory-is-available"}, .refuted_by = {"memory-is-short"},
     .title = "Talos' OOM controller killed a pod although memory was available",
     .cause = "Talos from 1.12 on kills by memory pressure (PSI), BestEffort pods first, and its first releases judge that of the whole node, which much input and output raises while memory is available.",
     .remedy = "A Talos whose release notes name pull 12602 (pressure by group); requests and limits for the pod, so that it is not BestEffort; a document OOMConfig with another triggerExpression until then.",
     .settle_by = "talosctl read /proc/meminfo and /proc/pressure/memory at such a time; talosctl get oomactions",
     .source = "github.com/siderolabs/talos/issues/12526; github.com/siderolabs/talos/pull/12602"},
    {.id = "talos-oom-memory", .explains = {"talos-oom"}, .needs = {"memory-is-short"}, .refuted_by = {"memory-is-available"},
     .title = "The node ran short of memory, and Talos' OOM controller killed a pod",
     .cause = "The node had little memory left. The controller acts before the kernel does, and takes BestEffort pods first, then those that are far beyond their usual use.",
     .remedy = "Give pods requests as large as what they use and limits, so that the node is not promised twice; files in /dev/shm and emptyDir with medium Memory count.",
     .settle_by = "talosctl read /proc/meminfo at such a time; talosctl cgroups --preset memory",
     .source = "docs.siderolabs.com, OOM; github.com/siderolabs/talos/issues/13622"},
    {.id = "systemd-oomd", .explains = {"systemd-oomd"}, .stated = true,
     .cause = "It is not the kernel's OOM killer: processes of the group that the message names waited for memory longer than ManagedOOMMemoryPressureLimit allows.",
     .remedy = "More memory for the group, or fewer processes in it; oomctl lists the groups and their pressure. On a compute node: systemctl disable --now systemd-oomd, and leave it to the job's own limit.",
     .source = "systemd-oomd(8), oomd.conf(5)"},
    {.id = "pod-oom", .explains = {"pod-oom", "pod-oom-list", "container-oom"}, .common = kUsual, .refuted_by = {"oom-of-node"},
     .title = "A container reached its memory limit and was killed (OOMKilled)",
     .cause = "The container's memory limit was smaller than what its processes used. Files in an emptyDir with medium Memory count.",
     .remedy = "Raise resources.limits.memory of the pod (kubectl describe pod shows it), or use less.",
     .settle_by = "dmesg | grep -i oom-kill on that node: constraint=CONSTRAINT_MEMCG is the container's limit, CONSTRAINT_NONE the whole node",
     .source = "Kubernetes, container status"},
    {.id = "pod-oom-node", .explains = {"pod-oom", "pod-oom-list", "container-oom"}, .needs = {"oom-of-node"}, .refuted_by = {"oom-of-group"}, .decisive = true,
     .title = "The whole node ran out of memory, and the kernel killed a process of the container (OOMKilled)",
     .cause = "The kernel killed for the node (CONSTRAINT_NONE): its containers together used more than it has, and the limit of this one was not reached.",
     .remedy = "Give the pods requests as large as their limits, so that a node is not promised twice; kubectl describe node shows what it promised.",
     .settle_by = "dmesg | grep -i oom-kill on that node",
     .source = "Linux mm/oom_kill.c; Kubernetes, node-pressure eviction"},
    {.id = "slurm-oom-limit", .explains = {"slurm-oom", "slurm-oom-old", "slurm-task-oom"}, .common = kUsual,
     .refuted_by = {"oom-of-node"},
     .title = "The job used more memory than it had requested of Slurm",
     .cause = "The job's memory limit was reached (a cgroup's): without --mem that is the partition's default. Files in /dev/shm count.",
     .remedy = kMoreMemory,
     .settle_by = "dmesg | grep -i oom-kill on that node: constraint=CONSTRAINT_MEMCG is the job's limit, CONSTRAINT_NONE the whole node",
     .source = "Slurm task_cgroup_memory.c"},
    {.id = "slurm-oom-node", .explains = {"slurm-oom", "slurm-oom-old", "slurm-task-oom"}, .needs = {"oom-of-node"},
     .refuted_by = {"oom-of-group"}, .decisive = true,
     .title = "The whole node ran out of memory: the job's own limit was not reached",
     .cause = "The kernel killed for the node (CONSTRAINT_NONE), so something else on it used the memory, or the limits of its jobs are more than it has.",
     .remedy = "Set MemSpecLimit for the system and ConstrainRAMSpace=yes in cgroup.conf; look in dmesg for what else used memory at that moment.",
     .settle_by = "dmesg | grep -i oom-kill on that node",
     .source = "Linux mm/oom_kill.c; slurm.conf(5)"},
    {.id = "slurm-memory-limit", .explains = {"slurm-memory-limit"}, .common = kUsual, .stated = true,
     .cause = "The message has the memory that was used and the limit.",
     .remedy = kMoreMemory,
     .source = kSlurmd},
};
// clang-format on

}  // namespace

Table program_out_of_memory() { return {kProgramOutOfMemorySymptoms, kProgramOutOfMemoryHypotheses}; }

}  // namespace railbed::diagnose::tables
