#include "facts/gpu.h"

#include <algorithm>
#include <future>

#include "base/json.h"
#include "facts/readings.h"

namespace railbed {
namespace {

const std::string kDriver = "/proc/driver/nvidia";

// Returns the version in either form of this line:
// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun …"
// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build …"
std::optional<std::string> version_in(std::string_view line) {
  for (const auto word : words(line)) {
    if (is_driver_version(word)) return std::string(word);
  }
  return std::nullopt;
}

Reading<std::string> nvrm_line(Host& host) {
  const auto text = host.read(kDriver + "/version");
  if (!text) return text;
  for (const auto line : lines(*text))
    if (line.starts_with("NVRM version:")) return {std::string(line), text.from()};
  return {Miss{Missing::kGarbled, "no NVRM line"}, text.from()};
}

// Makes a host call and parses its JSON. The text comes from a library or a file; any other form is garbled.
template <class Answer>
Reading<Answer> ask(Host& host, const std::string& call) {
  return host.call(call).parsed([](const std::string& text) -> std::optional<Answer> {
    auto answer = json::read<Answer>(text);
    if (!answer) return std::nullopt;
    return std::move(*answer);
  });
}

// Runs the CUDA test on a GPU without processes. On a GPU in use it would disturb the process and could fail
// itself.
Reading<CudaAnswer> try_cuda(Host& host, const Gpu& gpu) {
  const std::string call = "cuda " + gpu.pci_address;
  const auto skipped = [&](const std::string& why) {
    return Reading<CudaAnswer>(Miss{Missing::kAbsent, "not tried: " + why}, call);
  };
  if (!gpu.nvml) return skipped("NVML does not answer for this GPU");
  const auto& processes = items(gpu.nvml->processes);
  if (!processes.empty()) return skipped("process " + std::to_string(processes.front().pid) + " runs on it");
  return ask<CudaAnswer>(host, call);
}

// Parses "17:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)".
Reading<std::string> pci_name(Host& host, const std::string& address) {
  return run_and_read(host, {"lspci", "-s", address})
      .parsed([](const std::string& line) -> std::optional<std::string> {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) return std::nullopt;
        const auto name = std::string_view(line).substr(colon + 2);
        return std::string(trim(name.substr(0, name.find(" (rev "))));
      });
}

Gpu collect_gpu(Host& host, const std::string& address, bool driver) {
  const auto information = host.read(kDriver + "/gpus/" + address + "/information");
  Gpu gpu{address, pick(information, ':', "Model"), pick(information, ':', "GPU UUID"), {}, {}, {}};
  if (!gpu.model && !gpu.model.absent()) gpu.pci_name = pci_name(host, address);
  const Miss no_driver{Missing::kAbsent, "no driver is loaded"};
  gpu.nvml = driver ? ask<NvmlGpu>(host, "nvml " + address) : Reading<NvmlGpu>(no_driver, "nvml " + address);
  gpu.cuda = driver ? try_cuda(host, gpu) : Reading<CudaAnswer>(no_driver, "cuda " + address);
  return gpu;
}

// Returns the PCI addresses of the GPUs. If the source has no data on PCI, as a support report may, NVML's
// list is used. Unknown if a display controller may be one.
Reading<std::vector<std::string>> find_gpus(Host& host, const Reading<std::vector<PciDevice>>& pci) {
  if (pci.unknown())
    if (auto listed = ask<std::vector<std::string>>(host, "nvml list")) return listed;
  if (!pci) return {pci.miss(), pci.from()};
  std::vector<std::string> addresses;
  for (const auto& device : *pci) {
    if (is_gpu(device)) addresses.push_back(device.address);
    if (is_display(device) && !device.vendor)
      return {
          Miss{Missing::kUnknown, "the maker of the display controller " + device.address + " is not known"},
          pci.from()};
  }
  return {std::move(addresses), pci.from()};
}

std::vector<Gpu> collect_all(Host& host, const std::vector<std::string>& addresses, bool driver) {
  std::vector<std::future<Gpu>> running;
  for (const auto& address : addresses)
    running.push_back(
        std::async(std::launch::async, collect_gpu, std::ref(host), std::cref(address), driver));
  std::vector<Gpu> gpus;
  for (auto& one : running) gpus.push_back(one.get());
  return gpus;
}

ModuleFile module_file_in(std::string_view output) {
  const auto found = key_values(output, ':');
  const auto value = [&](std::string_view key) {
    const auto one = found.find(key);
    return one == found.end() ? std::string() : one->second;
  };
  const std::string magic = value("vermagic");
  return {value("filename"), value("version"), magic.substr(0, magic.find(' ')), value("license"),
          !value("sig_id").empty() || !value("sig_hashalgo").empty()};
}

// Returns true if modinfo(8) found no module. It also ends with 1 if it cannot read the module that it found.
bool found_none(const CommandOutput& output) {
  return output.exit_code == 1 &&
         (output.error_output.empty() || output.error_output.find("not found") != std::string::npos);
}

std::optional<ModuleFile> parse_modinfo(const CommandOutput& output) {
  if (output.exit_code == 0 || found_none(output)) return module_file_in(output.output);
  return std::nullopt;
}

Reading<ModuleFile> collect_module_file(Host& host) {
  Reading<ModuleFile> file;
  for (const std::string name : {"nvidia", "nvidia-current"}) {
    file = host.run({"modinfo", name}).parsed(parse_modinfo);
    if (!file || !file->path.empty()) return file;
  }
  return file;
}

// MODULE_LICENSE of the open module is "Dual MIT/GPL" (NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia/nv.c), of the
// proprietary one "NVIDIA".
std::optional<bool> is_open_license(const std::string& text) {
  const auto license = trim(text);
  if (license == "NVIDIA") return false;
  return license == "Dual MIT/GPL" ? std::optional(true) : std::nullopt;
}

Reading<bool> collect_open_on_disk(Host& host, const Reading<ModuleFile>& file) {
  if (file && file->path.empty()) return {Miss{Missing::kAbsent, "there is no module"}, file.from()};
  if (file) return Reading<std::string>(file->license, file.from()).parsed(is_open_license);
  if (file.absent()) return {file.miss(), file.from()};
  const auto alone = run_and_read(host, {"modinfo", "-F", "license", "nvidia"}).parsed(is_open_license);
  return alone ? alone : Reading<bool>(file.miss(), file.from());
}

// "Fabric Manager version is : 580.95.05"
std::optional<std::string> fabric_version_in(const CommandOutput& output) {
  const std::string text = output.output + output.error_output;
  const auto colon = text.rfind(':');
  if (output.exit_code != 0 || colon == std::string::npos) return std::nullopt;
  const auto said = words(std::string_view(text).substr(colon + 1));
  return said.size() == 1 && is_driver_version(said[0]) ? std::optional(std::string(said[0])) : std::nullopt;
}

// Reads Fabric Manager's version. The program is installed on machines with NVSwitch.
Reading<std::string> collect_fabric_manager(Host& host) {
  const auto there = host.resolve("/usr/bin/nv-fabricmanager");
  if (!there) return {there.miss(), there.from()};
  return host.run({"nv-fabricmanager", "--version"}).parsed(fabric_version_in);
}

std::vector<int> device_nodes_in(const std::vector<std::string>& names) {
  constexpr std::string_view kPrefix = "nvidia";
  std::vector<int> nodes;
  for (const auto& name : names)
    if (name.starts_with(kPrefix))
      if (const auto number = parse_number<int>(std::string_view(name).substr(kPrefix.size())))
        nodes.push_back(*number);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

Reading<GpuActivities> read_gpu_activity(Host& host) { return ask<GpuActivities>(host, "nvml activity"); }

Reading<NvmlGpu> read_nvml(Host& host, const std::string& pci_address) {
  return ask<NvmlGpu>(host, "nvml " + pci_address);
}

Gpus collect_gpus(Host& host, const Reading<std::vector<PciDevice>>& pci) {
  Gpus gpus;
  const auto line = nvrm_line(host);
  gpus.driver_version = line.parsed(version_in);
  const bool driver = line.ok() || line.unknown();
  auto nvml = std::async(driver ? std::launch::async : std::launch::deferred,
                         [&] { return ask<NvmlSystem>(host, "nvml"); });
  auto peers = std::async(driver ? std::launch::async : std::launch::deferred,
                          [&] { return ask<NvmlPeers>(host, "nvml p2p"); });
  gpus.devices = find_gpus(host, pci).parsed([&](const std::vector<std::string>& addresses) {
    return std::optional(collect_all(host, addresses, driver));
  });
  const bool several = gpus.devices && gpus.devices->size() > 1;
  const Miss one_gpu{Missing::kAbsent, "there is one GPU"};
  const Miss no_driver{Missing::kAbsent, "no driver is loaded"};
  gpus.nvml = driver ? nvml.get() : Reading<NvmlSystem>(no_driver, "nvml");
  if (line.unknown() && gpus.nvml) gpus.driver_version = gpus.nvml->driver_version;
  gpus.peers = !driver    ? Reading<NvmlPeers>(no_driver, "nvml p2p")
               : !several ? Reading<NvmlPeers>(one_gpu, "nvml p2p")
                          : peers.get();
  gpus.open_module = line.parsed([](const std::string& text) {
    return std::optional(text.find("Open Kernel Module") != std::string::npos);
  });
  gpus.device_nodes = host.list("/dev").parsed(
      [](const std::vector<std::string>& names) { return std::optional(device_nodes_in(names)); });
  gpus.module_file =
      gpus.devices.unknown() || !items(gpus.devices).empty()
          ? collect_module_file(host)
          : Reading<ModuleFile>(Miss{Missing::kAbsent, "no NVIDIA GPU on PCI"}, "modinfo nvidia");
  gpus.open_on_disk = collect_open_on_disk(host, gpus.module_file);
  gpus.fabric_manager = collect_fabric_manager(host);
  gpus.tests = ask<GpuTestsAnswer>(host, "gpu-tests");
  gpus.peer_memory = host.read_line("/sys/module/nvidia_peermem/version");
  return gpus;
}

CommandOutput used_modinfo(CommandOutput output) {
  std::string used;
  for (const auto line : lines(output.output))
    for (const std::string_view key :
         {"filename:", "version:", "vermagic:", "license:", "sig_id:", "sig_hashalgo:"})
      if (line.starts_with(key)) used += std::string(line) + "\n";
  output.output = std::move(used);
  if (output.exit_code == 1 && !found_none(output)) output.exit_code = 2;
  return output;
}

bool is_driver_version(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  return text.size() <= kLongest && text.find('.') != std::string_view::npos &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

const Gpu* find_gpu(const Gpus& gpus, std::string_view pci_address) {
  const auto& devices = items(gpus.devices);
  const auto found = std::ranges::find(devices, pci_address, &Gpu::pci_address);
  return found == devices.end() ? nullptr : &*found;
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

bool are_idle(const Gpus& gpus) {
  // The driver's own use with error correction and without persistence mode: below 1 GiB on every current
  // GPU.
  constexpr std::uint64_t kOwnMemory = std::uint64_t{1} << 30;
  const auto idle = [](const Gpu& gpu) {
    return gpu.nvml && gpu.nvml->processes && gpu.nvml->processes->empty() && gpu.nvml->memory_used &&
           *gpu.nvml->memory_used < kOwnMemory;
  };
  return !items(gpus.devices).empty() && std::ranges::all_of(*gpus.devices, idle);
}

}  // namespace railbed
