// Each row is a function from the known properties of the nodes to a cell. The rows read the tables of this
// room (gpu_product, nic, processor, gpudirect) and give the source of each statement.
#include "hardware/technology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "facts/facts.h"
#include "hardware/gpu_product.h"
#include "hardware/gpudirect.h"
#include "hardware/nic.h"
#include "hardware/processor.h"

namespace railbed {
namespace {

using enum TechnologySupport;

struct OsRelease {
  std::string id;
  int major = 0;
};

// Parses an operating system such as "rhel 10.1"; major is 0 if it has no version.
OsRelease release_named(std::string_view os) {
  const std::size_t gap = os.find_first_of(" -");
  if (gap == std::string_view::npos) return {lower(os), 0};
  return {lower(os.substr(0, gap)), parse_number<int>(split(os.substr(gap + 1), '.').front()).value_or(0)};
}

bool is_of_red_hat(const OsRelease& os) {
  return os.id == "rhel" || os.id == "rocky" || os.id == "almalinux" || os.id == "centos";
}

// The input of the rows.
struct StackView {
  const TechnologyStack& stack;
  const Facts* facts;
  const GpuProduct* gpu;
  std::vector<const NicModel*> nics;
  OsRelease os;

  int capability() const { return gpu->capability; }
  bool data_centre() const { return gpu->market == GpuMarket::kDataCentre; }
  // The newest adapter: the node supports what it supports.
  const NicModel* nic() const { return nics.empty() ? nullptr : nics.back(); }
};

TechnologyCell cell(TechnologySupport support, std::string reason, std::string_view source,
                    std::string_view to_tell = {}) {
  return {{}, support, std::move(reason), std::string(to_tell), std::string(source)};
}

std::string capability_text(const GpuProduct& gpu) {
  return fmt::format("{}.{}", gpu.capability / 10, gpu.capability % 10);
}

std::string architecture_text(const GpuProduct& gpu) {
  return std::string(enum_names(gpu.architecture)[static_cast<std::size_t>(gpu.architecture)]);
}

TechnologyCell no_table_row(const StackView& view) {
  return cell(kUnknown,
              view.stack.gpu.empty() ? "no GPU is named"
                                     : fmt::format("\"{}\" is no GPU of railbed's table", view.stack.gpu),
              "railbed's table of GPUs", "nvidia-smi --query-gpu=name,compute_cap --format=csv");
}

// --- the operating system ---

const DroppedDriver* dropped_by(const OsRelease& os, const NicModel& nic) {
  const auto rows = dropped_drivers();
  const auto found = std::ranges::find_if(rows, [&](const DroppedDriver& row) {
    return row.module == nic.module && row.os == os.id && os.major >= row.version;
  });
  return found == rows.end() ? nullptr : &*found;
}

constexpr std::string_view kDriverGuide = "docs.nvidia.com/datacenter/tesla/driver-installation-guide";

// The oldest release of each system for which NVIDIA packages its driver today.
bool has_driver_packages(const OsRelease& os) {
  static const std::map<std::string, int, std::less<>> kOldest = {
      {"rhel", 8}, {"rocky", 8}, {"almalinux", 8}, {"ubuntu", 22}, {"debian", 12}};
  const auto found = kOldest.find(os.id);
  return found != kOldest.end() && os.major >= found->second;
}

const DroppedDriver* unmaintained_by(const OsRelease& os, const NicModel& nic) {
  const auto rows = unmaintained_drivers();
  const auto found = std::ranges::find_if(rows, [&](const DroppedDriver& row) {
    return row.module == nic.module && row.os == os.id && os.major == row.version;
  });
  return found == rows.end() ? nullptr : &*found;
}

// The flags of a node's processor are more precise than its name.
std::optional<int> level_of(const StackView& view) {
  if (view.facts != nullptr && view.facts->system.cpu.x86_level.ok())
    return *view.facts->system.cpu.x86_level;
  return x86_level(view.stack.processor);
}

// Judges the processor's level first, then the adapters' drivers, then NVIDIA's packages. Announces a next
// release that this processor cannot run.
TechnologyCell operating_system(const StackView& view) {
  const OsRelease& os = view.os;
  if (os.id.empty())
    return cell(kUnknown, "no operating system is named", "railbed's tables", "cat /etc/os-release");
  const auto level = level_of(view);
  const std::string_view generation = processor_generation(view.stack.processor);
  const LevelNeeded* needed = level_needed(os.id, os.major);
  if (needed != nullptr && level && *level < needed->level)
    return cell(kNo,
                fmt::format("{} {} asks for x86-64-v{}, and {} knows x86-64-v{}", os.id, os.major,
                            needed->level, generation.empty() ? "this processor" : generation, *level),
                needed->source);
  for (const NicModel* nic : view.nics)
    if (const DroppedDriver* row = dropped_by(os, *nic))
      return cell(kNo, fmt::format("its kernel no longer drives {}: {} is gone", nic->name, row->module),
                  row->source);
  const LevelNeeded* next = level_needed(os.id, os.major + 1);
  std::string beyond;
  if (level && next != nullptr && next->level > *level)
    beyond = fmt::format("; {} {} will not run on this processor, which knows x86-64-v{}", os.id,
                         next->version, *level);
  for (const NicModel* nic : view.nics)
    if (const DroppedDriver* row = unmaintained_by(os, *nic))
      return cell(kLimited,
                  fmt::format("{} {} still has {} for {} and no longer maintains it{}", os.id, os.major,
                              row->module, nic->name, beyond),
                  row->source);
  if (!has_driver_packages(os))
    return cell(kLimited,
                "NVIDIA packages its driver for other releases; its .run file is what is left" + beyond,
                kDriverGuide);
  if (needed != nullptr && !level && view.stack.processor.empty())
    return cell(
        kUnknown,
        fmt::format("{} {} asks for x86-64-v{}, and no processor is named", os.id, os.major, needed->level),
        needed->source, "ld.so --help | grep x86-64-v");
  return cell(kYes, "NVIDIA packages its driver for it" + beyond, kDriverGuide);
}

// --- the network ---

TechnologyCell rdma(const StackView& view) {
  const NicModel* nic = view.nic();
  if (nic == nullptr)
    return cell(kUnknown,
                view.stack.adapters.empty() ? "no RDMA adapter is there or named"
                                            : "no adapter of railbed's table is there",
                "railbed's table of adapters", "lspci -d 15b3:");
  for (const NicModel* model : view.nics)
    if (const DroppedDriver* row = dropped_by(view.os, *model))
      return cell(kNo,
                  fmt::format("{} can do RDMA, and this system's kernel no longer drives it", model->name),
                  row->source);
  std::vector<std::string> ways;
  if (nic->infiniband.bits_per_second > 0)
    ways.push_back(fmt::format("InfiniBand up to {:.0f} Gb/s", nic->infiniband.gigabits()));
  if (nic->ethernet.bits_per_second > 0)
    ways.push_back(
        fmt::format("{} up to {:.0f} Gb/s", nic->roce_v2 ? "RoCE v2" : "RoCE v1", nic->ethernet.gigabits()));
  return cell(
      kYes, fmt::format("{}: {}, by the kernel's own {}", nic->name, fmt::join(ways, ", "), nic->rdma_module),
      nic->source);
}

constexpr std::string_view kPeerMemorySource =
    "nvidia-peermem.c: ib_register_peer_memory_client, which Linux itself never had; GPUDirect RDMA user manual";
constexpr std::string_view kDocaConnectX4 =
    "DOCA 2.9 release notes: \"DOCA 2.9.0 is the last DOCA release to support ConnectX-4\"";

// Judges a node by its own facts.
TechnologyCell gpudirect_of_facts(const Facts& facts) {
  const GpuDirectRoutes routes = gpudirect_routes(facts);
  if (routes.any())
    return cell(kYes,
                fmt::format("open on this node, by {}", routes.dma_buf() ? "DMA-BUF" : "nvidia-peermem"),
                "this node's facts, as rule gpu.gpudirect-route reads them");
  const GpuDirectRow& row = gpudirect_remedy(facts);
  const std::string& why = routes.no_dma_buf.empty() ? routes.no_peer_memory : routes.no_dma_buf;
  return cell(row.possible ? kLimited : kNo,
              row.possible ? fmt::format("closed on this node ({}). {}", why, row.text)
                           : fmt::format("closed on this node: {}", why),
              row.source);
}

// Judges GPUs before Turing: they need a kernel whose RDMA core accepts nvidia-peermem.
TechnologyCell gpudirect_by_peer_memory(const StackView& view) {
  const bool connectx4 = view.nic()->name.starts_with("ConnectX-4");
  const std::string last = connectx4 ? ", of which DOCA 2.9 LTS is the last for ConnectX-4" : "";
  if (view.os.id == "ubuntu" && view.os.major == 22)
    return cell(kLimited,
                "only by nvidia-peermem, for which Ubuntu's kernels from 5.11 to 6.5 have a place; "
                "from 6.8 on it takes DOCA-OFED" +
                    last,
                "Launchpad 1923104; Ubuntu, \"NVIDIA GPUDirect over Infiniband Migration Paths\"");
  const std::string reason = fmt::format(
      "only by nvidia-peermem, for which this system's own RDMA drivers have no place: "
      "it takes DOCA-OFED{}",
      last);
  if (is_of_red_hat(view.os) && view.os.major >= 10 && connectx4)
    return cell(kUnknown, reason + ", and that is older than this system", kDocaConnectX4,
                "\"General Support\" of DOCA 2.9's latest update: does it list this release?");
  return cell(kLimited, reason, connectx4 ? kDocaConnectX4 : kPeerMemorySource);
}

TechnologyCell gpudirect_by_dma_buf(const StackView& view) {
  // Their first kernels: RHEL 8 4.18, Ubuntu 20.04 5.4, Debian 11 5.10.
  const bool old = (is_of_red_hat(view.os) && view.os.major < 9) ||
                   (view.os.id == "ubuntu" && view.os.major < 22) ||
                   (view.os.id == "debian" && view.os.major < 12);
  if (old)
    return cell(
        kLimited,
        "DMA-BUF came with Linux 5.12, and this system's kernel is older: nvidia-peermem and DOCA-OFED",
        "Linux drivers/infiniband/core/umem_dmabuf.c, since 5.12");
  std::string reason =
      "by DMA-BUF: open kernel module of the GPU driver, this kernel's own mlx5, a path that stays off the "
      "processors' interconnect";
  if (view.gpu->name == "T4") reason += "; a T4 shows 256 MiB of its memory on PCI at a time";
  return cell(
      kYes, reason,
      "docs.nvidia.com GPU Operator, \"GPUDirect RDMA and GPUDirect Storage\"; open-gpu-kernel-modules "
      "README: Turing and later");
}

TechnologyCell gpudirect_rdma(const StackView& view) {
  if (view.gpu->market == GpuMarket::kGeForce)
    return cell(kNo, "GeForce has none: NCCL stages through host memory",
                "GPUDirect RDMA documentation: Tesla and Quadro class GPUs");
  if (view.gpu->market == GpuMarket::kUnified)
    return cell(kNo, "its memory is its processor's: no adapter reaches what CUDA allocates there",
                "NVIDIA, \"DGX Spark GPUDirect RDMA\", forums.developer.nvidia.com/t/348787");
  if (view.facts != nullptr && !items(view.facts->rdma.devices).empty())
    return gpudirect_of_facts(*view.facts);
  const NicModel* nic = view.nic();
  if (nic == nullptr)
    return cell(kUnknown, "no RDMA adapter is named", "railbed's table of adapters", "lspci -d 15b3:");
  if (!nic->gpudirect)
    return cell(kNo,
                fmt::format("{}'s driver in the kernel registers host memory only; MLNX_OFED 4.9 LTS, the "
                            "last for it, ends with Linux 5.4",
                            nic->name),
                "Linux drivers/infiniband/hw/mlx4/mr.c; MLNX_OFED 4.9-2.2.6.0 release notes");
  return view.gpu->architecture < GpuArchitecture::kTuring ? gpudirect_by_peer_memory(view)
                                                           : gpudirect_by_dma_buf(view);
}

TechnologyCell gpudirect_storage(const StackView& view) {
  constexpr std::string_view kFs =
      "github.com/NVIDIA/gds-nvidia-fs README; GPU Operator: nvidia-fs from 2.17.5 on with the open kernel "
      "module only";
  if (view.gpu->architecture < GpuArchitecture::kPascal) return cell(kNo, "it begins with Pascal", kFs);
  if (!view.data_centre() && view.gpu->market != GpuMarket::kWorkstation)
    return cell(kNo, "for data centre and workstation GPUs; here cuFile goes through host memory", kFs);
  if (view.stack.nvme == false)
    return cell(
        kLimited,
        "there is no NVMe drive: cuFile runs in compatibility mode, through host memory, "
        "unless a file server speaks RDMA",
        "docs.nvidia.com/gpudirect-storage/nvidia_fs: EXT4 and XFS on NVMe and NVMe-oF, NFS over RDMA");
  if (view.gpu->architecture < GpuArchitecture::kTuring)
    return cell(kLimited,
                "only with an nvidia-fs before 2.17.5: later ones want the open kernel module, "
                "which begins with Turing",
                kFs);
  if (!view.stack.nvme)
    return cell(kUnknown, "GPU and driver can; whether there is an NVMe drive is not known", kFs,
                "lsblk -d -o NAME,TRAN; gdscheck -p");
  return cell(kYes, "an NVMe drive is there; it takes nvidia-fs, and EXT4 or XFS opened with O_DIRECT", kFs);
}

// --- sharing a GPU ---

TechnologyCell mig(const StackView& view) {
  constexpr std::string_view kMig = "docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html";
  if (view.gpu->mig > 0) return cell(kYes, fmt::format("up to {} instances", view.gpu->mig), kMig);
  return cell(kNo,
              view.gpu->architecture < GpuArchitecture::kAmpere ? "it begins with Ampere"
                                                                : "not in its list of products",
              kMig);
}

TechnologyCell time_slicing(const StackView& view) {
  constexpr std::string_view kSharing =
      "docs.nvidia.com GPU Operator, \"Time-Slicing GPUs in Kubernetes\": no memory or fault isolation";
  if (view.gpu->architecture < GpuArchitecture::kPascal)
    return cell(kLimited,
                "processes share it as with any GPU, and before Pascal a long kernel cannot be interrupted",
                "NVIDIA Pascal architecture white paper, compute preemption; " + std::string(kToCheck));
  return cell(kYes, "processes take turns; nothing keeps one from the memory or the faults of another",
              kSharing);
}

TechnologyCell mps(const StackView& view) {
  constexpr std::string_view kMps = "docs.nvidia.com/deploy/mps, \"When to Use MPS\" and \"Volta MPS\"";
  if (view.gpu->architecture < GpuArchitecture::kVolta)
    return cell(kLimited, "at most 16 clients, which share one address space and the faults of each other",
                kMps);
  return cell(
      kYes,
      "processes compute at the same time, each in an address space of its own; a fault of one ends all",
      kMps);
}

// Hopper and Blackwell as NVIDIA's lists of supported platforms have them.
TechnologyCell confidential_computing(const StackView& view) {
  constexpr std::string_view kPlatforms =
      "docs.nvidia.com/confidential-computing, \"Supported Platforms\"; R580 TRD1 release notes";
  if (view.gpu->architecture < GpuArchitecture::kHopper)
    return cell(kNo, "it begins with Hopper", kPlatforms);
  const std::string_view name = view.gpu->name;
  if (name == "RTX PRO 6000")
    return cell(kLimited, "of its editions only the Server Edition, one GPU in a guest with SEV-SNP or TDX",
                kPlatforms);
  if (name.starts_with("H100") || name.starts_with("H200") || name == "B200" || name == "B300")
    return cell(kYes, "in a guest, where the processor has SEV-SNP or TDX; data passes a bounce buffer",
                kPlatforms);
  return view.data_centre()
             ? cell(kUnknown, "its list does not name this product", kPlatforms, "nvidia-smi conf-compute -f")
             : cell(kNo, "not in its list of products", kPlatforms);
}

TechnologyCell vgpu(const StackView& view) {
  constexpr std::string_view kVgpuList =
      "docs.nvidia.com/vgpu/gpus-supported-by-vgpu.html; /vgpu/17.0/whats-new-vgpu: Pascal withdrawn";
  if (view.gpu->vgpu_last == 0) return cell(kNo, "not in its list of products", kVgpuList);
  if (view.gpu->vgpu_last == kVgpuStill)
    return cell(kYes, "with a licence and a hypervisor of its list", kVgpuList);
  return cell(kLimited,
              fmt::format("vGPU {} is the last branch with it{}", view.gpu->vgpu_last,
                          view.gpu->vgpu_last == 16 ? ", and its maintenance ended in July 2026" : ""),
              "docs.nvidia.com/vgpu/news/vgpu-software-lifecycle-on-supported-gpus");
}

// --- watching ---

TechnologyCell dcgm(const StackView& view) {
  constexpr std::string_view kDcgm = "docs.nvidia.com/datacenter/dcgm, \"Supported Platforms\"";
  if (view.gpu->architecture == GpuArchitecture::kKepler && view.gpu->name != "K80")
    return cell(kNo, "of Kepler it knows K80 only", kDcgm);
  if (!view.data_centre())
    return cell(kLimited, "parts of it work on GPUs that are not for data centres", kDcgm);
  if (view.os.id == "debian" && view.os.major != 0 && view.os.major != 12)
    return cell(kLimited, "of Debian its list has release 12", kDcgm);
  return cell(kYes,
              view.gpu->architecture < GpuArchitecture::kVolta
                  ? "health and telemetry; the profiling metrics begin with Volta"
                  : "health, telemetry and profiling metrics",
              kDcgm);
}

TechnologyCell dcgm_exporter(const StackView& view) {
  const TechnologyCell below = dcgm(view);
  if (below.support == kNo) return below;
  if (view.gpu->architecture < GpuArchitecture::kVolta)
    return cell(kLimited, "no DCGM_FI_PROF_ metrics before Volta: dashboards that plot them stay empty",
                "github.com/NVIDIA/dcgm-exporter/issues/5: \"Datacenter grade Volta and newer\"");
  return cell(below.support, below.support == kYes ? "DCGM's metrics for Prometheus" : below.reason,
              "github.com/NVIDIA/dcgm-exporter README");
}

// --- compiling and computing ---

// Returns true for Kepler, whose last driver branch is older than the operating system by years.
bool driver_is_too_old(const StackView& view) {
  const int last = cuda_support(*view.gpu).last_driver;
  return last != 0 && last < 500 && is_of_red_hat(view.os) && view.os.major >= 10;
}

TechnologyCell no_driver(const StackView& view) {
  return cell(kNo,
              fmt::format("driver branch {} is the last for this GPU, and is older than this system",
                          cuda_support(*view.gpu).last_driver),
              fmt::format("CUDA matrix of NVIDIA's drivers; that it does not build there: {}", kToCheck));
}

TechnologyCell cuda(const StackView& view) {
  constexpr std::string_view kToolkits =
      "docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html";
  const CudaSupport support = cuda_support(*view.gpu);
  if (support.last_driver == 0)
    return cell(
        kYes,
        fmt::format("toolkits from {} on compile for compute capability {}; every current driver branch",
                    support.first_toolkit, capability_text(*view.gpu)),
        kToolkits);
  return cell(
      kLimited,
      fmt::format("toolkits {} to {} compile for compute capability {}; driver branch {} is the last, "
                  "with the proprietary kernel module",
                  support.first_toolkit, support.last_toolkit, capability_text(*view.gpu),
                  support.last_driver),
      kToolkits);
}

TechnologyCell tensorrt(const StackView& view) {
  if (view.capability() >= 75)
    return cell(kYes, "TensorRT 10 takes compute capability 7.5 and later",
                "docs.nvidia.com TensorRT 10.5.0 release notes");
  if (view.capability() >= 70)
    return cell(kLimited, "10.4 is the last with Volta",
                "docs.nvidia.com TensorRT 10.5.0 release notes: \"NVIDIA Volta Support Removed\"");
  const bool kepler = view.gpu->architecture == GpuArchitecture::kKepler;
  std::string reason =
      fmt::format("{} is the last with {}", kepler ? "8.5" : "8.6", architecture_text(*view.gpu));
  if (is_of_red_hat(view.os) && view.os.major >= 9)
    reason += ", older than TensorRT's support of RHEL 9: run it in a container";
  return cell(kLimited, reason,
              kepler ? "TensorRT 8.5.2 release notes: \"the last release supporting NVIDIA Kepler\""
                     : "TensorRT 10.1 support matrix: \"capability SM 7.0 or higher\"; 8.6.1 support matrix; "
                       "10.0.1 release notes on RHEL 9");
}

TechnologyCell container_toolkit(const StackView& view) {
  const CudaSupport support = cuda_support(*view.gpu);
  constexpr std::string_view kInstall =
      "docs.nvidia.com/datacenter/cloud-native/container-toolkit, installation guide";
  if (support.last_driver == 0)
    return cell(kYes, "docker, podman (by CDI) and containerd; it needs the driver alone", kInstall);
  return cell(kYes,
              fmt::format("it needs the driver alone; images have to be built with CUDA {} or older",
                          support.last_toolkit),
              kInstall);
}

TechnologyCell gpu_operator(const StackView& view) {
  constexpr std::string_view kOperator =
      "docs.nvidia.com/datacenter/cloud-native/gpu-operator, \"Platform Support\" (read as of 24.6)";
  if (view.gpu->market == GpuMarket::kUnified) return cell(kNo, "discrete GPUs only", kOperator);
  if (view.gpu->architecture < GpuArchitecture::kPascal)
    return cell(kNo, "its list begins with Pascal", kOperator);
  if (view.gpu->market == GpuMarket::kGeForce) return cell(kLimited, "GeForce is not in its list", kOperator);
  const bool listed = view.os.id == "ubuntu" || (view.os.id == "rhel" && view.os.major == 8);
  if (!view.os.id.empty() && !listed)
    return cell(
        kLimited,
        "its driver container is validated on Ubuntu and RHEL 8; elsewhere the driver is installed on "
        "the host first (driver.enabled=false)",
        kOperator);
  return cell(kYes, "in its list; it needs Kubernetes or OpenShift", kOperator);
}

TechnologyCell fabric_manager(const StackView& view) {
  constexpr std::string_view kManager = "docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide";
  if (view.gpu->nvlink != NvlinkWay::kSwitch)
    return cell(kNo, "nothing for it to do: no NVSwitch joins these GPUs", kManager);
  if (view.stack.gpus && *view.stack.gpus < 8)
    return cell(kUnknown, "boards with NVSwitch need it, and four GPUs may be wired without", kManager,
                "lspci -d 10de: | grep -i bridge; nvidia-smi topo -m");
  return cell(kYes, "boards with NVSwitch need it, in the driver's own version", kManager);
}

TechnologyCell nvlink(const StackView& view) {
  constexpr std::string_view kNvlinkSheets = "the product's data sheet";
  switch (view.gpu->nvlink) {
    case NvlinkWay::kNone:
      return cell(kNo,
                  view.gpu->market == GpuMarket::kUnified || view.gpu->name == "GH200"
                      ? "NVLink-C2C joins it to its processor, to no other GPU"
                      : "the product has none",
                  kNvlinkSheets);
    case NvlinkWay::kBridge:
      return cell(kUnknown, "bridges over two cards are an option", kNvlinkSheets,
                  "nvidia-smi nvlink --status");
    case NvlinkWay::kBoard:
      return cell(kYes, "wired on its board", kNvlinkSheets);
    case NvlinkWay::kSwitch:
      return cell(kYes, "wired on its board, by NVSwitch where eight are", kNvlinkSheets);
  }
  return {};
}

TechnologyCell nim(const StackView& view) {
  constexpr std::string_view kNim =
      "docs.nvidia.com/nim, support matrix: compute capability 7.0 and later, 8.0 for bfloat16";
  if (view.capability() < 70)
    return cell(
        kNo, fmt::format("it asks for compute capability 7.0; this is {}", capability_text(*view.gpu)), kNim);
  if (view.capability() < 80)
    return cell(kLimited,
                fmt::format("no bfloat16, which most models come in{}",
                            view.gpu->memory_gb > 0
                                ? fmt::format(", and {} GB hold small models only", view.gpu->memory_gb)
                                : ""),
                kNim);
  return cell(kYes, "where the model fits its memory: each model's page says what it takes", kNim);
}

TechnologyCell mixed_precision(const StackView& view) {
  constexpr std::string_view kFormats =
      "TensorRT support matrix, \"Hardware and Precision\"; Transformer Engine, \"Datatype and hardware "
      "support matrix\"; CUTLASS, \"Tensor Cores\"";
  if (!view.gpu->has_tensor_cores()) {
    if (view.gpu->architecture == GpuArchitecture::kPascal)
      return cell(kLimited,
                  view.capability() == 60 ? "no tensor cores; FP16 at twice the rate of FP32, no fast INT8"
                                          : "no tensor cores; fast INT8, FP16 slower than FP32",
                  kFormats);
    return cell(kNo, "no tensor cores, no fast FP16 or INT8", kFormats);
  }
  switch (view.gpu->architecture) {
    case GpuArchitecture::kVolta:
      return cell(kYes, "tensor cores: FP16; no INT8, BF16, TF32, FP8", kFormats);
    case GpuArchitecture::kTuring:
      return cell(kYes, "tensor cores: FP16, INT8; no BF16, TF32, FP8", kFormats);
    case GpuArchitecture::kAmpere:
      return cell(kYes, "tensor cores: FP16, BF16, TF32, INT8; no FP8", kFormats);
    case GpuArchitecture::kAda:
    case GpuArchitecture::kHopper:
      return cell(kYes, "tensor cores: FP16, BF16, TF32, INT8, FP8; no FP4", kFormats);
    default:
      return cell(kYes, "tensor cores: FP16, BF16, TF32, INT8, FP8, FP4", kFormats);
  }
}

TechnologyCell merlin(const StackView& view) {
  constexpr std::string_view kMerlin =
      "nvidia-merlin.github.io/Merlin/stable/support_matrix: containers up to 23.06; docs.rapids.ai RSN 34: "
      "no Pascal from 24.02 on";
  if (view.gpu->architecture < GpuArchitecture::kPascal)
    return cell(kNo, "RAPIDS, on which it stands, begins with Pascal", kMerlin);
  if (view.gpu->architecture == GpuArchitecture::kPascal)
    return cell(kLimited, "its containers of 2023 only: RAPIDS 23.12 is the last with Pascal", kMerlin);
  if (view.gpu->architecture >= GpuArchitecture::kBlackwell)
    return cell(kUnknown, "its containers are of 2023, before this architecture", kMerlin,
                "start nvcr.io/nvidia/merlin/merlin-hugectr and run one of its examples");
  return cell(kYes, "in its containers, the latest of which are of 2023", kMerlin);
}

// --- several GPUs ---

TechnologyCell nccl(const StackView& view) {
  constexpr std::string_view kNccl =
      "NCCL user guide, \"Installing NCCL\"; the toolkits' architectures as for CUDA";
  const CudaSupport support = cuda_support(*view.gpu);
  const std::string far = view.nic() != nullptr ? fmt::format("between nodes over {}", view.nic()->name)
                                                : "between nodes over TCP, as no RDMA adapter is named";
  if (support.last_driver != 0)
    return cell(kLimited, fmt::format("{}; builds for CUDA {} or older only", far, support.last_toolkit),
                kNccl);
  return cell(kYes, fmt::format("{}; `railbed nccl` says what it will choose on a node", far), kNccl);
}

TechnologyCell p2p_of_facts(const NvmlPeers& peers) {
  std::size_t fine = 0;
  std::string obstacle;
  for (const auto& [from, row] : peers)
    for (const auto& [to, way] : row) {
      if (way.read == "ok") ++fine;
      if (way.read != "ok" && !way.read.empty()) obstacle = fmt::format("{} → {}: {}", from, to, way.read);
    }
  const TechnologySupport support = obstacle.empty() ? kYes : fine > 0 ? kLimited : kNo;
  return cell(support, obstacle.empty() ? "the driver allows it between all GPUs of this node" : obstacle,
              "this node's facts: nvmlDeviceGetP2PStatus");
}

TechnologyCell p2p(const StackView& view) {
  if (view.stack.gpus == 1)
    return cell(kNo, "one GPU in a node has no peer there", "this node's facts, or what was named");
  const auto is_known = [](const auto& row) {
    return std::ranges::any_of(row.second, [](const auto& to) { return !to.second.read.empty(); });
  };
  if (view.facts != nullptr && view.facts->gpus.peers.ok() &&
      std::ranges::any_of(*view.facts->gpus.peers, is_known))
    return p2p_of_facts(*view.facts->gpus.peers);
  if (view.gpu->nvlink == NvlinkWay::kSwitch || view.gpu->nvlink == NvlinkWay::kBoard)
    return cell(kYes, "over NVLink", "CUDA C++ programming guide, Peer-to-Peer Memory Access");
  if (view.gpu->market == GpuMarket::kGeForce && view.gpu->architecture >= GpuArchitecture::kAmpere)
    return cell(kNo, "NVIDIA's driver refuses it between these over PCIe", kToCheck);
  return cell(kUnknown, "PCIe topology, ACS and IOMMU decide",
              "PCI specification, as Linux drivers/pci/p2pdma.c puts it; CUDA's cudaDeviceCanAccessPeer",
              "nvidia-smi topo -p2p r; railbed verify (rules pcie.acs, pcie.iommu)");
}

// --- the table ---

struct TechnologyRow {
  std::string_view name;
  TechnologyCell (*judge)(const StackView& view);
  bool of_gpu = true;  // the row needs a known GPU with a driver that runs on the system
};

constexpr TechnologyRow kTechnologies[] = {
    {"Operating system", operating_system, false},
    {"RDMA", rdma, false},
    {"GPUDirect RDMA", gpudirect_rdma},
    {"GPUDirect Storage", gpudirect_storage},
    {"MIG", mig},
    {"Time-slicing", time_slicing},
    {"MPS", mps},
    {"Confidential computing", confidential_computing},
    {"vGPU", vgpu},
    {"DCGM", dcgm},
    {"DCGM exporter", dcgm_exporter},
    {"Merlin", merlin},
    {"TensorRT", tensorrt},
    {"CUDA", cuda},
    {"Container Toolkit", container_toolkit},
    {"GPU Operator", gpu_operator},
    {"Fabric Manager", fabric_manager},
    {"NVLink", nvlink},
    {"NIM", nim},
    {"Mixed precision", mixed_precision},
    {"NCCL", nccl},
    {"GPU peer to peer", p2p},
};

// Judges one row. Rows about the GPU need a known GPU; they give "not supported" if its last driver is older
// than the system.
TechnologyCell judge_row(const TechnologyRow& row, const StackView& view) {
  if (!row.of_gpu) return row.judge(view);
  if (view.gpu == nullptr) return no_table_row(view);
  TechnologyCell judged = row.judge(view);
  return judged.support != kNo && driver_is_too_old(view) ? no_driver(view) : judged;
}

// Returns the adapters of these names, oldest model first.
std::vector<const NicModel*> nics_named(const std::vector<std::string>& names) {
  std::vector<const NicModel*> nics;
  for (const std::string& name : names)
    if (const NicModel* found = find_nic_named(name)) nics.push_back(found);
  std::ranges::sort(nics, {}, [](const NicModel* nic) { return nic - nic_models().data(); });
  return nics;
}

}  // namespace

std::vector<std::string_view> technology_names() {
  std::vector<std::string_view> names;
  for (const TechnologyRow& row : kTechnologies) names.push_back(row.name);
  return names;
}

std::vector<TechnologyCell> technology_cells(const TechnologyStack& stack, const Facts* facts) {
  const StackView view{stack, facts, find_gpu_product(stack.gpu), nics_named(stack.adapters),
                       release_named(stack.os)};
  std::vector<TechnologyCell> cells;
  for (const TechnologyRow& row : kTechnologies) {
    cells.push_back(judge_row(row, view));
    cells.back().technology = row.name;
  }
  return cells;
}

std::vector<TechnologyStack> stacks_of(const Facts& facts) {
  TechnologyStack stack;
  std::set<std::string> adapters;
  for (const PciDevice& device : items(facts.pci)) {
    if (device.vendor.value_or(0) == kVendorMellanox && is_network(device))
      if (const NicModel* nic = find_nic(device.device.value_or(0))) adapters.insert(std::string(nic->name));
    if (is_nvme(device)) stack.nvme = true;
  }
  if (facts.pci.ok() && !stack.nvme) stack.nvme = false;
  stack.adapters = {adapters.begin(), adapters.end()};
  const Os& os = facts.system.os;
  if (os.id.ok()) stack.os = *os.id + (os.version.ok() ? " " + *os.version : "");
  stack.processor = facts.system.cpu.model.value_or("");
  std::map<std::string, int> models;
  for (const Gpu& gpu : items(facts.gpus.devices))
    ++models[gpu.model.value_or("a GPU whose driver does not say what it is")];
  if (models.empty()) return {stack};
  std::vector<TechnologyStack> stacks;
  for (const auto& [model, count] : models) {
    stacks.push_back(stack);
    stacks.back().gpu = model;
    stacks.back().gpus = count;
  }
  return stacks;
}

}  // namespace railbed
