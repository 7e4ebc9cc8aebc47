// Whether NVIDIA's kernel module is of the kind, open or proprietary, that the GPUs work with. What is red here explains the
// errors of those GPUs: with the other kind the driver finds them and cannot start them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hardware/driver_module.h"
#include "hardware/spark.h"
#include "model/tools.h"
#include "settings/driver_package.h"
#include "verify/areas.h"
#include "verify/log_events.h"

namespace railbed {
namespace {

constexpr ModuleKind other_than(ModuleKind kind) {
  return kind == ModuleKind::kOpen ? ModuleKind::kProprietary : ModuleKind::kOpen;
}

// A GPU that works with one kind alone and does not run.
struct Idle {
  std::string address;                // empty if the driver's message names none
  ModuleKind needs;                   // the only kind that it works with
  const LogEvent* refusal = nullptr;  // the driver's own message; null if there is none
  int last_driver = 0;                // the last branch that supports it; 0: current ones do
};

bool runs(const Gpu& gpu) { return gpu.nvml.ok(); }

const LogEvent* refusal_of(const NodeView& node, std::string_view address) {
  const LogEvent* found = nullptr;
  if (!node.facts->kernel_log) return found;
  for (const LogEvent& event : node.facts->kernel_log->events)
    if (event.subject == address && asked_for_by(event) && (found == nullptr || event.last > found->last))
      found = &event;
  return found;
}

// Returns the GPUs of which the log alone speaks: PCI was not read, or the message names none.
void add_of_log(const NodeView& node, std::vector<Idle>& idle) {
  if (!node.facts->kernel_log) return;
  for (const LogEvent& event : node.facts->kernel_log->events) {
    const auto needs = asked_for_by(event);
    if (needs && find_gpu(node.facts->gpus, event.subject) == nullptr)
      idle.push_back({event.subject, *needs, &event});
  }
}

// Returns true if another driver has the GPU, such as vfio-pci for a guest: NVIDIA's module is not meant to drive it.
bool is_held_by_another(const NodeView& node, const Gpu& gpu) {
  const PciDevice* device = find_pci(node.pci(), gpu.pci_address);
  return device != nullptr && device->driver && *device->driver != "nvidia";
}

std::vector<Idle> idle_gpus(const NodeView& node) {
  std::vector<Idle> idle;
  for (const Gpu& gpu : items(node.facts->gpus.devices)) {
    if (runs(gpu) || is_held_by_another(node, gpu)) continue;
    const auto generation = generation_of(*node.facts, gpu);
    const LogEvent* refusal = refusal_of(node, gpu.pci_address);
    const auto needs = refusal != nullptr ? asked_for_by(*refusal)
                       : generation       ? generation->only
                                          : std::nullopt;
    if (needs) idle.push_back({gpu.pci_address, *needs, refusal, generation ? generation->last_driver : 0});
  }
  add_of_log(node, idle);
  return idle;
}

// Returns true if a GPU of the node, running or not, works with this kind alone.
bool any_works_only_with(const NodeView& node, ModuleKind kind) {
  return std::ranges::any_of(items(node.facts->gpus.devices), [&](const Gpu& gpu) {
    const auto generation = generation_of(*node.facts, gpu);
    return generation && generation->only == kind;
  });
}

// The module that counts for GPUs that do not run: the one that is loaded, else the one that would be.
struct Present {
  std::optional<SeenModule> loaded;
  std::optional<SeenModule> on_disk;
  const SeenModule* now() const { return loaded ? &*loaded : on_disk ? &*on_disk : nullptr; }
};

std::string names_of(const NodeView& node, const std::vector<Idle>& misfits) {
  std::vector<std::string> addresses;
  for (const Idle& one : misfits)
    if (!one.address.empty()) addresses.push_back(one.address);
  if (addresses.empty()) return "a GPU of " + *node.name + " works";
  return fmt::format("GPU{} {} of {} work{}", addresses.size() == 1 ? "" : "s", fmt::join(addresses, ", "),
                     *node.name, addresses.size() == 1 ? "s" : "");
}

bool has_spark_gpu(const NodeView& node) {
  return std::ranges::any_of(node.gpus(), [](const PciDevice* gpu) { return is_spark_gpu(*gpu); });
}

// DGX OS has the open driver without the word "server" in its name: packages that owners of a DGX Spark list.
std::string spark_driver(int branch) { return fmt::format("nvidia-driver-{}-open", branch); }

Remedy move_one_gpu(const NodeView& node, ModuleKind needs) {
  if (any_works_only_with(node, other_than(needs)))
    return {
        "This node has GPUs of both generations, and no driver serves both: move one of them to another node.",
        {"lspci -nn -d 10de:"}};
  return {};
}

// Returns the remedy: the packages of the right kind, and a restart. Nobody has to touch a card before that.
Remedy replace_module(const NodeView& node, ModuleKind needs, int last_driver, const Present& present) {
  if (Remedy moved = move_one_gpu(node, needs); !moved.text.empty()) return moved;
  if (present.loaded && present.on_disk && present.on_disk->kind == needs)
    return {fmt::format("The {} one is on the disk already: restart. No reset or repair before that.",
                        name_of(needs)),
            {"modinfo -F license nvidia", "reboot"},
            true};
  auto branch = driver_branch(module_version(*node.facts));
  const bool too_new = branch && last_driver > 0 && *branch > last_driver;
  if (too_new) branch = last_driver;
  const auto platform = platform_of(node.wanted == nullptr ? Node{} : *node.wanted, *node.facts);
  std::vector<ShellCommand> commands = {"modinfo -F license nvidia"};
  if (branch && platform && platform->os == "ubuntu" && has_spark_gpu(node)) {
    commands.emplace_back("apt-get update");
    commands.push_back(command("apt-get install {}", spark_driver(*branch)));
  } else if (branch && platform) {
    std::ranges::move(driver_commands(*platform, *branch, needs), std::back_inserter(commands));
  } else {
    const std::string_view name = needs == ModuleKind::kOpen ? "nvidia.*open" : "nvidia-driver";
    std::ranges::move(
        for_system(node, {command("apt-cache search --names-only {}", ShellQuoted{std::string(name)})},
                   {"dnf list --available '*nvidia*'"}),
        std::back_inserter(commands));
  }
  commands.emplace_back("reboot");
  return {
      fmt::format(
          "Install the driver with its {} kernel module, {}, and restart; its packages take the place of the others, and a driver "
          "of NVIDIA's installer (.run) goes by nvidia-uninstall first. `modinfo -F license nvidia` then shows {}. No reset or "
          "repair before that.",
          name_of(needs),
          too_new ? fmt::format("of branch {}, the last for this GPU", last_driver) : "of the same branch",
          needs == ModuleKind::kOpen ? "Dual MIT/GPL" : "NVIDIA"),
      std::move(commands), true};
}

// Returns true if they are of a generation before Turing, beside others that run: such a card often serves the console.
bool may_be_for_console(const NodeView& node, const Idle& first) {
  return first.needs == ModuleKind::kProprietary &&
         std::ranges::any_of(items(node.facts->gpus.devices), runs);
}

void judge_misfits(Case& verdict, const NodeView& node, const std::vector<Idle>& misfits,
                   const Present& present) {
  const Idle& first = misfits.front();
  for (const Idle& one : misfits)
    one.address.empty() ? verdict.touch(node.gpu_touches) : verdict.touch("pci:" + one.address);
  if (first.refusal != nullptr) verdict.seen(node.facts->kernel_log);
  const bool known = present.now() != nullptr && present.now()->kind != first.needs;
  const std::string have =
      known ? fmt::format("the {} one", name_of(other_than(first.needs))) : "the other one";
  const bool console = may_be_for_console(node, first);
  Remedy remedy = replace_module(node, first.needs, first.last_driver, present);
  if (console)
    remedy = {
        "Leave it if it only draws the console: the others do not need it. Else move it to another node, or install the "
        "proprietary module, with which these others have to work, too.",
        {"lspci -nn -d 10de:", "modinfo -F license nvidia"}};
  verdict.red(
      console ? Status::kWarn : Status::kFail,
      {.message = fmt::format("{} only with NVIDIA's {} kernel module, and {} is {}", names_of(node, misfits),
                              name_of(first.needs), have, present.loaded ? "loaded" : "installed"),
       .expected = fmt::format("the {} kernel module", name_of(first.needs)),
       .observed =
           first.refusal != nullptr ? first.refusal->text : fmt::format("{} ({})", have, present.now()->from),
       .remedy = std::move(remedy)});
}

// Judges the module of the next boot for the GPUs that run now.
void judge_next_boot(Case& verdict, const NodeView& node, const Present& present) {
  std::vector<std::string> losing;
  for (const Gpu& gpu : items(node.facts->gpus.devices)) {
    const auto generation = generation_of(*node.facts, gpu);
    const bool limited = generation && generation->only;
    if (present.on_disk && runs(gpu) && limited && *generation->only != present.on_disk->kind)
      losing.push_back(gpu.pci_address);
  }
  if (losing.empty())
    return present.now() == nullptr ? verdict.not_applicable("no GPU waits for another kind")
                                    : verdict.pass(std::string(name_of(present.now()->kind)));
  const ModuleKind needs = other_than(present.on_disk->kind);
  for (const std::string& address : losing) verdict.touch("pci:" + address);
  verdict.warn(
      {.message =
           fmt::format("GPU{} {} of {} will not start at the next boot: it loads NVIDIA's {} kernel module",
                       losing.size() == 1 ? "" : "s", fmt::join(losing, ", "), *node.name,
                       name_of(present.on_disk->kind)),
       .expected = fmt::format("the {} kernel module", name_of(needs)),
       .observed = fmt::format("the {} one ({})", name_of(present.on_disk->kind), present.on_disk->from),
       .remedy = replace_module(node, needs, 0, {{}, present.on_disk})});
}

void open_module(const Survey& survey, Judge& judge) {
  // It touches the GPUs that it finds to be concerned, and the driver.
  each_node(survey, judge, "kind of NVIDIA's module", Things{"driver"},
            [](Case& verdict, const NodeView& node) {
              const Present present{loaded_module(*node.facts), module_on_disk(*node.facts)};
              verdict.seen(node.facts->gpus.open_module);
              verdict.seen(node.facts->gpus.module_file);
              std::vector<Idle> idle = idle_gpus(node);
              const bool limited = !idle.empty();
              std::erase_if(idle, [&](const Idle& one) {
                if (present.loaded)
                  return present.loaded->kind == one.needs;  // a refusal is of the module before it
                return one.refusal == nullptr && (!present.on_disk || present.on_disk->kind == one.needs);
              });
              if (!idle.empty()) {
                std::erase_if(idle, [&](const Idle& one) { return one.needs != idle.front().needs; });
                return judge_misfits(verdict, node, idle, present);
              }
              if (verdict.lacks_gpus(node)) return;
              if (!limited) return judge_next_boot(verdict, node, present);
              if (present.now() != nullptr) return verdict.pass(std::string(name_of(present.now()->kind)));
              if (verdict.read_if_there(node.facts->gpus.open_module, "no driver is loaded (gpu.driver)") !=
                  nullptr)
                verdict.not_applicable("the kind of the module was not read");
            });
}

}  // namespace

std::span<const Rule> gpu_kind_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.open-module",
       .title = "driver is of the kind that the GPU needs",
       .why =
           "Grace Hopper, Blackwell and later work with the open kernel module alone, GPUs before Turing with the "
           "proprietary one alone; with the other one they look broken.",
       .source =
           "/proc/driver/nvidia/version, modinfo nvidia, \"NVRM: loading NVIDIA UNIX\" and the driver's own "
           "messages in the kernel log; the GPU's number on PCI",
       .standard = "NVIDIA Driver Installation Guide, \"Kernel Modules\"",
       .remedy = "Install the packages of the other kind, and restart.",
       .fixture = "h100-open-module",
       .explained_by = {},
       .settings = {"packages/driver"},
       .check = open_module},
  };
  return kRules;
}

}  // namespace railbed
