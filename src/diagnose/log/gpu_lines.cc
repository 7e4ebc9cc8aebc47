// Reads what CUDA, NVML, the driver and the container runtimes print.
//
// People paste commands with their output. Where an answer makes sense only below its command (a count, the state
// of a service), the reader remembers the command for the lines that follow it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "hardware/xid.h"

namespace railbed::diagnose {
namespace {

constexpr int kMostGpus = 1024;
constexpr std::size_t kMostXids = 64;
constexpr std::size_t kMostCdiNames = 256;
constexpr std::size_t kMostKernels = 64;

constexpr std::uint64_t kLongestList = 12;  // lines below "Allocatable:"
constexpr std::size_t kLongestQuery = 1024;

constexpr double kMostWatts = 1e5;
constexpr int kIdleLevel = 5;            // performance state P5 and those of less work
constexpr std::uint64_t kLastLines = 8;  // lines below the command last that are about the last boot

enum DriverMark : std::size_t {
  kGpuLine,
  kXid,
  kUnit,
  kActive,
  kIsActive,
  kLspci,
  kLsSwitch,
  kContext,
  kNoCgroups,
  kCdiName,
  kCdiVersion,
  kWhich,
  kLibcuda,
  kPathVariable,
  kLdso,
  kHmm,
  kLocalRank,
  kTasks,
  kRankPrefix,
  kStartedFm,
  kSrun,
  kSbatch,
  kDockerRun,
  kPodmanRun,
  kPciList,
  kListCommand,
  kNvls,
  kAllocatable,
  kHeading,
  kDkms,
  kUname,
  kNouveau,
  kUmad,
  kNvidia,
  kGpusOption,
  kGresOption,
  kRuntimeOption,
  kDeviceOption,
  kProduct,
  kDkmsOld,
  kDkmsServer,
  kPersistenceColumn,
  kLimitColumn,
  kGenerationColumn,
  kSupply,
  kPstore,
  kLastLogins,
  kSystemBoot,
  kSystemDown,
  kCrashed,
  kDriverMarks
};

constexpr std::array<std::string_view, kDriverMarks> kDriverWords = {"GPU ",
                                                                     "Xid (",
                                                                     "nvidia-fabricmanager",
                                                                     "Active: ",
                                                                     "is-active",
                                                                     "lspci",
                                                                     "/dev/nvidia-nvswitch",
                                                                     "docker context show",
                                                                     "no-cgroups",
                                                                     "nvidia.com/gpu=",
                                                                     "cdiVersion",
                                                                     "which ",
                                                                     "libcuda.so.1",
                                                                     "LD_LIBRARY_PATH",
                                                                     "/etc/ld.so.conf.d/",
                                                                     "uvm_disable_hmm",
                                                                     "local_rank: ",
                                                                     ": tasks ",
                                                                     "[rank",
                                                                     "NVIDIA fabric manager service",
                                                                     "srun ",
                                                                     "#SBATCH ",
                                                                     "docker run",
                                                                     "podman run",
                                                                     "NVIDIA Corporation",
                                                                     "nvidia-smi -L",
                                                                     "transport/nvls.cc:",
                                                                     "nvidia.com/gpu:",
                                                                     "Allocatable:",
                                                                     "nvidia/",
                                                                     "uname -r",
                                                                     "nouveau ",
                                                                     "ib_umad ",
                                                                     "nvidia ",
                                                                     "--gpus",
                                                                     "--gres",
                                                                     "--runtime",
                                                                     "--device",
                                                                     "NVIDIA ",
                                                                     "nvidia, ",
                                                                     "nvidia-srv/",
                                                                     "persistence_mode",
                                                                     "power.limit",
                                                                     "pcie.link.gen",
                                                                     "Max Power Capacity: ",
                                                                     "/sys/fs/pstore",
                                                                     "last -x",
                                                                     "system boot",
                                                                     "system down",
                                                                     " - crash "};

const Phrases& driver_marks() {
  static const Phrases phrases{kDriverWords};
  return phrases;
}

// Returns the number that the line consists of.
std::optional<int> lone_number(std::string_view line) {
  Scan scan(trim(line));
  const auto number = scan.number();
  return number && scan.empty() ? number : std::nullopt;
}

// "nvidia_uvm           4595712  8"
bool is_of_lsmod(std::string_view line, std::string_view module) {
  if (!line.starts_with(module)) return false;
  Scan scan(trim(line.substr(module.size())));
  return scan.number() && scan.take(" ");
}

// Returns "NVIDIA H100 80GB HBM3" of "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1f0a…)".
std::string_view listed_name(std::string_view line) {
  Scan scan(line);
  return scan.skip_past(": ") ? trim(scan.until("(")) : std::string_view();
}

// "# GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-…)"
std::optional<int> listed_gpu(std::string_view line) {
  if (!has_text(line, "(UUID: GPU-")) return std::nullopt;
  Scan scan(line);
  if (!scan.skip_past("GPU ")) return std::nullopt;
  const auto number = scan.number();
  return number && *number >= 0 && *number < kMostGpus && scan.take(": ") ? number : std::nullopt;
}

// Returns whether the GPU of this name, without "NVIDIA ", is a card that joins no NVSwitch.
bool is_card(std::string_view name) {
  constexpr std::string_view kLines[] = {"GeForce ", "RTX ", "TITAN ", "Quadro "};
  if (std::ranges::any_of(kLines, [&](std::string_view one) { return name.starts_with(one); })) return true;
  constexpr std::string_view kModels[] = {"A2",  "A10", "A10G", "A16", "A30", "A40", "L4",
                                          "L20", "L40", "L40S", "T4",  "T4G", "GB10"};
  const std::string_view model = name.substr(0, name.find_first_of(" ,)|["));
  if (std::ranges::find(kModels, model) != std::end(kModels)) return true;
  constexpr std::size_t kLongestProduct = 32;
  name = name.substr(0, kLongestProduct);
  return !model.starts_with("GB") &&
         (has_text(name, "PCIe") || has_text(name, "PCIE") || has_text(name, " NVL"));
}

// Returns whether the GPU of this name is one whose NVSwitch is managed through InfiniBand devices.
bool is_of_nvlink5(std::string_view name) {
  constexpr std::string_view kModels[] = {"B100", "B200", "B300"};
  return std::ranges::find(kModels, name.substr(0, name.find_first_of(" ,)|["))) != std::end(kModels);
}

// Returns whether a product's name or its line in lspci is of a Blackwell GPU: "GB20B [GB10]", "RTX PRO 6000 Blackwell".
bool is_of_blackwell(std::string_view name) {
  constexpr std::size_t kLongestLine = 160;
  name = name.substr(0, kLongestLine);
  if (is_of_nvlink5(name) || has_text(name, "Blackwell") || has_text(name, "GeForce RTX 50")) return true;
  for (std::size_t at = name.find("GB"); at != std::string_view::npos; at = name.find("GB", at + 1)) {
    const bool word = at == 0 || name[at - 1] == ' ' || name[at - 1] == '[';
    if (!word || at + 3 >= name.size()) continue;
    const char generation = name[at + 2];
    if ((generation == '1' || generation == '2' || generation == '3') && is_digit(name[at + 3])) return true;
  }
  return false;
}

void forget_query(DriverLines& driver) {
  driver.persistence_column.reset();
  driver.limit_column.reset();
  driver.state_column.reset();
  driver.generation_column.reset();
  driver.most_generation_column.reset();
}

// Reads the head of `nvidia-smi --query-gpu=… --format=csv`.
void read_query_head(DriverLines& driver, std::string_view line) {
  if (has_text(line, "--query-gpu")) return;  // the command
  const auto columns = split(line.substr(0, kLongestQuery), ',');
  forget_query(driver);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string_view name = trim(columns[i]);
    if (name == "persistence_mode") driver.persistence_column = i;
    if (name.starts_with("power.limit")) driver.limit_column = i;
    if (name == "pstate") driver.state_column = i;
    if (name == "pcie.link.gen.current" || name == "pcie.link.gen.gpucurrent") driver.generation_column = i;
    if (name == "pcie.link.gen.max" || name == "pcie.link.gen.gpumax") driver.most_generation_column = i;
  }
  if (driver.limit_column) driver.limit_watts = 0;
}

// Reads a row below it; another line ends the table.
void read_query_row(LogState& state, std::string_view line) {
  DriverLines& driver = state.driver;
  const auto columns = split(line.substr(0, kLongestQuery), ',');
  const auto value_at = [&](std::optional<std::size_t> column) {
    return column && *column < columns.size() ? trim(columns[*column]) : std::string_view();
  };
  const std::string_view mode = value_at(driver.persistence_column);
  if (mode == "Disabled") state.keep_sight(state.seen["persistence-mode-off"], line);
  if (mode == "Enabled") state.keep_sight(state.seen["persistence-mode-on"], line);
  Scan limit(value_at(driver.limit_column));
  const double watts = limit.real().value_or(0);
  if (watts > 0 && watts < kMostWatts) driver.limit_watts += watts;
  // "P8, 1, 4": performance state, the link's PCIe generation, and the highest one.
  const auto generation = parse_number<int>(value_at(driver.generation_column));
  const auto most = parse_number<int>(value_at(driver.most_generation_column));
  const std::string_view pstate = value_at(driver.state_column);
  const auto level = pstate.starts_with('P') ? parse_number<int>(pstate.substr(1)) : std::nullopt;
  if (generation && most && level && *generation < *most)
    state.keep_sight(state.seen[*level >= kIdleLevel ? "link-slow-idle" : "link-slow-busy"], line);
  if (mode.empty() && watts <= 0 && !generation) forget_query(driver);
}

void keep_names(std::set<std::string, std::less<>>& names, std::string_view line) {
  line = trim(line);
  if (!line.starts_with("nvidia.com/gpu=") || has_text(line, " ") || names.size() >= kMostCdiNames) return;
  names.emplace(line.substr(0, 80));
}

}  // namespace

void LogState::read_driver(std::string_view line) {
  const auto keep = [&](std::string_view id, std::string_view text) { keep_sight(seen[id], text); };
  // The answer to the command on the line before.
  const auto asked = std::exchange(driver.asked, DriverAsked::kNothing);
  const std::string_view answer = trim(line);
  switch (asked) {
    case DriverAsked::kNothing:
      break;
    case DriverAsked::kNvidiaOnPci:
      if (const auto count = lone_number(line))
        keep(*count == 0 ? "pci-without-nvidia" : "pci-with-nvidia",
             fmt::format("{} NVIDIA devices on PCI", *count));
      break;
    case DriverAsked::kNvswitch:
      if (lone_number(line) == 0 || has_text(line, "No such file"))
        keep("no-nvswitch", "no /dev/nvidia-nvswitch* is there");
      break;
    case DriverAsked::kFabricManager:
      if (answer == "active") keep("fm-active", "nvidia-fabricmanager: active");
      if (answer == "inactive") keep("fm-inactive", "nvidia-fabricmanager: inactive");
      if (answer == "failed") keep("fm-unit-failed", "nvidia-fabricmanager: failed");
      break;
    case DriverAsked::kContext:
      if (answer == "rootless") keep("docker-rootless", "docker context: rootless");
      if (answer.starts_with("desktop")) keep("docker-desktop", fmt::format("docker context: {}", answer));
      break;
    case DriverAsked::kLibraryPath:
      if (answer.starts_with('/') || answer == "" || has_text(answer, "LD_LIBRARY_PATH="))
        keep(has_text(answer, "compat") ? "compat-in-path" : "path-without-compat",
             fmt::format("LD_LIBRARY_PATH={}", answer));
      break;
    case DriverAsked::kKernel:
      if (!answer.empty() && is_digit(answer.front())) driver.kernel = answer.substr(0, 64);
      break;
    case DriverAsked::kHmm:
      if (answer == "N") keep("hmm-on", "uvm_disable_hmm is N");
      if (answer == "Y") keep("hmm-off", "uvm_disable_hmm is Y");
      break;
    case DriverAsked::kInitWithoutHmm:
      if (answer == "0") keep("hmm-off-helps", "cuInit gives 0 with uvm_disable_hmm=1");
      break;
    case DriverAsked::kPstore:
      if (answer == "total 0") keep("pstore-empty", "/sys/fs/pstore is empty: the kernel kept no panic");
      break;
  }
  if (driver.persistence_column || driver.limit_column || driver.generation_column)
    read_query_row(*this, line);

  std::bitset<kDriverMarks> found;
  driver_marks().visit(line, [&](std::size_t index) { found.set(index); });
  if (found.none()) return;

  if (found[kGpuLine]) {
    if (const auto gpu = listed_gpu(line)) {
      if (driver.list.line != 0)
        keep(listed_name(line) == listed_name(driver.list.text) ? "gpus-alike" : "gpus-of-two-kinds", line);
      driver.gpus.insert(*gpu);
      keep_sight(driver.list, line);
      keep("gpus-listed", line);
    }
  }
  if (found[kListCommand] && has_text(line, "head")) driver.list_is_cut = true;
  if (found[kXid] && !has_text(line, "SXid")) {
    // "NVRM: Xid (PCI:0000:3b:00): 79, …"
    Scan scan(line);
    if (scan.skip_past("Xid (") && scan.skip_past("): ")) {
      const auto code = scan.number();
      if (code && (driver.xids.size() < kMostXids || driver.xids.contains(*code)))
        keep_sight(driver.xids[*code], line);
      if (code && *code >= 144 && *code <= 150 && has_text(line, " Fatal "))
        keep_sight(driver.nvlink_fatal, line);
    }
  }
  if (found[kUnit] || found[kStartedFm]) {
    driver.unit = log.lines;
    if (has_text(line, "could not be found") || has_text(line, "not loaded")) keep("fm-unit-absent", line);
    if (found[kIsActive]) driver.asked = DriverAsked::kFabricManager;
    if (has_text(line, "Started") && seen.contains("fm-stopped")) keep_sight(driver.fm_started_again, line);
    if (has_text(line, "Stopping") || has_text(line, "Stopped") || has_text(line, "Deactivated"))
      keep("fm-stopped", line);
    if (has_text(line, "Failed to start") || has_text(line, "status=1/FAILURE"))
      keep("fm-start-failed", line);
  }
  // "     Active: failed (Result: exit-code) since …" some lines below the unit's name.
  constexpr std::uint64_t kStatusLines = 6;
  if (found[kActive] && driver.unit != 0 && log.lines - driver.unit <= kStatusLines) {
    Scan scan(line);
    scan.skip_past("Active: ");
    const std::string text = fmt::format("nvidia-fabricmanager: {}", trim(line));
    if (scan.take("active (running)")) keep("fm-active", text);
    if (scan.take("failed") || scan.take("activating (auto-restart)")) keep("fm-unit-failed", text);
    if (scan.take("inactive")) keep("fm-inactive", text);
  }
  if (found[kPciList] && has_text(line, "NVSwitch]")) keep("nvswitch", line);
  if (found[kPciList] && (has_text(line, "3D controller") || has_text(line, "VGA compatible")))
    keep("pci-with-nvidia", line);
  const auto counts = [&] { return has_text(line, "grep -c") || has_text(line, "wc -l"); };
  if (found[kLspci] && counts() && has_text(lower(line), "nvidia")) driver.asked = DriverAsked::kNvidiaOnPci;
  if (found[kLsSwitch]) {
    if (counts()) driver.asked = DriverAsked::kNvswitch;
    if (has_text(line, "No such file") || has_text(line, "cannot access")) keep("no-nvswitch", line);
    if (trim(line).starts_with("/dev/nvidia-nvswitch") || has_text(line, "crw")) keep("nvswitch", line);
  }
  if (found[kNvls] && has_text(line, "NCCL WARN")) keep("nvls-warned", line);
  if (found[kHeading]) driver.allocatable = log.lines;
  if (found[kAllocatable] && driver.allocatable != 0 && log.lines - driver.allocatable <= kLongestList) {
    Scan scan(line);
    scan.skip_past("nvidia.com/gpu:");
    if (const auto count = lone_number(scan.rest()))
      keep(*count == 0 ? "allocatable-none" : "allocatable-some", line);
  }
  if (found[kDkms] && has_text(line, "installed")) {
    // "nvidia/570.133.20, 6.8.0-55-generic, x86_64: installed"
    const std::string_view kernel = word_after(line, ", ");
    if (!kernel.empty() && driver.built_for.size() < kMostKernels)
      driver.built_for.emplace(kernel.substr(0, 64));
    keep_sight(driver.built, line);
  } else if ((found[kDkmsOld] || found[kDkmsServer]) && has_text(line, ": installed")) {
    // DKMS 2: "nvidia, 525.105.17, 5.10.0-23-cloud-amd64, x86_64: installed"
    // Ubuntu's server driver: "nvidia-srv/535.183.06, 6.8.0-45-generic, x86_64: installed"
    const auto parts = split(line.substr(0, 256), ',');
    const std::size_t at = found[kDkmsServer] ? 1 : 2;
    if (parts.size() == at + 2 && driver.built_for.size() < kMostKernels)
      driver.built_for.emplace(trim(parts[at]).substr(0, 64));
    keep_sight(driver.built, line);
  }
  if (found[kProduct]) {
    const std::string_view name = line.substr(line.find("NVIDIA ") + 7);
    if (is_card(name)) keep("gpus-without-nvswitch", line);
    if (is_of_nvlink5(name)) keep("gpus-of-nvlink5", line);
    if (is_of_blackwell(name)) keep("gpus-of-blackwell", line);
  }
  if (found[kPersistenceColumn] || found[kLimitColumn] || found[kGenerationColumn])
    read_query_head(driver, line);
  if (found[kSupply]) {
    const double watts = number_after(line, "Max Power Capacity: ").value_or(0);
    if (watts > 0 && watts < kMostWatts) driver.supply_watts += watts;
    keep_sight(driver.supply, line);
  }
  if (found[kPstore] && has_text(line, "ls ") && !has_text(line, "cannot access"))
    driver.asked = DriverAsked::kPstore;
  // Of last -x, newest first: the last boot, and whoever was logged in when the machine went down before it.
  if (found[kLastLogins]) {
    driver.asked_last = log.lines;
    driver.after_boot = false;
  }
  if (driver.asked_last != 0 && log.lines - driver.asked_last <= kLastLines) {
    if (found[kSystemBoot] && line.starts_with("reboot ")) driver.after_boot = true;
    if (found[kSystemDown]) driver.asked_last = 0;
    if (found[kCrashed] && driver.after_boot) {
      driver.asked_last = 0;
      read_symptom(fmt::format("The last boot followed a crash: {}", answer.substr(0, 160)), nullptr, nullptr,
                   false);
    }
  }
  if (found[kUname]) driver.asked = DriverAsked::kKernel;
  if (found[kNouveau] && is_of_lsmod(line, "nouveau ")) keep("nouveau-module", line);
  if (found[kUmad] && is_of_lsmod(line, "ib_umad ")) keep("umad-loaded", line);
  if (found[kNvidia] && is_of_lsmod(line, "nvidia ")) keep("nvidia-loaded", line);
  if (found[kContext]) driver.asked = DriverAsked::kContext;
  if (found[kNoCgroups]) {
    std::string_view value = trim(line);
    if (value.starts_with("no-cgroups")) {
      value.remove_prefix(std::string_view("no-cgroups").size());
      value.remove_prefix(std::min(value.find_first_not_of(" ="), value.size()));
      if (value.starts_with("true")) keep("no-cgroups-true", line);
      if (value.starts_with("false")) keep("no-cgroups-false", line);
    }
    if (value.starts_with('#')) keep("no-cgroups-false", line);
  }
  if (found[kCdiName]) keep_names(driver.cdi_names, line);
  if (found[kCdiVersion]) {
    Scan scan(line);
    scan.skip_past("cdiVersion");
    while (!scan.empty() && !is_digit(scan.rest().front())) scan.take(scan.rest().substr(0, 1));
    const auto major = scan.number();
    const auto minor = scan.take(".") ? scan.number() : std::nullopt;
    if (major && minor && driver.cdi_version.line == 0) {
      driver.cdi_minor = *major > 0 ? 1000 : *minor;
      keep_sight(driver.cdi_version, line);
    }
  }
  if (found[kWhich] && (has_text(line, "nvidia-ctk") || has_text(line, "nvidia-container-runtime-hook")))
    keep_sight(driver.asked_which_toolkit, line);
  if (found[kLibcuda] && has_text(line, "=>") && !seen.contains("libcuda-compat-first") &&
      !seen.contains("libcuda-driver-first"))
    keep(has_text(line, "compat/") ? "libcuda-compat-first" : "libcuda-driver-first", line);
  if (found[kPathVariable]) {
    if (has_text(line, "echo $LD_LIBRARY_PATH") || has_text(line, "printenv LD_LIBRARY_PATH")) {
      driver.asked = DriverAsked::kLibraryPath;
    } else if (const auto at = line.find("LD_LIBRARY_PATH=");
               at != std::string_view::npos && !has_text(line, "echo")) {
      keep(has_text(line.substr(at), "compat") ? "compat-in-path" : "path-without-compat", line);
    }
  }
  if (found[kLdso] && has_text(line, "compat")) keep("ldso-compat", line);
  if (found[kHmm]) {
    if (has_text(line, "parameters/uvm_disable_hmm")) driver.asked = DriverAsked::kHmm;
    if (has_text(line, "uvm_disable_hmm=1") && has_text(line, "cuInit"))
      driver.asked = DriverAsked::kInitWithoutHmm;
  }
  if (found[kLocalRank])
    if (const auto rank = number_after(line, "local_rank: ");
        rank && *rank >= 0 && driver.failed.size() < kMostGpus)
      driver.failed.insert(*rank);
  if (found[kTasks] && has_text(line, "xited with exit code"))
    if (const auto task = number_after(line, ": tasks ");
        task && *task >= 0 && driver.failed.size() < kMostGpus)
      driver.failed.insert(*task);
  // Options may stand on a line of their own, and a step has those of its allocation.
  if (found[kGpusOption] || found[kGresOption] ||
      ((found[kSrun] || found[kSbatch]) && has_text(line, " -G "))) {
    keep_sight(driver.slurm_gpus, line);
    keep_sight(driver.container_gpus, line);
  }
  if (found[kRuntimeOption] || found[kDeviceOption]) keep_sight(driver.container_gpus, line);
  if (found[kSbatch] || (found[kSrun] && (has_text(line, " -p ") || has_text(line, " --partition"))))
    keep_sight(driver.slurm_start, line);
  if (found[kDockerRun] || found[kPodmanRun]) keep_sight(driver.container_start, line);
}

}  // namespace railbed::diagnose
