// Reads the node and each of its GPUs through NVML. Each call is a child process of its own: a broken GPU may
// hang any of these functions, and must not hide the values of the other GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/json_wrapped.h"
#include "nvidia/calls.h"
#include "nvidia/gpu_probe.h"

namespace railbed {
namespace {

using nvml::Device;
using nvml::Nvml;

constexpr std::string_view kPeersCall = "nvml p2p";
constexpr std::string_view kListCall = "nvml list";
constexpr std::string_view kActivityCall = "nvml activity";
constexpr std::string_view kHeldBackCall = "nvml held-back";
constexpr std::string_view kGpuCall = "nvml ";

// Returns the enumerator's name by its number; "unknown (N)" for one that is newer than this table.
Reading<std::string> named(const Reading<unsigned>& code, std::initializer_list<std::string_view> names) {
  return code.parsed([&](unsigned value) {
    return std::optional<std::string>(value < names.size() ? std::string(names.begin()[value])
                                                           : fmt::format("unknown ({})", value));
  });
}

Reading<bool> as_flag(const Reading<std::uint64_t>& field) {
  return field.parsed([](std::uint64_t value) { return std::optional<bool>(value != 0); });
}

Reading<double> watts(const Reading<unsigned>& milliwatts) {
  return milliwatts.parsed([](unsigned value) { return std::optional<double>(value / 1000.0); });
}

void ask_identity(Nvml& nvml, Device device, NvmlGpu& gpu) {
  gpu.name = nvml.text("nvmlDeviceGetName", device);
  gpu.uuid = nvml.text("nvmlDeviceGetUUID", device);
  gpu.vbios = nvml.text("nvmlDeviceGetVbiosVersion", device);
  gpu.gsp_firmware = nvml.text("nvmlDeviceGetGspFirmwareVersion", device);
  constexpr int kCorrupted = 14;
  const char* validate = "nvmlDeviceValidateInforom";
  const int valid = nvml.call(validate, device);
  gpu.inforom_valid =
      valid == kCorrupted ? Reading<bool>(false, validate) : Nvml::judged(valid, true, validate);
}

// Returns the profiles of the GPU's MIG devices. Their names end with them: "NVIDIA A100-SXM4-40GB MIG 3g.20gb".
Reading<std::vector<std::string>> ask_mig_devices(Nvml& nvml, Device device) {
  constexpr unsigned kMost = 64;
  constexpr int kNotFound = 6;
  constexpr std::string_view kMark = " MIG ";
  const char* function = "nvmlDeviceGetMigDeviceHandleByIndex";
  unsigned most = 0;
  if (const int code = nvml.call("nvmlDeviceGetMaxMigDeviceCount", device, &most); code != nvml::kSuccess)
    return {nvml::miss_of(code), "nvmlDeviceGetMaxMigDeviceCount"};
  std::vector<std::string> profiles;
  for (unsigned i = 0; i < std::min(most, kMost); ++i) {
    Device part = nullptr;
    const int code = nvml.call(function, device, i, &part);
    if (code == kNotFound) continue;
    if (code != nvml::kSuccess) return {nvml::miss_of(code), function};
    const auto name = nvml.text("nvmlDeviceGetName", part);
    const std::size_t mark = name ? name->rfind(kMark) : std::string::npos;
    if (mark == std::string::npos)
      return {Miss{Missing::kGarbled, "a MIG device's name without its profile"}, function};
    profiles.push_back(name->substr(mark + kMark.size()));
  }
  std::ranges::sort(profiles);
  return {std::move(profiles), function};
}

void ask_modes(Nvml& nvml, Device device, NvmlGpu& gpu) {
  gpu.persistence = nvml.flag("nvmlDeviceGetPersistenceMode", device);
  gpu.compute_mode = named(nvml.get<unsigned>("nvmlDeviceGetComputeMode", device),
                           {"default", "exclusive thread", "prohibited", "exclusive process"});
  unsigned now = 0;
  unsigned pending = 0;
  const char* mig = "nvmlDeviceGetMigMode";
  int code = nvml.call(mig, device, &now, &pending);
  gpu.mig = Nvml::judged(code, now != 0, mig);
  if (code == nvml::kSuccess && now != 0) gpu.mig_devices = ask_mig_devices(nvml, device);
  const char* ecc = "nvmlDeviceGetEccMode";
  code = nvml.call(ecc, device, &now, &pending);
  gpu.ecc = Nvml::judged(code, now != 0, ecc);
  gpu.ecc_pending = Nvml::judged(code, pending != 0, ecc);
}

void ask_memory_errors(Nvml& nvml, Device device, NvmlGpu& gpu) {
  // nvmlMemoryErrorType_t, nvmlEccCounterType_t
  constexpr int kCorrected = 0, kUncorrected = 1, kVolatile = 0, kAggregate = 1;
  const auto total = [&](int type, int counter) {
    return nvml.number<std::uint64_t, unsigned long long>("nvmlDeviceGetTotalEccErrors", device, type,
                                                          counter);
  };
  gpu.ecc_volatile_uncorrectable = total(kUncorrected, kVolatile);
  gpu.ecc_volatile_corrected = total(kCorrected, kVolatile);
  gpu.ecc_aggregate_uncorrectable = total(kUncorrected, kAggregate);
  nvml::SramStatus sram{};
  sram.version = nvml::version_of<nvml::SramStatus>(1);
  const char* function = "nvmlDeviceGetSramEccErrorStatus";
  const int code = nvml.call(function, device, &sram);
  gpu.sram_aggregate_uncorrectable =
      Nvml::judged(code, static_cast<std::uint64_t>(sram.aggregate_parity + sram.aggregate_secded), function);
  gpu.sram_threshold_exceeded = Nvml::judged(code, sram.threshold_exceeded != 0, function);
}

void ask_remapping(Nvml& nvml, Device device, NvmlGpu& gpu) {
  unsigned correctable = 0, uncorrectable = 0, pending = 0, failed = 0;
  const char* rows = "nvmlDeviceGetRemappedRows";
  const int code = nvml.call(rows, device, &correctable, &uncorrectable, &pending, &failed);
  gpu.remapped_correctable = Nvml::judged<std::uint32_t>(code, correctable, rows);
  gpu.remapped_uncorrectable = Nvml::judged<std::uint32_t>(code, uncorrectable, rows);
  gpu.remap_pending = Nvml::judged(code, pending != 0, rows);
  gpu.remap_failed = Nvml::judged(code, failed != 0, rows);
  gpu.remap_banks =
      nvml.get<nvml::Histogram>("nvmlDeviceGetRowRemapperHistogram", device)
          .parsed([](const nvml::Histogram& banks) {
            return std::optional(NvmlHistogram{banks.max, banks.high, banks.partial, banks.low, banks.none});
          });
  // NVML_FI_DEV_RETIRED_SBE, _DBE, _PENDING
  const auto corrected = nvml.field(device, 29, "NVML_FI_DEV_RETIRED_SBE");
  gpu.retired_pages = nvml.field(device, 30, "NVML_FI_DEV_RETIRED_DBE").parsed([&](std::uint64_t pages) {
    return std::optional(static_cast<std::uint32_t>(pages + corrected.value_or(0)));
  });
  gpu.retired_pending = as_flag(nvml.field(device, 31, "NVML_FI_DEV_RETIRED_PENDING"));
  gpu.recovery_action =
      named(nvml.field(device, 230, "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION").parsed([](std::uint64_t action) {
        return std::optional(static_cast<unsigned>(action));
      }),
            {"none", "reset", "reboot", "drain P2P", "drain and reset", "recover IMEX domain"});
}

void ask_state(Nvml& nvml, Device device, NvmlGpu& gpu) {
  constexpr int kSm = 1, kMemory = 2;  // nvmlClockType_t
  gpu.sm_clock = nvml.number<int, unsigned>("nvmlDeviceGetClockInfo", device, kSm);
  gpu.sm_clock_max = nvml.number<int, unsigned>("nvmlDeviceGetMaxClockInfo", device, kSm);
  gpu.memory_clock = nvml.number<int, unsigned>("nvmlDeviceGetClockInfo", device, kMemory);
  gpu.memory_clock_max = nvml.number<int, unsigned>("nvmlDeviceGetMaxClockInfo", device, kMemory);
  gpu.event_reasons = nvml_event_reasons(nvml, device);
  gpu.power = watts(nvml.get<unsigned>("nvmlDeviceGetPowerUsage", device));
  gpu.power_limit = watts(nvml.get<unsigned>("nvmlDeviceGetEnforcedPowerLimit", device));
  gpu.power_limit_default = watts(nvml.get<unsigned>("nvmlDeviceGetPowerManagementDefaultLimit", device));
  constexpr int kDie = 0;  // NVML_TEMPERATURE_GPU
  gpu.temperature = nvml.number<int, unsigned>("nvmlDeviceGetTemperature", device, kDie);
  gpu.temperature_margin = nvml_margin(nvml, device);
  gpu.memory_temperature = nvml_memory_temperature(nvml, device);
  gpu.fan_speed = nvml.number<int, unsigned>("nvmlDeviceGetFanSpeed", device);
}

void ask_bus(Nvml& nvml, Device device, NvmlGpu& gpu) {
  const auto number = [&](const char* function) { return nvml.number<int, unsigned>(function, device); };
  gpu.pcie_generation = number("nvmlDeviceGetCurrPcieLinkGeneration");
  gpu.pcie_generation_max = number("nvmlDeviceGetMaxPcieLinkGeneration");
  gpu.pcie_generation_gpu = number("nvmlDeviceGetGpuMaxPcieLinkGeneration");
  gpu.pcie_width = number("nvmlDeviceGetCurrPcieLinkWidth");
  gpu.pcie_width_max = number("nvmlDeviceGetMaxPcieLinkWidth");
  gpu.pcie_replays = nvml.get<unsigned>("nvmlDeviceGetPcieReplayCounter", device);
  gpu.bar1 =
      nvml.get<nvml::Bar1Memory>("nvmlDeviceGetBAR1MemoryInfo", device)
          .parsed([](const nvml::Bar1Memory& bar1) { return std::optional<std::uint64_t>(bar1.total); });
}

std::optional<int> percent_in(unsigned value) {
  return value <= 100 ? std::optional(static_cast<int>(value)) : std::nullopt;
}

void ask_use(Nvml& nvml, Device device, NvmlGpu& gpu) {
  const auto rates = nvml.get<nvml::Utilisation>("nvmlDeviceGetUtilizationRates", device);
  gpu.utilisation = rates.parsed([](const nvml::Utilisation& both) { return percent_in(both.gpu); });
  gpu.memory_utilisation =
      rates.parsed([](const nvml::Utilisation& both) { return percent_in(both.memory); });
  const auto codec = [&](const char* function) {
    unsigned percent = 0, period = 0;
    const int code = nvml.call(function, device, &percent, &period);
    return Nvml::judged(code, percent, function).parsed(percent_in);
  };
  gpu.encoder_utilisation = codec("nvmlDeviceGetEncoderUtilization");
  gpu.decoder_utilisation = codec("nvmlDeviceGetDecoderUtilization");
  gpu.energy = nvml.number<std::uint64_t, unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device);
}

void ask_memory(Nvml& nvml, Device device, NvmlGpu& gpu) {
  const char* function = "nvmlDeviceGetMemoryInfo_v2";
  nvml::MemoryV2 memory{};
  memory.version = nvml::version_of<nvml::MemoryV2>(2);
  int code = nvml.call(function, device, &memory);
  if (code == nvml::kFunctionNotFound) {  // before driver 510; "used" then includes what the driver keeps
    function = "nvmlDeviceGetMemoryInfo";
    nvml::MemoryV1 old{};
    code = nvml.call(function, device, &old);
    memory.total = old.total;
    memory.used = old.used;
    memory.free = old.free;
  }
  gpu.memory = Nvml::judged<std::uint64_t>(code, memory.total, function);
  gpu.memory_used = Nvml::judged<std::uint64_t>(code, memory.used, function);
  gpu.memory_free = Nvml::judged<std::uint64_t>(code, memory.free, function);
  gpu.processes = nvml_processes(nvml, device);
}

NvmlLink ask_link(Nvml& nvml, Device device, unsigned number, bool active) {
  // NVML_FI_DEV_NVLINK_…: the first three up to NVLink 4, the others from NVLink 5 on.
  constexpr std::pair<unsigned, const char*> kErrors[] = {
      {161, "replay"},         {162, "recovery"},        {163, "crc"},
      {206, "malformed"},      {207, "buffer_overrun"},  {208, "receive"},
      {211, "link_integrity"}, {214, "recovery_failed"}, {215, "recovery_events"},
  };
  NvmlLink link;
  link.active = active;
  const auto speed = nvml.field(device, 164, "NVML_FI_DEV_NVLINK_GET_SPEED", number);
  if (speed && *speed <= 1'000'000) link.speed_mbps = static_cast<int>(*speed);
  for (const auto& [field, name] : kErrors)
    if (const auto count = nvml.field(device, field, name, number)) link.errors.emplace(name, *count);
  return link;
}

void ask_fabric(Nvml& nvml, Device device, NvmlGpu& gpu) {
  const char* function = "nvmlDeviceGetGpuFabricInfoV";
  nvml::FabricV3 fabric{};
  fabric.version = nvml::version_of<nvml::FabricV3>(3);
  int code = nvml.call(function, device, &fabric);
  bool says_health = code == nvml::kSuccess;
  if (code == nvml::kVersionMismatch) {  // before driver 570
    fabric.version = nvml::version_of<nvml::FabricV3>(2, offsetof(nvml::FabricV3, health));
    code = nvml.call(function, device, &fabric);
  }
  if (code == nvml::kFunctionNotFound) {  // before driver 545
    function = "nvmlDeviceGetGpuFabricInfo";
    nvml::FabricV1 old{};
    code = nvml.call(function, device, &old);
    fabric.status = old.status;
    fabric.state = old.state;
  }
  constexpr std::string_view kStates[] = {"not supported", "not started", "in progress", "completed"};
  constexpr std::string_view kHealth[] = {"", "healthy", "unhealthy", "limited capacity"};
  NvmlFabric said;
  said.state = fabric.state < std::size(kStates) ? kStates[fabric.state] : "unknown";
  said.status = nvml::error_name(fabric.status);
  if (says_health && fabric.health < std::size(kHealth)) said.health = kHealth[fabric.health];
  gpu.fabric = Nvml::judged(code, said, function);
}

std::string ask_gpu(Nvml& nvml, Device device) {
  NvmlGpu gpu;
  ask_identity(nvml, device, gpu);
  ask_modes(nvml, device, gpu);
  ask_memory_errors(nvml, device, gpu);
  ask_remapping(nvml, device, gpu);
  ask_state(nvml, device, gpu);
  ask_bus(nvml, device, gpu);
  ask_memory(nvml, device, gpu);
  ask_use(nvml, device, gpu);
  gpu.nvlinks = nvml_links(nvml, device);
  ask_fabric(nvml, device, gpu);
  return json::dump_wrapped(json::encode(gpu));
}

std::string address_of(const nvml::PciInfo& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

// The fields of nvml.h for the time that a reason held the clocks back. Driver 580 counts all of them, older ones the
// first two.
std::string ask_held_back(Nvml& nvml) {
  constexpr std::pair<unsigned, const char*> kReasons[] = {
      {74, "power cap"},
      {76, "sync boost"},
      {269, "software thermal slowdown"},
      {270, "hardware thermal slowdown"},
      {271, "power brake"},
  };
  std::map<std::string, std::map<std::string, std::uint64_t>> found;
  for (const auto& [address, device] : nvml_gpus(nvml)) {
    nvml.now(address);
    for (const auto& [field, word] : kReasons)
      if (const auto time = nvml.field(device, field, "NVML_FI_DEV_CLOCKS_EVENT_REASON"))
        found[address].emplace(word, *time);
  }
  return json::dump_wrapped(json::encode(found));
}

std::string ask_list(Nvml& nvml) {
  std::vector<std::string> addresses;
  for (const auto& [address, device] : nvml_gpus(nvml)) addresses.push_back(address);
  return json::dump_wrapped(json::encode(addresses));
}

std::string ask_peers(Nvml& nvml) {
  const auto devices = nvml_gpus(nvml);
  constexpr int kRead = 0, kNvlink = 2;  // nvmlGpuP2PCapsIndex_t
  const auto status = [&](Device from, Device to, int index) {
    // nvmlGpuP2PStatus_t
    const auto said = named(nvml.get<unsigned>("nvmlDeviceGetP2PStatus", from, to, index),
                            {"ok", "chipset not supported", "gpu not supported", "topology not supported",
                             "disabled by regkey", "not supported", "unknown"});
    return said ? *said : said.miss().why;
  };
  NvmlPeers peers;
  for (const auto& [from, device] : devices) {
    nvml.now(from);
    for (const auto& [to, other] : devices)
      if (from != to) peers[from][to] = {status(device, other, kRead), status(device, other, kNvlink)};
  }
  return json::dump_wrapped(json::encode(peers));
}

std::string ask_system(Nvml& nvml) {
  NvmlSystem system;
  system.library = nvml.library().file();
  system.driver_version = nvml.text("nvmlSystemGetDriverVersion");
  system.nvml_version = nvml.text("nvmlSystemGetNVMLVersion");
  system.cuda_version = nvml.get<int>("nvmlSystemGetCudaDriverVersion_v2");
  system.gpus = nvml.number<int, unsigned>("nvmlDeviceGetCount_v2");
  return json::dump_wrapped(json::encode(system));
}

// Encodes a Miss as the child's result ("!" and its JSON), for when NVML cannot be used at all.
std::string refused(const Miss& miss) { return "!" + json::dump(json::encode(Reading<int>(miss, {}))); }

}  // namespace

std::map<std::string, Device> nvml_gpus(Nvml& nvml) {
  std::map<std::string, Device> devices;
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    nvml::PciInfo pci{};
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device) == nvml::kSuccess &&
        nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci) == nvml::kSuccess)
      devices.emplace(address_of(pci), device);
  }
  return devices;
}

Reading<std::uint64_t> nvml_event_reasons(Nvml& nvml, Device device) {
  using Raw = unsigned long long;
  auto now = nvml.number<std::uint64_t, Raw>("nvmlDeviceGetCurrentClocksEventReasons", device);
  if (now) return now;  // the next function is its name before driver 535
  return nvml.number<std::uint64_t, Raw>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
}

Reading<int> nvml_margin(Nvml& nvml, Device device) {
  nvml::MarginTemperature margin{nvml::version_of<nvml::MarginTemperature>(1), 0};
  const char* function = "nvmlDeviceGetMarginTemperature";
  const int code = nvml.call(function, device, &margin);
  return Nvml::judged(code, margin.margin, function);
}

Reading<int> nvml_memory_temperature(Nvml& nvml, Device device) {
  // GPUs without that sensor return 0.
  return nvml.field(device, 82, "NVML_FI_DEV_MEMORY_TEMP")
      .parsed([](std::uint64_t value) -> std::optional<int> {
        if (value == 0 || value > 200) return std::nullopt;
        return static_cast<int>(value);
      });
}

Reading<std::vector<NvmlProcess>> nvml_processes(Nvml& nvml, Device device) {
  std::vector<nvml::ProcessInfo> infos(256);
  for (const char* function :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}) {
    auto count = static_cast<unsigned>(infos.size());
    const int code = nvml.call(function, device, &count, infos.data());
    if (code == nvml::kFunctionNotFound) continue;
    std::vector<NvmlProcess> processes;
    for (unsigned i = 0; code == nvml::kSuccess && i < count && i < infos.size(); ++i) {
      NvmlProcess process{infos[i].pid, infos[i].memory};
      if (nvml::is_blank(infos[i].memory)) process.memory.reset();
      processes.push_back(process);
    }
    return Nvml::judged(code, processes, function);
  }
  return {nvml::miss_of(nvml::kFunctionNotFound), "nvmlDeviceGetComputeRunningProcesses_v2"};
}

Reading<NvmlLinks> nvml_links(Nvml& nvml, Device device) {
  constexpr unsigned kMaxLinks = 36;  // NVML_NVLINK_MAX_LINKS
  const char* function = "nvmlDeviceGetNvLinkState";
  NvmlLinks links;
  for (unsigned number = 0; number < kMaxLinks; ++number) {
    const auto state = nvml.flag(function, device, number);
    if (!state && number == 0) return {state.miss(), function};
    if (!state) break;
    links.emplace(fmt::format("{:02}", number), ask_link(nvml, device, number, *state));
  }
  return {std::move(links), function};
}

std::optional<Miss> start_nvml(Nvml& nvml) {
  // The caller saw a driver, so a missing library is a finding.
  if (!nvml.library())
    return Miss{Missing::kUnsupported, nvml.library().error() + "; it comes with the NVIDIA driver"};
  const int code = nvml.call("nvmlInit_v2");
  if (code == nvml::kSuccess) return std::nullopt;
  return Miss{Missing::kGarbled, "nvmlInit_v2: " + nvml::error_name(code)};
}

Result<Device> find_gpu(Nvml& nvml, const std::string& address) {
  nvml.now(address);
  Device device = nullptr;
  const char* function = "nvmlDeviceGetHandleByPciBusId_v2";
  const int code = nvml.call(function, address.c_str(), &device);
  if (code != nvml::kSuccess)
    return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", function, nvml::error_name(code)));
  return device;
}

Reading<std::string> unwrap_refusal(Reading<std::string> answer) {
  if (!answer || !answer->starts_with('!')) return answer;
  const auto said = json::read<Reading<int>>(std::string_view(*answer).substr(1));
  if (!said || said->ok()) return {Miss{Missing::kGarbled, "not understood"}, answer.from()};
  return {said->miss(), answer.from()};
}

const NvidiaLibraries& nvidia_libraries() {
  // The loader's own search, then the folders of containers, WSL, Kubernetes' GPU operator and GKE.
  static const auto files = [](const std::string& name) {
    return std::vector<std::string>{name,
                                    "/usr/local/nvidia/lib64/" + name,
                                    "/usr/lib/wsl/lib/" + name,
                                    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/" + name,
                                    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/" + name,
                                    "/home/kubernetes/bin/nvidia/lib64/" + name};
  };
  static const NvidiaLibraries kLibraries{files("libnvidia-ml.so.1"), files("libcuda.so.1"),
                                          std::chrono::seconds(8)};
  return kLibraries;
}

Reading<std::string> call_nvml(std::string_view name, const NvidiaLibraries& from) {
  const auto ask = [&](const Say& about_to) -> std::string {
    about_to(fmt::format("opening {}", from.nvml.front()));
    Nvml nvml(from.nvml, about_to);
    if (const auto miss = start_nvml(nvml)) return refused(*miss);
    if (name == kPeersCall) return ask_peers(nvml);
    if (name == kListCall) return ask_list(nvml);
    if (name == kActivityCall) return json::dump_wrapped(json::encode(measure_activity(nvml)));
    if (name == kHeldBackCall) return ask_held_back(nvml);
    if (!name.starts_with(kGpuCall)) return ask_system(nvml);
    const auto device = find_gpu(nvml, std::string(name.substr(kGpuCall.size())));
    if (!device) return refused({Missing::kGarbled, device.error().text});
    return ask_gpu(nvml, *device);
  };
  return unwrap_refusal(ask_in_child(name, ask, from.deadline));
}

}  // namespace railbed
