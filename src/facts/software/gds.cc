#include "facts/software/gds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "facts/collectors.h"
#include "facts/readings.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kMostDrivers = 64;
constexpr std::size_t kMostModes = 8;
constexpr std::size_t kMostGdsGpus = 1024;
const std::string kGdscheck = "/usr/local/cuda/gds/tools/gdscheck";

std::string tidied(std::string_view text) { return printable(trim(text).substr(0, 200)); }

std::optional<bool> truth_in(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

// Returns what follows "key" and a colon; nullopt for another line.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  const std::string_view rest = trim(line.substr(key.size()));
  if (!rest.starts_with(':')) return std::nullopt;
  return trim(rest.substr(1));
}

bool is_driver(std::string_view name) {
  for (const std::string_view known :
       {"NVMe", "NVMe P2PDMA", "NVMeOF", "SCSI", "NFS", "NVMesh", "LUSTRE", "Lustre", "GPFS", "BeeGFS",
        "WekaFS", "WEKAFS", "ScaTeFS", "VIRTIOFS", "FSx Lustre", "DDN EXAScaler", "IBM Spectrum Scale",
        "Userspace RDMA", "USERSPACE RDMA"})
    if (name == known) return true;
  return false;
}

// Takes "NVMe               : nvfs, compat".
void take_driver(std::string_view line, std::vector<GdsDriver>& drivers) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || drivers.size() >= kMostDrivers) return;
  const std::string_view name = trim(line.substr(0, colon));
  if (!is_driver(name)) return;
  GdsDriver driver{.name = std::string(name)};
  for (const std::string_view mode : split(line.substr(colon + 1), ','))
    if (!trim(mode).empty() && driver.modes.size() < kMostModes) driver.modes.push_back(tidied(mode));
  if (!driver.modes.empty()) drivers.push_back(std::move(driver));
}

// Takes "GPU index 0 NVIDIA L40S bar:1 bar size (MiB):65536 supports GDS, IOMMU State: Disabled".
void take_gpu(std::string_view line, GdsCheck& check) {
  if (static_cast<std::size_t>(check.gpus) >= kMostGdsGpus) return;
  ++check.gpus;
  if (line.find("supports GDS") != std::string_view::npos) ++check.gpus_supported;
}

void take_line(std::string_view line, GdsCheck& check) {
  if (const auto beta = value_of(line, "GDS release version (beta)")) check.release = tidied(*beta);
  if (const auto release = value_of(line, "GDS release version")) check.release = tidied(*release);
  // "nvidia_fs version:  2.20 libcufile version: 2.12"
  if (const auto version = value_of(line, "nvidia_fs version"))
    check.nvidia_fs = tidied(version->substr(0, version->find(' ')));
  if (const auto allowed = value_of(line, "properties.use_compat_mode"))
    check.compat_allowed = truth_in(*allowed);
  if (const auto forced = value_of(line, "properties.force_compat_mode"))
    check.compat_forced = truth_in(*forced);
  if (const auto iommu = value_of(line, "IOMMU")) check.iommu = tidied(*iommu);
  if (const auto warning = value_of(line, "WARN")) check.warning = tidied(*warning);
  if (line.starts_with("GPU index ")) take_gpu(line, check);
  take_driver(line, check.drivers);
}

// Returns the text without what follows "//" outside of quotes.
std::string without_comments(std::string_view text) {
  std::string kept;
  for (const std::string_view line : lines(text)) {
    bool quoted = false;
    std::size_t end = line.size();
    for (std::size_t i = 0; i < line.size() && end == line.size(); ++i) {
      if (line[i] == '\\' && quoted)
        ++i;
      else if (line[i] == '"')
        quoted = !quoted;
      else if (!quoted && line.substr(i, 2) == "//")
        end = i;
    }
    kept += std::string(line.substr(0, end)) + "\n";
  }
  return kept;
}

std::optional<bool> truth_at(const json::Value& properties, const char* key) {
  if (!properties.contains(key) || !properties[key].is_boolean()) return std::nullopt;
  return properties[key].get<bool>();
}

// Returns why gdscheck is not run, or nullopt. It must be a file that only root and this user can change.
std::optional<Miss> why_not_run(Host& host) {
  const auto found = host.resolve(kGdscheck);
  if (found.absent())
    return Miss{Missing::kUnsupported, "gdscheck, of NVIDIA's package gds-tools, is not installed"};
  if (!found) return found.miss();
  const auto changeable = host.call("changeable " + kGdscheck).parsed([](const std::string& answer) {
    auto paths = json::read<std::vector<std::string>>(answer);
    return paths ? std::optional(std::move(*paths)) : std::nullopt;
  });
  if (changeable && !changeable->empty())
    return Miss{Missing::kDenied,
                changeable->front() +
                    " can be changed by users other than root and this one, so gdscheck was not run"};
  return std::nullopt;
}

Reading<GdsCheck> collect_check(Host& host, bool asked) {
  if (!asked) return {Miss{Missing::kAbsent, "not asked for"}, kGdscheck};
  if (const auto why = why_not_run(host)) return {*why, kGdscheck};
  // gdscheck writes a log into its working folder, unless it gets another file.
  const auto output = host.run({"env", "CUFILE_LOGFILE_PATH=/dev/null", kGdscheck, "-p"}, kGdscheckDeadline);
  if (!output) return {output.miss(), kGdscheck};
  // Its exit code is not 0 where the platform is not supported; what it printed counts.
  auto check = parse_gdscheck(output->output);
  if (!check)
    return {Miss{Missing::kGarbled, "it ended with " + std::to_string(output->exit_code)}, kGdscheck};
  return {std::move(*check), kGdscheck};
}

}  // namespace

std::optional<GdsCheck> parse_gdscheck(std::string_view text) {
  GdsCheck check;
  bool titled = false;  // what people paste may lack the lines with the versions
  for (const std::string_view line : lines(text)) {
    take_line(trim(line), check);
    titled = titled || trim(line) == "DRIVER CONFIGURATION:";
  }
  const bool known = titled || !check.release.empty();
  return known && !check.drivers.empty() ? std::optional(std::move(check)) : std::nullopt;
}

std::optional<CufileSettings> parse_cufile(std::string_view text) {
  const auto parsed = json::parse(without_comments(text));
  if (!parsed || !parsed->is_object()) return std::nullopt;
  CufileSettings settings;
  if (!parsed->contains("properties") || !(*parsed)["properties"].is_object()) return settings;
  const json::Value& properties = (*parsed)["properties"];
  settings.allow_compat_mode = truth_at(properties, "allow_compat_mode");
  settings.force_compat_mode = truth_at(properties, "force_compat_mode");
  settings.use_pci_p2pdma = truth_at(properties, "use_pci_p2pdma");
  return settings;
}

std::string used_cufile(std::string_view text) {
  const auto settings = parse_cufile(text);
  if (!settings) return "";
  std::string kept;
  const auto add = [&](const char* key, const std::optional<bool>& value) {
    if (value) kept += fmt::format("{}\"{}\": {}", kept.empty() ? "" : ", ", key, *value);
  };
  add("allow_compat_mode", settings->allow_compat_mode);
  add("force_compat_mode", settings->force_compat_mode);
  add("use_pci_p2pdma", settings->use_pci_p2pdma);
  return "{\"properties\": {" + kept + "}}\n";
}

std::string direct_way_of_nvme(const GdsCheck& check) {
  const auto has = [&](std::string_view driver, std::string_view mode) {
    return std::ranges::any_of(check.drivers, [&](const GdsDriver& one) {
      return one.name == driver && std::ranges::find(one.modes, mode) != one.modes.end();
    });
  };
  if (has("NVMe P2PDMA", "Supported") || has("NVMe", "p2pdma")) return "P2PDMA";
  return has("NVMe", "Supported") || has("NVMe", "nvfs") ? "nvidia-fs" : "";
}

std::vector<std::string> direct_storage(const GdsCheck& check) {
  std::vector<std::string> direct;
  for (const GdsDriver& driver : check.drivers) {
    // A transport of some of the others, and nothing that holds files.
    if (lower(driver.name) == "userspace rdma") continue;
    const bool is_direct = std::ranges::any_of(driver.modes, [](const std::string& mode) {
      return mode == "Supported" || mode == "nvfs" || mode == "p2pdma" || mode == "dmabuf";
    });
    if (is_direct) direct.push_back(driver.name);
  }
  return direct;
}

Gds collect_gds(Host& host, bool asked) {
  Gds gds;
  // "version: 2.20"
  gds.nvidia_fs = host.read_line("/proc/driver/nvidia-fs/version").parsed([](const std::string& line) {
    const auto version = value_of(trim(line), "version");
    return std::optional(tidied(version ? *version : trim(line)));
  });
  gds.cufile =
      host.read("/etc/cufile.json").parsed([](const std::string& text) { return parse_cufile(text); });
  gds.check = collect_check(host, asked);
  return gds;
}

}  // namespace railbed
