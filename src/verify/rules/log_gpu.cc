// GPUs in the kernel's log.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/driver_module.h"
#include "hardware/fixed_parts.h"
#include "hardware/xid.h"
#include "verify/areas.h"
#include "verify/gpu_view.h"
#include "verify/log_events.h"

namespace railbed {
namespace {

std::string codes_of(const Told& told) {
  std::vector<std::string> codes;
  for (const LogEvent* event : told.events)
    codes.push_back(event->kind == LogKind::kGpuLost ? "off the bus" : fmt::format("Xid {}", event->code));
  return fmt::format("{}", fmt::join(codes, ", "));
}

// Index of the errors of programs by GPU, since a log may hold a hundred thousand events. The log has one
// event for each code and GPU, which counts the occurrences.
class ProgramErrors {
 public:
  explicit ProgramErrors(const Survey& survey) {
    for (const NodeView& node : survey.nodes) {
      if (!node.facts->kernel_log) continue;
      for (const LogEvent& event : node.facts->kernel_log->events)
        if (event.kind == LogKind::kXid && is_xid_of_program(event.code))
          errors_[{&node, event.subject}].try_emplace(event.code, &event);
    }
  }

  // Returns the program error just before this event, both before its first and before its last time; null if
  // there is none.
  const LogEvent* before(const NodeView& node, const LogEvent& event) const {
    if (event.kind != LogKind::kXid || is_xid_of_program(event.code)) return nullptr;
    const auto found = errors_.find({&node, event.subject});
    if (found == errors_.end()) return nullptr;
    for (const auto& [code, error] : found->second)
      if (xid_came_before(*error, event.first) && xid_came_before(*error, event.last)) return error;
    return nullptr;
  }

  // Returns true if a program's error explains this event.
  bool explain(const NodeView& node, const LogEvent& event) const {
    return xid_follows_program(event.code) && before(node, event) != nullptr;
  }

 private:
  std::map<std::pair<const NodeView*, std::string_view>, std::map<int, const LogEvent*>> errors_;
};

// Like xid_action_of(), but an event that follows from a program's error is the application's to fix, as that
// error is.
std::optional<XidAction> action_on(const ProgramErrors& errors, const NodeView& node, const LogEvent& event) {
  return errors.explain(node, event) ? XidAction::kApplication : xid_action_of(event);
}

// Returns the events without consequences of others, which would count one failure twice.
Told without_consequences(const ProgramErrors& errors, const Told& told) {
  Told roots{told.node, {}};
  for (const LogEvent* event : told.events)
    if (!errors.explain(told.node, *event)) roots.events.push_back(event);
  return roots.events.empty() ? told : roots;
}

// Returns "; Xid 31 of a program came before it" or "; Xid 109 followed from it"; empty if neither applies.
std::string beside_program(const ProgramErrors& errors, const Told& told) {
  for (const LogEvent* event : told.events) {
    if (errors.explain(told.node, *event)) return fmt::format("; Xid {} followed from it", event->code);
    if (const LogEvent* cause = errors.before(told.node, *event))
      return fmt::format("; Xid {} of a program came before it", cause->code);
  }
  return {};
}

// Returns true if the driver reports that no action is left to take on this GPU.
bool recovered(const NodeView& node, const std::string& address) {
  const Gpu* gpu = find_gpu(node.facts->gpus, address);
  return gpu != nullptr && gpu->nvml && gpu->nvml->recovery_action && *gpu->nvml->recovery_action == "none";
}

// Returns true if the machine has a device at that address, or its devices could not be read.
bool is_there(const NodeView& node, const std::string& address) {
  return !node.facts->pci || find_pci(node.pci(), address) != nullptr;
}

// Warns about an Xid of an address without a device: the GPU was removed, or the log line is wrong. Neither
// is a reason to take the node out of service.
void of_no_device(Case& verdict, const Told& told, const LogEvent& main) {
  verdict.warn(
      {.message =
           fmt::format("the kernel log of {} tells of {} on GPU {} ({}), and nothing is at that address now",
                       *told.node.name, xid_meaning_of(main), main.subject, told.how_often()),
       .expected = "no Xid",
       .observed = main.text,
       .remedy = {"If a GPU was taken out, this is its past. If one is missing, look at its seat and power.",
                  {"lspci -d 10de:", "journalctl -k -b | grep -e Xid -e NVRM"}}});
}

// Judges the Xids that require `action`. The message starts with the most specific Xid: not 154, which only
// repeats others.
void xids_of(const Survey& survey, Judge& judge, XidAction action, Status status) {
  const ProgramErrors errors(survey);
  each_told(
      survey, judge, "Xid",
      [&](const NodeView& node, const LogEvent& event) { return action_on(errors, node, event) == action; },
      [&](Case& verdict, const Told& told) {
        const auto first = std::ranges::find_if(told.events, [](const LogEvent* event) {
          return event->kind != LogKind::kGpuLost && event->code != 154;
        });
        const LogEvent& main = first == told.events.end() ? *told.events.front() : **first;
        if (!is_there(told.node, main.subject)) return of_no_device(verdict, told, main);
        const bool over = action == XidAction::kReset && recovered(told.node, main.subject);
        std::vector<ShellCommand> commands = {"journalctl -k -b | grep -e Xid -e NVRM"};
        if (action == XidAction::kReset && !over)
          commands.push_back(command("nvidia-smi --gpu-reset -i {}", main.subject));
        verdict.red(over ? Status::kWarn : status,
                    {.message = fmt::format(
                         "GPU {} of {}: {} ({}){}", main.subject, *told.node.name, xid_meaning_of(main),
                         without_consequences(errors, told).how_often(),
                         over ? "; the driver asks for nothing any more" : beside_program(errors, told)),
                     .expected = "no Xid",
                     .observed = codes_of(told),
                     .remedy = {over ? "Watch it: a GPU that needs a reset again is replaced."
                                     : std::string(advice(action)),
                                std::move(commands), action == XidAction::kReboot}});
      });
}

void xid_reboot(const Survey& survey, Judge& judge) {
  xids_of(survey, judge, XidAction::kReboot, Status::kFail);
}
void xid_reset(const Survey& survey, Judge& judge) {
  xids_of(survey, judge, XidAction::kReset, Status::kFail);
}
void xid_isolate(const Survey& survey, Judge& judge) {
  xids_of(survey, judge, XidAction::kIsolate, Status::kFail);
}
void xid_application(const Survey& survey, Judge& judge) {
  xids_of(survey, judge, XidAction::kApplication, Status::kWarn);
}

// SXids that the guide singles out: an NVSwitch or its optical module is too hot.
bool is_hot(int code) { return code == 10004 || code == 28001 || code == 28003; }

void sxid(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "SXid", is(LogKind::kSxidFatal, LogKind::kSxidNonFatal),
      [](Case& verdict, const Told& told) {
        const LogEvent* const fatal = told.first(LogKind::kSxidFatal);
        const auto hot =
            std::ranges::find_if(told.events, [](const LogEvent* event) { return is_hot(event->code); });
        if (fatal == nullptr && hot == told.events.end())
          return verdict.pass(fmt::format("not fatal, {}", told.how_often()));
        const LogEvent& main = fatal != nullptr ? *fatal : **hot;
        const auto row = find_sxid(main.code);
        const bool always = row && row->always_fatal;
        verdict.red(
            fatal != nullptr ? Status::kFail : Status::kWarn,
            {.message = fmt::format("NVSwitch {} of {}: SXid {} ({}), {}; {}", main.subject, *told.node.name,
                                    main.code, row ? row->unit : "unknown unit",
                                    fatal == nullptr ? "it is too hot"
                                    : always         ? "fatal for the whole fabric"
                                                     : "fatal for the GPUs on that link",
                                    told.how_often()),
             .expected = "no fatal SXid",
             .observed = fmt::format("SXid {}", main.code),
             .remedy = {always ? "Drain the node and restart it."
                        : fatal == nullptr
                            ? "Look at the fans and the air flow."
                            : "Drain the node, stop the fabric manager, reset all GPUs, start it again.",
                        {"journalctl -k -b | grep SXid", "nvidia-smi --gpu-reset"},
                        always}});
      });
}

// gpu.open-module judges a GPU that needs the other kind of module.
bool refuses_gpu(const LogEvent& event) {
  return event.kind == LogKind::kGpuUnsupported && !asked_for_by(event);
}

// Returns true if the driver states that it is the wrong one for a GPU, by release or by kind.
bool states_reason(const LogEvent& event) {
  return event.kind == LogKind::kGpuUnsupported || event.kind == LogKind::kGpuNeedsOpenModule;
}

bool starts_no_gpu(const NodeView&, const LogEvent& event) {
  return event.kind == LogKind::kGpuInitFailed || refuses_gpu(event);
}

// Judges a GPU that the driver does not support: the card is sound, and the software does not fit it.
void unsupported(Case& verdict, const Told& told, const LogEvent& refusal) {
  const Gpu* gpu = find_gpu(told.node.facts->gpus, refusal.subject);
  if (gpu != nullptr && gpu->nvml.ok()) return verdict.pass("started since");
  const std::string which = refusal.subject.empty() ? "a GPU" : "GPU " + refusal.subject;
  verdict.fail(
      {.message = fmt::format("the installed NVIDIA driver does not support {} of {} ({})", which,
                              *told.node.name, told.how_often()),
       .expected = "a driver that supports each GPU",
       .observed = refusal.text,
       .remedy = {
           "Install a release that lists this GPU: a newer one for a newer GPU, the legacy one for "
           "an older GPU. If its subsystem is a GRID or vGPU profile, install the vGPU guest driver of "
           "the host's release. Then restart.",
           {"lspci -vnn -d 10de:", "modinfo -F version nvidia", "modinfo -F license nvidia"},
           true}});
}

Remedy start_on_metal() {
  return {
      "Power the node off fully; when it returns, look at the GPU's seat, power and the BIOS (Above 4G decoding), "
      "then replace it.",
      {"journalctl -k -b | grep NVRM", "nvidia-smi -L"},
      true};
}

// The host decides what a guest gets of a GPU: its reset between guests, its windows, the functions that come along.
Remedy start_in_guest() {
  return {
      "Shut this virtual machine down, and look on its host: whether the GPU was reset after the guest before, whether "
      "the guest's firmware has room for its memory (64-bit PCI window), and whether the GPU starts in the host "
      "itself. Only if it does not is the card to blame. Of an SXM GPU, all behind one NVSwitch go with their "
      "fabric manager.",
      {"journalctl -k -b | grep NVRM", "lspci -vnn -d 10de:"},
      true};
}

// A GPU in confidential mode starts only in a confidential guest, and there only with what encrypts its channel. The
// messages of its failure are those of a broken card, too, so what is cheap comes first.
Remedy start_confidential() {
  return {
      "Do not replace the GPU for this alone. In the guest: an open driver of a release that supports confidential "
      "computing on this GPU and this kind of guest, the kernel's modules ecdsa_generic and ecdh loaded before it, and "
      "nvidia-persistenced running. On the host: the GPU's confidential mode is on "
      "(nvidia_gpu_tools.py --query-cc-settings of NVIDIA's gpu-admin-tools), and it was reset after the mode was set. "
      "Only if it then fails in a guest that started it before is the card to blame.",
      {"journalctl -k -b | grep -e NVRM -e 'Memory Encryption'", "cat /proc/driver/nvidia/version",
       "grep -e ecdsa_generic -e ecdh /proc/modules"},
      true};
}

// The GPU's boot processor refused: so it does where the GPU's confidential mode is on and the machine is none.
Remedy ask_the_mode() {
  return {
      "Before the card is touched, read its confidential mode on the machine that it is in (nvidia_gpu_tools.py "
      "--query-cc-settings of NVIDIA's gpu-admin-tools): with the mode on, it starts in a confidential virtual machine "
      "alone. Set it off there and reset the GPU. If it was off: power the node off fully, then look at seat, power and "
      "the BIOS, then replace it.",
      {"journalctl -k -b | grep -e NVRM -e kfsp", "lspci -vnn -d 10de:"},
      true};
}

Remedy start_again(const NodeView& node, bool guest) {
  const auto logged = [&](LogKind kind) {
    return std::ranges::find(node.facts->kernel_log->events, kind, &LogEvent::kind) !=
           node.facts->kernel_log->events.end();
  };
  if (is_confidential_guest(*node.facts) || logged(LogKind::kGpuConfidential)) return start_confidential();
  if (logged(LogKind::kGpuBootRefused)) return ask_the_mode();
  return guest ? start_in_guest() : start_on_metal();
}

void init_failed(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "GPU start", starts_no_gpu, [](Case& verdict, const Told& told) {
    const LogEvent& last = told.newest();
    for (const LogEvent* event : told.events)
      if (refuses_gpu(*event)) return unsupported(verdict, told, *event);
    // "The NVIDIA probe routine failed for 1 device(s)" follows the message about the GPU.
    if (last.subject.empty() && std::ranges::any_of(told.node.facts->kernel_log->events, states_reason))
      return verdict.not_applicable("the driver does not support a GPU, as another message of it states");
    const std::string which = last.subject.empty() ? "a GPU" : "GPU " + last.subject;
    const bool guest = is_virtual_machine(*told.node.facts);
    verdict.fail(
        {.message = fmt::format("the driver could not start {} of {}{} ({})", which, *told.node.name,
                                is_confidential_guest(*told.node.facts) ? ", a confidential virtual machine"
                                : guest                                 ? ", a virtual machine"
                                                                        : "",
                                told.how_often()),
         .expected = "every GPU starts",
         .observed = last.text,
         .remedy = start_again(told.node, guest)});
  });
}

// Returns the remedy. A restart only helps if the driver was upgraded while its old module stayed loaded.
Remedy fit_libraries(const NodeView& node) {
  if (module_on_disk_is_loaded(node).value_or(false))
    return {
        "The module on the disk is the one that is loaded: a restart changes nothing. "
        "Install the libraries of its version, and remove the others.",
        {"cat /proc/driver/nvidia/version", "ldconfig -p | grep -e libcuda.so -e libnvidia-ml.so"}};
  return {"A driver was installed and its module not loaded: restart the node.",
          {"cat /proc/driver/nvidia/version", "modinfo -F version nvidia"},
          true};
}

void version_mismatch(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "NVIDIA driver", is(LogKind::kVersionMismatch), [](Case& verdict, const Told& told) {
        // Any user's program can bring its own libraries, and a container usually does.
        if (told.node.facts->gpus.nvml)
          return verdict.warn(
              {.message =
                   fmt::format("a program on {} brought NVIDIA libraries of another version than the kernel "
                               "module ({}); the node's own fit",
                               *told.node.name, told.how_often()),
               .expected = "one version",
               .observed = told.newest().text,
               .remedy = {
                   "Look for a container or environment with its own libcuda or libnvidia-ml.",
                   {"journalctl -k -b | grep -A 2 'API mismatch'", "cat /proc/driver/nvidia/version"}}});
        const bool same = module_on_disk_is_loaded(told.node).value_or(false);
        verdict.fail({.message = fmt::format(
                          "NVIDIA's libraries and kernel module on {} are of different versions: "
                          "nothing can use a GPU ({}){}",
                          *told.node.name, told.how_often(),
                          same ? "; the module is that of the disk, so a restart changes nothing" : ""),
                      .expected = "one version",
                      .observed = told.newest().text,
                      .remedy = fit_libraries(told.node)});
      });
}

}  // namespace

std::span<const Rule> log_gpu_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.xid-reboot",
       .title = "no GPU error asks for a restart",
       .why = "A GPU that has fallen off the bus comes back with the node or not at all; "
              "until then every job on the node fails.",
       .source = "\"NVRM: Xid\" in the kernel log",
       .standard = "none; which Xid asks for what: NVIDIA's Xid catalog, `railbed explain xid`",
       .remedy = "Drain the node and restart it; then look at the GPU's seat and PCIe link.",
       .fixture = "h100-xid-79",
       .explained_by = {"gpu.open-module", "pcie.slot-lost"},
       .check = xid_reboot},
      {.id = "gpu.xid-reset",
       .title = "no GPU error asks for a reset",
       .why = "The GPU goes on with wrong results or hangs each job until it is reset.",
       .source = "\"NVRM: Xid\" in the kernel log",
       .standard = "none; which Xid asks for what: NVIDIA's Xid catalog, `railbed explain xid`",
       .remedy = "Drain, then nvidia-smi --gpu-reset; when it returns, ask the vendor.",
       .fixture = "h100-xid-48",
       .explained_by = {"gpu.open-module", "gpu.firmware", "gpu.memory-window", "gpu.xid-reboot", "gpu.sxid"},
       .check = xid_reset},
      {.id = "gpu.xid-isolate",
       .title = "no GPU needs physical repair",
       .why = "No power cable, or no spare memory left: software cannot mend it.",
       .source = "\"NVRM: Xid\" in the kernel log",
       .standard = "none; which Xid asks for what: NVIDIA's Xid catalog, `railbed explain xid`",
       .remedy = "Take the GPU out of use; look at its cable, then replace it.",
       .fixture = "h100-xid-64",
       .explained_by = {},
       .check = xid_isolate},
      {.id = "gpu.xid-application",
       .title = "no program failed on a GPU",
       .why = "Mostly a fault of the program. The same on one GPU with several programs is the GPU.",
       .source = "\"NVRM: Xid\" in the kernel log",
       .standard = "none; numbers that the table does not know count as these",
       .remedy = "Ask whose job it was; look whether only one GPU shows it.",
       .fixture = "h100-xid-31",
       .explained_by = {"gpu.xid-reboot", "gpu.xid-reset", "gpu.xid-isolate"},
       .check = xid_application},
      {.id = "gpu.sxid",
       .title = "no fatal NVSwitch error",
       .why = "A fatal error of an NVSwitch stops every GPU behind its link, or the whole board.",
       .source = "\"SXid\" in the kernel log",
       .standard = "none fatal, as the message says; none too hot (Fabric Manager user guide)",
       .remedy = "Reset all GPUs and NVSwitches, or restart the node.",
       .fixture = "h100-sxid-fatal",
       .explained_by = {},
       .check = sxid},
      {.id = "gpu.init-failed",
       .title = "driver could start every GPU",
       .why = "The GPU is on PCI and no program will see it.",
       .source = "\"RmInitAdapter failed\" or \"is not supported by\" in the kernel log",
       .standard = "none",
       .remedy = "Power off fully, then look at seat, power and BIOS, then replace the GPU; where the driver "
                 "does not support it, install one that does.",
       .fixture = "h100-init-failed",
       .explained_by = {"gpu.open-module", "gpu.firmware", "gpu.memory-window", "gpu.other-driver",
                        "gpu.xid-reboot", "host.module-rejected", "pcie.bars-assigned", "host.iommu-fault"},
       .check = init_failed},
      {.id = "gpu.version-mismatch",
       .title = "NVIDIA's libraries fit its module",
       .why =
           "After an upgrade without restart the old module runs beside new libraries: each CUDA call fails.",
       .source = "\"NVRM: API mismatch\" in the kernel log",
       .standard = "none",
       .remedy = "Restart the node, or reload the module.",
       .fixture = "h100-version-mismatch",
       .explained_by = {},
       .check = version_mismatch},
  };
  return kRules;
}

}  // namespace railbed
