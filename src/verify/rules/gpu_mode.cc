// Settings of each GPU and limits on its speed: modes, power, heat, memory left over by a job.
#include <fmt/format.h>

#include "hardware/gpu_model.h"
#include "hardware/mig.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/gpu_view.h"

namespace railbed {
namespace {

void persistence(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const bool* on = said(verdict, gpu.nvml.persistence);
    if (on == nullptr) return;
    if (*on) return verdict.pass("on");
    verdict.warn(
        {.message = fmt::format("{} is shut down whenever no program uses it: every job waits for it, "
                                "and its settings are lost",
                                gpu.where()),
         .expected = "on",
         .observed = "off",
         .remedy = {"Run the persistence daemon; without one, set the mode at every boot.",
                    keep_driver_with(gpu.node)}});
  });
}

// Returns the MIG instances that cluster.yaml describes for the GPU; null if it describes none.
const MigLayout* layout_of(const GpuView& gpu) {
  const Node* wanted = gpu.node.wanted;
  if (wanted == nullptr || !wanted->configure.mig) return nullptr;
  const auto& all = *gpu.node.facts->gpus.devices;
  return mig_layout_of(*wanted->configure.mig, static_cast<int>(&gpu.gpu - all.data()));
}

void mig_layout(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const MigLayout* layout = layout_of(gpu);
    if (layout == nullptr)
      return verdict.not_applicable("cluster.yaml describes no MIG instances of it (configure.mig)");
    const bool* on = said(verdict, gpu.nvml.mig);
    if (on == nullptr) return;
    const std::string wanted = mig_text(layout->instances);
    if (!*on)
      return verdict.fail(
          {.message = fmt::format("MIG of {} is off, so its instances are missing: {}", gpu.where(), wanted),
           .expected = wanted,
           .observed = "MIG is off"});
    const auto* devices = verdict.read(gpu.nvml.mig_devices);
    if (devices == nullptr) return;
    const MigInstances found = mig_instances_of(*devices);
    if (found == layout->instances) return verdict.pass(wanted);
    const std::string text = mig_text(found);
    verdict.fail(
        {.message = found.empty()
                        ? fmt::format("{} has no MIG instances, expected {}", gpu.where(), wanted)
                        : fmt::format("{} has the MIG instances {}, expected {}", gpu.where(), text, wanted),
         .expected = wanted,
         .observed = text});
  });
}

void mig(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const bool* on = said(verdict, gpu.nvml.mig);
    if (on == nullptr) return;
    if (layout_of(gpu) != nullptr)
      return verdict.not_applicable("cluster.yaml describes its instances (gpu.mig-layout)");
    const bool want = gpu.node.expect().mig.value_or(false);
    if (*on == want) return verdict.pass(on_or_off(*on));
    verdict.warn(
        {.message = fmt::format("MIG of {} is {}, expected {}{}", gpu.where(), on_or_off(*on),
                                on_or_off(want), want ? "" : ": NCCL has no peer-to-peer between its slices"),
         .expected = on_or_off(want),
         .observed = on_or_off(*on),
         .remedy = {"Switch it while nothing runs there, or state expect.mig in cluster.yaml.",
                    {gpu.smi(command("-mig {}", want ? 1 : 0))}}});
  });
}

// Returns how cluster.yaml has the node's GPUs shared.
GpuSharing sharing_of(const NodeView& node) {
  return node.wanted == nullptr ? GpuSharing() : node.wanted->configure.gpu_sharing.value_or(GpuSharing());
}

void mps_daemon(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "MPS", [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node)) return;
    if (!sharing_of(node).is_mps_of_node())
      return verdict.not_applicable(
          "cluster.yaml does not have the node share its GPUs by MPS (configure.gpu_sharing)");
    const bool* runs = verdict.read(node.facts->system.mps_daemon);
    if (runs == nullptr) return;
    if (*runs) return verdict.pass("its control daemon runs");
    verdict.fail({.message = fmt::format(
                      "no control daemon of MPS runs on {}: programs that share a GPU take turns, or "
                      "fail where its compute mode is exclusive",
                      *node.name),
                  .expected = "runs",
                  .observed = "neither railbed-mps.service nor a daemon in /tmp/nvidia-mps"});
  });
}

void compute_mode(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* mode = said(verdict, gpu.nvml.compute_mode);
    if (mode == nullptr) return;
    if (*mode == "default") return verdict.pass(*mode);
    // Both railbed's unit and Kubernetes' device plugin set it for their daemon.
    if (*mode == "exclusive process" && sharing_of(gpu.node).method == SharingMethod::kMps)
      return verdict.pass(*mode + ", as MPS has it");
    verdict.warn({.message = fmt::format(
                      "compute mode of {} is {}: programs that share it fail with \"device unavailable\"",
                      gpu.where(), *mode),
                  .expected = "default",
                  .observed = *mode,
                  .remedy = {"Set it back, unless it is meant.", {gpu.smi("-c DEFAULT")}}});
  });
}

void power_limit(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const double* limit = said(verdict, gpu.nvml.power_limit);
    if (limit == nullptr) return;
    const double* normal = said(verdict, gpu.nvml.power_limit_default);
    if (normal == nullptr) return;
    if (*limit >= *normal - 1) return verdict.pass(fmt::format("{:.0f} W", *limit));
    verdict.warn({.message = fmt::format("{} is held at {:.0f} W of {:.0f} W: it sets the pace of all others",
                                         gpu.where(), *limit, *normal),
                  .expected = fmt::format("{:.0f} W", *normal),
                  .observed = fmt::format("{:.0f} W", *limit),
                  .remedy = {"Raise it, unless the rack cannot feed it.",
                             {gpu.smi(command("-pl {}", fmt::format("{:.0f}", *normal)))}}});
  });
}

// nvml.h, nvmlClocksEventReasons: slowdowns by which hardware protects itself, whatever runs.
constexpr std::uint64_t kHardwareSlowdown = 0x8 | 0x40 | 0x80;

void slowdown(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* reasons = said(verdict, gpu.nvml.event_reasons);
    if (reasons == nullptr) return;
    if ((*reasons & kHardwareSlowdown) == 0) return verdict.pass(fmt::format("{:#x}", *reasons));
    const bool brake = (*reasons & 0x80) != 0;
    verdict.fail({.message = fmt::format("hardware holds down the clocks of {}: {}", gpu.where(),
                                         brake                    ? "a power supply pulled the brake"
                                         : (*reasons & 0x40) != 0 ? "it is too hot"
                                                                  : "too hot, or too little power"),
                  .expected = "no hardware slowdown",
                  .observed = fmt::format("{:#x}", *reasons),
                  .remedy = {brake ? "Look at power supplies and cables; the BMC's event log names them."
                                   : "Look at fans, air flow and the power cables.",
                             {gpu.smi("-q -d PERFORMANCE,TEMPERATURE,POWER")}}});
  });
}

void temperature(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const int* margin = said(verdict, gpu.nvml.temperature_margin);
    if (margin == nullptr) return;
    if (*margin > 0) return verdict.pass(fmt::format("{} °C left", *margin));
    verdict.fail({.message = fmt::format("{} is at the temperature at which it slows down", gpu.where()),
                  .expected = "above 0 °C left",
                  .observed = fmt::format("{} °C left", *margin),
                  .remedy = {"Look at fans, air flow and the room.", {gpu.smi("-q -d TEMPERATURE")}}});
  });
}

// Ours. Fans that stand still on a cool GPU start between 50 and 60 °C.
constexpr int kHotForAFanAtRest = 75;

void fan(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const int* speed = said(verdict, gpu.nvml.fan_speed);
    if (speed == nullptr) return;
    if (*speed > 0) return verdict.pass(fmt::format("{} %", *speed));
    if (!has_own_fan(gpu.nvml.name.value_or("")))
      return verdict.not_applicable("it reports 0 %, as boards without a fan of their own do");
    const int* celsius = said(verdict, gpu.nvml.temperature);
    if (celsius == nullptr) return;
    if (*celsius < kHotForAFanAtRest)
      return verdict.pass(fmt::format("0 % at {} °C: it rests while the GPU is cool", *celsius));
    verdict.fail(
        {.message = fmt::format(
             "the fan of {} is at 0 % while the GPU is at {} °C: it slows down next, then shuts down",
             gpu.where(), *celsius),
         .expected = fmt::format("above 0 % from {} °C on", kHotForAFanAtRest),
         .observed = fmt::format("0 % at {} °C", *celsius),
         .remedy = {
             "End the jobs on it. A program that took over the fan's control (nvidia-settings, coolgpus) gives it back "
             "when the driver is loaded again; a fan that stays at 0 % after that is broken: replace the board.",
             {gpu.smi("-q -d TEMPERATURE,PERFORMANCE"), "fuser -v /dev/nvidia*"}}});
  });
}

// Our value: contexts that the driver keeps for itself use far less.
constexpr std::uint64_t kUsedByNobody = 512 << 20;

void leftover_memory(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* used = said(verdict, gpu.nvml.memory_used);
    if (used == nullptr) return;
    const auto* processes = said(verdict, gpu.nvml.processes);
    if (processes == nullptr) return;
    if (gpu.nvml.memory_used.from() != "nvmlDeviceGetMemoryInfo_v2")
      return verdict.not_applicable("this driver counts its own share as used");
    const std::string text = to_text(ByteCount{*used});
    if (!processes->empty()) return verdict.not_applicable("programs run on it");
    if (*used < kUsedByNobody) return verdict.pass(text);
    verdict.warn(
        {.message = fmt::format("{} of {} are in use, and no program runs there: a job left them behind",
                                text, gpu.where()),
         .expected = "less than " + to_text(ByteCount{kUsedByNobody}),
         .observed = text,
         .remedy = {
             "Find who holds the device (a container's program shows here only), end it, else reset the GPU.",
             {"fuser -v /dev/nvidia*", gpu.smi("--gpu-reset")}}});
  });
}

}  // namespace

std::span<const Rule> gpu_mode_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.persistence",
       .title = "persistence mode is on",
       .why = "Without it the driver tears the GPU down between jobs: slow starts, lost limits, "
              "lost error counts.",
       .source = "nvmlDeviceGetPersistenceMode",
       .standard = "on; NVIDIA's driver persistence guide",
       .remedy = "Run nvidia-persistenced.",
       .fixture = "h200-persistence-off",
       .explained_by = {"gpu.answers"},
       .settings = {"services/persistence"},
       .check = persistence},
      {.id = "gpu.mig",
       .title = "MIG as expected",
       .why = "A GPU that is cut in slices has neither NVLink nor its whole memory for one job.",
       .source = "nvmlDeviceGetMigMode",
       .standard = "expect.mig of cluster.yaml; off",
       .remedy = "Switch MIG off (nvidia-smi -mig 0).",
       .fixture = "h200-mig-on",
       .explained_by = {"gpu.answers"},
       .check = mig},
      {.id = "gpu.mig-layout",
       .title = "MIG instances as described",
       .why =
           "The driver forgets MIG's instances with each boot. Containers and jobs that name one then fail.",
       .source = "nvmlDeviceGetMigMode, nvmlDeviceGetMigDeviceHandleByIndex",
       .standard = "configure.mig of cluster.yaml",
       .remedy = "Stop what runs on the GPU, then make its instances, and by a unit again at each boot.",
       .fixture = "h200-mig-layout",
       .explained_by = {"gpu.answers"},
       .settings = {"services/mig"},
       .check = mig_layout},
      {.id = "gpu.mps-daemon",
       .title = "MPS runs where it shares GPUs",
       .why =
           "Programs find no fault without it: they take turns on the GPU, and each is slower than it was sized for.",
       .source = "/sys/fs/cgroup/system.slice, /tmp/nvidia-mps",
       .standard = "configure.gpu_sharing of cluster.yaml: by MPS, without replicas",
       .remedy = "Start its control daemon, and by a unit again at each boot.",
       .fixture = "h200-mps-daemon-gone",
       .explained_by = {},
       .settings = {"services/mps"},
       .check = mps_daemon},
      {.id = "gpu.compute-mode",
       .title = "compute mode is default",
       .why = "Exclusive and prohibited modes turn second processes away with errors that name neither.",
       .source = "nvmlDeviceGetComputeMode",
       .standard = "default, the driver's own; with MPS (configure.gpu_sharing) exclusive process, too",
       .remedy = "Set the default mode (nvidia-smi -c DEFAULT).",
       .fixture = "h200-compute-mode",
       .explained_by = {"gpu.answers"},
       .check = compute_mode},
      {.id = "gpu.power-limit",
       .title = "power limit is the default",
       .why = "One GPU with a lower limit is the straggler of every collective.",
       .source = "nvmlDeviceGetEnforcedPowerLimit, nvmlDeviceGetPowerManagementDefaultLimit",
       .standard = "enforced ≥ default of this board",
       .remedy = "Set the default limit again (nvidia-smi -pl).",
       .fixture = "h200-power-limit",
       .explained_by = {"gpu.answers"},
       .check = power_limit},
      {.id = "gpu.slowdown",
       .title = "hardware holds no clocks down",
       .why = "A brake or a hot board halves the speed of this GPU and of all that wait for it.",
       .source = "nvmlDeviceGetCurrentClocksEventReasons",
       .standard = "none of 0x8, 0x40, 0x80; nvml.h",
       .remedy = "Look at the power supplies, their cables and the cooling.",
       .fixture = "h200-slowdown",
       .explained_by = {"gpu.temperature", "gpu.answers"},
       .check = slowdown},
      {.id = "gpu.temperature",
       .title = "temperature margin is left",
       .why = "At the end of the margin clocks fall.",
       .source = "nvmlDeviceGetMarginTemperature",
       .standard = "above 0; nvml.h",
       .remedy = "Look at the fans, the air flow and the room.",
       .fixture = "h200-temperature",
       .explained_by = {"gpu.answers"},
       .check = temperature},
      {.id = "gpu.fan",
       .title = "fan turns while the GPU is hot",
       .why = "Without it the GPU slows down within a minute, and shuts itself down.",
       .source = "nvmlDeviceGetFanSpeed: what the driver asks of the fan; a fan that is blocked is not seen",
       .standard = "above 0 % from 75 °C on, on boards that are sold with a fan; the limit is ours",
       .remedy = "Give the fan back to the driver, else replace the board.",
       .fixture = "h200-fan-stopped",
       .explained_by = {"gpu.answers"},
       .check = fan},
      {.id = "gpu.leftover-memory",
       .title = "idle GPU has its memory free",
       .why =
           "The next job lacks the memory that a dead one still holds: it runs out of memory, or halves its batch.",
       .source = "nvmlDeviceGetMemoryInfo_v2, nvmlDeviceGetComputeRunningProcesses",
       .standard = "less than 512 MiB where no program runs; ours",
       .remedy = "End the process that holds it; if there is none, reset the GPU.",
       .fixture = "h200-leftover-memory",
       .explained_by = {"gpu.answers"},
       .check = leftover_memory},
  };
  return kRules;
}

}  // namespace railbed
