// NVIDIA's MPS on a node: a unit runs its control daemon, with its limits, from boot on. Where Kubernetes shares the GPUs
// (`replicas`), its device plugin runs a daemon of its own, and the node gets none.
#include <fmt/format.h>

#include <string>

#include "base/wording.h"
#include "settings/files.h"
#include "settings/own_unit.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr std::string_view kMpsUnit = "railbed-mps.service";

// NVIDIA MPS, "Starting and Stopping MPS": the exclusive mode keeps programs away that would not go through MPS. "quit" waits
// until the last client is gone; the mode goes back whatever ended the daemon.
constexpr std::string_view kBegin =
    "[Unit]\n"
    "Description=MPS control daemon of the GPUs\n"
    "After=nvidia-persistenced.service nvidia-fabricmanager.service\n"
    "Before=docker.service containerd.service crio.service podman.service kubelet.service slurmd.service\n"
    "\n"
    "[Service]\n"
    "Type=forking\n"
    "TimeoutStartSec=60\n"
    "TimeoutStopSec=30\n"
    "ExecStartPre=/usr/bin/nvidia-smi -c EXCLUSIVE_PROCESS\n"
    "ExecStart=/usr/bin/nvidia-cuda-mps-control -d\n";
constexpr std::string_view kEnd =
    "ExecStop=/bin/sh -c 'echo quit | /usr/bin/nvidia-cuda-mps-control'\n"
    "ExecStopPost=/usr/bin/nvidia-smi -c DEFAULT\n"
    "\n"
    "[Install]\n"
    "WantedBy=multi-user.target\n";

std::string told(std::string_view order) {
  return fmt::format("ExecStartPost=/bin/sh -c 'echo {} | /usr/bin/nvidia-cuda-mps-control'\n", order);
}

// Without facts there are as many GPUs as cluster.yaml expects.
std::size_t count_gpus(const Target& target) {
  const auto& seen = target.facts().gpus.devices;
  return seen.ok() ? seen->size() : static_cast<std::size_t>(target.node().expect.gpus.value_or(0));
}

std::string unit_text(const GpuSharing& sharing, std::size_t gpus) {
  std::string text = std::string(kFileMark) + std::string(kBegin);
  if (sharing.active_threads)
    text += told(fmt::format("set_default_active_thread_percentage {}", *sharing.active_threads));
  if (sharing.pinned_memory)
    for (std::size_t gpu = 0; gpu < gpus; ++gpu)
      text += told(
          fmt::format("set_default_device_pinned_mem_limit {} {}M", gpu, sharing.pinned_memory->bytes >> 20));
  return text + std::string(kEnd);
}

Need runs_need(const Target& target) {
  Need need{.what = "the control daemon of MPS runs"};
  if (!target.looked()) return need;
  const auto& runs = target.facts().system.mps_daemon;
  if (runs.ok()) need.now = *runs;
  need.at_boot = starts_at_boot(target, kMpsUnit);
  if (need.now == false)
    need.found = "it does not run";
  else if (need.at_boot == false)
    need.found = "no unit starts it at boot";
  return need;
}

// Returns why MPS must not be started; empty if nothing shows. A program that computes already would keep its GPU for itself,
// and each that comes through MPS would fail there.
std::string why_not_started(const Target& target, const Need& need) {
  if (need.now != false) return "";
  std::size_t processes = 0;
  for (const Gpu& gpu : items(target.facts().gpus.devices))
    if (gpu.nvml && gpu.nvml->processes) processes += gpu.nvml->processes->size();
  if (processes == 0) return "";
  return fmt::format("{} on its GPUs: MPS can start when nothing runs there",
                     counted(processes, "process runs", "processes run"));
}

}  // namespace

void render_mps(const Target& target, std::vector<Setting>& settings) {
  const auto& sharing = target.configure().gpu_sharing;
  const std::size_t gpus = count_gpus(target);
  if (!sharing || !sharing->is_mps_of_node() || (gpus == 0 && target.looked())) return;
  Setting setting{
      .section = Section::kServices,
      .name = "services/mps",
      .title = "MPS shares the GPUs, from boot on",
      .reason = "programs of one user then compute on a GPU at the same time instead of in turns",
      .risk = Risk::kService,
      .needs = {runs_need(target)},
      .files = {{.path = fmt::format("/etc/systemd/system/{}", kMpsUnit),
                 .content = unit_text(*sharing, gpus)}},
      .steps = {{StepKind::kReloadUnits, {}}, {StepKind::kEnableUnit, {std::string(kMpsUnit)}}},
      .notes = {
          "The GPUs get the compute mode EXCLUSIVE_PROCESS: a program that does not find MPS, as in a container without "
          "/tmp/nvidia-mps, fails. MPS serves one user at a time; programs of another wait.",
          "nvidia-cuda-mps-control comes with the driver's programs for computing: nvidia-compute-utils (Ubuntu), "
          "nvidia-cuda-mps (Debian), nvidia-driver-cuda (NVIDIA's packages for RHEL)."}};
  if (sharing->pinned_memory && gpus == 0)
    setting.notes.emplace_back(
        "How many GPUs it has is not known (expect.gpus), so pinned_memory is left out.");
  // A unit that runs already has the limits of its start.
  if (starts_at_boot(target, kMpsUnit).value_or(false))
    setting.steps.push_back({StepKind::kRestartUnit, {std::string(kMpsUnit)}});
  setting.refused = why_not_started(target, setting.needs.front());
  settings.push_back(std::move(setting));
}

}  // namespace railbed
