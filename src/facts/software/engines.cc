// Reads from files alone how containers get GPUs; no engine is asked. CDI: github.com/cncf-tags/container-device-interface,
// SPEC.md; NVIDIA Container Toolkit, "Support for Container Device Interface".
#include <algorithm>
#include <array>

#include "base/json.h"
#include "facts/collectors.h"
#include "facts/readings.h"
#include "facts/software/engine_files.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kLargestSpec = 1 << 20;
constexpr std::size_t kMostSpecs = 64;
constexpr std::size_t kMostMounts = 512;
constexpr std::size_t kMostGone = 8;
constexpr std::size_t kMostRuntimes = 64;
constexpr std::size_t kMostCdiGpus = 256;
constexpr std::string_view kSystemSlice = "/sys/fs/cgroup/system.slice";
constexpr std::string_view kGpuKind = "nvidia.com/gpu";

// Returns the value of KEY in a line of YAML ("- hostPath: VALUE") or of JSON (`"hostPath": "VALUE",`); empty if the
// line has another key.
std::string_view value_in(std::string_view line, std::string_view key) {
  constexpr std::string_view kAround = " \t-{\"',";
  const std::size_t begin = line.find_first_not_of(kAround);
  if (begin == std::string_view::npos || !line.substr(begin).starts_with(key)) return {};
  std::string_view rest = line.substr(begin + key.size());
  if (rest.starts_with('"')) rest.remove_prefix(1);
  if (!rest.starts_with(':')) return {};
  rest.remove_prefix(1);
  const std::size_t from = rest.find_first_not_of(kAround);
  if (from == std::string_view::npos) return {};
  rest = rest.substr(from);
  return rest.substr(0, rest.find_last_not_of(" \t\r\"',}") + 1);
}

bool is_sound_path(std::string_view path) {
  return path.starts_with('/') && is_plain_word(path, 400) && path.find("/../") == std::string_view::npos;
}

// Returns the version in "libcuda.so.570.133.20"; empty for another library and for "libcuda.so.1".
std::string_view driver_of(std::string_view path) {
  constexpr std::string_view kName = "/libcuda.so.";
  const std::size_t at = path.rfind(kName);
  if (at == std::string_view::npos) return {};
  const std::string_view version = path.substr(at + kName.size());
  const bool number = version.find('.') != std::string_view::npos && version.size() < 32 &&
                      version.find_first_not_of("0123456789.") == std::string_view::npos;
  return number ? version : std::string_view();
}

// Returns N of /dev/nvidiaN.
std::optional<int> gpu_number(std::string_view path) {
  constexpr std::string_view kDevice = "/dev/nvidia";
  if (!path.starts_with(kDevice)) return std::nullopt;
  const std::string_view number = path.substr(kDevice.size());
  if (number.empty() || number.size() > 4 || number.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return parse_number<int>(number);
}

bool is_gpu_uuid(std::string_view name) {
  constexpr std::string_view kBegin = "GPU-";
  return name.size() == kBegin.size() + 36 && name.starts_with(kBegin) &&
         name.substr(kBegin.size()).find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

template <class T>
void keep_once(std::vector<T>& all, T value) {
  if (all.size() < kMostCdiGpus && std::ranges::find(all, value) == all.end())
    all.push_back(std::move(value));
}

// Libraries of the Container Device Interface write JSON in one line.
std::string one_value_a_line(std::string_view text) {
  const auto document = trim(text).starts_with('{') ? json::parse(text) : Result<json::Value>(json::Value());
  return document && document->is_object() ? json::dump_pretty(*document) : std::string(text);
}

// Returns true if the file exists, else why it is not there. An older capture did not look for it, so its absence there
// is no answer.
Reading<bool> exists(Host& host, const std::string& path) {
  const auto resolved = host.resolve(path);
  if (!resolved) return {resolved.miss(), path};
  return {true, path};
}

// Keeps the mounted files that are gone, the first few of them.
void look_for_mounts(Host& host, CdiSpec& spec) {
  std::vector<std::string> gone;
  for (const std::string& path : spec.gone)
    if (gone.size() < kMostGone && host.resolve(path).absent()) gone.push_back(path);
  spec.gone = std::move(gone);
}

Reading<std::vector<std::string>> docker_runtimes(Host& host) {
  return host.read("/etc/docker/daemon.json").parsed([](const std::string& text) {
    std::optional<std::vector<std::string>> names;
    const auto document = json::parse(text);
    if (!document || !document->is_object()) return names;
    names.emplace();
    const auto runtimes = document->find("runtimes");
    if (runtimes == document->end() || !runtimes->is_object()) return names;
    for (const auto& [name, runtime] : runtimes->items())
      if (names->size() < kMostRuntimes && is_device_name(name, kLongestDevice)) names->push_back(name);
    return names;
  });
}

Reading<std::vector<CdiSpec>> cdi_specs(Host& host) {
  std::vector<CdiSpec> all;
  bool any = false;
  for (const std::string folder : {"/etc/cdi", "/run/cdi"}) {
    const auto names = host.list(folder);
    if (names.absent()) continue;
    if (!names) return {names.miss(), folder};
    any = true;
    for (const std::string& name : *names) {
      const bool is_spec = name.ends_with(".yaml") || name.ends_with(".json");
      if (!is_spec || !is_device_name(name, 255) || all.size() >= kMostSpecs) continue;
      const auto text = host.read(folder + "/" + name, kLargestSpec);
      if (!text && !text.absent()) return {text.miss(), text.from()};
      if (auto spec = text ? parse_cdi_spec(*text) : std::nullopt) {
        spec->file = folder + "/" + name;
        look_for_mounts(host, *spec);
        all.push_back(*std::move(spec));
      }
    }
  }
  if (!any) return {Miss{Missing::kAbsent, "there is no folder of CDI"}, "/etc/cdi, /run/cdi"};
  return {std::move(all), "/etc/cdi, /run/cdi"};
}

}  // namespace

std::optional<CdiSpec> parse_cdi_spec(std::string_view text) {
  CdiSpec spec;
  bool is_gpu = false;
  const std::string spread = one_value_a_line(text);
  for (const std::string_view line : lines(spread)) {
    is_gpu = is_gpu || value_in(line, "kind") == kGpuKind;
    if (const auto number = gpu_number(value_in(line, "path"))) keep_once(spec.gpus, *number);
    if (const std::string_view name = value_in(line, "name"); is_gpu_uuid(name))
      keep_once(spec.uuids, std::string(name));
    const std::string_view path = value_in(line, "hostPath");
    // Devices and sockets come and go with their programs; the libraries of a driver have its version in their names.
    if (!is_sound_path(path) || path.find(".so.") == std::string_view::npos ||
        spec.gone.size() >= kMostMounts)
      continue;
    spec.gone.emplace_back(path);
    if (spec.driver_version.empty()) spec.driver_version = driver_of(path);
  }
  return is_gpu ? std::optional(std::move(spec)) : std::nullopt;
}

std::string used_cdi_spec(std::string_view text) {
  const auto spec = parse_cdi_spec(text);
  if (!spec) return "";
  std::string kept = "kind: " + std::string(kGpuKind) + "\n";
  for (const std::string& path : spec->gone) kept += "- hostPath: " + path + "\n";
  for (const int gpu : spec->gpus) kept += "- path: /dev/nvidia" + std::to_string(gpu) + "\n";
  for (const std::string& uuid : spec->uuids) kept += "- name: " + uuid + "\n";
  return kept;
}

std::string used_docker_runtimes(std::string_view text) {
  const auto document = json::parse(text);
  if (!document || !document->is_object()) return "";
  json::Value kept = json::Value::object();
  const auto runtimes = document->find("runtimes");
  if (runtimes != document->end() && runtimes->is_object()) {
    kept["runtimes"] = json::Value::object();
    for (const auto& [name, runtime] : runtimes->items())
      if (is_device_name(name, kLongestDevice)) kept["runtimes"][name] = json::Value::object();
  }
  return json::dump(kept) + "\n";
}

ContainerEngines collect_engines(Host& host) {
  ContainerEngines engines;
  engines.toolkit = exists(host, "/usr/bin/nvidia-ctk");
  engines.hook = exists(host, "/usr/bin/nvidia-container-runtime-hook");
  engines.cdi_refresh = exists(host, "/etc/systemd/system/nvidia-cdi-refresh.service");
  if (engines.cdi_refresh.absent())
    engines.cdi_refresh = exists(host, "/usr/lib/systemd/system/nvidia-cdi-refresh.service");
  engines.docker_runtimes = docker_runtimes(host);
  engines.containerd = read_containerd(host);
  engines.crio = read_crio(host);
  engines.crio_runs = host.list(std::string(kSystemSlice)).parsed([](const std::vector<std::string>& units) {
    return std::optional(std::ranges::find(units, "crio.service") != units.end());
  });
  engines.cdi = cdi_specs(host);
  return engines;
}

Reading<std::vector<std::string>> collect_memory_guards(Host& host) {
  return host.list(std::string(kSystemSlice)).parsed([](const std::vector<std::string>& units) {
    constexpr std::array<std::string_view, 3> kGuards = {"earlyoom", "nohang", "systemd-oomd"};
    std::vector<std::string> found;
    for (const std::string_view guard : kGuards)
      if (std::ranges::find(units, std::string(guard) + ".service") != units.end()) found.emplace_back(guard);
    return std::optional(std::move(found));
  });
}

// NVIDIA MPS, "Appendix: Tools and Interface Reference": the daemon keeps this file in the folder in which programs look for
// it, and removes it at its end; of its other files one stays (seen on an H200 with driver 580). What lies there is not
// opened: anybody may put a link or a pipe below /tmp.
Reading<bool> collect_mps_daemon(Host& host) {
  constexpr const char* kPidFile = "/tmp/nvidia-mps/nvidia-cuda-mps-control.pid";
  const auto units = host.list(std::string(kSystemSlice));
  if (!units) return {units.miss(), units.from()};
  if (std::ranges::find(*units, "railbed-mps.service") != units->end())
    return {true, std::string(kSystemSlice)};
  const auto file = exists(host, kPidFile);
  if (file.absent()) return {false, std::string(kSystemSlice)};
  if (!file) return {file.miss(), file.from()};
  return {Miss{Missing::kUnknown,
               "its file is there, and whether a daemon that railbed did not start still runs does not "
               "show"},
          kPidFile};
}

}  // namespace railbed
