// Reads what nvidia-smi prints in place of values. Each message becomes the result that NVML would have given:
// its rules then judge the report as they judge a machine. Messages are those of nvidia-smi 3xx to 6xx.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "host/support/nvidia_smi.h"
#include "host/support/texts.h"
#include "nvidia/gpu_answers.h"

namespace railbed {
namespace {

constexpr std::string_view kModules = "/proc/modules";
constexpr std::string_view kVersion = "/proc/driver/nvidia/version";

// Returns the result codes of nvml.h for the end of "Failed to initialize NVML: …".
std::string_view nvml_code(std::string_view message) {
  constexpr std::pair<std::string_view, std::string_view> kCodes[] = {
      {"Driver/library version mismatch", "NVML_ERROR_LIB_RM_VERSION_MISMATCH (18)"},
      {"Insufficient Permissions", "NVML_ERROR_NO_PERMISSION (4)"},
      {"GPU access blocked by the operating system", "NVML_ERROR_OPERATING_SYSTEM (17)"},
      {"Unknown Error", "NVML_ERROR_UNKNOWN (999)"}};
  for (const auto& [begins, code] : kCodes)
    if (message.starts_with(begins)) return code;
  return {};
}

bool is_module_loaded(const ReportTree& report) {
  return std::ranges::any_of(lines(report.text(kModules)),
                             [](std::string_view line) { return line.starts_with("nvidia "); });
}

// Returns the PCI address in "… device handle for GPU0000:17:00.0: Unknown Error", "… for GPU 0000:02:00.0: GPU
// is lost.", "… for GPU1: 0000:41:00.0: Unknown Error"; empty if there is none.
std::string address_in(std::string_view rest) {
  for (auto word : words(rest)) {
    if (lower(word.substr(0, 3)) == "gpu") word.remove_prefix(3);
    while (word.ends_with(':') || word.ends_with('.')) word.remove_suffix(1);
    if (const std::string address = full_pci_address(word); !address.empty()) return address;
  }
  return "";
}

struct LostGpu {
  std::string address;
  std::string message;
};

std::vector<LostGpu> lost_in(std::string_view text) {
  constexpr std::string_view kBegins = "Unable to determine the device handle for ";
  std::vector<LostGpu> found;
  for (const auto line : lines(text)) {
    const auto at = line.find(kBegins);
    if (at == line.npos || found.size() >= kMostGpus) continue;
    const std::string address = address_in(line.substr(at + kBegins.size()));
    if (!address.empty()) found.push_back({address, std::string(trim(line.substr(at)))});
  }
  return found;
}

}  // namespace

std::vector<std::string> lost_gpus_in(std::string_view text) {
  std::vector<std::string> addresses;
  for (LostGpu& gpu : lost_in(text)) addresses.push_back(std::move(gpu.address));
  return addresses;
}

void add_nvidia_smi_errors(std::string_view text, ReportTree& report) {
  const auto lost = lost_in(text);
  for (const LostGpu& gpu : lost) {
    const bool is_lost = gpu.message.find("GPU is lost") != std::string::npos;
    report.failed_call("nvml " + gpu.address,
                       {Missing::kGarbled, (is_lost ? "NVML_ERROR_GPU_IS_LOST (15): " : "") + gpu.message});
  }
  // nvidia-smi ends at the first of them, so the others are not known.
  if (!lost.empty()) report.call("nvml list", json::dump(json::encode(lost_gpus_in(text))));
  for (const auto line : lines(text)) {
    constexpr std::string_view kFailed = "Failed to initialize NVML: ";
    if (line.find("couldn't communicate with the NVIDIA driver") != line.npos ||
        line.find("Failed to initialize NVML: Driver Not Loaded") != line.npos) {
      if (is_module_loaded(report))
        report.failed_call("nvml", {Missing::kGarbled, std::string(trim(line))});
      else if (!report.has_call("nvml"))
        report.nothing(kVersion);
    } else if (const auto at = line.find(kFailed); at != line.npos) {
      const auto message = trim(line.substr(at + kFailed.size()));
      const auto code = nvml_code(message);
      report.failed_call("nvml", {Missing::kGarbled, fmt::format("{}{}{}", code, code.empty() ? "" : ": ",
                                                                 trim(line.substr(at)))});
    }
  }
}

void add_missing_driver(ReportTree& report) {
  if (report.has(kModules) && !is_module_loaded(report)) report.nothing(kVersion);
}

}  // namespace railbed
