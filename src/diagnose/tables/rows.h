// The tables: what programs print when something is wrong, and why, one file for each concern.
//
// A table's function bears its path: gpu_cuda() is of gpu/cuda.cc. tables.cc puts the tables in order.
#pragma once

#include <span>
#include <string_view>

#include "diagnose/hypothesis.h"
#include "diagnose/symptom.h"

namespace railbed::diagnose::tables {

struct Table {
  std::span<const Symptom> symptoms;
  std::span<const Hypothesis> hypotheses;
  std::span<const Symptom> later = {};  // a second part, which tables.cc puts behind other tables
};

// Short names for the columns.
constexpr auto kError = Severity::kError;
constexpr auto kWarning = Severity::kWarning;
constexpr auto kNote = Severity::kNote;
constexpr auto kCause = Role::kCause;
constexpr auto kEcho = Role::kEcho;
constexpr auto kAside = Role::kAside;
constexpr auto kSight = Role::kSight;
constexpr auto kWarned = Said::kWarning;
constexpr auto kNccl = Said::kNccl;
constexpr auto kAnyone = Said::kAnyone;
constexpr auto kRare = Common::kRare;
constexpr auto kUsual = Common::kUsual;

// Sources and texts that rows of several tables share.
constexpr std::string_view kIbSource = "NCCL src/transport/net_ib; ibv_wc_status of libibverbs";
constexpr std::string_view kCudaErrors = "CUDA Runtime API, cudaError";
constexpr std::string_view kEnvGuide = "NCCL user guide, Environment Variables";
constexpr std::string_view kTroubleGuide = "NCCL user guide, Troubleshooting";

constexpr std::string_view kNvml = "NVML return values, nvmlErrorString";
constexpr std::string_view kNvrm = "github.com/NVIDIA/open-gpu-kernel-modules";
constexpr std::string_view kToolkit = "github.com/NVIDIA/nvidia-container-toolkit";
constexpr std::string_view kTorchCuda = "PyTorch c10/cuda, torch/cuda/__init__.py";
constexpr std::string_view kXidCatalog = "NVIDIA Xid catalog; src/hardware/xid.cc";
constexpr std::string_view kFmGuide = "NVIDIA Fabric Manager user guide";
constexpr std::string_view kDriverOldTitle =
    "The NVIDIA driver is older than the CUDA that the program was built with";
constexpr std::string_view kNewerDriver =
    "Compare \"CUDA Version\" of nvidia-smi with the program's CUDA; install a newer driver, or a build for an older CUDA.";
constexpr std::string_view kLostRemedy =
    "Drain the node; dmesg | grep -i -e xid -e AER -e pcieport shows the moment; restart it (power off and on, if that is not enough). If it comes again: temperature and power "
    "under load (nvidia-smi -lgc at low clocks, to compare), power cables, seat, riser, BIOS and ASPM; in another slot it shows whether it is the GPU, which is then to be replaced.";
constexpr std::string_view kLibraryTitle =
    "The NVIDIA driver's library is of another version than its kernel module";
constexpr std::string_view kFmStart =
    "systemctl enable --now nvidia-fabricmanager; CUDA works when nvidia-smi -q shows Fabric State: Completed.";
constexpr std::string_view kKernelLog = "dmesg | grep -i -e xid -e nvrm";
constexpr std::string_view kNv = "github.com/NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia";
constexpr std::string_view kPci = "Linux drivers/pci";
constexpr std::string_view kModules = "Linux kernel/module; kmod";
constexpr std::string_view kPerftest = "perftest src/perftest_resources.c; ibv_wc_status of libibverbs";
constexpr std::string_view kModuleLook =
    "lsmod | grep peer; ls /sys/module/nvidia_peermem /sys/kernel/mm/memory_peers";
constexpr std::string_view kGidLook = "show_gids on both nodes";
constexpr std::string_view kVllmRay = "vLLM executor/ray_utils.py";
constexpr std::string_view kSrunSource = "Slurm src/srun/launch.c, src/common/slurm_errno.c";
constexpr std::string_view kSlurmd = "Slurm src/slurmd, src/slurmctld";
constexpr std::string_view kFileTable = "Linux fs/file_table.c";
constexpr std::string_view kLookAbove =
    "Read that rank's output up to this line; the earliest error of all ranks counts.";
constexpr std::string_view kKata =
    "github.com/kata-containers/kata-containers, vfio_device/core.rs, drivers/utils.go";
constexpr std::string_view kErrno = "Slurm src/common/slurm_errno.c";
constexpr std::string_view kSlurm = "Slurm src/slurmctld, src/slurmd";
constexpr std::string_view kReasons = "Slurm squeue(1), Job Reason Codes; sinfo -R";
constexpr std::string_view kKubelet = "github.com/kubernetes/kubernetes, pkg/kubelet";
constexpr std::string_view kRunc = "github.com/opencontainers/runc";
constexpr std::string_view kTorchDist = "PyTorch torch/distributed";

Table containers_device_plugins();
Table containers_engines();
Table containers_enroot();
Table containers_kubernetes();
Table containers_nvidia_runtime();

Table gpu_cuda();
Table gpu_cuda_faults();
Table gpu_dcgm();
Table gpu_driver();
Table gpu_fabric_manager();
Table gpu_nvidia_smi();
Table gpu_nvlink();
Table gpu_nvml();
Table gpu_nvrm();

Table kernel_adapters();
Table kernel_boot();
Table kernel_driver_build();
Table kernel_drives();
Table kernel_hangs();
Table kernel_hardware();
Table kernel_modules();
Table kernel_ofed();
Table kernel_packages();
Table kernel_pcie();
Table kernel_systemd();
Table kernel_virtual();

Table launch_mpich();
Table launch_open_mpi();
Table launch_pmix();
Table launch_ssh();

Table machine_ipmi();
Table machine_netboot();
Table machine_redfish();
Table machine_storage();

Table nccl_bootstrap();
Table nccl_consequences();
Table nccl_memory();
Table nccl_rdma();
Table nccl_settings();

Table program_compilers();
Table program_ended();
Table program_files();
Table program_libraries();
Table program_out_of_memory();
Table program_system();
Table program_training();

Table rdma_libfabric();
Table rdma_nvshmem();
Table rdma_peer_memory();
Table rdma_perftest();
Table rdma_subnet();
Table rdma_transfer();
Table rdma_ucx();
Table rdma_verbs();

Table serving_models();
Table serving_ray();
Table serving_sglang();
Table serving_vllm();

Table slurm_daemons();
Table slurm_jobs();
Table slurm_munge();
Table slurm_nodes();
Table slurm_steps();

Table torch_collectives();
Table torch_elastic();
Table torch_extensions();
Table torch_gloo();
Table torch_program();
Table torch_store();

}  // namespace railbed::diagnose::tables
