// GPUDirect Storage: files on local NVMe drives reach GPUs without host memory. Judged where cluster.yaml expects it, and
// where what gdscheck printed was sent: without an expectation any file system will do.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

bool is_expected(const NodeView& node) { return node.expect().gpudirect_storage.value_or(false); }

// Returns true after ending the case if nobody asks about it on this node, or the node cannot have it. Who sends what gdscheck
// printed asks.
bool is_not_expected(Case& verdict, const NodeView& node) {
  const auto& check = node.facts->gpus.gds.check;
  if (!is_expected(node) && !check.ok()) {
    verdict.not_applicable("cluster.yaml expects no GPUDirect Storage");
    return true;
  }
  const bool lists_gpus = check.ok() && check->gpus > 0;
  if (!lists_gpus && verdict.lacks_gpus(node)) return true;
  if (!node.facts->gpus.driver_version.absent()) return false;
  verdict.not_applicable("no driver is loaded (gpu.driver)");
  return true;
}

// Returns what gdscheck printed; null after ending the case as unknown. Without it nobody can tell: nvidia-fs may be loaded
// and serve no drive, and since CUDA 12.8 drives may be reached without it.
const GdsCheck* checked(Case& verdict, const NodeView& node) {
  const auto& check = node.facts->gpus.gds.check;
  verdict.seen(check);
  if (check.ok()) return &*check;
  // The monitor's looks run no program on GPUs that jobs use.
  if (check.absent())
    verdict.not_applicable("gdscheck was not run in this look");
  else
    verdict.unknown(check.miss().why);
  return nullptr;
}

enum class Module { kLoaded, kMissing, kUnknown };

// gdscheck prints a version of nvidia-fs below its own where the module is loaded.
Module nvidia_fs_on(Case& verdict, const NodeView& node, const GdsCheck& check) {
  const auto& loaded = node.facts->gpus.gds.nvidia_fs;
  verdict.seen(loaded);
  if (loaded.ok() || !check.nvidia_fs.empty()) return Module::kLoaded;
  return loaded.absent() || !check.release.empty() ? Module::kMissing : Module::kUnknown;
}

Remedy remedy_of(Module module) {
  const Remedy load{
      "Load nvidia-fs; it comes with NVIDIA's package nvidia-gds, and needs the open GPU module. Since CUDA 12.8, "
      "\"use_pci_p2pdma\": true in /etc/cufile.json does without it where kernel, driver and GPU allow.",
      {"modprobe nvidia-fs", "cat /proc/driver/nvidia-fs/version"}};
  if (module == Module::kMissing) return load;
  Remedy remedy{
      "The kernel's nvme driver is not one that registers with nvidia-fs, or an IOMMU is in the way. Read what "
      "cuFile writes to its log.",
      {"dmesg | grep -i nvidia-fs"}};
  if (module == Module::kUnknown) {
    remedy.text = "See whether nvidia-fs is loaded. If not: " + load.text + " If it is: " + remedy.text;
    remedy.commands.insert(remedy.commands.begin(), "cat /proc/driver/nvidia-fs/version");
  }
  return remedy;
}

Complaint no_direct_way(std::string_view node, const GdsCheck& check, Module module) {
  const bool missing = module == Module::kMissing;
  std::string message = fmt::format(
      "files on the NVMe drives of {} reach its GPUs through host memory only: gdscheck{} has no direct way to NVMe",
      node, check.release.empty() ? "" : " " + printable(check.release));
  if (module != Module::kUnknown)
    message += missing ? ", and nvidia-fs is not loaded" : ", although nvidia-fs is loaded";
  return {.message = std::move(message),
          .expected = "NVMe: Supported (by nvidia-fs), or NVMe P2PDMA: Supported",
          .observed = missing ? "Unsupported, no nvidia-fs" : "Unsupported",
          .remedy = remedy_of(module)};
}

void gds_direct(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUDirect Storage", its_gpus, [](Case& verdict, const NodeView& node) {
    if (is_not_expected(verdict, node)) return;
    const GdsCheck* const check = checked(verdict, node);
    if (check == nullptr) return;
    if (const std::string way = direct_way_of_nvme(*check); !way.empty())
      return verdict.pass("NVMe by " + way);
    const auto direct = direct_storage(*check);
    if (!is_expected(node) && !direct.empty())
      return verdict.pass(fmt::format("{}; NVMe drives through host memory", fmt::join(direct, ", ")));
    const Module module = nvidia_fs_on(verdict, node, *check);
    Complaint complaint = no_direct_way(*node.name, *check, module);
    is_expected(node) ? verdict.fail(std::move(complaint)) : verdict.warn(std::move(complaint));
  });
}

void gds_compat(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "cuFile", its_gpus, [](Case& verdict, const NodeView& node) {
    if (is_not_expected(verdict, node)) return;
    const Gds& gds = node.facts->gpus.gds;
    verdict.seen(gds.cufile);
    verdict.seen(gds.check);
    // A program may name another file by CUFILE_ENV_PATH_JSON.
    std::optional<bool> forced;
    if (gds.check.ok()) forced = gds.check->compat_forced;
    if (gds.cufile.ok() && gds.cufile->force_compat_mode) forced = gds.cufile->force_compat_mode;
    if (!forced && gds.cufile.absent()) return verdict.pass("cuFile's defaults");
    if (!forced && !gds.cufile.ok()) return (void)verdict.read(gds.cufile);
    if (!forced.value_or(false)) return verdict.pass("not forced");
    verdict.fail({.message = fmt::format("cuFile on {} is told to stage every transfer in host memory "
                                         "(force_compat_mode), whatever the drives can do",
                                         *node.name),
                  .expected = "force_compat_mode false or unset",
                  .observed = "force_compat_mode true",
                  .remedy = {"Take the line out of \"properties\" in /etc/cufile.json, and see whether "
                             "CUFILE_FORCE_COMPAT_MODE is set where jobs start.",
                             {"grep -n force_compat_mode /etc/cufile.json"}}});
  });
}

void gds_iommu(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "IOMMU for GPUDirect Storage", its_gpus, [](Case& verdict, const NodeView& node) {
    if (is_not_expected(verdict, node)) return;
    const GdsCheck* const check = checked(verdict, node);
    if (check == nullptr) return;
    const bool warned = check->warning.find("iommu") != std::string::npos;
    if (!warned)
      return verdict.pass(check->iommu.empty() ? "gdscheck warns of nothing"
                                               : "IOMMU: " + printable(check->iommu));
    verdict.warn(
        {.message =
             fmt::format("the IOMMU of {} is on, in translation or passthrough: NVIDIA does not promise that "
                         "GPUDirect Storage works, or is fast, there",
                         *node.name),
         .expected = "IOMMU: disabled",
         .observed = "IOMMU: " + printable(check->iommu),
         .remedy = {
             "Measure both ways. If direct transfers are slower or fail, switch the IOMMU off in the BIOS or "
             "on the kernel's command line (intel_iommu=off, amd_iommu=off) and reboot; virtual machines "
             "that own devices need it.",
             {"cat /proc/cmdline"},
             true}});
  });
}

}  // namespace

std::span<const Rule> gds_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.gds-direct",
       .title = "files on NVMe drives reach GPUs directly",
       .why =
           "cuFile falls back to host memory and reports success: programs run, at a fraction of the drives' rate, and "
           "take memory bandwidth from others.",
       .source = "gdscheck -p: NVMe, NVMe P2PDMA; /proc/driver/nvidia-fs/version",
       .standard =
           "expect.gpudirect_storage, or gdscheck's output that was sent; NVIDIA GPUDirect Storage documentation, \"Verifying a Successful GDS "
           "Installation\"",
       .remedy = "Load nvidia-fs, or let cuFile use P2PDMA.",
       .fixture = "h100-gds-no-module",
       .explained_by = {"gpu.gds-iommu", "gpu.driver"},
       .check = gds_direct},
      {.id = "gpu.gds-compat",
       .title = "cuFile is not forced into compatibility mode",
       .why = "force_compat_mode stages every transfer in host memory, and looks like success.",
       .source = "/etc/cufile.json; gdscheck -p: properties.force_compat_mode",
       .standard = "expect.gpudirect_storage; force_compat_mode false or unset",
       .remedy = "Take the line out of /etc/cufile.json.",
       .fixture = "h100-gds-compat",
       .explained_by = {},
       .check = gds_compat},
      {.id = "gpu.gds-iommu",
       .title = "no IOMMU is between drives and GPUs",
       .why =
           "With iommu=on or pt transfers between a drive and a GPU may fail, or go through the processor.",
       .source = "gdscheck -p: IOMMU, WARN",
       .standard = "expect.gpudirect_storage; gdscheck's own warning",
       .remedy = "Measure both ways; switch the IOMMU off if it costs.",
       .fixture = "h100-gds-iommu",
       .explained_by = {"pcie.iommu"},
       .check = gds_iommu},
  };
  return kRules;
}

}  // namespace railbed
