// Building, installing and reloading OFED.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

// clang-format off
constexpr Symptom kKernelOfedSymptoms[] = {
    {"ofed-build-deb", kError, kCause, kAnyone, {"Failed to build ", " DEB"}, "MLNX_OFED, install.pl", "A package of OFED or DOCA-OFED did not build"},
    {"ofed-build-rpm", kError, kCause, kAnyone, {"Failed to build ", " RPM"}, "MLNX_OFED, install.pl", "A package of OFED or DOCA-OFED did not build"},
    {"ofed-other-kernel", kError, kCause, kAnyone, {"does not have drivers available for this kernel"}, "MLNX_OFED, mlnxofedinstall", "OFED's installer has no modules for this kernel"},
    {"ofed-other-system", kError, kCause, kAnyone, {"MLNX_OFED_LINUX", "is intended for"}, "MLNX_OFED, mlnxofedinstall", "OFED's bundle is for another distribution"},
    {"rdma-module-in-use", kError, kCause, kAnyone, {"rmmod: ERROR: Module mlx", " is in use by: "}, "kmod; openibd", "The network driver was not unloaded: other modules use it"},
    {"rdma-module-in-use-ib", kError, kCause, kAnyone, {"rmmod: ERROR: Module ib_", " is in use by: "}, "kmod; openibd", "A module of RDMA was not unloaded: other modules use it"},
    {"rdma-module-in-use-cm", kError, kCause, kAnyone, {"rmmod: ERROR: Module rdma_", " is in use by: "}, "kmod; openibd", "A module of RDMA was not unloaded: other modules use it"},
};

constexpr Hypothesis kKernelOfedHypotheses[] = {
    {.id = "ofed-build", .explains = {"ofed-build-deb", "ofed-build-rpm"}, .stated = true,
     .cause = "That package did not compile; its own log has the first error. For kernel modules the usual ones are a kernel that is newer than this OFED, and headers that are missing or of another kernel.",
     .remedy = "The log that the installer names (/tmp/…/NAME.log), its first error. Leave the package out if nobody needs it (--without-mlnx-nvme-dkms and the like), take a newer OFED, or the kernel of its list of supported ones.",
     .source = "MLNX_OFED, install.pl; github.com/Mellanox/network-operator/issues/1415"},
    {.id = "ofed-other-kernel", .explains = {"ofed-other-kernel"}, .stated = true,
     .cause = "The bundle has ready modules for some kernels of the distribution only, and the one that runs is another.",
     .remedy = "./mlnxofedinstall --add-kernel-support (needs the kernel's headers); or DOCA-OFED with doca-extra and DKMS.",
     .source = "MLNX_OFED, mlnxofedinstall"},
    {.id = "ofed-other-system", .explains = {"ofed-other-system"}, .stated = true,
     .cause = "The bundle's name has the distribution that it is for.",
     .remedy = "Take the bundle of cat /etc/os-release; a derived distribution: --distro NAME.",
     .source = "MLNX_OFED, mlnxofedinstall"},
    {.id = "rdma-held-by-peermem", .explains = {"rdma-module-in-use", "rdma-module-in-use-ib", "rdma-module-in-use-cm"}, .needs = {"held-by-peermem"}, .refuted_by = {"held-by-others"}, .decisive = true,
     .title = "A module of RDMA was not unloaded: nvidia_peermem uses it",
     .cause = "GPUDirect RDMA's module nvidia_peermem (formerly nv_peer_mem) is loaded and uses ib_uverbs or ib_core. The GPU operator's sidecar nvidia-peermem loads it again while a driver is being replaced.",
     .remedy = "rmmod nvidia_peermem directly before /etc/init.d/openibd restart, modprobe nvidia_peermem after it. With the GPU operator: restart the network driver's pod once no sidecar of the GPU driver starts, or a newer DOCA driver image.",
     .settle_by = "lsmod | grep -e peermem -e nv_peer_mem",
     .source = "github.com/Mellanox/doca-driver-build/pull/481"},
    {.id = "rdma-module-in-use", .explains = {"rdma-module-in-use", "rdma-module-in-use-ib", "rdma-module-in-use-cm"}, .common = kUsual, .refuted_by = {"held-by-peermem"},
     .cause = "The modules after \"in use by\" hold it: storage (lustre, nvme_rdma, rpcrdma, beegfs), or others of the driver, which go first.",
     .remedy = "Unmount what they serve and unload them (lustre_rmmod), then /etc/init.d/openibd restart, which takes the node off the network for a while; or restart the node. Network operator: UNLOAD_STORAGE_MODULES=true.",
     .source = "kmod; openibd"},
};
// clang-format on

}  // namespace

Table kernel_ofed() { return {kKernelOfedSymptoms, kKernelOfedHypotheses}; }

}  // namespace railbed::diagnose::tables
