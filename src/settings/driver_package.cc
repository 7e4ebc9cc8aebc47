#include "settings/driver_package.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "base/text.h"
#include "hardware/gpu_model.h"
#include "settings/step.h"

namespace railbed {
namespace {

// NVIDIA, "Transitions Fully Towards Open-Source GPU Kernel Modules": the open module is the default from this branch on.
constexpr int kFirstOpenByDefault = 560;
// NVIDIA Driver Installation Guide, "Version locking packages for Ubuntu / Debian": from this branch on,
// package names do not contain the branch; a package that pins it is installed first.
constexpr int kFirstPinned = 590;

std::vector<const GpuModel*> models_of(const NodeView& node) {
  std::vector<const GpuModel*> models;
  for (const GpuModel* model : node.gpu_models)
    if (model != nullptr) models.push_back(model);
  if (models.empty() && node.wanted != nullptr && node.wanted->expect.gpu_model)
    if (const GpuModel* model = find_gpu_model(*node.wanted->expect.gpu_model)) models.push_back(model);
  return models;
}

template <class Is>
bool any_model(const NodeView& node, Is&& is) {
  return std::ranges::any_of(models_of(node), [&](const GpuModel* model) { return is(*model); });
}

// Returns the generations of the GPUs that the node has, else of those that it is expected to have.
std::vector<GpuGeneration> generations_of(const NodeView& node) {
  std::vector<GpuGeneration> found;
  for (const Gpu& gpu : items(node.facts->gpus.devices))
    if (const auto generation = generation_of(*node.facts, gpu)) found.push_back(*generation);
  if (found.empty() && node.wanted != nullptr && node.wanted->expect.gpu_model) {
    Gpu expected;
    expected.model = {*node.wanted->expect.gpu_model, "cluster.yaml"};
    if (const auto generation = generation_of({}, expected)) found.push_back(*generation);
  }
  return found;
}

// Returns true if the driver refuses a GPU that needs the open module, also one of a generation that is not known here.
bool driver_asks_for_open(const NodeView& node) {
  return node.facts->kernel_log &&
         std::ranges::any_of(node.facts->kernel_log->events,
                             [](const LogEvent& event) { return asked_for_by(event) == ModuleKind::kOpen; });
}

bool any_needs(const std::vector<GpuGeneration>& generations, ModuleKind kind) {
  return std::ranges::any_of(generations, [&](const GpuGeneration& one) { return one.only == kind; });
}

// Returns the headers that DKMS needs to build the module, if the running kernel has none.
std::vector<std::string> headers_of(const Target& target) {
  const Kernel& kernel = target.facts().system.kernel;
  if (!kernel.release.ok() || kernel.headers.value_or(true)) return {};
  const bool debian = target.platform.family == OsFamily::kDebian;
  const std::string package =
      fmt::format("{}-{}", debian ? "linux-headers" : "kernel-devel", *kernel.release);
  if (!check_step({StepKind::kInstallPackages, {package}})) return {};
  return {package};
}

PackagePlan of_ubuntu(const Target& target, int branch, ModuleKind kind) {
  const std::string flavour = fmt::format("{}-server{}", branch, kind == ModuleKind::kOpen ? "-open" : "");
  const std::string driver = driver_package(target.platform, branch, kind);
  std::vector<std::string> packages = headers_of(target);
  packages.push_back(driver);
  PackagePlan plan;
  if (any_model(target.view, [](const GpuModel& model) { return model.nvswitch; })) {
    packages.push_back(fmt::format("nvidia-fabricmanager-{}", branch));
    plan.notes.push_back(
        "NVSwitch needs nvidia-fabricmanager of exactly the driver's version: `systemctl enable "
        "--now nvidia-fabricmanager` once the node runs the new driver.");
  }
  if (target.facts().system.kernel.signatures_required.value_or(false))
    plan.notes.push_back(fmt::format(
        "This kernel loads signed modules only: install Canonical's signed ones first, `{}` "
        "shows them by kernel, or enroll the key of DKMS.",
        command("apt list {}", ShellQuoted{fmt::format("linux-modules-nvidia-{}-*", flavour)}).text()));
  plan.steps = {{StepKind::kRefreshPackages, {}},
                {StepKind::kInstallPackages, packages},
                {StepKind::kHoldPackages, packages}};
  plan.notes.push_back(
      fmt::format("Which {}.x Ubuntu has, and whether it has this branch for servers, `{}` tells.", branch,
                  command("apt-cache policy {}", driver).text()));
  return plan;
}

// NVIDIA's own packages.
PackagePlan of_debian(const Target& target, int branch, ModuleKind kind) {
  const std::string driver = driver_package(target.platform, branch, kind);
  std::vector<std::string> packages = headers_of(target);
  packages.push_back(driver);
  PackagePlan plan{.steps = {{StepKind::kRefreshPackages, {}}}};
  if (branch >= kFirstPinned)
    plan.steps.push_back({StepKind::kInstallPackages, {fmt::format("nvidia-driver-pinning-{}", branch)}});
  plan.steps.push_back({StepKind::kInstallPackages, packages});
  plan.steps.push_back({StepKind::kHoldPackages, {driver}});
  plan.from_nvidia = driver;
  return plan;
}

// RHEL 8 and 9 select a branch by a module stream, RHEL 10 by a version lock (NVIDIA Driver Installation
// Guide, "Kernel Modules" and "Version locking").
constexpr int kFirstRhelWithLock = 10;

std::string driver_stream(int branch, ModuleKind kind) {
  return fmt::format("nvidia-driver:{}-{}", branch, kind == ModuleKind::kOpen ? "open" : "dkms");
}

PackagePlan of_rhel(const Target& target, int branch, ModuleKind kind) {
  const auto release = target.platform.major_version();
  if (!release) return {.notes = {"The release of this system is not known: say it in expect.os."}};
  std::vector<std::string> packages = headers_of(target);
  packages.push_back(driver_package(target.platform, branch, kind));
  const NodeStep lock{StepKind::kHoldPackages, {fmt::format("*nvidia*{}*", branch)}};
  const NodeStep install{StepKind::kInstallPackages, packages};
  PackagePlan plan{.steps = {{StepKind::kRefreshPackages, {}},
                             {StepKind::kInstallPackages, {"python3-dnf-plugin-versionlock"}}}};
  if (*release >= kFirstRhelWithLock) {
    plan.steps.insert(plan.steps.end(), {lock, install});
  } else {
    const std::string stream = driver_stream(branch, kind);
    plan.steps.insert(plan.steps.end(), {{StepKind::kEnableStream, {stream}}, install, lock});
    plan.notes.push_back(
        fmt::format("Where another stream is enabled, dnf refuses {}: `dnf module reset "
                    "nvidia-driver` first.",
                    stream));
  }
  plan.from_nvidia = packages.back();
  plan.notes.push_back("The module is built by DKMS, which is in EPEL.");
  return plan;
}

}  // namespace

ModuleChoice module_choice(const NodeView& node, int branch) {
  const auto generations = generations_of(node);
  // In a mixed node the older GPU decides, per NVIDIA's guide.
  for (const ModuleKind kind : {ModuleKind::kProprietary, ModuleKind::kOpen})
    if (any_needs(generations, kind)) return {kind, true};
  if (driver_asks_for_open(node)) return {ModuleKind::kOpen, true};
  if (node.wanted != nullptr && node.wanted->configure.driver_kind)
    return {*node.wanted->configure.driver_kind == "open" ? ModuleKind::kOpen : ModuleKind::kProprietary,
            false};
  if (generations.empty()) return {};
  return {branch >= kFirstOpenByDefault ? ModuleKind::kOpen : ModuleKind::kProprietary, false};
}

// Canonical's own packages are those of its server branches: packages.ubuntu.com, nvidia-driver-570-server-open
std::string driver_package(const Platform& platform, int branch, ModuleKind kind) {
  const bool open = kind == ModuleKind::kOpen;
  if (platform.os == "ubuntu") return fmt::format("nvidia-driver-{}-server{}", branch, open ? "-open" : "");
  const std::string name = open ? "nvidia-open" : "cuda-drivers";
  const bool has_branch = platform.family == OsFamily::kDebian && branch < kFirstPinned;
  return has_branch ? fmt::format("{}-{}", name, branch) : name;
}

std::vector<ShellCommand> driver_commands(const Platform& platform, int branch, ModuleKind kind) {
  const std::string package = driver_package(platform, branch, kind);
  if (platform.family == OsFamily::kRhel) {
    std::vector<ShellCommand> commands;
    if (platform.major_version().value_or(kFirstRhelWithLock) < kFirstRhelWithLock)
      commands = {"dnf module reset nvidia-driver",
                  command("dnf module enable {}", driver_stream(branch, kind))};
    commands.push_back(command("dnf install --allowerasing {}", package));
    return commands;
  }
  std::vector<ShellCommand> commands = {"apt-get update"};
  if (platform.os != "ubuntu" && branch >= kFirstPinned)
    commands.push_back(command("apt-get install {}", fmt::format("nvidia-driver-pinning-{}", branch)));
  commands.push_back(command("apt-get install {}", package));
  return commands;
}

std::optional<int> driver_branch(std::string_view version) {
  const auto number = version.substr(0, version.find('.'));
  return number.size() == 3 && version.find_first_not_of("0123456789.") == std::string_view::npos
             ? parse_number<int>(number)
             : std::nullopt;
}

std::optional<std::string> why_no_driver(const Target& target, int branch) {
  for (const GpuGeneration& one : generations_of(target.view))
    if (one.last_driver > 0 && branch > one.last_driver)
      return fmt::format("{} is the last branch of NVIDIA's driver that knows this GPU: expect one up to it.",
                         one.last_driver);
  if (any_model(target.view, [](const GpuModel& model) { return model.name == "GB10"; }))
    return "DGX OS brings the driver that belongs to its kernel: update the system as a whole, with NVIDIA's "
           "dashboard or `apt full-upgrade`, never the driver alone.";
  return std::nullopt;
}

PackagePlan driver_packages(const Target& target, int branch, ModuleKind kind) {
  if (target.platform.family == OsFamily::kRhel) return of_rhel(target, branch, kind);
  return target.platform.os == "ubuntu" ? of_ubuntu(target, branch, kind) : of_debian(target, branch, kind);
}

}  // namespace railbed
