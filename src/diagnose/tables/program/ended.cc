// Processes that a signal ended, or that ended with an error.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kFault = "Linux arch/x86/mm/fault.c, show_signal_msg";
constexpr std::string_view kSignals = "signal(7)";
constexpr std::string_view kOwnError =
    "The task ended by itself or was ended: its own error stands before this line, or in the log of that rank.";
constexpr std::string_view kBusTitle = "A process was ended by a bus error (SIGBUS, 7)";
constexpr std::string_view kKilledTitle = "A process was ended by SIGKILL (9)";
constexpr std::string_view kCrashTitle = "A process crashed with a segmentation fault (SIGSEGV, 11)";
constexpr std::string_view kAbortTitle = "A process aborted itself (SIGABRT, 6)";
constexpr std::string_view kTermTitle = "A process was ended by SIGTERM (15)";

// clang-format off
constexpr Symptom kProgramEndedSymptoms[] = {
    {"bus-signal",            kError,   kCause, kAnyone, {"exited on signal 7"},
     kSignals, kBusTitle},
    {"bus-elastic",           kError,   kCause, kAnyone, {"exitcode", ": -7"},
     kSignals, kBusTitle},
    {"bus-loader",            kError,   kCause, kAnyone, {"is killed by signal: Bus error"},
     "PyTorch DataLoader", kBusTitle},
    {"bus-worker",            kError,   kCause, kAnyone, {"Unexpected bus error encountered in worker"},
     "PyTorch DataLoader", kBusTitle},
    {"bus-task",              kError,   kCause, kAnyone, {"srun: error: ", "Bus error"},
     kSrunSource, kBusTitle},
    {"bus-deepspeed",         kError,   kCause, kAnyone, {"return code = -7"},
     "DeepSpeed launcher/launch.py", kBusTitle},
    {"killed-signal",         kError,   kCause, kAnyone, {"exited on signal 9"},
     kSignals, kKilledTitle},
    {"killed-elastic",        kError,   kCause, kAnyone, {"exitcode", ": -9"},
     kSignals, kKilledTitle},
    {"killed-code",           kError,   kCause, kAnyone, {"xited with ", "code 137"},
     kSignals, kKilledTitle},
    {"killed-python",         kError,   kCause, kAnyone, {"Signals.SIGKILL: 9"},
     kSignals, kKilledTitle},
    {"killed-task",           kError,   kCause, kAnyone, {"srun: error: ", ": Killed"},
     kSrunSource, kKilledTitle},
    {"killed-deepspeed",      kError,   kCause, kAnyone, {"return code = -9"},
     "DeepSpeed launcher/launch.py", kKilledTitle},
};

constexpr Symptom kProgramEndedLater[] = {
    {"crash-of-library",      kError,   kEcho,  kAnyone, {"]: segfault at ", " ip ", ".so"},
     kFault, "A process crashed in a library (SIGSEGV)"},
    {"crash-of-program",      kError,   kEcho,  kAnyone, {"]: segfault at ", " ip "},
     kFault, kCrashTitle},
    {"crash-signal",          kError,   kEcho,  kAnyone, {"exited on signal 11"},
     kSignals, kCrashTitle},
    {"crash-elastic",         kError,   kEcho,  kAnyone, {"exitcode", ": -11"},
     kSignals, kCrashTitle},
    {"crash-task",            kError,   kEcho,  kAnyone, {"srun: error: ", "Segmentation fault"},
     kSrunSource, kCrashTitle},
    {"abort-signal",          kError,   kEcho,  kAnyone, {"exited on signal 6"},
     kSignals, kAbortTitle},
    {"abort-elastic",         kError,   kEcho,  kAnyone, {"exitcode", ": -6"},
     kSignals, kAbortTitle},
    {"abort-task",            kError,   kEcho,  kAnyone, {"srun: error: ", ": Aborted"},
     kSrunSource, kAbortTitle},
    {"term-signal",           kError,   kEcho,  kAnyone, {"exited on signal 15"},
     kSignals, kTermTitle},
    {"term-elastic",          kError,   kEcho,  kAnyone, {"exitcode", ": -15"},
     kSignals, kTermTitle},
    {"term-task",             kError,   kEcho,  kAnyone, {"srun: error: ", ": Terminated"},
     kSrunSource, kTermTitle},
    {"slurm-task-127",        kError,   kEcho,  kAnyone, {"srun: error: ", "xited with exit code 127"},
     kSrunSource,
     "A task of Slurm could not start a command (exit code 127)"},
    {"pdsh-127",              kError,   kEcho,  kAnyone, {"pdsh@", "exited with exit code 127"},
     "pdsh(1)",
     "A node could not start a command (exit code 127)"},
    {"pdsh-255",              kError,   kEcho,  kAnyone, {"pdsh@", "exited with exit code 255"},
     "pdsh(1)",
     "pdsh's ssh to a node, or the command there, ended with exit code 255"},
    {"slurm-task-exit",       kError,   kEcho,  kAnyone, {"srun: error: ", "xited with exit code"},
     kSrunSource,
     "A task of Slurm ended with an error"},
    {"pdsh-exit",             kError,   kEcho,  kAnyone, {"pdsh@", "exited with exit code"},
     "pdsh(1)",
     "A command of pdsh ended with an error on a node"},
};

constexpr Hypothesis kProgramEndedHypotheses[] = {
    {.id = "killed-node-memory", .explains = {"killed-signal", "killed-elastic", "killed-code", "killed-python", "killed-task", "killed-deepspeed"},
     .needs = {"red:host.out-of-memory"}, .refuted_by = {"slurm-ended-it", "green:host.out-of-memory"},
     .title = "The kernel killed the process: memory ran out",
     .cause = "The node, or the limit of the job or container, ran out of memory, and the kernel chose this process.",
     .remedy = "dmesg -T | grep -i -e oom -e 'Killed process' on that node names the process and its limit; give the job more memory or use less.",
     .settle_by = "dmesg -T | grep -i -e oom-kill -e 'Killed process' on that node, at that time",
     .source = "Linux mm/oom_kill.c"},
    {.id = "killed-by-slurm", .explains = {"killed-signal", "killed-elastic", "killed-code", "killed-python", "killed-task", "killed-deepspeed"},
     .needs = {"slurm-ended-it"}, .refuted_by = {"red:host.out-of-memory"},
     .title = "Slurm ended the job, and with it the process",
     .cause = "Slurm sends SIGTERM and, after KillWait, SIGKILL to what is left of a job that it ends.",
     .remedy = "Ask for more time (sbatch --time), or save a checkpoint on sbatch --signal=B:USR1@300.",
     .settle_by = "sacct -j JOB -o JobID,State,ExitCode,Elapsed,Timelimit",
     .source = "slurm.conf(5), KillWait"},
    {.id = "bus-shm", .explains = {"bus-signal", "bus-elastic", "bus-loader", "bus-worker", "bus-task", "bus-deepspeed"},
     .needs = {"dev-shm-small"}, .refuted_by = {"dev-shm-roomy", "green:host.shared-memory"},
     .title = "/dev/shm is full or too small for the processes that share memory in it",
     .cause = "A page that does not fit into /dev/shm any more raises a bus error when it is first written. Containers get 64 MiB.",
     .remedy = "docker run --shm-size=16g or --ipc=host; in Kubernetes an emptyDir with medium: Memory on /dev/shm; fewer data loader workers go around it.",
     .settle_by = "df -h /dev/shm in the container, while the job runs",
     .source = "tmpfs(5); PyTorch DataLoader"},
    {.id = "bus-shm-node", .explains = {"bus-signal", "bus-elastic", "bus-loader", "bus-worker", "bus-task", "bus-deepspeed"},
     .needs = {"red:host.shared-memory"}, .refuted_by = {"dev-shm-roomy", "green:host.shared-memory"},
     .title = "/dev/shm of the node is too small or full",
     .cause = "A page that does not fit into /dev/shm any more raises a bus error when it is first written.",
     .remedy = "ls -l /dev/shm, and remove what ended jobs left there; mount -o remount,size=50% /dev/shm makes it larger.",
     .settle_by = "df -h /dev/shm on that node, while the job runs",
     .source = "tmpfs(5)"},
    {.id = "bus-storage", .explains = {"bus-signal", "bus-elastic", "bus-loader", "bus-worker", "bus-task", "bus-deepspeed"}, .common = kRare,
     .needs = {"storage-error"}, .refuted_by = {"dev-shm-small"},
     .title = "A file that the process had mapped into memory could not be read",
     .cause = "The storage failed under a mapped file, such as a checkpoint or a data set, or the file was cut while it was mapped.",
     .remedy = "dmesg -T | grep -i -e 'I/O error' -e nfs -e lustre on that node; repair the storage, and never write over files that a job has mapped.",
     .settle_by = "dmesg -T | grep -i -e 'I/O error' -e nfs -e lustre on that node, at that time",
     .source = "mmap(2), SIGBUS"},
    {.id = "process-crashed-in-library", .explains = {"crash-of-library"}, .common = kUsual, .stated = true,
     .cause = "The kernel's line names the program, and behind `in` the library whose code used memory that it may not. What the library was given may be at fault as well.",
     .remedy = "coredumpctl gdb, or PYTHONFAULTHANDLER=1 for a trace of Python, names the call; update that library, and look at what other ranks printed before that moment.",
     .source = kFault},
    {.id = "process-crashed", .explains = {"crash-signal", "crash-elastic", "crash-task", "crash-of-program"}, .common = kUsual, .stated = true,
     .cause = "The process used memory that it may not. The signal does not name the code that did.",
     .remedy = "coredumpctl gdb, or PYTHONFAULTHANDLER=1 for a trace of Python; the library on top of the trace is the one to look at.",
     .source = kSignals},
    {.id = "process-aborted", .explains = {"abort-signal", "abort-elastic", "abort-task"}, .common = kUsual, .stated = true,
     .cause = "Code in the process called abort(), which mostly prints its reason before this line.",
     .remedy = kLookAbove,
     .source = kSignals},
    {.id = "process-ended", .explains = {"term-signal", "term-elastic", "term-task"}, .common = kUsual, .stated = true,
     .cause = "Another process sent it SIGTERM, as a launcher does to the rest when one fails, and a scheduler at a job's end.",
     .remedy = "Look for the rank that failed first.",
     .source = kSignals},
    {.id = "pdsh-no-command", .explains = {"pdsh-127"}, .common = kUsual, .stated = true,
     .cause = "127 is the exit code of a shell that does not find a command, and of a program that lacks a shared library; the line before names it.",
     .remedy = "ssh HOST ls -d DIRECTORY PYTHON, with the paths of the launcher's command.",
     .source = "pdsh(1)"},
    {.id = "pdsh-ssh", .explains = {"pdsh-255"}, .common = kUsual, .stated = true,
     .cause = "255 is the exit code of ssh itself if it fails, and of a command that ends with -1: the line before has the reason.",
     .remedy = "ssh -o BatchMode=yes HOST true.",
     .source = "ssh(1), EXIT STATUS"},
    {.id = "pdsh-exit", .explains = {"pdsh-exit"}, .common = kUsual, .stated = true,
     .cause = kOwnError,
     .remedy = "Look at the lines of that host before this one.",
     .source = "pdsh(1)"},
    {.id = "slurm-task-127", .explains = {"slurm-task-127"}, .common = kUsual, .stated = true,
     .cause = "127 is the exit code of a shell that does not find a command, and of a program that lacks a shared library; the line before names it.",
     .remedy = "srun -w NODE which COMMAND, with the same container and modules.",
     .source = "bash(1), EXIT STATUS"},
    {.id = "slurm-task-exit", .explains = {"slurm-task-exit"}, .common = kUsual, .stated = true,
     .cause = kOwnError,
     .remedy = kLookAbove,
     .source = kSrunSource},
};
// clang-format on

}  // namespace

Table program_ended() { return {kProgramEndedSymptoms, kProgramEndedHypotheses, kProgramEndedLater}; }

}  // namespace railbed::diagnose::tables
