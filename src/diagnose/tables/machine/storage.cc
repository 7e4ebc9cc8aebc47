// GPUDirect Storage, gdrcopy, Lustre, NFS and HDF5.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kGdsSource = "github.com/NVIDIA/gds-nvidia-fs; NVIDIA GPUDirect RDMA guide";
constexpr std::string_view kHdf5Locks = "HDF5 src/H5FDsec2.c, H5FD__sec2_lock; flock(2)";
constexpr std::string_view kNoLocksTitle = "HDF5 could not open a file: its file system grants no locks";
constexpr std::string_view kPinTitle =
    "The driver refused to pin GPU memory for another device (nvidia_p2p_get_pages, EINVAL)";

// clang-format off
constexpr Symptom kMachineStorageSymptoms[] = {
    {"gds-pin",               kError,   kCause, kAnyone, {"invoking nvidia_p2p_get_pages", "Error ret -22"}, kGdsSource, kPinTitle},
    {"gdrcopy-pin",           kError,   kCause, kAnyone, {"nvidia_p2p_get_pages(", "ret = -22"}, "github.com/NVIDIA/gdrcopy/issues/30", kPinTitle},
    {"cufile-map",            kError,   kCause, kAnyone, {"nvidia-fs MAP ioctl failed", "-22"}, kGdsSource, kPinTitle},
    {"gds-not-loaded",        kError,   kCause, kAnyone, {"nvidia-fs.ko driver not loaded"}, kGdsSource,
     "GPUDirect Storage is not in use: its kernel module is not loaded"},
    {"gds-nvme",              kError,   kCause, kAnyone, {"NVMe Driver not registered with nvidia-fs"}, kGdsSource,
     "GPUDirect Storage does not reach the NVMe drives: their driver has not registered with nvidia-fs"},
    {"lustre-no-module",      kError,   kCause, kAnyone, {"mount.lustre: mount ", "No such device"}, "lustre/utils/mount_lustre.c",
     "Lustre could not be mounted: the kernel has no Lustre (ENODEV)"},
    {"lnet-down",             kError,   kCause, kAnyone, {"IOC_LIBCFS_GET_NI error 100"}, "lnet/utils/portals.c",
     "Lustre's network (LNet) has no network configured on this node"},

    // Lines that confirm or refute
    {"geforce",               kNote,    kSight, kAnyone, {"NVIDIA GeForce "}, "nvidia-smi -L", "A GeForce"},
    {"nvme-of-ofed",          kNote,    kSight, kAnyone, {"mlnx-nvme"}, "dkms status", "The nvme module is OFED's"},
    {"lnet-start-failed",     kNote,    kSight, kAnyone, {"LNetError", "starting up LNI"}, "Lustre lnet/lnet/api-ni.c", "LNet could not start its network"},
    {"lustre-module-absent",  kNote,    kSight, kAnyone, {"Module lustre not found"}, "modprobe", "There is no module for this kernel"},
};

constexpr Symptom kMachineStorageLater[] = {
    {"gdrdrv-none",           kError,   kCause, kAnyone, {"couldn't open the driver: /dev/gdrdrv"}, "github.com/NVIDIA/gdrcopy", "gdrcopy finds no device file: its kernel module is not loaded"},
    {"nfs-denied",            kError,   kCause, kAnyone, {"mount.nfs: access denied by server"}, "mount.nfs(8)", "The file server refuses the mount"},
    {"nfs-timeout",           kError,   kCause, kAnyone, {"mount.nfs: Connection timed out"}, "mount.nfs(8)", "The mount got no answer from the file server"},
    {"hdf5-locked",           kError,   kCause, kAnyone, {"unable to lock file, errno = 11,"}, kHdf5Locks, "HDF5 could not open a file: its lock is held"},
    {"hdf5-no-locks",         kError,   kCause, kAnyone, {"unable to lock file, errno = 37,"}, kHdf5Locks, kNoLocksTitle},
    {"hdf5-no-locks-call",    kError,   kCause, kAnyone, {"unable to lock file, errno = 38,"}, kHdf5Locks, kNoLocksTitle},
    {"hdf5-no-locks-here",    kError,   kCause, kAnyone, {"unable to lock file, errno = 95,"}, kHdf5Locks, kNoLocksTitle},
    {"hdf5-no-locks-nfs",     kError,   kCause, kAnyone, {"unable to lock file, errno = 524,"}, kHdf5Locks, kNoLocksTitle},
};

constexpr Hypothesis kMachineStorageHypotheses[] = {
    {.id = "pin-on-geforce", .explains = {"gds-pin", "gdrcopy-pin", "cufile-map"}, .common = kUsual, .needs = {"geforce"}, .refuted_by = {"gpu-data-center"}, .decisive = true,
     .title = "A GeForce has no GPUDirect RDMA and no GPUDirect Storage: its driver pins no memory for another device",
     .cause = "GPUDirect RDMA is a feature of data-centre and professional GPUs (Tesla, Quadro, RTX PRO).",
     .remedy = "Use cuFile's compatibility mode (\"allow_compat_mode\": true in /etc/cufile.json), which copies through the host, or a data-centre GPU.",
     .settle_by = "nvidia-smi -L",
     .source = "github.com/NVIDIA/gds-nvidia-fs/issues/14"},
    {.id = "pin-other-driver", .explains = {"gds-pin", "gdrcopy-pin", "cufile-map"}, .needs = {"gpu-data-center"}, .refuted_by = {"geforce"},
     .title = "The module that pins GPU memory does not fit the loaded NVIDIA driver",
     .cause = "nvidia-fs or gdrdrv was built against another release of the NVIDIA driver, or the driver and the CUDA of the program do not fit.",
     .remedy = "Build it again for the loaded driver (dkms autoinstall), load it after nvidia, and compare the CUDA of the program with nvidia-smi.",
     .settle_by = "modinfo nvidia_fs gdrdrv | grep -e version -e vermagic; cat /proc/driver/nvidia/version",
     .source = "github.com/NVIDIA/gdrcopy/issues/30"},
    {.id = "gds-not-loaded", .explains = {"gds-not-loaded"}, .common = kUsual, .stated = true,
     .cause = "cuFile finds no nvidia-fs: the module is not loaded, or this container was not given its devices (/dev/nvidia-fs*). It copies through the host (compatibility mode), or refuses where that is not allowed.",
     .remedy = "lsmod | grep nvidia_fs on the host. Not there: modprobe nvidia-fs (package nvidia-fs-dkms), after the NVIDIA driver. There: docker run with --device for each /dev/nvidia-fs*, and /run/udev mounted. gdscheck -p in the same container shows what is supported then.",
     .source = "NVIDIA GPUDirect Storage, Troubleshooting Guide"},
    {.id = "gds-nvme-inbox", .explains = {"gds-nvme"}, .common = kUsual, .refuted_by = {"nvme-of-ofed"},
     .title = "The loaded nvme module is the kernel's own, which has no hook for nvidia-fs",
     .cause = "Only an nvme module that was built for GPUDirect Storage registers with nvidia-fs.",
     .remedy = "Install MLNX_OFED or DOCA-OFED with --with-nvmf --enable-gds, update the initramfs (else the old nvme stays in it), restart. On Linux 6.2 or newer with the open driver use PCI P2PDMA (use_pci_p2pdma in cufile.json).",
     .settle_by = "modinfo -n nvme; cat /proc/driver/nvidia-fs/modules",
     .source = "github.com/NVIDIA/gds-nvidia-fs/issues/31"},
    {.id = "gds-nvme-symbols", .explains = {"gds-nvme"}, .needs = {"nvme-of-ofed"}, .refuted_by = {"ofed-none"},
     .title = "OFED's nvme module and nvidia-fs do not find each other",
     .cause = "The initramfs still loads the kernel's own nvme, or nvidia-fs looks for another symbol (nvme_v1_…) than OFED's nvme exports (nvme_v2_…).",
     .remedy = "update-initramfs -u (dracut -f) and restart; if modinfo -n nvme shows OFED's and it stays, install a release of nvidia-fs and OFED that belong together.",
     .settle_by = "grep register_nvfs_dma_ops /proc/kallsyms; cat /proc/driver/nvidia-fs/modules",
     .source = "github.com/NVIDIA/gds-nvidia-fs/issues/87"},
    {.id = "lustre-no-module", .explains = {"lustre-no-module"}, .common = kUsual, .refuted_by = {"lnet-only-failed"},
     .title = "Lustre could not be mounted: its client modules are not loaded",
     .cause = "The client's modules are not installed, or were built for another kernel than the one that runs.",
     .remedy = "modprobe lustre, and read dmesg; compare uname -r with modinfo lustre | grep vermagic; after an update of the kernel build or install the client again, or start the kernel that it was made for.",
     .settle_by = "modprobe -v lustre; dmesg | grep -i -e lustre -e lnet",
     .source = "mount.lustre(8); github.com/whamcloud/Online-Help/issues/35"},
    {.id = "lustre-no-network", .explains = {"lustre-no-module"}, .needs = {"lnet-start-failed"}, .refuted_by = {"lustre-module-absent"},
     .title = "Lustre could not be mounted: its network (LNet) did not start, so its modules were not loaded",
     .cause = "The modules are there; LNet found no interface of the name in its configuration, or the interface had no address yet.",
     .remedy = "lnetctl net show; options lnet networks=… in /etc/modprobe.d beside ip -brief address; then lustre_rmmod and modprobe lustre.",
     .settle_by = "dmesg | grep LNetError; ip -brief address",
     .source = "Lustre lnet/lnet/api-ni.c; Lustre manual, Configuring LNet"},
    {.id = "lnet-down", .explains = {"lnet-down"}, .common = kUsual, .stated = true,
     .cause = "The module lnet is loaded, and no network was given to it: no interface of that name, or no configuration.",
     .remedy = "lnetctl lnet configure; lnetctl net add --net o2ib0 --if ib0 (or tcp0 with an Ethernet interface); keep it: lnetctl export > /etc/lnet.conf. An interface in /etc/modprobe.d/lnet.conf has to exist (ip -brief link).",
     .source = "lnetctl(8); github.com/Seagate/cortx-motr/issues/9"},
    {.id = "gdrdrv-none", .explains = {"gdrdrv-none"}, .stated = true,
     .cause = "/dev/gdrdrv is made when gdrdrv is loaded, and in a container it has to be passed.",
     .remedy = "modprobe gdrdrv (gdrdrv-dkms) on the host; docker run --device /dev/gdrdrv. NCCL works without.",
     .source = "github.com/NVIDIA/gdrcopy"},
    {.id = "nfs-denied", .explains = {"nfs-denied"}, .stated = true,
     .cause = "The server's exports do not let this request in: its address, its path or NFS version, its kind of login (sec=sys, krb5), or its port above 1023, as behind a translated address.",
     .remedy = "mount -v shows what was asked for. On the server: exportfs -v (address as the server sees it, sec=, insecure for ports above 1023), journalctl -u nfs-mountd, exportfs -ra; then mount -o vers=4.1 or vers=3: the path differs where fsid=0 makes another root.",
     .source = "mount.nfs(8)"},
    {.id = "nfs-server-down", .explains = {"nfs-timeout"}, .needs = {"no-host-answers"}, .refuted_by = {"host-answers-ping"},
     .title = "The file server is off, or this node has no way to it",
     .cause = "The server is off, the network between is at fault, or the route leads over the wrong interface.",
     .remedy = "ip route get SERVER (the interface that leads there); the server's console; another client of the same network.",
     .settle_by = "ping SERVER from this node and from another",
     .source = "mount.nfs(8)"},
    {.id = "nfs-port-closed", .explains = {"nfs-timeout"}, .refuted_by = {"no-host-answers"},
     .title = "The file server is reached, and its NFS service does not answer",
     .cause = "A firewall drops port 2049, the service hangs or is not started, or the mount asks for another version (NFS 3 needs port 111 and mountd, too).",
     .remedy = "nc -zv SERVER 2049; rpcinfo -p SERVER; mount -o vers=4.2; on the server systemctl status nfs-server and its firewall.",
     .settle_by = "ping SERVER; nc -zv SERVER 2049",
     .source = "mount.nfs(8), nfs(5)"},
    {.id = "hdf5-locked", .explains = {"hdf5-locked"}, .stated = true,
     .cause = "HDF5 locks each file that it opens, and somebody has the file open for writing: another rank or program, or this one a second time (on NFS also as a removed file, .nfs...). EAGAIN is no limit of processes here.",
     .remedy = "fuser -v FILE on each node that mounts it: close it there first, or let one rank write. Where nobody writes at the same time, HDF5_USE_FILE_LOCKING=FALSE in the job's environment opens it without a lock.",
     .source = "HDF5, File Locking; github.com/pyscf/pyscf/issues/2248"},
    {.id = "hdf5-no-locks", .explains = {"hdf5-no-locks", "hdf5-no-locks-call", "hdf5-no-locks-here", "hdf5-no-locks-nfs"}, .stated = true,
     .cause = "HDF5 locks each file that it opens, and the file system (NFS without its lock service, Lustre without flock, a mounted bucket) grants no locks.",
     .remedy = "HDF5_USE_FILE_LOCKING=FALSE in the job's environment, if one process writes; or locks for the mount: -o flock for Lustre, rpc.statd on both ends for NFS 3, or NFS 4.",
     .source = "HDF5, File Locking; github.com/h5py/h5py/issues/1101; github.com/fusedio/fused-render/pull/203"},
};
// clang-format on

}  // namespace

Table machine_storage() { return {kMachineStorageSymptoms, kMachineStorageHypotheses, kMachineStorageLater}; }

}  // namespace railbed::diagnose::tables
