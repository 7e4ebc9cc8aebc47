// The kernel's crashes and hangs, and its tables that are full.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kKernelSource = "Linux arch/x86/mm/fault.c, lib/bug.c";

// clang-format off
constexpr Symptom kKernelHangsSymptoms[] = {
    {"soft-lockup",           kError,   kCause, kAnyone, {"BUG: soft lockup - CPU#"}, "Linux kernel/watchdog.c", "A processor hung in the kernel"},
    {"hard-lockup",           kError,   kCause, kAnyone, {"Watchdog detected hard LOCKUP"}, "Linux kernel/watchdog_perf.c", "A processor hung in the kernel"},
    {"rcu-stall",             kError,   kCause, kAnyone, {"rcu_", "self-detected stall"}, "Linux kernel/rcu/tree_stall.h", "A processor hung in the kernel"},
    {"rcu-stalls",            kError,   kCause, kAnyone, {"rcu_", "detected stalls on CPUs/tasks"}, "Linux kernel/rcu/tree_stall.h", "A processor hung in the kernel"},
    {"hung-task",             kError,   kCause, kAnyone, {"INFO: task ", " blocked for more than "}, "Linux kernel/hung_task.c", "A process has waited in the kernel for minutes, and cannot be ended meanwhile"},
    {"no-pages",              kError,   kCause, kAnyone, {"page allocation failure: order:"}, "Linux mm/page_alloc.c", "The kernel found no block of memory as large as a driver asked for"},
    {"neighbours-full-ipv6",  kError,   kCause, kAnyone, {"ndisc_cache: neighbor table overflow"}, "Linux net/core/neighbour.c",
     "The kernel's table of IPv6 neighbors is full, so addresses are not resolved"},
    {"neighbours-full",       kError,   kCause, kAnyone, {"neighbor table overflow"}, "Linux net/core/neighbour.c", "The kernel's table of neighbours (ARP) is full, so addresses are not resolved"},
    {"neighbours-full-older", kError,   kCause, kAnyone, {"eighbour table overflow"}, "Linux net/core/neighbour.c", "The kernel's table of neighbours (ARP) is full, so addresses are not resolved"},
    {"conntrack-full",        kError,   kCause, kAnyone, {"nf_conntrack: table full, dropping packet"}, "Linux net/netfilter", "The kernel's table of connections is full, so packets are dropped"},

    // Lines that confirm or refute
    {"no-pages-large",        kNote,    kSight, kAnyone, {"page allocation failure: order:9"}, "Linux mm/page_alloc.c", "A block of 2 MiB"},
    {"no-pages-single",       kNote,    kSight, kAnyone, {"page allocation failure: order:0"}, "Linux mm/page_alloc.c", "A single page"},
};

constexpr Symptom kKernelHangsLater[] = {
    {"kernel-fault",          kError,   kCause, kAnyone, {"BUG: unable to handle "}, kKernelSource,
     "The kernel failed: it used memory that is not there"},
    {"kernel-bug",            kError,   kCause, kAnyone, {"kernel BUG at "}, kKernelSource,
     "The kernel failed: it found itself in a state that it takes for impossible"},
};

constexpr Hypothesis kKernelHangsHypotheses[] = {
    {.id = "processor-hung", .explains = {"soft-lockup", "hard-lockup", "rcu-stall", "rcu-stalls"}, .stated = true,
     .cause = "A processor did not come out of what it did for the seconds of the message; the process and the call trace name where it was. In a virtual machine the host may have taken the processor away.",
     .remedy = "journalctl -k | grep -A30 of that moment: the function on top names the driver to look at (nvidia, mlx5, a file system). If it lasts or comes again, restart the node; a hard lockup or an Xid beside it: at once. Virtual machines: the host's load.",
     .source = "Linux Documentation/admin-guide/lockup-watchdogs.rst"},
    {.id = "hung-task", .explains = {"hung-task"}, .stated = true,
     .cause = "The process waits in the kernel (state D) for something that has not come for that time; the call trace below the line names what: a file server, a drive, or a driver (nvidia, nvidia_uvm, mlx5). It may still come, as from a slow drive.",
     .remedy = "Read the trace: nfs_, lustre or wait_on_page: the file server; blk_ or nvme_: the drive; nvidia or uvm_: the driver, look for an Xid above it. Several processes often wait for one that the first trace shows.",
     .source = "Linux kernel/hung_task.c"},
    {.id = "no-memory-left", .explains = {"no-pages"}, .needs = {"no-pages-single"}, .refuted_by = {"no-pages-large"},
     .title = "The kernel had not even a single page free",
     .cause = "A request for one page (order 0) failed: the node's memory was used up at that moment.",
     .remedy = "free -h and the largest processes; a higher vm.min_free_kbytes helps drivers that cannot wait.",
     .settle_by = "the Mem-Info lines below it",
     .source = "Linux mm/page_alloc.c"},
    {.id = "memory-in-pieces", .explains = {"no-pages"}, .common = kUsual, .refuted_by = {"no-pages-single"},
     .title = "The kernel's memory is in pieces: no block as large as a driver asked for is free",
     .cause = "Pages are free, and not so many beside each other (order N means 2^N pages).",
     .remedy = "echo 1 > /proc/sys/vm/compact_memory; a higher vm.min_free_kbytes; smaller rings or fewer queues of the driver in the trace; reserve huge pages at boot.",
     .settle_by = "cat /proc/buddyinfo",
     .source = "Linux mm/page_alloc.c"},
    {.id = "neighbours-full", .explains = {"neighbours-full", "neighbours-full-older"}, .stated = true,
     .cause = "The table has as many entries as net.ipv4.neigh.default.gc_thresh3 (1024 by default) allows, counted over all network namespaces of the node: a large flat network, several rails per node, or many containers.",
     .remedy = "sysctl -w net.ipv4.neigh.default.gc_thresh1=8192 net.ipv4.neigh.default.gc_thresh2=32768 net.ipv4.neigh.default.gc_thresh3=65536 on every node, and in /etc/sysctl.d.",
     .source = "Linux Documentation/networking/ip-sysctl.rst"},
    {.id = "neighbours-full-ipv6", .explains = {"neighbours-full-ipv6"}, .stated = true,
     .cause = "The table of IPv6 (ndisc_cache) has as many entries as net.ipv6.neigh.default.gc_thresh3 (1024 by default) allows, counted over all network namespaces of the node; the limits of IPv4 do not count for it.",
     .remedy = "sysctl -w net.ipv6.neigh.default.gc_thresh1=8192 net.ipv6.neigh.default.gc_thresh2=32768 net.ipv6.neigh.default.gc_thresh3=65536 on every node, and in /etc/sysctl.d.",
     .source = "Linux Documentation/networking/ip-sysctl.rst; github.com/e2b-dev/infra/pull/3508"},
    {.id = "conntrack-full", .explains = {"conntrack-full"}, .stated = true,
     .cause = "More connections are tracked than net.netfilter.nf_conntrack_max allows.",
     .remedy = "sysctl -w net.netfilter.nf_conntrack_max=1048576; or let the cluster's own traffic pass untracked (iptables -t raw … NOTRACK).",
     .source = "Linux Documentation/networking/nf_conntrack-sysctl.rst"},
    {.id = "kernel-failed", .explains = {"kernel-fault", "kernel-bug"}, .common = kUsual, .stated = true,
     .cause = "A driver or the kernel has a fault, or memory is damaged. What the kernel still does cannot be relied on.",
     .remedy = "The name in square brackets behind RIP or IP is the driver to update; without one, test the memory. Restart the node.",
     .source = kKernelSource},
};
// clang-format on

}  // namespace

Table kernel_hangs() { return {kKernelHangsSymptoms, kKernelHangsHypotheses, kKernelHangsLater}; }

}  // namespace railbed::diagnose::tables
