// Reads what launchers print in more than one line.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ip.h"
#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace launcher_lines {
namespace {

constexpr std::size_t kMostRayAddresses = 1024;
constexpr std::size_t kMostSteps = 1024;
constexpr std::size_t kMostSoughtPorts = 64;
constexpr std::size_t kLongestPath = 256;

// The words with which the lines that read_launchers() keeps begin or that stand in them.
enum Trigger {
  kLocalNode,
  kNodeAddress,
  kRayGpus,
  kRayOffer,
  kStepId,
  kJobId,
  kTres,
  kMungeKey,
  kRankZero,
  kRankOne,
  kAverage,
  kSockets,
  kListen,
  kShm,
  kSrun,
  kMpiLibrary,
  kMpirun,
  kJobTasks,
  kScriptTasks,
  kSlots,
  kVllmAddress
};

constexpr std::array<std::string_view, 21> kTriggers = {"Local node IP: ",
                                                        "--node-ip-address",
                                                        " GPU",
                                                        "total resources available",
                                                        "StepId=",
                                                        "JobId=",
                                                        "TRES=",
                                                        "munge.key",
                                                        "Rank  0 ",
                                                        "Rank  1 ",
                                                        "# Avg bus bandwidth",
                                                        "ss -",
                                                        "LISTEN",
                                                        "/dev/shm",
                                                        "srun ",
                                                        "/lib/libmpi.so",
                                                        "/bin/mpirun",
                                                        "SLURM_NTASKS=",
                                                        "#SBATCH -",
                                                        " slots=",
                                                        "VLLM_HOST_IP="};

const Phrases& launcher_triggers() {
  static const Phrases phrases{std::span<const std::string_view>(kTriggers)};
  return phrases;
}

// Returns the MiB in "500G" or "512000M"; Slurm means MiB where no letter stands.
double mebibytes_in(std::string_view text) {
  Scan scan(text);
  const double number = scan.real().value_or(-1);
  if (number < 0) return -1;
  const char unit = scan.empty() ? 'M' : scan.rest().front();
  return unit == 'K'   ? number / 1024
         : unit == 'G' ? number * 1024
         : unit == 'T' ? number * 1024 * 1024
                       : number;
}

// Reads "TRES=cpu=16,mem=500G,node=1,gres/gpu=8". A list without GPUs has none.
void read_resources(std::string_view line, SlurmShare& share) {
  Scan scan(line);
  if (!scan.skip_past("TRES=")) return;
  const std::string list = "," + std::string(scan.until(" "));
  if (const auto cpus = real_after(list, ",cpu=")) share.cpus = *cpus;
  if (const auto at = list.find(",mem="); at != std::string::npos)
    share.mebibytes = mebibytes_in(std::string_view(list).substr(at + 5));
  share.gpus = real_after(list, ",gres/gpu=").value_or(-1);
  if (share.gpus >= 0) return;
  Scan kind(list);
  share.gpus = kind.skip_past(",gres/gpu:") && kind.skip_past("=") ? kind.real().value_or(0) : 0;
}

// Reads " 0.0/2.0 GPU" or " 3.0/3.0 GPU (3.0 used of 3.0 reserved in placement groups)" of ray status.
bool read_ray_status(std::string_view line, LauncherLines& lines) {
  Scan scan(trim(line));
  const auto used = scan.real();
  if (!used || !scan.take("/")) return false;
  const auto total = scan.real();
  if (!total || !scan.take(" GPU")) return false;
  lines.ray_used = *used;
  lines.ray_total = *total;
  return true;
}

// Returns the hash in "6b3f…  /etc/munge/munge.key", also behind a host's name; empty if the line is none.
std::string_view key_hash(std::string_view line) {
  line = trim(line);
  if (!line.ends_with("munge.key")) return {};
  const auto gap = line.find_last_of(" *");
  if (gap == std::string_view::npos) return {};
  std::string_view hash = trim(line.substr(0, gap));
  if (const auto space = hash.rfind(' '); space != std::string_view::npos) hash.remove_prefix(space + 1);
  const auto is_hex = [](unsigned char letter) { return std::isxdigit(letter) != 0 || letter == '.'; };
  return hash.size() >= 8 && std::ranges::all_of(hash, is_hex) ? hash : std::string_view();
}

// Returns "811 on hw15" of "#  Rank  0 Group  0 Pid    811 on       hw15 device  0 [0x0f] NVIDIA H800"; empty if the
// line is none.
std::string rank_zero_of(std::string_view line) {
  Scan scan(line);
  if (!scan.skip_past("#") || !scan.skip_past("Rank  0 ") || !scan.skip_past("Pid ")) return {};
  Scan rest(trim(scan.rest()));
  const auto process = rest.number();
  if (!process || !rest.skip_past(" on ")) return {};
  Scan host(trim(rest.rest()));
  const std::string name(host.until(" "));
  return has_text(host.rest(), "device") ? fmt::format("{} on {}", *process, name) : std::string();
}

// Returns the number of tasks in "srun -n 8", "#SBATCH --ntasks=8" or "--ntasks 8".
std::optional<int> tasks_in(std::string_view line) {
  for (const std::string_view option : {" -n ", " -n", " --ntasks=", " --ntasks "})
    if (const auto tasks = number_after(line, option)) return tasks;
  return std::nullopt;
}

// Returns "/opt/openmpi" of "libmpi.so.40 => /opt/openmpi/lib/libmpi.so.40 (0x…)".
std::string_view prefix_before(std::string_view line, std::string_view end) {
  line = line.substr(0, line.find(end));
  return line.substr(std::min(line.find_last_of(" \t\"'=") + 1, line.size()));
}

// Returns the number behind "grep 6379", "grep :6379" or "sport = :6379".
std::optional<int> sought_port(std::string_view line) {
  for (const std::string_view words : {"grep ", "sport = "}) {
    Scan scan(line);
    while (scan.skip_past(words)) {
      std::string_view rest = scan.rest();
      rest.remove_prefix(std::min(rest.find_first_not_of(":'\"-wEq "), rest.size()));
      Scan port(rest);
      if (const auto number = port.number()) return number;
    }
  }
  return std::nullopt;
}

// Adds the ports of "LISTEN 0 4096 *:6379 *:*".
void read_listener(std::string_view line, std::set<int>& ports) {
  Scan scan(line);
  while (scan.skip_past(":"))
    if (const auto port = scan.number(); port && ports.size() < kMostSoughtPorts) ports.insert(*port);
}

// Returns whether "tmpfs 64M 0 64M 0% /dev/shm" shows too little room; nothing if the line is no df's.
std::optional<bool> shm_lacks_room(std::string_view line) {
  line = trim(line);
  if (!line.ends_with(" /dev/shm")) return std::nullopt;
  const auto percent = line.find("% ");
  if (percent == std::string_view::npos) return std::nullopt;
  const auto digits = line.find_last_not_of("0123456789", percent - 1);
  Scan used(line.substr(digits == std::string_view::npos ? 0 : digits + 1));
  Scan fields(line);
  fields.until(" ");
  const std::string_view size = Scan(trim(fields.rest())).until(" ");
  return used.number().value_or(0) >= 99 || size == "64M" || size == "65536" || size == "64.0M";
}

void read(LogState& state, std::string_view line) {
  unsigned found = 0;
  launcher_triggers().visit(line, [&](std::size_t index) { found |= 1U << index; });
  if (found == 0) return;
  const auto has = [&](Trigger trigger) { return (found & 1U << trigger) != 0; };
  LauncherLines& lines = state.launchers;
  for (const Trigger trigger : {kLocalNode, kNodeAddress}) {
    if (!has(trigger) || lines.ray_addresses.size() >= kMostRayAddresses) continue;
    Scan scan(line);
    scan.skip_past(kTriggers[trigger]);
    const std::string_view rest = trim(scan.rest());
    const std::string_view address = Scan(rest.starts_with('=') ? rest.substr(1) : rest).until(" '\"");
    if (!IpAddress::parse(address)) continue;
    lines.ray_addresses.emplace(address);
    state.keep_sight(lines.ray_address, line);
  }
  if (has(kVllmAddress) && lines.vllm_address.empty()) {
    Scan scan(line);
    scan.skip_past(kTriggers[kVllmAddress]);
    const std::string_view address = scan.until(" '\"");
    if (IpAddress::parse(address)) lines.vllm_address = address;
  }
  if (has(kRayGpus) && read_ray_status(line, lines)) {
    lines.ray_gpus = {};
    state.keep_sight(lines.ray_gpus, line);
  }
  if (has(kRayOffer) && lines.ray_total < 0) {
    Scan scan(line);
    scan.skip_past(kTriggers[kRayOffer]);
    lines.ray_total = real_after(scan.rest(), "\"GPU\": ").value_or(0);
    state.keep_sight(lines.ray_gpus, scan.rest().substr(std::min<std::size_t>(2, scan.rest().size())));
  }
  // A step that has ended holds nothing.
  if (has(kStepId) && trim(line).starts_with("StepId=")) {
    Scan scan(line);
    scan.skip_past("StepId=");
    lines.in_step = true;
    if (lines.steps.size() < kMostSteps) lines.steps.push_back({.step = std::string(scan.until(" "))});
  }
  if (has(kJobId) || has_text(line, "NumCPUs=")) lines.in_step = false;
  if (lines.in_step && has_text(line, "State=") && !has_text(line, "State=RUNNING") && !lines.steps.empty()) {
    lines.steps.pop_back();
    lines.in_step = false;
  } else if (has(kTres)) {
    SlurmShare& share = lines.in_step && !lines.steps.empty() ? lines.steps.back() : lines.job;
    read_resources(line, share);
    state.keep_sight(share.sight, line);
  }
  if (has(kMungeKey))
    if (const std::string_view hash = key_hash(line); !hash.empty()) {
      if (lines.munge_key.empty())
        lines.munge_key = hash;
      else
        state.keep_sight(hash == lines.munge_key ? lines.same_key : lines.other_key, line);
    }
  if (has(kSockets) && lines.sought_ports.size() < kMostSoughtPorts)
    if (const auto port = sought_port(line)) {
      lines.sought_ports.insert(*port);
      state.keep_sight(lines.sought, line);
    }
  if (has(kListen)) {
    read_listener(line, lines.open_ports);
    state.keep_sight(lines.opened, line);
  }
  if (has(kShm))
    if (const auto lacks = shm_lacks_room(line))
      state.keep_sight(*lacks ? lines.shm_small : lines.shm_roomy, line);
  if (has(kSrun) && (has_text(line, "srun -") || has_text(line, "+ srun "))) {
    const bool with = has_text(line, "--mpi=p") || has_text(line, "--mpi p");
    state.keep_sight(with ? lines.srun_with_mpi : lines.srun_without_mpi, line);
  }
  for (const auto& [trigger, prefix] :
       {std::pair(kMpiLibrary, &lines.mpi_library), std::pair(kMpirun, &lines.mpi_launcher)})
    if (has(trigger) && prefix->empty())
      *prefix = prefix_before(line, kTriggers[trigger]).substr(0, kLongestPath);
  if (has(kSrun))
    if (const auto tasks = tasks_in(line); tasks && *tasks > lines.srun_tasks) {
      lines.srun_tasks = *tasks;
      state.keep_sight(lines.srun_tasks_line = {}, line);
    }
  if (lines.job_tasks < 0 && (has(kJobTasks) || has(kScriptTasks)))
    if (const auto tasks = has(kJobTasks) ? number_after(line, "SLURM_NTASKS=") : tasks_in(line)) {
      lines.job_tasks = *tasks;
      state.keep_sight(lines.job_tasks_line, line);
    }
  if (has(kSlots))
    if (const auto slots = number_after(line, " slots="); slots && *slots >= 0 && *slots <= 4096) {
      lines.slots = std::min(std::max(lines.slots, 0) + *slots, 1 << 20);
      state.keep_sight(lines.slots_line, line);
    }
  // One test has one rank 0. A result in between ends a test.
  if (has(kRankOne)) lines.second_rank = true;
  if (has(kAverage)) {
    const auto average = real_after(line, ": ");
    if (average && *average == 0 && !lines.first_rank_zero.empty() && !lines.second_rank)
      state.read_symptom("nccl-tests measured one rank alone, and so a bus bandwidth of 0", nullptr, nullptr,
                         false);
    lines.first_rank_zero.clear();
    lines.second_rank = false;
  }
  if (!has(kRankZero)) return;
  const std::string process = rank_zero_of(line);
  if (process.empty()) return;
  if (lines.first_rank_zero.empty() || lines.first_rank_file != state.file) {
    lines.first_rank_zero = process;
    lines.first_rank_file = state.file;
  } else if (lines.first_rank_zero != process) {
    state.read_symptom(
        fmt::format("Two processes of nccl-tests are rank 0: {} and {}", lines.first_rank_zero, process),
        nullptr, nullptr, false);
  }
}

}  // namespace
}  // namespace launcher_lines

void settle_launch(LogState& state) {
  const auto is_up = [](const LogCommunicator& communicator) { return communicator.completed > 0; };
  if (std::ranges::none_of(state.log.communicators, is_up)) return;
  constexpr std::array<std::string_view, 12> kBefore = {
      "ssh-name",       "ssh-resolver",     "ssh-refused", "ssh-no-answer", "ssh-no-route", "slurm-busy",
      "slurm-busy-now", "slurm-still-busy", "vllm-waits",  "ray-no-node",   "ray-gcs",      "ray-gcs-id"};
  for (LogProblem& problem : state.log.problems)
    if (std::ranges::find(kBefore, problem.symptom) != kBefore.end()) problem.severity = Severity::kNote;
}

void LogState::read_launchers(std::string_view line) { launcher_lines::read(*this, line); }

}  // namespace railbed::diagnose
