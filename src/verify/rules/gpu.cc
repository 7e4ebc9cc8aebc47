// GPUs as PCI and the driver show them, and the route from their memory to the network.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "hardware/fixed_parts.h"
#include "hardware/gpu_product.h"
#include "model/tools.h"
#include "settings/driver_package.h"
#include "verify/areas.h"
#include "verify/gpu_view.h"

namespace railbed {
namespace {

const std::vector<LogEvent> kNoEvents;

std::set<std::string> seats_of(const NodeView& node) {
  std::set<std::string> seats;
  for (const PciDevice* gpu : node.gpus()) seats.insert(gpu->address);
  return seats;
}

// Returns the PCI addresses at which all complete nodes of the same product have a GPU and this node has
// none. Empty if there is no such node, if such nodes differ from each other, or if this node has a GPU at
// another address.
std::vector<std::string> missing_seats(const Survey& survey, const NodeView& node, int want) {
  const std::string product = node.facts->system.firmware.product.value_or("");
  std::set<std::string> usual;
  for (const NodeView& other : survey.nodes) {
    const bool complete = static_cast<int>(other.gpus().size()) == want;
    if (product.empty() || !complete || other.facts->system.firmware.product.value_or("") != product)
      continue;
    if (!usual.empty() && seats_of(other) != usual) return {};
    usual = seats_of(other);
  }
  const std::set<std::string> own = seats_of(node);
  std::vector<std::string> missing;
  if (std::ranges::includes(usual, own)) std::ranges::set_difference(usual, own, std::back_inserter(missing));
  return missing;
}

std::string missing_text(const std::vector<std::string>& seats, int count, bool guest) {
  const std::string_view why =
      guest ? "not given to this virtual machine, or lost on its host" : "unseated, without power or dead";
  if (seats.empty()) return fmt::format("{} {} {}", count, count == 1 ? "is" : "are", why);
  return fmt::format("the one at {} is {}; other nodes of this product have a GPU there",
                     fmt::join(seats, " and at "), why);
}

void count(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUs", its_gpus, [&](Case& verdict, const NodeView& node) {
    if (!node.expect().gpus) return verdict.not_applicable("cluster.yaml states no number of GPUs");
    const auto* pci = verdict.read(node.facts->pci);
    if (pci == nullptr) return;
    const int want = *node.expect().gpus;
    const int have = static_cast<int>(node.gpus().size());
    if (have == want) return verdict.pass(std::to_string(have));
    const auto seats = have < want ? missing_seats(survey, node, want) : std::vector<std::string>();
    for (const std::string& address : seats) verdict.touch("pci:" + address);
    const bool guest = is_virtual_machine(*node.facts);
    verdict.fail(
        {.message = fmt::format(
             "{} shows {} of {} GPUs on PCI: {}", *node.name, have, want,
             have < want ? missing_text(seats, want - have, guest) : "cluster.yaml is out of date"),
         .expected = std::to_string(want),
         .observed = std::to_string(have),
         .remedy = {have > want ? "Correct expect.gpus in cluster.yaml."
                    : guest     ? "Look on its host which GPUs this virtual machine is given, and whether "
                                  "the host still shows all of them."
                                : "Power the node off fully, reseat the card and its power cables.",
                    {"lspci -nn -d 10de:"},
                    have < want}});
  });
}

// Returns true if the driver was loaded and unloaded again because it could start no GPU: the kernel log
// reports this for the driver ("probe routine failed") or for each GPU.
bool started_none(const NodeView& node) {
  if (!node.facts->kernel_log) return false;
  std::size_t without_window = 0;
  for (const LogEvent& event : node.facts->kernel_log->events) {
    if (event.kind == LogKind::kGpuInitFailed && event.subject.empty()) return true;
    without_window += event.kind == LogKind::kGpuNoWindow ? 1 : 0;
  }
  return without_window > 0 && without_window >= node.gpus().size();
}

Things gpus_and_driver(const NodeView& node) {
  Things touches = its_gpus(node);
  touches.add("driver");
  return touches;
}

// Returns observations about a driver that is not loaded, for the case that no rule finds the reason.
std::vector<std::string> clues_of(const NodeView& node) {
  std::vector<std::string> clues;
  const auto& file = node.facts->gpus.module_file;
  if (!file)
    clues.emplace_back("whether a module is there was not read");
  else
    clues.push_back(file->path.empty() ? "no module" : "module " + file->path);
  if (!node.facts->kernel_log) clues.emplace_back("the kernel log was not read");
  for (const LogEvent& event : node.facts->kernel_log ? node.facts->kernel_log->events : kNoEvents)
    if (event.kind == LogKind::kGpuNotProbed) clues.push_back("the kernel log: " + event.text);
  return clues;
}

// Returns true if the driver serves a GPU: it is loaded, whatever its version.
bool runs_nvidia(const NodeView& node) {
  return std::ranges::any_of(node.gpus(),
                             [](const PciDevice* gpu) { return gpu->driver.value_or("") == "nvidia"; });
}

void driver_loaded(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NVIDIA driver", gpus_and_driver, [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node)) return;
    const Reading<std::string>& version = node.facts->gpus.driver_version;
    if (version.unknown() && runs_nvidia(node))
      return verdict.pass("nvidia, of a version that is not in this report");
    if (!version.absent()) {
      if (const std::string* text = verdict.read(version)) verdict.pass(*text);
      return;
    }
    verdict.seen(version);
    if (started_none(node))
      return verdict.not_applicable("it was loaded and started no GPU (gpu.init-failed, gpu.memory-window)");
    verdict.fail({.message = fmt::format("{} has {} GPU{}, and the NVIDIA driver is not loaded", *node.name,
                                         node.gpus().size(), node.gpus().size() == 1 ? "" : "s"),
                  .expected = "the nvidia module",
                  .observed = fmt::format("not loaded; {}", fmt::join(clues_of(node), "; ")),
                  .remedy = {"Load it and read what the kernel answers; when there is none to load, "
                             "install the driver for this kernel (a kernel upgrade may have dropped it).",
                             {"modinfo nvidia", "modprobe nvidia",
                              "journalctl -k -b | grep -i -e nvidia -e nvrm -e nouveau -e module"}}});
  });
}

void device_nodes(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "/dev/nvidia*", its_gpus, [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node)) return;
    const std::size_t want = node.gpus().size();
    const auto* nodes = verdict.read(node.facts->gpus.device_nodes);
    if (nodes == nullptr) return;
    if (nodes->size() >= want) return verdict.pass(std::to_string(nodes->size()));
    verdict.fail(
        {.message = fmt::format(
             "{} has {} GPUs on PCI and {} device nodes: the driver does not serve all of them, or /dev is a container's",
             *node.name, want, nodes->size()),
         .expected = std::to_string(want),
         .observed = std::to_string(nodes->size()),
         .remedy = {
             "In a container, give it all devices. Else let nvidia-smi make them; then read the kernel "
             "log for the GPU that is missing (Xid 79: it fell off the bus, reboot).",
             {"nvidia-smi -L", "dmesg | grep -i xid"}}});
  });
}

void model_expected(const Survey& survey, Judge& judge) {
  const auto gpus_of = [](const NodeView& node) -> const auto& {
    static const std::vector<Gpu> kNone;  // if they could not be read, gpu.count reports it
    return node.expect().gpu_model ? items(node.facts->gpus.devices) : kNone;
  };
  const auto touches = [](const NodeView&, const Gpu& gpu) {
    return Things{"gpus", "pci:" + gpu.pci_address};
  };
  each_of(survey, judge, gpus_of, &Gpu::pci_address, touches,
          [](Case& verdict, const NodeView& node, const Gpu& gpu) {
            const std::string& want = *node.expect().gpu_model;
            const std::string* model =
                verdict.read_if_there(gpu.model, "the driver does not name it (gpu.driver)");
            if (model == nullptr) return;
            if (is_gpu_called(*model, want)) return verdict.pass(*model);
            verdict.fail({.message = fmt::format("GPU {} of {} is a {}, expected {}", gpu.pci_address,
                                                 *node.name, *model, want),
                          .expected = want,
                          .observed = *model,
                          .remedy = {"Correct expect.gpu_model in cluster.yaml, or swap the card.",
                                     {"nvidia-smi -L"}}});
          });
}

// Returns the commands that install a driver of this version: the package that `railbed plan` takes.
std::vector<ShellCommand> install_driver_with(const NodeView& node, const std::string& version) {
  const auto branch = driver_branch(version);
  const auto platform = platform_of(node.wanted == nullptr ? Node{} : *node.wanted, *node.facts);
  if (!branch || !platform) return {};
  const auto kind = module_choice(node, *branch).kind;
  if (platform->family == OsFamily::kRhel)
    return {command("dnf list --showduplicates '*nvidia*driver*' | grep {}", version)};
  if (!kind) return {command("apt-cache search {}", fmt::format("^nvidia-driver-{}", *branch))};
  return {command("apt-get install {}", driver_package(*platform, *branch, *kind))};
}

void driver_expected(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NVIDIA driver", its_gpus, [](Case& verdict, const NodeView& node) {
    if (!node.expect().driver || node.gpus().empty())
      return verdict.not_applicable("no driver version is expected");
    const std::string* have =
        verdict.read_if_there(node.facts->gpus.driver_version, "no driver is loaded (gpu.driver)");
    if (have == nullptr) return;
    const std::string& want = *node.expect().driver;
    if (*have == want || have->starts_with(want + ".")) return verdict.pass(*have);
    verdict.fail(
        {.message = fmt::format("{} runs NVIDIA driver {}, expected {}", *node.name, *have, want),
         .expected = want,
         .observed = *have,
         .remedy = {"Install the expected driver, then reboot.", install_driver_with(node, want), true}});
  });
}

void fabric_manager(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "nvidia-fabricmanager", its_gpus, [](Case& verdict, const NodeView& node) {
    if (!node.has_nvswitch()) return verdict.not_applicable("no NVSwitch board");
    if (verdict.lacks_systemd(node)) return;
    const Service* service = find_service(node, {"nvidia-fabricmanager"});
    const std::string state = service == nullptr ? "not installed" : service->active_state;
    if (state == "active") return verdict.pass(state);
    if (lacks_nvlsm_module(node)) {
      verdict.seen(node.facts->system.kernel.loaded_modules);
      return verdict.fail(
          {.message =
               fmt::format("ib_umad is not loaded on {}, so nvlsm cannot start and nvidia-fabricmanager is "
                           "{}: CUDA will not start on GPUs behind NVSwitch (error 802)",
                           *node.name, state),
           .expected = "ib_umad loaded, nvidia-fabricmanager active",
           .observed = "ib_umad not loaded, " + state,
           .remedy = load_nvlsm_module()});
    }
    verdict.fail({.message = fmt::format(
                      "nvidia-fabricmanager on {} is {}: CUDA will not start on GPUs behind NVSwitch",
                      *node.name, state),
                  .expected = "active",
                  .observed = state,
                  .remedy = {"Install the version that equals the driver's, and start it.",
                             {"systemctl enable --now nvidia-fabricmanager",
                              "journalctl -u nvidia-fabricmanager -n 50"}}});
  });
}

// Returns the remedy. If the driver on disk has the manager's version, a reboot is enough to load it.
Remedy equal_versions(const NodeView& node, const std::string& manager, const std::string& driver) {
  const auto& file = node.facts->gpus.module_file;
  if (file && file->version == manager)
    return {"The driver on the disk has the fabric manager's version: reboot when no job runs.",
            {"modinfo -F version nvidia", "reboot"},
            true};
  const std::string_view branch = split(driver, '.').front();
  return {
      "Install the fabric manager of the driver's version, then start it.",
      for_system(node,
                 {command("apt-cache policy nvidia-fabricmanager-{} nvidia-fabricmanager", branch),
                  command("apt-get install {}",
                          ShellQuoted{fmt::format("nvidia-fabricmanager-{}={}*", branch, driver)})},
                 {command("dnf install {}", ShellQuoted{fmt::format("nvidia-fabric*manager-{}", driver)})})};
}

void fabric_manager_version(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "nvidia-fabricmanager", its_gpus, [](Case& verdict, const NodeView& node) {
    if (!node.has_nvswitch()) return verdict.not_applicable("no NVSwitch board");
    const Gpus& gpus = node.facts->gpus;
    const std::string* manager = verdict.read_if_there(gpus.fabric_manager, "not installed, or not recorded");
    if (manager == nullptr) return;
    const std::string* driver =
        verdict.read_if_there(gpus.driver_version, "no driver is loaded (gpu.driver)");
    if (driver == nullptr) return;
    if (!is_driver_version(*manager) || !is_driver_version(*driver))
      return verdict.unknown("one of the two versions is not a version");
    if (*manager == *driver) return verdict.pass(*manager);
    const Service* service = find_service(node, {"nvidia-fabricmanager"});
    const bool runs = service != nullptr && service->active_state == "active";
    verdict.red(
        runs ? Status::kWarn : Status::kFail,
        {.message = fmt::format("nvidia-fabricmanager of {} is version {} and the driver {}: it {}, and "
                                "without it CUDA ends with error 802, \"system not yet initialized\"",
                                *node.name, *manager, *driver,
                                runs ? "runs still, will refuse to start the next time" : "refuses to start"),
         .expected = *driver,
         .observed = *manager,
         .remedy = equal_versions(node, *manager, *driver)});
  });
}

}  // namespace

std::span<const Rule> gpu_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.count",
       .title = "all GPUs are on PCI",
       .why =
           "A GPU that PCI does not show is badly seated, without power or dead, or not given to a virtual machine; "
           "no driver can help.",
       .source = "/sys/bus/pci/devices: vendor 10de, class 03",
       .standard = "expect.gpus of cluster.yaml; not judged without it",
       .remedy = "Power the node off fully and reseat the GPU; replace it if that does not help.",
       .fixture = "h100-gpu-lost",
       .explained_by = {"gpu.xid-reboot", "pcie.slot-lost"},
       .check = count},
      {.id = "gpu.driver",
       .title = "NVIDIA driver is loaded",
       .why = "Without it nothing on the node can use a GPU; "
              "after a kernel upgrade the module is often missing.",
       .source = "/proc/driver/nvidia/version",
       .standard = "loaded where PCI shows an NVIDIA GPU",
       .remedy = "Load it (modprobe nvidia); if that fails, install it for this kernel.",
       .fixture = "v100-nvidia-missing",
       .explained_by = {"gpu.open-module", "gpu.module-built", "gpu.module-signature", "gpu.module-blocked",
                        "gpu.other-driver", "host.module-rejected"},
       .settings = {"packages/driver"},
       .check = driver_loaded},
      {.id = "gpu.device-nodes",
       .title = "driver serves every GPU",
       .why = "A GPU without a device node failed to start, or fell off the bus later.",
       .source = "/dev/nvidia[0-9]*",
       .standard = "as many as GPUs on PCI",
       .remedy = "Run nvidia-smi, then look for Xid messages in the kernel log.",
       .fixture = "h100-device-node-missing",
       .explained_by = {"gpu.open-module", "gpu.driver", "gpu.other-driver", "gpu.xid-reboot",
                        "gpu.init-failed"},
       .check = device_nodes},
      {.id = "gpu.model",
       .title = "GPU model as expected",
       .why = "One slower or smaller card sets the pace of all.",
       .source = "/proc/driver/nvidia/gpus/*/information",
       .standard = "expect.gpu_model of cluster.yaml is part of the name; not judged without it",
       .remedy = "Swap the card, or correct cluster.yaml.",
       .fixture = "v100-gpu-model",
       .explained_by = {"gpu.driver"},
       .check = model_expected},
      {.id = "gpu.driver-expected",
       .title = "NVIDIA driver version as expected",
       .why = "CUDA and NCCL need a minimum; unequal versions on two nodes fail in odd ways.",
       .source = "/proc/driver/nvidia/version",
       .standard = "expect.driver of cluster.yaml, whole or as a prefix; not judged without it",
       .remedy = "Install it, then reboot.",
       .fixture = "v100-driver-version",
       .explained_by = {"gpu.driver"},
       .settings = {"packages/driver"},
       .check = driver_expected},
      {.id = "gpu.fabric-manager",
       .title = "fabric manager runs behind NVSwitch",
       .why = "GPUs joined by NVSwitch wait for it: "
              "nvidia-smi is green while CUDA says \"system not yet initialized\".",
       .source = "systemctl show nvidia-fabricmanager",
       .standard = "active on boards with NVSwitch",
       .remedy = "Start it; its version must equal the driver's.",
       .fixture = "h100-fabric-manager-down",
       .explained_by = {"gpu.open-module", "gpu.driver", "gpu.sxid", "gpu.fabric-manager-version"},
       .settings = {"services/fabric-manager"},
       .check = fabric_manager},
      {.id = "gpu.fabric-manager-version",
       .title = "fabric manager has the driver's version",
       .why = "It refuses to run beside a driver of another version; an upgrade of one package is enough.",
       .source = "nv-fabricmanager --version; /proc/driver/nvidia/version",
       .standard = "equal on boards with NVSwitch (NVIDIA Fabric Manager user guide)",
       .remedy = "Install the fabric manager of the driver's version.",
       .fixture = "h100-fabric-manager-version",
       .explained_by = {"gpu.driver"},
       .check = fabric_manager_version},
  };
  return kRules;
}

}  // namespace railbed
