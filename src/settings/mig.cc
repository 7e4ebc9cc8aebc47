// MIG instances: a one-shot unit makes them at each boot, for the driver forgets them. Its script asks the GPU what it has
// and changes what differs; a GPU that is in use stays as it is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/wording.h"
#include "hardware/mig.h"
#include "settings/files.h"
#include "settings/own_unit.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr std::string_view kMigScript = "/etc/railbed/mig.sh";
constexpr std::string_view kMigUnit = "railbed-mig.service";

// `nvidia-smi mig -lgi` has a line "|   0  MIG 3g.40gb   9   1   4:4   |" for each instance, and `nvidia-smi -L` a line
// "  MIG 3g.40gb   Device  0: (UUID: MIG-…)" for each that programs can use.
constexpr std::string_view kMigFunctions = R"sh(
say() { echo "GPU $gpu: $*" >&2; }
names() { for name; do echo "${name%:*}"; done | LC_ALL=C sort; }
mode() { nvidia-smi -i "$gpu" --query-gpu=mig.mode.current --format=csv,noheader; }
instances() { nvidia-smi mig -i "$gpu" -lgi 2>/dev/null | awk '$3 == "MIG" { split($7, at, ":"); print $4 ":" at[1] }'; }
devices() { nvidia-smi -i "$gpu" -L 2>/dev/null | awk '$1 == "MIG" { print $2 }' | LC_ALL=C sort; }
users() { nvidia-smi -i "$gpu" --query-compute-apps=pid --format=csv,noheader 2>/dev/null | grep -E '^[0-9]+$' | xargs; }
has() { [ "$(names $(instances))" = "$1" ] && [ "$(devices)" = "$1" ]; }

# Without "-C" nothing could use an instance.
make() { said=$(nvidia-smi mig -i "$gpu" -cgi "$1" -C 2>&1) || { say "$said"; return 1; }; }

# The GPU has no instances afterwards, or all that it had.
clear_gpu() {
  [ -n "$(instances)" ] || return 0
  nvidia-smi mig -i "$gpu" -dci >/dev/null 2>&1
  said=$(nvidia-smi mig -i "$gpu" -dgi 2>&1) && return 0
  say "its instances stay: $said"
  return 1
}

# A100 and A30 are reset for it, which the driver does if nothing holds them.
switch_mode() {
  said=$(nvidia-smi -i "$gpu" -mig "$1" 2>&1)
  [ "$(mode)" = "$2" ] && return 0
  nvidia-smi -i "$gpu" --gpu-reset >/dev/null 2>&1
  [ "$(mode)" = "$2" ] && return 0
  say "MIG did not become $2: $said"
  return 1
}

# GPU PROFILE:START...
cut_gpu() {
  gpu=$1 off=
  shift
  wanted=$(names "$@")
  case $(mode) in
    Enabled) if has "$wanted"; then return 0; fi ;;
    Disabled) off=1 ;;
    *) say "it has no MIG, or does not answer"; return 1 ;;
  esac
  busy=$(users)
  if [ -n "$busy" ]; then say "in use by $busy: it stays as it is"; return 1; fi
  if [ -n "$off" ] && ! switch_mode 1 Enabled; then switch_mode 0 Disabled; return 1; fi
  before=$(instances | xargs | tr ' ' ,)
  clear_gpu || return 1
  if make "$(echo "$*" | tr ' ' ,)" && has "$wanted"; then
    made="$made $gpu"
    return 0
  fi
  say "it gets back what it had"
  clear_gpu
  if [ -n "$before" ]; then make "$before"; fi
  if [ -n "$off" ]; then switch_mode 0 Disabled; fi
  return 1
}

# GPU
join_gpu() {
  gpu=$1
  [ "$(mode)" = Enabled ] || return 0
  busy=$(users)
  if [ -n "$busy" ]; then say "in use by $busy: it keeps its instances"; return 1; fi
  clear_gpu && switch_mode 0 Disabled
}
)sh";

constexpr std::string_view kMigEnd = R"sh(
made= failed=
state=$(systemctl is-system-running 2>/dev/null)
case $1 in
  start)
    start
    [ -z "$failed" ] && exit 0
    # At boot the others are of use. Later nothing is left of a change that failed.
    case $state in starting | initializing) exit 1 ;; esac
    for one in $made; do join_gpu "$one"; done
    exit 1
    ;;
  stop)
    # Neither when the machine goes down nor when the unit starts again at once.
    [ "$state" != stopping ] || exit 0
    if systemctl list-jobs 2>/dev/null | grep -q "railbed-mig.service .*restart"; then exit 0; fi
    stop
    ;;
esac
)sh";

constexpr std::string_view kMigUnitText =
    "[Unit]\n"
    "Description=MIG instances of the GPUs\n"
    "After=nvidia-persistenced.service nvidia-fabricmanager.service\n"
    "Before=docker.service containerd.service crio.service podman.service kubelet.service slurmd.service "
    "nvidia-dcgm.service dcgm-exporter.service railbed-cdi.service nvidia-cdi-refresh.service\n"
    "\n"
    "[Service]\n"
    "Type=oneshot\n"
    "RemainAfterExit=yes\n"
    "TimeoutStartSec=85\n"
    "ExecStart=/bin/sh /etc/railbed/mig.sh start\n"
    "ExecStop=/bin/sh /etc/railbed/mig.sh stop\n"
    "\n"
    "[Install]\n"
    "WantedBy=multi-user.target\n";

// A GPU with a layout. Its id is what nvidia-smi knows it by.
struct CutGpu {
  std::string id;
  std::string model;
  const NvmlGpu* nvml = nullptr;  // null: unknown
  const MigLayout* layout = nullptr;
};

// It goes into a script, and a node's facts may hold anything.
bool is_plain_address(std::string_view address) {
  return !address.empty() && address.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

// Without facts there are as many GPUs as cluster.yaml expects, known by their numbers.
std::vector<CutGpu> cut_gpus(const Target& target) {
  const auto& layouts = *target.configure().mig;
  const auto& seen = target.facts().gpus.devices;
  std::vector<CutGpu> gpus;
  const int count = seen.ok() ? static_cast<int>(seen->size()) : target.node().expect.gpus.value_or(0);
  for (int i = 0; i < count; ++i) {
    CutGpu gpu{fmt::format("{}", i), target.node().expect.gpu_model.value_or(""), nullptr,
               mig_layout_of(layouts, i)};
    if (gpu.layout == nullptr) continue;
    if (seen.ok()) {
      const Gpu& one = (*seen)[static_cast<std::size_t>(i)];
      if (is_plain_address(one.pci_address)) gpu.id = one.pci_address;
      if (one.nvml) gpu.nvml = &*one.nvml;
      if (one.model) gpu.model = *one.model;
      if (gpu.nvml != nullptr && gpu.nvml->name) gpu.model = *gpu.nvml->name;
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::string mig_script(const std::vector<CutGpu>& gpus) {
  std::string start;
  std::string stop;
  for (const CutGpu& gpu : gpus) {
    start += fmt::format("  cut_gpu {}", gpu.id);
    for (const MigPlace& place :
         place_mig(gpu.model, gpu.layout->instances).value_or(std::vector<MigPlace>()))
      start += fmt::format(" {}:{}", place.profile, place.start);
    start += " || failed=1\n";
    stop += fmt::format("  join_gpu {}\n", gpu.id);
  }
  return fmt::format(
      "{}# Cuts GPUs into MIG instances: `start`; makes them whole again: `stop`.\n{}\nstart() {{\n{}}}\n\nstop() "
      "{{\n{}}}\n{}",
      kFileMark, kMigFunctions, start, stop, kMigEnd);
}

Need has_instances(const Target& target, const CutGpu& gpu) {
  Need need{.what = fmt::format("GPU {} has {}", gpu.id, mig_text(gpu.layout->instances))};
  if (!target.looked()) return need;
  need.at_boot = starts_at_boot(target, kMigUnit);
  if (need.at_boot == false) need.found = "no unit makes them at boot";
  if (gpu.nvml == nullptr || !gpu.nvml->mig) return need;
  const bool on = *gpu.nvml->mig;
  if (on && !gpu.nvml->mig_devices) return need;
  const MigInstances found = on ? mig_instances_of(*gpu.nvml->mig_devices) : MigInstances();
  need.now = on && found == gpu.layout->instances;
  if (!*need.now) need.found = on ? "it has " + printable(mig_text(found)) : "MIG is off";
  return need;
}

// Returns why the GPU must not be cut; empty if nothing shows.
std::string why_not_cut(const CutGpu& gpu, const Need& need) {
  if (gpu.model.empty()) return fmt::format("the model of GPU {} is not known", gpu.id);
  if (std::string fault = mig_fault(gpu.model, gpu.layout->instances); !fault.empty()) return fault;
  if (mig_capability(gpu.model).support != MigSupport::kKnown)
    return fmt::format("railbed's tables do not have the MIG profiles of {}", printable(gpu.model));
  if (gpu.nvml == nullptr || need.now.value_or(false) || !gpu.nvml->processes || gpu.nvml->processes->empty())
    return "";
  return fmt::format("{} on GPU {}: it can be cut when nothing runs there",
                     counted(gpu.nvml->processes->size(), "process runs", "processes run"), gpu.id);
}

}  // namespace

void render_mig(const Target& target, std::vector<Setting>& settings) {
  if (!target.configure().mig) return;
  const auto gpus = cut_gpus(target);
  if (gpus.empty() && !target.facts().gpus.devices.ok()) return;
  Setting setting{
      .section = Section::kServices,
      .name = "services/mig",
      .title = "MIG instances, made anew at each boot",
      .reason = "the driver forgets them with each boot, and what is started on them fails",
      .files = {{.path = std::string(kMigScript), .content = mig_script(gpus)},
                {.path = fmt::format("/etc/systemd/system/{}", kMigUnit),
                 .content = std::string(kFileMark) + std::string(kMigUnitText)}},
      .steps = {{StepKind::kReloadUnits, {}}, {StepKind::kEnableUnit, {std::string(kMigUnit)}}},
      .notes = {
          "Stop what holds these GPUs first: jobs, containers, DCGM and its exporters. A GPU in use stays "
          "as it is, and the change is taken back. A rollback makes the GPUs whole, with MIG off."}};
  std::vector<std::string> reasons;
  std::vector<std::string> others;
  const bool ours = starts_at_boot(target, kMigUnit).value_or(false);
  for (const CutGpu& gpu : gpus) {
    Need need = has_instances(target, gpu);
    if (std::string why = why_not_cut(gpu, need); !why.empty()) reasons.push_back(std::move(why));
    if (!ours && need.now == false && gpu.nvml->mig_devices && !gpu.nvml->mig_devices->empty())
      others.push_back(fmt::format("GPU {} has other instances, {}, which would be removed", gpu.id,
                                   printable(mig_text(mig_instances_of(*gpu.nvml->mig_devices)))));
    setting.needs.push_back(std::move(need));
  }
  for (const MigLayout& layout : *target.configure().mig)
    for (const int gpu : layout.gpus)
      if (const auto& seen = target.facts().gpus.devices;
          seen.ok() && static_cast<std::size_t>(gpu) >= seen->size())
        reasons.push_back(fmt::format("cluster.yaml describes instances of GPU {}, and the node has {}", gpu,
                                      counted(seen->size(), "GPU")));
  std::ranges::sort(reasons);
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  // A unit that runs already does what its script said when it started.
  if (ours) setting.steps.push_back({StepKind::kRestartUnit, {std::string(kMigUnit)}});
  setting.refused = fmt::format("{}", fmt::join(reasons, "; "));
  setting.doubt = fmt::format("{}", fmt::join(others, "; "));
  settings.push_back(std::move(setting));
}

}  // namespace railbed
