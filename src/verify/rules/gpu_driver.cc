// Checks that the driver's libraries serve every GPU: NVML, CUDA, and their versions.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "verify/areas.h"
#include "verify/gpu_view.h"

namespace railbed {
namespace {

// Returns true after ending the case if there is no GPU or no driver.
bool lacks_driver(Case& verdict, const NodeView& node) {
  if (verdict.lacks_gpus(node)) return true;
  return verdict.read_if_there(node.facts->gpus.driver_version, "no driver is loaded (gpu.driver)") ==
         nullptr;
}

// Returns the node's NVML data; null after ending the case if there is none.
const NvmlSystem* nvml_of(Case& verdict, const NodeView& node) {
  if (lacks_driver(verdict, node)) return nullptr;
  const auto& nvml = node.facts->gpus.nvml;
  if (!nvml) verdict.not_applicable("NVML does not answer (gpu.nvml)");
  return nvml ? &*nvml : nullptr;
}

bool is_mismatch(const Miss& miss) { return miss.why.find("VERSION_MISMATCH") != std::string::npos; }
// Returns true if NVML's error is that of a process that may not open the devices.
bool is_denied(std::string_view why) {
  return why.find("_NO_PERMISSION") != std::string_view::npos ||
         why.find("NVML_ERROR_UNKNOWN") != std::string_view::npos;
}

Remedy nvml_remedy(const NodeView& node, const Miss& miss) {
  const bool mismatch = is_mismatch(miss);
  if (mismatch && module_on_disk_is_loaded(node).value_or(false))
    return {"The module on the disk is the one that is loaded: install the libraries of its version.",
            {"cat /proc/driver/nvidia/version", "ldconfig -p | grep libnvidia-ml"}};
  if (mismatch)
    return {
        "The driver's libraries were upgraded under a loaded module: reboot, or unload and load the module.",
        {"cat /proc/driver/nvidia/version", "reboot"},
        true};
  if (miss.missing == Missing::kUnsupported)
    return {
        "Install the driver's libraries (Debian, Ubuntu: libnvidia-compute-VERSION); in a container, "
        "give it the GPUs.",
        {"ldconfig -p | grep libnvidia-ml"}};
  // The driver is loaded, and this process may not open its devices. "Unknown Error" is what NVML makes of that where a
  // container lost them (NVIDIA/nvidia-container-toolkit, issue 48).
  if (is_denied(miss.why))
    return {
        "This process may not open the GPUs: a container's device list or a cgroup denies them. Start the container with "
        "its GPUs; one that had them lost them when systemd was reloaded, and gets them back when it is started again.",
        {"ls -l /dev/nvidia*", "nvidia-smi -L"}};
  return {"Read the kernel log for Xid messages; a driver that hangs needs a reboot.",
          {"dmesg | grep -i -e xid -e nvrm", "reboot"},
          true};
}

void nvml_answers(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NVML", its_gpus, [](Case& verdict, const NodeView& node) {
    const auto& nvml = node.facts->gpus.nvml;
    const bool failed = !nvml.ok() && !nvml.absent() && !nvml.unknown();
    if (!failed && lacks_driver(verdict, node)) return;
    verdict.seen(nvml);
    if (nvml.absent()) return verdict.not_applicable("it was not asked");
    if (nvml.unknown() && verdict.read(nvml) == nullptr) return;
    if (nvml) return verdict.pass(nvml->driver_version.value_or(nvml->library));
    const bool hangs = nvml.miss().missing == Missing::kTimeout;
    verdict.fail({.message = fmt::format(
                      "NVML of {} {}: neither nvidia-smi nor any monitor sees its GPUs", *node.name,
                      hangs                        ? "hangs"
                      : is_mismatch(nvml.miss())   ? "and the loaded kernel module are of different versions"
                      : is_denied(nvml.miss().why) ? "is denied to this process"
                                                   : "does not answer"),
                  .expected = "an answer",
                  .observed = (hangs ? "hangs in " : "") + nvml.miss().why,
                  .remedy = nvml_remedy(node, nvml.miss())});
  });
}

// Returns true if NVML does not show the GPU, or not to this process, which a device cgroup causes ("NVML API
// Reference Guide", nvmlDeviceGetHandleByPciBusId_v2).
bool is_hidden(const Gpu& gpu) {
  if (gpu.nvml) return false;
  const std::string& why = gpu.nvml.miss().why;
  return why.find("_NOT_FOUND (6)") != std::string::npos || is_denied(why);
}

// Returns true if NVML or the kernel reports the GPU as lost. Without such a report, it cannot be told from a
// hidden GPU.
bool is_lost(const NodeView& node, const Gpu& gpu) {
  if (!gpu.nvml && !gpu.nvml.absent() && gpu.nvml.miss().why.find("GPU_IS_LOST") != std::string::npos)
    return true;
  constexpr int kOffTheBus = 79;
  return node.facts->kernel_log &&
         std::ranges::any_of(node.facts->kernel_log->events, [&](const LogEvent& event) {
           const bool tells =
               event.kind == LogKind::kGpuLost || (event.kind == LogKind::kXid && event.code == kOffTheBus);
           return tells && event.subject == gpu.pci_address;
         });
}

// Judges a node whose NVML shows fewer GPUs than PCI. A device cgroup, a container or MIG can hide healthy
// GPUs.
void judge_unseen(Case& verdict, const NodeView& node, int have) {
  std::vector<std::string> lost;
  std::vector<std::string> silent;
  bool any_hidden = false;
  for (const Gpu& gpu : items(node.facts->gpus.devices)) {
    if (!gpu.nvml) silent.push_back(gpu.pci_address);
    if (is_lost(node, gpu)) lost.push_back(gpu.pci_address);
    any_hidden = any_hidden || is_hidden(gpu);
  }
  const std::string counts =
      fmt::format("{} has {} GPUs on PCI and NVML shows {}", *node.name, node.gpus().size(), have);
  Complaint complaint;
  complaint.expected = std::to_string(node.gpus().size());
  complaint.observed = std::to_string(have);
  if (!lost.empty()) {
    complaint.message = fmt::format("{}: the driver has lost {}", counts, fmt::join(lost, ", "));
    complaint.remedy = {
        "Read the kernel log for the one that is missing (Xid 79: it fell off the bus), then reboot.",
        {"nvidia-smi -L", "dmesg | grep -i xid", "reboot"},
        true};
    return verdict.fail(std::move(complaint));
  }
  if (!silent.empty() && !any_hidden) {
    complaint.message = fmt::format("{}: the driver does not serve {}", counts, fmt::join(silent, ", "));
    complaint.remedy = {"Read what the kernel log says of it.",
                        {"nvidia-smi -L", "dmesg | grep -i -e nvrm -e xid"}};
    return verdict.fail(std::move(complaint));
  }
  // A kernel log that can be read and is whole would tell of a GPU that was lost.
  const auto& log = node.facts->kernel_log;
  const bool tells = log.ok() && !log->part && !log->beginning_lost && log->dropped == 0;
  if (tells && any_hidden) {
    complaint.message = fmt::format(
        "{}{}{}: hidden from this process by a container's device list, a cgroup or MIG; the kernel "
        "log tells of no lost GPU",
        counts, silent.empty() ? "" : ", not ", fmt::join(silent, ", "));
    complaint.remedy = {"Look from outside of any container, or start it with all GPUs.",
                        {"nvidia-smi -L", "ls -l /dev/nvidia*"}};
    return verdict.warn(std::move(complaint));
  }
  complaint.message =
      fmt::format("{}{}{}: hidden from this process (container, device cgroup, MIG), or lost without a word",
                  counts, silent.empty() ? "" : ", not ", fmt::join(silent, ", "));
  complaint.remedy = {
      "Look from outside of any container; compare the device nodes with the list, and read "
      "the kernel log for Xid messages.",
      {"nvidia-smi -L", "ls /dev/nvidia*", "dmesg | grep -i xid"}};
  verdict.warn(std::move(complaint));
}

void nvml_count(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUs of NVML", its_gpus, [](Case& verdict, const NodeView& node) {
    const NvmlSystem* nvml = nvml_of(verdict, node);
    if (nvml == nullptr) return;
    const int* have = said(verdict, nvml->gpus);
    if (have == nullptr) return;
    const int want = static_cast<int>(node.gpus().size());
    if (*have >= want) return verdict.pass(std::to_string(*have));
    judge_unseen(verdict, node, *have);
  });
}

// Returns what NVML's missing response for a GPU means for programs that use it.
std::string silence_text(bool hangs, bool lost) {
  if (hangs) return "hangs every program that asks it, and such a program cannot even be killed";
  if (lost) return "does not answer: it is lost to the driver";
  return "is not shown to this process: hidden (container, device cgroup, MIG), or lost without a word";
}

void gpu_answers(const Survey& survey, Judge& judge) {
  each_gpu(survey, judge, [](Case& verdict, const NodeView& node, const Gpu& gpu) {
    verdict.seen(gpu.nvml);
    if (gpu.nvml) return verdict.pass(gpu.nvml->name.value_or("answers"));
    if (gpu.nvml.unknown() && verdict.read(gpu.nvml) == nullptr) return;
    const bool hidden = is_hidden(gpu) && !is_lost(node, gpu);
    if (gpu.nvml.absent() && !hidden) return verdict.not_applicable("NVML was not asked (gpu.nvml)");
    const bool hangs = gpu.nvml.miss().missing == Missing::kTimeout;
    verdict.red(
        hidden ? Status::kWarn : Status::kFail,
        {.message = fmt::format("GPU {} of {} {}", gpu.pci_address, *node.name, silence_text(hangs, !hidden)),
         .expected = "an answer",
         .observed = (hangs ? "hangs in " : "") + gpu.nvml.miss().why,
         .remedy = hidden
                       ? Remedy{"Look from outside of any container.", {"nvidia-smi -L", "ls /dev/nvidia*"}}
                       : Remedy{"Drain the node, read the kernel log for Xid messages, reboot; "
                                "replace the GPU if it comes back.",
                                {"dmesg | grep -i xid", "reboot"},
                                true}});
  });
}

void library_version(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NVML", its_gpus, [](Case& verdict, const NodeView& node) {
    const NvmlSystem* nvml = nvml_of(verdict, node);
    if (nvml == nullptr) return;
    const auto* library = said(verdict, nvml->nvml_version);
    if (library == nullptr) return;
    const std::string& module = *node.facts->gpus.driver_version;
    verdict.seen(node.facts->gpus.driver_version);
    // "13.580.95.05": CUDA's major version, then the driver's.
    if (library->ends_with("." + module) || *library == module) return verdict.pass(module);
    verdict.fail({.message = fmt::format("{} runs kernel module {} with libraries of another driver",
                                         *node.name, module),
                  .expected = module,
                  .observed = *library,
                  .remedy = {"Remove the second driver (an installer's beside a package's), then reboot.",
                             {"ldconfig -p | grep libnvidia-ml", "reboot"},
                             true}});
  });
}

void cuda_version(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "CUDA", its_gpus, [](Case& verdict, const NodeView& node) {
    if (!node.expect().cuda) return verdict.not_applicable("cluster.yaml states no CUDA version");
    const NvmlSystem* nvml = nvml_of(verdict, node);
    if (nvml == nullptr) return;
    const int* have = said(verdict, nvml->cuda_version);
    if (have == nullptr) return;
    const auto parts = split(*node.expect().cuda, '.');
    const int want = parse_number<int>(parts.front()).value_or(0) * 1000 +
                     parse_number<int>(parts.back()).value_or(0) * 10;
    if (*have >= want) return verdict.pass(cuda_version_text(*have));
    verdict.fail(
        {.message = fmt::format("the driver of {} serves CUDA {}, expected {} or newer", *node.name,
                                cuda_version_text(*have), *node.expect().cuda),
         .expected = "at least " + *node.expect().cuda,
         .observed = cuda_version_text(*have),
         .remedy = {
             "Install a newer driver (the CUDA release notes name it), then reboot.", {"nvidia-smi"}, true}});
  });
}

// What CUDA's error states of the software around a GPU; empty if it states nothing. Where it does, the GPU is not to blame.
struct SoftwareCause {
  std::string what = {};
  Remedy remedy = {};
};

// Errors of cuda.h. What a container hides is unknown to it, and no reset from inside helps.
SoftwareCause software_cause(const NodeView& node, const Gpu& gpu, std::string_view wrong) {
  const auto has = [&](std::string_view name) { return wrong.find(name) != std::string_view::npos; };
  if (has("SYSTEM_NOT_READY"))
    return {"it waits for the fabric manager",
            {"Start the fabric manager; its version must be the driver's.",
             {"systemctl restart nvidia-fabricmanager"}}};
  if (has("SYSTEM_DRIVER_MISMATCH"))
    return {
        "its library is of another driver than the kernel module",
        {"Remove the other driver's libcuda from the library path, or restart where a driver was upgraded.",
         {"ldconfig -p | grep libcuda.so", "cat /proc/driver/nvidia/version"}}};
  if (has("COMPAT_NOT_SUPPORTED_ON_DEVICE"))
    return {"a library for forward compatibility is in the path, which this GPU does not support",
            {"Take the compat folder of CUDA out of the library path, or install a newer driver.",
             {"ldconfig -p | grep libcuda.so", "grep -rs compat /etc/ld.so.conf.d"}}};
  const bool mig = gpu.nvml && gpu.nvml->mig.value_or(false);
  if (mig && (has("NO_DEVICE") || has("INVALID_DEVICE")))
    return {"it is in MIG mode, and this process finds no instance on it",
            {"Make its instances, or switch MIG off while nothing runs there.",
             {command("nvidia-smi mig -lgi -i {}", gpu.pci_address),
              command("nvidia-smi -i {} -mig 0", gpu.pci_address)}}};
  if (is_hidden(gpu) && !is_lost(node, gpu))
    return {"this process may not use it",
            {"A container's device list or a cgroup denies it. Look from outside.",
             {"ls -l /dev/nvidia*", "nvidia-smi -L"}}};
  return {};
}

Remedy reset_after_look(const Gpu& gpu) {
  return {"Read the kernel log for Xid messages; reset the GPU, else reboot.",
          {"dmesg | grep -i xid", command("nvidia-smi -i {} --gpu-reset", gpu.pci_address)}};
}

void cuda_works(const Survey& survey, Judge& judge) {
  each_gpu(survey, judge, [](Case& verdict, const NodeView& node, const Gpu& gpu) {
    verdict.seen(gpu.cuda);
    if (gpu.cuda.absent()) return verdict.not_applicable(gpu.cuda.miss().why);
    if (gpu.cuda.unknown() && verdict.read(gpu.cuda) == nullptr) return;
    std::string wrong;
    if (!gpu.cuda)
      wrong = (gpu.cuda.miss().missing == Missing::kTimeout ? "hangs in " : "") + gpu.cuda.miss().why;
    else if (!gpu.cuda->error.empty())
      wrong = gpu.cuda->error;
    else if (gpu.cuda->wrong_words > 0)
      wrong = fmt::format("{} of its words came back wrong", gpu.cuda->wrong_words);
    if (wrong.empty()) return verdict.pass(fmt::format("CUDA {}", cuda_version_text(gpu.cuda->version)));
    const SoftwareCause cause = software_cause(node, gpu, wrong);
    verdict.fail({.message = fmt::format("CUDA does not work on GPU {} of {}{}{}", gpu.pci_address,
                                         *node.name, cause.what.empty() ? "" : ": ", cause.what),
                  .expected = "a kernel's result",
                  .observed = wrong,
                  .remedy = cause.what.empty() ? reset_after_look(gpu) : cause.remedy});
  });
}

void vbios(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "VBIOS", its_gpus, [](Case& verdict, const NodeView& node) {
    if (lacks_driver(verdict, node)) return;
    // model → version → GPUs
    std::map<std::string, std::map<std::string, std::vector<std::string>>> found;
    for (const Gpu& gpu : items(node.facts->gpus.devices))
      if (gpu.nvml && gpu.nvml->vbios) {
        verdict.seen(gpu.nvml->vbios);
        found[gpu.nvml->name.value_or("")][*gpu.nvml->vbios].push_back(gpu.pci_address);
      }
    const auto odd = std::ranges::find_if(found, [](const auto& model) { return model.second.size() > 1; });
    if (found.empty()) return verdict.not_applicable("NVML says none");
    if (odd == found.end()) return verdict.pass(found.begin()->second.begin()->first);
    const auto size = [](const auto& version) { return version.second.size(); };
    const auto most = std::ranges::max_element(odd->second, {}, size);
    const auto least = std::ranges::min_element(odd->second, {}, size);
    verdict.warn(
        {.message = fmt::format("{} has GPUs of one model with unlike VBIOS: {} has {}", *node.name,
                                fmt::join(least->second, ", "), least->first),
         .expected = most->first,
         .observed = least->first,
         .remedy = {"Ask the vendor for one firmware for all; limits and clocks may differ until then.",
                    {"nvidia-smi --query-gpu=pci.bus_id,vbios_version --format=csv"}}});
  });
}

}  // namespace

std::span<const Rule> gpu_driver_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.nvml",
       .title = "NVML answers",
       .why = "nvidia-smi, DCGM, Slurm and Kubernetes all see GPUs through it.",
       .source = "libnvidia-ml.so.1: nvmlInit_v2, in a process of its own",
       .standard = "an answer within 8 s",
       .remedy = "Make libraries and kernel module of one version; reboot a node that hangs.",
       .fixture = "h200-nvml-mismatch",
       .explained_by = {"gpu.open-module", "gpu.driver", "gpu.version-mismatch"},
       .check = nvml_answers},
      {.id = "gpu.nvml-count",
       .title = "NVML shows every GPU",
       .why = "A GPU that fell off the bus is still on PCI and in nobody's jobs.",
       .source = "nvmlDeviceGetCount_v2",
       .standard = "as many as on PCI",
       .remedy = "Look for Xid 79 in the kernel log, then reboot.",
       .fixture = "h200-gpu-lost",
       .explained_by = {"gpu.open-module", "gpu.xid-reboot", "gpu.init-failed", "gpu.device-nodes",
                        "gpu.nvml"},
       .check = nvml_count},
      {.id = "gpu.answers",
       .title = "GPU answers NVML",
       .why = "One GPU that hangs takes every tool along that touches it.",
       .source = "NVML, each GPU in a process of its own",
       .standard = "an answer within 8 s",
       .remedy = "Drain and reboot the node; replace the GPU if it hangs again.",
       .fixture = "h200-gpu-hangs",
       .explained_by = {"gpu.open-module", "gpu.xid-reboot", "gpu.nvml-count", "gpu.nvml"},
       .check = gpu_answers},
      {.id = "gpu.driver-library",
       .title = "driver's libraries belong to its module",
       .why = "A second driver's libraries work for a while, and then fail for no visible reason.",
       .source = "nvmlSystemGetNVMLVersion, /proc/driver/nvidia/version",
       .standard = "the same version",
       .remedy = "Remove one of the two, then reboot.",
       .fixture = "h200-driver-library",
       .explained_by = {"gpu.nvml"},
       .check = library_version},
      {.id = "gpu.cuda-version",
       .title = "CUDA version as expected",
       .why = "Programs built with a newer CUDA end with \"driver version is insufficient\".",
       .source = "nvmlSystemGetCudaDriverVersion_v2",
       .standard = "at least expect.cuda of cluster.yaml; not judged without it",
       .remedy = "Install a newer driver.",
       .fixture = "h200-cuda-version",
       .explained_by = {"gpu.driver-expected", "gpu.nvml"},
       .check = cuda_version},
      {.id = "gpu.cuda",
       .title = "CUDA works on the GPU",
       .why = "nvidia-smi may be green while no program can start.",
       .source =
           "libcuda.so.1: context, allocation, copy, kernel, copy back, compared; in a process of its own",
       .standard = "every call succeeds and every word is right; not tried where a program runs",
       .remedy =
           "See that the fabric manager runs, look for Xids in the kernel log, then reset the GPU or reboot the node.",
       .fixture = "h200-cuda-fails",
       .explained_by = {"gpu.fabric", "gpu.fabric-manager-version", "gpu.fabric-manager",
                        "gpu.recovery-action", "gpu.compute-mode", "gpu.answers"},
       .check = cuda_works},
      {.id = "gpu.vbios",
       .title = "GPUs of one model have one VBIOS",
       .why = "Power limits, clocks and fixes come with it.",
       .source = "nvmlDeviceGetVbiosVersion",
       .standard = "equal within the node",
       .remedy = "Install one version of the vendor's firmware on all.",
       .fixture = "h200-vbios",
       .explained_by = {"gpu.nvml"},
       .check = vbios},
  };
  return kRules;
}

}  // namespace railbed
