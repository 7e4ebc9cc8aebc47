// The peer memory module (nvidia-peermem).
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kPeermemSource =
    "NVIDIA open kernel modules, nvidia-peermem.c; github.com/Mellanox/nv_peer_memory/issues/53, 112, 120";
constexpr std::string_view kPeermemRemedy =
    "modprobe nvidia-peermem on the host, and keep it: echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf. Then lsmod | grep peermem.";

// clang-format off
constexpr Symptom kRdmaPeerMemorySymptoms[] = {
    {"peermem-context",       kWarning, kCause, kAnyone, {"nv_get_p2p_free_callback", "ERROR detected invalid context"},
     kPeermemSource,
     "nvidia-peermem was told that GPU memory is freed whose registration is gone already"},
    {"peermem-page-table",    kWarning, kCause, kAnyone, {"nv_get_p2p_free_callback -- invalid page_table"},
     kPeermemSource,
     "The peer memory module was told twice that GPU memory is freed"},
    {"peermem-symbols",       kError,   kCause, kAnyone, {"disagrees about version of symbol ib_register_peer_memory_client"},
     "Linux kernel/module; nvidia-peermem",
     "The kernel refuses the peer memory module: it was built for another RDMA driver"},
    {"peermem-symbol-absent", kError,   kCause, kAnyone, {"Unknown symbol ib_register_peer_memory_client", "(err 0)"},
     "Linux kernel/module; nvidia-peermem",
     "The kernel refuses the peer memory module: the RDMA driver that is loaded has no interface for it"},
    {"peermem-symbol-absent-new", kError, kCause, kAnyone, {"Unknown symbol ib_register_peer_memory_client", "(err -2)"},
     "Linux kernel/module; nvidia-peermem",
     "The kernel refuses the peer memory module: the RDMA driver that is loaded has no interface for it"},
    {"peermem-no-module",     kError,   kCause, kAnyone, {"Module nvidia-peermem not found in directory"},
     "modprobe(8)",
     "modprobe finds no module nvidia-peermem"},
    {"peermem-no-module-named", kError, kCause, kAnyone, {"Module nvidia_peermem not found in directory"},
     "modprobe(8)",
     "modprobe finds no module nvidia-peermem"},

    // Lines that confirm or refute
    {"peermem-undefined",     kNote,    kSight, kAnyone, {"Unknown symbol ib_register_peer_memory_client"}, kModules, "The RDMA core has no peer memory interface"},
    {"userspace-only",        kNote,    kSight, kAnyone, {"performing userspace-only install"}, "gpu-driver-container, nvidia-driver",
     "The driver container installed no kernel modules"},
    {"driver-installs-modules", kNote,  kSight, kAnyone, {"Installing NVIDIA driver kernel modules"}, "gpu-driver-container, nvidia-driver",
     "The driver container installed kernel modules"},
};

constexpr Hypothesis kRdmaPeerMemoryHypotheses[] = {
    {.id = "peermem-not-loaded", .explains = {"nvshmem-no-peermem", "nvshmem-registration", "ucx-gpu-registration", "ucx-gpudirect", "ofi-registration", "gda-registration", "mooncake-registration"},
     .needs = {"peermem-absent"}, .refuted_by = {"peermem-loaded", "reason-no-memory"},
     .title = "GPU memory cannot be registered with the adapter: the module nvidia-peermem is not loaded",
     .cause = "The peer memory module is not loaded on this host, so the RDMA driver cannot pin GPU memory.",
     .remedy = kPeermemRemedy,
     .settle_by = kModuleLook,
     .source = "github.com/deepseek-ai/DeepEP/issues/223; github.com/Azure/azhpc-images/issues/316"},
    {.id = "peermem-dead", .explains = {"perftest-mr-efault", "nvshmem-registration", "ucx-gpu-registration", "ucx-gpudirect", "ofi-registration", "gda-registration", "mooncake-registration"},
     .needs = {"peermem-loaded"}, .refuted_by = {"peermem-absent", "perftest-dmabuf", "reason-no-memory"},
     .title = "The module nvidia-peermem is loaded and does not serve this RDMA driver",
     .cause = "nvidia-peermem was loaded and is not registered with the present RDMA driver, which came later.",
     .remedy = "rmmod nvidia_peermem; modprobe nvidia-peermem; dmesg | tail. If it was built for another RDMA driver, reinstall the NVIDIA driver after MLNX_OFED.",
     .settle_by = "dmesg | grep -i -e peermem -e peer_mem",
     .source = "NVIDIA driver, README: nvidia-peermem"},
    {.id = "peermem-user-space-only", .explains = {"peermem-no-module", "peermem-no-module-named"}, .needs = {"userspace-only"},
     .refuted_by = {"driver-installs-modules"},
     .title = "The driver container found the driver loaded and installed no kernel modules, so nvidia-peermem is not in its file system",
     .cause = "The driver pod was started again on a node whose driver was already loaded. It then installs user space only, and its /lib/modules is empty.",
     .remedy = "Where lsmod | grep peermem shows the module, nothing is missing: take a driver image with gpu-driver-container's pull request 683. Until then set "
     "FORCE_REINSTALL=true for the driver in the ClusterPolicy and delete the pod, or drain and restart the node.",
     .settle_by = "kubectl logs of nvidia-driver-ctr | grep -i userspace-only",
     .source = "github.com/NVIDIA/gpu-operator/issues/2619; github.com/NVIDIA/gpu-driver-container/pull/683"},
    {.id = "peermem-not-installed", .explains = {"peermem-no-module", "peermem-no-module-named"}, .refuted_by = {"userspace-only"},
     .title = "The NVIDIA driver that is installed has no module nvidia-peermem for the running kernel",
     .cause = "The module is a part of the driver since its branch 470, and the installation for this kernel does not have it.",
     .remedy = "find /lib/modules/$(uname -r) -name '*peermem*'; dkms status; install the driver again with the running kernel's headers. DMA-BUF (open kernel "
     "modules, Linux 5.12 or newer) needs no such module.",
     .settle_by = "find /lib/modules/$(uname -r) -name 'nvidia*.ko*'",
     .source = "NVIDIA driver, README: nvidia-peermem"},
    {.id = "peermem-context", .explains = {"peermem-context"}, .common = kUsual, .stated = true,
     .cause = "GPU memory was freed while its RDMA registration was torn down, as at the end of a process; nvidia-peermem saw that its record was gone and did nothing. By itself the line stops no job.",
     .remedy = "Look for what ended the process at that moment. If it comes in the middle of runs, update the GPU driver, or go by DMA-BUF (open kernel modules), which needs no nvidia-peermem.",
     .source = kPeermemSource},
    {.id = "peermem-page-table", .explains = {"peermem-page-table"}, .common = kUsual, .stated = true,
     .cause = "GPU memory was freed while its RDMA registration was torn down. Drivers before R515, and of R470 before May 2021, have a fault that shows as this line.",
     .remedy = "Update the GPU driver, or go by DMA-BUF (open kernel modules), which needs no nvidia-peermem.",
     .source = kPeermemSource},
    {.id = "peermem-symbols", .explains = {"peermem-symbols"}, .common = kUsual, .stated = true,
     .cause = "The module was built against another RDMA driver (ib_core) than the one that is loaded.",
     .remedy = "Build the NVIDIA driver again with the present RDMA driver in place (dkms remove and dkms install of nvidia; with the GPU operator restart the driver "
     "pod when MOFED's is ready), then modprobe nvidia-peermem. DMA-BUF needs no such module.",
     .source = "github.com/NVIDIA/gpu-operator/issues/2868; github.com/Mellanox/nv_peer_memory/issues/8"},
    {.id = "peermem-symbol-absent", .explains = {"peermem-symbol-absent", "peermem-symbol-absent-new"}, .common = kUsual, .stated = true,
     .cause = "The ib_core that is loaded does not have the interface for peer memory, which MLNX_OFED and DOCA add to it: theirs is not installed for this kernel, or the distribution's was loaded first (from the initramfs).",
     .remedy = "grep ib_register_peer_memory_client /proc/kallsyms shows whether the loaded one has it; modinfo -n ib_core: a path below updates or extra is theirs. It is there and not loaded: update-initramfs -u (dracut -f), then /etc/init.d/openibd restart or a reboot. It is not there: install MLNX_OFED or DOCA for the running kernel. DMA-BUF (open kernel modules, Linux 5.12 or newer) needs no such module.",
     .source = "github.com/Mellanox/nv_peer_memory/issues/79; github.com/Mellanox/nv_peer_memory/issues/84"},
    {.id = "gpudirect-acs", .explains = {"perftest-protection", "ucx-local-protection", "perftest-access", "ucx-remote-access"}, .needs = {"red:pcie.acs"},
     .refuted_by = {"green:pcie.acs"},
     .title = "PCIe ACS stands between the GPU and the adapter",
     .cause = "ACS redirects the adapter's access to GPU memory to the root port, where it fails.",
     .remedy = "Switch ACS off on the bridges between GPU and adapter: railbed verify names them. Not on a host that passes devices to virtual machines, which ACS separates. NCCL_NET_GDR_LEVEL=LOC confirms it by going around GPUDirect.",
     .settle_by = "lspci -vvv | grep ACSCtl",
     .source = "ibv_wc_status 4; NCCL user guide, Troubleshooting"},
    {.id = "gpudirect-iommu", .explains = {"perftest-protection", "ucx-local-protection", "perftest-access", "ucx-remote-access"}, .needs = {"red:pcie.iommu"},
     .refuted_by = {"green:pcie.iommu"},
     .title = "The IOMMU translates the adapter's access to GPU memory",
     .cause = "The IOMMU is on without pass-through, so peer-to-peer access of the adapter to the GPU fails.",
     .remedy = "Boot with iommu=pt (intel_iommu=on iommu=pt or amd_iommu=on iommu=pt), then reboot.",
     .settle_by = "cat /proc/cmdline; dmesg | grep -i iommu",
     .source = "NCCL user guide, Troubleshooting"},
};
// clang-format on

}  // namespace

Table rdma_peer_memory() { return {kRdmaPeerMemorySymptoms, kRdmaPeerMemoryHypotheses}; }

}  // namespace railbed::diagnose::tables
