// Packages: NVIDIA's driver, CUDA, NCCL, MPI, RDMA's programs, the container toolkit. A version that
// cluster.yaml does not give is never invented: a pattern leaves it to the repository, and a note shows how
// to find it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/differences.h"
#include "model/nfs_export.h"
#include "settings/driver_package.h"
#include "settings/files.h"
#include "settings/nvidia_repository.h"
#include "settings/render.h"

namespace railbed {
namespace {

// Makes a need that has the same state after the next boot, because an installed package stays installed.
Need installed(std::string what, std::optional<bool> now, std::string found) {
  Need need{.what = std::move(what), .now = now, .at_boot = now};
  if (now == false) need.found = std::move(found);
  return need;
}

// Compares a version in the facts with the wanted one. A component that is known to be absent does not meet
// the need; one that was not read leaves it open.
template <class Of>
Need has_version(const Target& target, std::string what, const auto& reading, std::string_view wanted,
                 Of&& version_of) {
  if (!target.looked() || (!reading.ok() && !reading.absent())) return {.what = std::move(what)};
  if (!reading.ok()) return installed(std::move(what), false, "there is none");
  const std::string version = version_of(*reading);
  if (version.empty()) return {.what = std::move(what)};
  return installed(std::move(what), version_matches(version, wanted), version);
}

bool is_version(std::string_view text) {
  return !text.empty() && is_digit(text.front()) && is_digit(text.back()) &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

Setting package_setting(std::string name, std::string title, std::string reason) {
  return {.section = Section::kPackages,
          .name = std::move(name),
          .title = std::move(title),
          .reason = std::move(reason)};
}

std::vector<NodeStep> install_steps(std::vector<std::string> packages) {
  return {{StepKind::kRefreshPackages, {}}, {StepKind::kInstallPackages, std::move(packages)}};
}

// The need for the driver. The module on disk is the one for the next boot, and may differ from the one that
// runs.
Need driver_need(const Target& target, const std::string& wanted) {
  const Gpus& gpus = target.facts().gpus;
  Need need = has_version(target, fmt::format("NVIDIA driver {}", wanted), gpus.driver_version, wanted,
                          [](const std::string& version) { return version; });
  if (target.looked() && gpus.module_file.ok()) {
    need.at_boot = version_matches(gpus.module_file->version, wanted);
    if (need.now == true && need.at_boot == false)
      need.found = fmt::format("{} at the next boot", gpus.module_file->version);
  }
  return need;
}

// The need for a kind of module, where cluster.yaml or the GPU asks for one.
std::optional<Need> kind_need(const Target& target, const ModuleChoice& choice) {
  if (!target.configure().driver_kind && !choice.by_hardware) return std::nullopt;
  const ModuleKind kind = *choice.kind;
  Need need{.what = fmt::format("the {} kernel modules", name_of(kind))};
  if (!target.looked()) return need;
  if (const auto loaded = loaded_module(target.facts())) need.now = loaded->kind == kind;
  if (const auto file = module_on_disk(target.facts())) need.at_boot = file->kind == kind;
  if (need.now == false || need.at_boot == false)
    need.found = fmt::format(
        "the {} ones", name_of(kind == ModuleKind::kOpen ? ModuleKind::kProprietary : ModuleKind::kOpen));
  return need;
}

void decide_driver(const Target& target, const std::string& wanted, Setting& setting) {
  const auto branch = driver_branch(wanted);
  if (!branch) {
    setting.notes.push_back(
        fmt::format("expect.driver {} does not begin with a branch, as in \"570\".", wanted));
    return;
  }
  if (const auto why = why_no_driver(target, *branch)) {
    setting.notes.push_back(*why);
    return;
  }
  const ModuleChoice choice = module_choice(target.view, *branch);
  if (!choice.kind) {
    setting.notes.push_back(
        "The model of its GPU is not known yet: say \"driver_kind: open\" for Turing and newer, "
        "\"proprietary\" for V100 and older, below configure.");
    return;
  }
  PackagePlan plan = driver_packages(target, *branch, *choice.kind);
  setting.steps = std::move(plan.steps);
  setting.notes = std::move(plan.notes);
  if (!plan.from_nvidia.empty()) use_nvidia_repository(target, plan.from_nvidia, setting);
  const std::string said(name_of(*choice.kind));
  if (choice.by_hardware && target.configure().driver_kind.value_or(said) != said)
    setting.notes.push_back(
        fmt::format("This GPU works with the {} modules alone, whatever configure.driver_kind says.", said));
  if (const auto need = kind_need(target, choice)) setting.needs.push_back(*need);
  setting.notes.push_back(
      "From here to the reboot new CUDA programs fail, for the libraries are newer than the "
      "module that runs: drain the node first.");
  setting.notes.push_back("A driver that came by NVIDIA's .run file has to go first: `nvidia-uninstall`.");
}

void add_driver(const Target& target, std::vector<Setting>& settings) {
  const auto& wanted = target.node().expect.driver;
  if (!wanted || (target.looked() && target.view.gpus().empty())) return;
  Setting setting = package_setting(
      "packages/driver", fmt::format("NVIDIA driver {}", *wanted),
      "GPUs work with one driver on all nodes; it is held, for an upgrade at night that exchanges the libraries "
      "under a running module leaves a node without CUDA in the morning");
  setting.risk = Risk::kService;
  setting.reboot = true;
  setting.needs = {driver_need(target, *wanted)};
  decide_driver(target, *wanted, setting);
  settings.push_back(std::move(setting));
}

// The packages' own /etc/ld.so.conf.d makes the libraries known. LD_LIBRARY_PATH would put them before those
// that PyTorch bundles.
DesiredFile cuda_path(const std::string& release) {
  return {.path = "/etc/profile.d/railbed-cuda.sh",
          .content = fmt::format("{0}case \":$PATH:\" in\n"
                                 "  *:/usr/local/cuda-{1}/bin:*) ;;\n"
                                 "  *) PATH=/usr/local/cuda-{1}/bin:$PATH ;;\n"
                                 "esac\n",
                                 kFileMark, release)};
}

// Returns "12.8" for "12.8.1": packages and folders are named after it.
std::string release_of_toolkit(std::string_view version) {
  const auto first = version.find('.');
  return std::string(
      version.substr(0, first == std::string_view::npos ? first : version.find('.', first + 1)));
}

Need toolkit_need(const Target& target, const std::string& wanted) {
  Need need{.what = fmt::format("CUDA toolkit {}", wanted)};
  const auto& found = target.facts().toolkit.cuda;
  if (!target.looked() || (!found.ok() && !found.absent())) return need;
  bool there = false;
  bool unsure = false;
  std::string others;
  for (const CudaToolkit& toolkit : found.ok() ? *found : std::vector<CudaToolkit>{}) {
    there = there || version_matches(toolkit.version, wanted);
    unsure = unsure || toolkit.version.empty();
    others += (others.empty() ? "" : ", ") + toolkit.version;
  }
  if (!there && unsure) return need;
  return installed(std::move(need.what), there, others.empty() ? "there is none" : others);
}

// CUDA Installation Guide for Linux, "Meta Packages": cuda-toolkit-12-8 does not install a driver, unlike
// `cuda`.
void add_toolkit(const Target& target, std::vector<Setting>& settings) {
  const auto& wanted = target.node().expect.cuda_toolkit;
  if (!wanted) return;
  Setting setting = package_setting(
      "packages/cuda-toolkit", fmt::format("CUDA toolkit {}", *wanted),
      "what is compiled here is compiled with it; its name holds the release, and it brings no driver, as "
      "the one that is called cuda would");
  setting.needs = {toolkit_need(target, *wanted)};
  if (is_version(*wanted)) {
    const std::string release = release_of_toolkit(*wanted);
    std::string package = "cuda-toolkit-" + release;
    std::ranges::replace(package, '.', '-');
    setting.files = {cuda_path(release)};
    setting.steps = install_steps({package});
    use_nvidia_repository(target, package, setting);
  } else {
    setting.notes = {fmt::format("expect.cuda_toolkit {} is no version, as in \"12.8\".", *wanted)};
  }
  settings.push_back(std::move(setting));
}

// Returns "12". NCCL is built for each CUDA major version, and works with all of its minor releases (NCCL
// release notes).
std::optional<std::string> cuda_major(const Expectations& expect) {
  const auto& said = expect.cuda_toolkit ? expect.cuda_toolkit : expect.cuda;
  if (!said || !is_version(*said)) return std::nullopt;
  return said->substr(0, said->find('.'));
}

// Returns libnccl2=2.28.9-*+cuda12.?: the repository knows the CUDA release for which this NCCL was built
// last; apt and dnf both accept patterns. After a final "*" apt would take the rest literally. NCCL Installation Guide: libnccl2 and libnccl-dev, libnccl and
// libnccl-devel.
std::vector<std::string> nccl_packages(OsFamily family, std::string_view version, std::string_view cuda) {
  const bool whole = std::ranges::count(version, '.') >= 2;
  const std::string pattern = fmt::format("{}{}*+cuda{}.", version, whole ? "-" : ".", cuda);
  if (family == OsFamily::kDebian) return {"libnccl2=" + pattern + "?", "libnccl-dev=" + pattern + "?"};
  return {"libnccl-" + pattern + "*", "libnccl-devel-" + pattern + "*"};
}

void add_nccl(const Target& target, std::vector<Setting>& settings) {
  const auto& wanted = target.node().expect.nccl;
  if (!wanted) return;
  Setting setting = package_setting(
      "packages/nccl", fmt::format("NCCL {}", *wanted),
      "all ranks of a job need one NCCL; it is held, for another one on a few nodes ends every job "
      "that has them");
  setting.needs = {has_version(target, fmt::format("libnccl.so.2 of {}", *wanted),
                               target.facts().nccl.library, *wanted,
                               [](const NcclFile& library) { return library.version; })};
  const auto cuda = cuda_major(target.node().expect);
  const bool debian = target.platform.family == OsFamily::kDebian;
  if (is_version(*wanted) && cuda) {
    setting.steps = install_steps(nccl_packages(target.platform.family, *wanted, *cuda));
    if (!debian) setting.steps.push_back({StepKind::kInstallPackages, {"python3-dnf-plugin-versionlock"}});
    setting.steps.push_back({StepKind::kHoldPackages,
                             {debian ? "libnccl2" : "libnccl", debian ? "libnccl-dev" : "libnccl-devel"}});
  } else {
    setting.notes = {
        "NCCL's packages are one for each CUDA: say expect.cuda_toolkit, and expect.nccl as in "
        "\"2.28.9\"."};
  }
  if (!setting.steps.empty()) use_nvidia_repository(target, debian ? "libnccl2" : "libnccl", setting);
  setting.notes.push_back(
      debian ? "`apt-cache madison libnccl2` shows which NCCL there is for which CUDA."
             : "`dnf list --showduplicates libnccl` shows which NCCL there is for which CUDA.");
  settings.push_back(std::move(setting));
}

void add_mpi(const Target& target, std::vector<Setting>& settings) {
  if (!target.node().expect.mpi.value_or(false)) return;
  Setting setting = package_setting("packages/mpi", "Open MPI",
                                    "nccl-tests and MPI programs are built and started with it");
  const auto& found = target.facts().toolkit.mpi_compilers;
  Need need{.what = "mpicc"};
  if (target.looked() && (found.ok() || found.absent()))
    need = installed(std::move(need.what), found.ok() && !found->empty(), "there is none");
  setting.needs = {std::move(need)};
  setting.steps = target.platform.family == OsFamily::kDebian
                      ? install_steps({"openmpi-bin", "libopenmpi-dev"})
                      : install_steps({"openmpi", "openmpi-devel"});
  if (target.platform.family == OsFamily::kRhel)
    setting.notes = {
        "It is an environment module there: `module load mpi/openmpi-x86_64` puts it into PATH."};
  settings.push_back(std::move(setting));
}

void add_rdma(const Target& target, std::vector<Setting>& settings) {
  if (std::ranges::none_of(target.view.ends, &RailEnd::rdma_rail)) return;
  Setting setting =
      package_setting("packages/rdma", "libibverbs and RDMA's programs",
                      "NCCL and MPI reach RDMA adapters by libibverbs and the adapter's provider; "
                      "without them they take TCP and say nothing");
  const auto& library = target.facts().rdma.verbs_library;
  Need need{.what = "libibverbs"};
  if (target.looked() && (library.ok() || library.absent()))
    need = installed(std::move(need.what), !library.value_or("").empty(), "there is none");
  setting.needs = {std::move(need)};
  setting.steps =
      target.platform.family == OsFamily::kDebian
          ? install_steps({"rdma-core", "ibverbs-providers", "ibverbs-utils", "infiniband-diags", "perftest"})
          : install_steps({"rdma-core", "libibverbs", "libibverbs-utils", "infiniband-diags", "perftest"});
  settings.push_back(std::move(setting));
}

// The kernel serves NFS and mounts it, but only programs of these packages tell it to: exportfs(8), mount.nfs(8).
void add_nfs(const Target& target, std::vector<Setting>& settings) {
  const std::string& node = target.node().name;
  const bool serves = !directories_of(target.cluster(), node).empty();
  if (!serves && mounts_of(target.cluster(), node).empty()) return;
  Setting setting =
      package_setting("packages/nfs", "NFS's programs",
                      "what storage: exports and mounts by NFS is exported and mounted by them");
  const NfsFacts& nfs = target.facts().system.storage.nfs;
  for (const auto& [what, there] :
       {std::pair("mount.nfs", &nfs.mount_nfs), std::pair("exportfs", &nfs.exportfs)}) {
    if (there == &nfs.exportfs && !serves) continue;
    Need need{.what = what};
    if (target.looked() && (there->ok() || there->absent()))
      need = installed(std::move(need.what), there->ok(), "there is none");
    setting.needs.push_back(std::move(need));
  }
  if (target.platform.family == OsFamily::kRhel)
    setting.steps = install_steps({"nfs-utils"});
  else
    setting.steps = install_steps({serves ? "nfs-kernel-server" : "nfs-common"});
  settings.push_back(std::move(setting));
}

std::optional<bool> toolkit_hands_out(const Target& target) {
  const auto& toolkit = target.facts().system.engines.toolkit;
  if (target.looked() && !target.node().expect.container && (toolkit.ok() || toolkit.absent()))
    return toolkit.value_or(false);
  if (!target.looked() || !target.facts().container.ok()) return std::nullopt;
  switch (target.facts().container->start) {
    case ContainerStart::kStarted:
      return true;
    case ContainerStart::kNoGpuSupport:
      return false;
    default:
      return std::nullopt;
  }
}

// docs.nvidia.com, "Installing the NVIDIA Container Toolkit"
void add_container_toolkit(const Target& target, std::vector<Setting>& settings) {
  const bool asked = target.node().expect.container || target.configure().nvidia_runtime;
  if (!asked || (target.looked() && target.view.gpus().empty())) return;
  Setting setting = package_setting("packages/container-toolkit", "NVIDIA Container Toolkit",
                                    "without it a container sees no GPU");
  setting.needs = {
      installed("the container runtime hands out GPUs", toolkit_hands_out(target), "it does not")};
  setting.steps = install_steps({"nvidia-container-toolkit"});
  const bool podman = target.node().expect.container_runtime.value_or("docker") == "podman";
  use_nvidia_repository(target, "nvidia-container-toolkit", setting);
  setting.notes.push_back(
      podman
          ? "Once it is there, the section services makes CDI's description of the GPUs, at each boot anew."
          : "Once it is there, the section services tells the engine; docker's restart ends containers that run.");
  settings.push_back(std::move(setting));
}

}  // namespace

void render_packages(const Target& target, std::vector<Setting>& settings) {
  if (!target.configure().packages.value_or(false)) return;
  add_rdma(target, settings);
  add_nfs(target, settings);
  add_driver(target, settings);
  add_toolkit(target, settings);
  add_nccl(target, settings);
  add_mpi(target, settings);
  add_container_toolkit(target, settings);
}

}  // namespace railbed
