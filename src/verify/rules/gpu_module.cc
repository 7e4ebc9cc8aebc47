// Reasons why NVIDIA's driver does not serve the GPUs, told apart by facts and by the kernel's log.
// gpu.driver reports that the driver is missing; a red rule of this file is the reason.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "model/tools.h"
#include "verify/areas.h"
#include "verify/log_events.h"

namespace railbed {
namespace {

using Commands = std::vector<ShellCommand>;

// Returns true after ending the case if there is nothing to explain.
bool needs_no_reason(Case& verdict, const NodeView& node) {
  if (verdict.lacks_gpus(node)) return true;
  const Reading<std::string>& version = node.facts->gpus.driver_version;
  if (version.absent()) return false;
  if (version)
    verdict.pass("loaded, " + *version);
  else
    verdict.not_applicable("whether a driver is loaded was not read (gpu.driver)");
  return true;
}

// The thing that these rules touch. They explain that the driver is missing, and through it all that follows
// from that; they do not explain other findings about the GPUs directly.
const Things kDriver = {"driver"};

const std::string& release_of(const NodeView& node) {
  static const std::string kUnknown = "$(uname -r)";
  const auto& release = node.facts->system.kernel.release;
  return release ? *release : kUnknown;
}

const char kDriversLog[] = "journalctl -k -b | grep -i -e nvrm -e nvidia -e nouveau";

// --- another driver ---

bool is_for_guests(std::string_view driver) { return driver.starts_with("vfio") || driver == "pci-stub"; }

using Holders = std::map<std::string, std::vector<std::string>>;  // driver → GPUs, without NVIDIA's driver

Holders holders_of(Case& verdict, const NodeView& node) {
  Holders found;
  for (const PciDevice* gpu : node.gpus()) {
    if (!gpu->driver || *gpu->driver == "nvidia") continue;
    verdict.seen(gpu->driver);
    found[*gpu->driver].push_back(gpu->address);
  }
  return found;
}

// Returns the remedy. nouveau is usually loaded from the initramfs, which has its own copy of modprobe.d.
Remedy take_from(const NodeView& node, const std::string& driver) {
  if (is_for_guests(driver))
    return {
        "Leave it when a virtual machine is meant to have them. Else take them out of vfio-pci.ids and "
        "driver_override, and restart.",
        {"cat /proc/cmdline", "grep -rs vfio /etc/modprobe.d /etc/modules-load.d"},
        true};
  const std::string options = driver == "nouveau" ? "options nouveau modeset=0\\n" : "";
  Commands commands = {command("printf {} > /etc/modprobe.d/blacklist-{}.conf",
                               ShellQuoted{fmt::format("blacklist {}\\n{}", printf_text(driver), options)},
                               driver)};
  std::ranges::move(for_system(node, {"update-initramfs -u"}, {"dracut --force"}),
                    std::back_inserter(commands));
  commands.emplace_back("reboot");
  return {fmt::format("Keep {} from being loaded, by the initramfs, too, and restart; "
                      "the console keeps its text.",
                      driver),
          std::move(commands), true};
}

void other_driver(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUs' driver", kDriver, [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node)) return;
    const Holders holders = holders_of(verdict, node);
    if (holders.empty()) return verdict.pass("no other driver holds a GPU");
    const auto not_for_guests =
        std::ranges::find_if(holders, [](const auto& holder) { return !is_for_guests(holder.first); });
    const auto& [driver, gpus] = not_for_guests == holders.end() ? *holders.begin() : *not_for_guests;
    const bool guests = is_for_guests(driver);
    for (const std::string& gpu : gpus) verdict.touch("pci:" + gpu);
    verdict.red(guests ? Status::kWarn : Status::kFail,
                {.message = fmt::format("{} of {} GPUs of {} are held by {}{}", gpus.size(),
                                        node.gpus().size(), *node.name, driver,
                                        guests ? ", for virtual machines: this system cannot use them"
                                               : ": NVIDIA's driver cannot have them"),
                 .expected = "nvidia",
                 .observed = fmt::format("{}: {}", driver, fmt::join(gpus, ", ")),
                 .remedy = take_from(node, driver)});
  });
}

// --- no module for this kernel ---

bool is_driver_of_dkms(const DkmsModule& module) {
  return module.name.starts_with("nvidia") && module.name != "nvidia-fs" && module.name != "nvidia-peermem";
}

const DkmsModule* driver_of_dkms(const NodeView& node) {
  const auto& modules = items(node.facts->system.kernel.dkms);
  const auto found = std::ranges::find_if(modules, is_driver_of_dkms);
  return found == modules.end() ? nullptr : &*found;
}

bool is_built(const NodeView& node, const DkmsModule& module) {
  return std::ranges::find(module.kernels, release_of(node)) != module.kernels.end();
}

bool lacks_headers(const NodeView& node) { return !node.facts->system.kernel.headers.value_or(true); }

Remedy build_module(const NodeView& node, const DkmsModule* dkms) {
  const std::string& release = release_of(node);
  Commands commands;
  if (lacks_headers(node))
    commands = for_system(node, {command("apt-get install linux-headers-{}", release)},
                          {command("dnf install kernel-devel-{}", release)});
  if (dkms != nullptr) {
    commands.insert(commands.end(),
                    {"dkms status", command("dkms autoinstall -k {}", release), "modprobe nvidia"});
    return {
        "Let DKMS build it for the running kernel; where that fails, its make.log under /var/lib/dkms "
        "says why.",
        std::move(commands)};
  }
  const Commands look = for_system(
      node, {"apt list --installed 'nvidia-driver*' 'nvidia-dkms*' 'linux-modules-nvidia*' 'nvidia-open*'"},
      {"dnf list --installed '*nvidia*'", command("akmods --force --kernels {}", release)});
  commands.insert(commands.end(), look.begin(), look.end());
  return {"See which driver packages are installed; install the driver, or its modules for this kernel.",
          std::move(commands)};
}

std::string why_not_built(const NodeView& node, const DkmsModule* dkms) {
  const std::string headers = lacks_headers(node) ? "; the kernel's headers are missing" : "";
  if (dkms == nullptr) return "there is none, and DKMS has none to build" + headers;
  if (dkms->kernels.empty())
    return fmt::format("DKMS has {} and built it for no kernel{}", dkms->name, headers);
  return fmt::format("DKMS built {} for {}{}", dkms->name, fmt::join(dkms->kernels, ", "), headers);
}

void module_built(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NVIDIA's module", kDriver, [](Case& verdict, const NodeView& node) {
    if (needs_no_reason(verdict, node)) return;
    verdict.touch("module-build");
    const auto& file = node.facts->gpus.module_file;
    const DkmsModule* dkms = driver_of_dkms(node);
    verdict.seen(file);
    verdict.seen(node.facts->system.kernel.dkms);
    if (file && !file->path.empty()) return verdict.pass(file->path);
    const bool built = dkms != nullptr && is_built(node, *dkms);
    if (built || (!file && dkms == nullptr))
      return verdict.not_applicable(built ? "DKMS says that it is built" : "modinfo did not look for it");
    verdict.fail({.message = fmt::format("{} has no NVIDIA module for its running kernel {}: {}", *node.name,
                                         release_of(node), why_not_built(node, dkms)),
                  .expected = "a module for " + release_of(node),
                  .observed = why_not_built(node, dkms),
                  .remedy = build_module(node, dkms)});
  });
}

// --- its signature ---

bool is_refusal(const LogEvent& event) {
  return event.kind == LogKind::kSignatureRejected &&
         (event.subject.empty() || event.subject.starts_with("nvidia"));
}

// Returns the event that reports a rejected signature; null if the log has none.
const LogEvent* refusal_in(const NodeView& node) {
  const auto& log = node.facts->kernel_log;
  if (!log) return nullptr;
  const auto found = std::ranges::find_if(log->events, is_refusal);
  return found == log->events.end() ? nullptr : &*found;
}

// Returns where the tools of each system keep the key that they sign modules with: Ubuntu's shim-signed,
// dkms(8), akmods(8).
std::string signing_key(const NodeView& node, const DkmsModule* dkms) {
  if (node.facts->system.os.id.value_or("") == "ubuntu") return "/var/lib/shim-signed/mok/MOK.der";
  const bool akmods = package_tool(node) == PackageTool::kDnf && dkms == nullptr;
  return akmods ? "/etc/pki/akmods/certs/public_key.der" : "/var/lib/dkms/mok.pub";
}

// Returns the commands that build the module again. DKMS signs its builds with its key, and creates a key by
// itself.
Commands build_again(const NodeView& node, const DkmsModule* dkms) {
  const auto& file = node.facts->gpus.module_file;
  if (!file || file->is_signed || dkms == nullptr) return {};
  Commands commands;
  for (const std::string_view step : {"build", "install"})
    commands.push_back(
        command("dkms {} --force {}/{} -k {}", step, dkms->name, file->version, release_of(node)));
  return commands;
}

Remedy enroll_key(const NodeView& node) {
  const DkmsModule* dkms = driver_of_dkms(node);
  Commands commands = build_again(node, dkms);
  const bool again = !commands.empty();
  commands.insert(commands.end(), {"mokutil --sb-state", "modinfo -F signer nvidia",
                                   command("mokutil --import {}", signing_key(node, dkms)), "reboot"});
  return {fmt::format(
              "{}nroll the key that signed the module: this asks for a password, and the next boot asks for "
              "it again at the console. Or install modules that the distribution signed.",
              again ? "Let DKMS build and sign it, and e" : "E"),
          std::move(commands), true};
}

std::string signature_of(const Reading<ModuleFile>& file) {
  if (!file) return "its signature was not read";
  return file->is_signed ? "it is signed, with a key that this kernel does not seem to know"
                         : "it has no signature";
}

// Returns true if the module's signature is known to be missing or rejected: the log reports it, or the
// module has no signature and the kernel requires one.
bool lacks_trust(const NodeView& node) {
  const auto& file = node.facts->gpus.module_file;
  const bool required = node.facts->system.kernel.signatures_required.value_or(false);
  return refusal_in(node) != nullptr || (required && file && !file->is_signed);
}

void module_signature(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NVIDIA's module", kDriver, [](Case& verdict, const NodeView& node) {
    if (needs_no_reason(verdict, node)) return;
    const auto& file = node.facts->gpus.module_file;
    if (file && file->path.empty()) return verdict.not_applicable("there is no module (gpu.module-built)");
    verdict.seen(file);
    verdict.seen(node.facts->system.kernel.signatures_required);
    if (!lacks_trust(node)) return verdict.not_applicable("nothing shows that the kernel refused it");
    const LogEvent* refusal = refusal_in(node);
    if (refusal != nullptr) verdict.seen(node.facts->kernel_log);
    verdict.fail(
        {.message = fmt::format(
             "the kernel of {} loads only modules whose signature it trusts, as under Secure Boot, and "
             "NVIDIA's is not loaded: {}",
             *node.name, signature_of(file)),
         .expected = "a signature that the kernel trusts",
         .observed = refusal != nullptr ? refusal->text : signature_of(file),
         .remedy = enroll_key(node)});
  });
}

// --- modprobe ---

const BlockedModule* block_of(const NodeView& node) {
  const auto& blocked = items(node.facts->system.kernel.blocked_modules);
  const auto found = std::ranges::find_if(blocked, [](const BlockedModule& module) {
    return module.name == "nvidia" || module.name == "nvidia_current";
  });
  return found == blocked.end() ? nullptr : &*found;
}

Remedy unblock(const BlockedModule& block) {
  if (block.file == "/proc/cmdline")
    return {"Take it off the kernel command line (GRUB_CMDLINE_LINUX in /etc/default/grub), and restart.",
            {"cat /proc/cmdline", "grep GRUB_CMDLINE /etc/default/grub"},
            true};
  return {"Somebody wanted it so: ask, take the line out of that file, then load the module.",
          {"grep -rn nvidia /etc/modprobe.d /run/modprobe.d /usr/lib/modprobe.d", "modprobe nvidia"}};
}

void module_blocked(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NVIDIA's module", kDriver, [](Case& verdict, const NodeView& node) {
    if (needs_no_reason(verdict, node)) return;
    const auto& file = node.facts->gpus.module_file;
    if (file && file->path.empty()) return verdict.not_applicable("there is no module (gpu.module-built)");
    const auto& blocked = node.facts->system.kernel.blocked_modules;
    if (verdict.read_if_there(blocked, "no modprobe.d here") == nullptr) return;
    const BlockedModule* block = block_of(node);
    if (block == nullptr) return verdict.pass("nothing keeps it out");
    const bool by_name = block->how == "blacklist" || block->how == "modprobe.blacklist";
    verdict.fail({.message = fmt::format(
                      "{} on {} keeps NVIDIA's module out: {}", block->file, *node.name,
                      by_name ? "it is not loaded by itself, only by name" : "it cannot be loaded at all"),
                  .expected = "nothing keeps it out",
                  .observed = fmt::format("{} {}", block->how, block->name),
                  .remedy = unblock(*block)});
  });
}

// --- failures that the driver reports when it is loaded and a GPU does not start ---

// Returns the firmware file in a message: "nvidia/580.95.05/gsp_ga10x.bin".
std::string firmware_in(const std::string& text) {
  const auto begins = text.find("nvidia/");
  if (begins == text.npos) return "of NVIDIA";
  return text.substr(begins, text.find(' ', begins) - begins);
}

bool answers(const NodeView& node, const std::string& address) {
  const Gpu* gpu = find_gpu(node.facts->gpus, address);
  return gpu != nullptr && gpu->nvml.ok();
}

void firmware(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "GPU firmware", is(LogKind::kGpuFirmwareMissing), [](Case& verdict, const Told& told) {
        const LogEvent& last = told.newest();
        if (answers(told.node, last.subject)) return verdict.pass("started since");
        const bool missing = last.code == 2;  // ENOENT
        const std::string file = firmware_in(last.text);
        verdict.fail(
            {.message = fmt::format("the driver of {} {} firmware {} for GPU {} ({}): it does not start",
                                    *told.node.name, missing ? "did not find" : "could not read", file,
                                    last.subject, told.how_often()),
             .expected = "/lib/firmware/" + file,
             .observed = last.text,
             .remedy = {missing
                            ? "Install the driver's firmware in the driver's own version; where the file is "
                              "there, the initramfs lacks it."
                            : "Read what else the log says; reboot.",
                        {"ls -l /lib/firmware/nvidia", "cat /proc/driver/nvidia/version", kDriversLog}}});
      });
}

void memory_window(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "GPU memory window", is(LogKind::kGpuNoWindow), [](Case& verdict, const Told& told) {
        const LogEvent& last = told.newest();
        if (answers(told.node, last.subject)) return verdict.pass("started since");
        verdict.fail(
            {.message = fmt::format(
                 "the firmware of {} gave GPU {} no room for BAR {} ({}): the driver cannot start it",
                 *told.node.name, last.subject, last.code, told.how_often()),
             .expected = "every BAR has an address",
             .observed = last.text,
             .remedy = {
                 "Switch on \"Above 4G decoding\" in the BIOS, or update it; where the BIOS has it on, try "
                 "pci=realloc on the kernel command line, or pci=realloc=off where that is set.",
                 {command("lspci -vvs {} | grep -i region", last.subject), "cat /proc/cmdline",
                  "journalctl -k -b | grep -e \"can't assign\" -e \"no space\""},
                 true}});
      });
}

}  // namespace

std::span<const Rule> gpu_module_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.module-built",
       .title = "NVIDIA's module is there for the running kernel",
       .why =
           "A kernel upgrade brings a kernel for which nobody built the module: no headers, or DKMS failed.",
       .source = "modinfo nvidia, /var/lib/dkms, /lib/modules/RELEASE/build",
       .standard = "there; judged where no driver is loaded",
       .remedy = "Install the kernel's headers and run dkms autoinstall, or install the driver again.",
       .fixture = "h100-module-not-built",
       .explained_by = {},
       .check = module_built},
      {.id = "gpu.module-signature",
       .title = "kernel trusts the signature of NVIDIA's module",
       .why = "Under Secure Boot the kernel loads no module that DKMS signed with a key of its own, "
              "until somebody enrolls that key at the console.",
       .source = "modinfo nvidia, /sys/kernel/security/lockdown, sig_enforce, "
                 "\"is rejected\" and \"unsigned module loading is restricted\" in the kernel log",
       .standard = "trusted; judged where no driver is loaded",
       .remedy = "Run mokutil --import, restart, and give the password at the console.",
       .fixture = "h100-secure-boot",
       .explained_by = {"gpu.module-blocked"},
       .check = module_signature},
      {.id = "gpu.module-blocked",
       .title = "nothing keeps NVIDIA's module out",
       .why = "A line in modprobe.d or on the kernel command line keeps a sound module from being loaded.",
       .source = "/etc/modprobe.d and its kin, /proc/cmdline",
       .standard = "no blacklist and no empty install; judged where no driver is loaded",
       .remedy = "Take the line out.",
       .fixture = "h100-module-blocked",
       .explained_by = {},
       .check = module_blocked},
      {.id = "gpu.other-driver",
       .title = "no other driver holds the GPUs",
       .why =
           "A GPU has one driver: what nouveau took at boot, or vfio-pci for a guest, NVIDIA's cannot have.",
       .source = "/sys/bus/pci/devices/*/driver",
       .standard = "nvidia, or none",
       .remedy = "Blacklist nouveau, build the initramfs anew, restart.",
       .fixture = "h100-nouveau",
       .explained_by = {"gpu.module-built", "gpu.module-signature", "gpu.module-blocked"},
       .check = other_driver},
      {.id = "gpu.memory-window",
       .title = "driver finds every GPU's memory window",
       .why = "A GPU whose window has no address is on PCI and cannot be reached.",
       .source = "\"BAR1 is 0M\" in the kernel log",
       .standard = "none",
       .remedy = "Switch on Above 4G decoding in the BIOS, or put pci=realloc on the kernel command line.",
       .fixture = "h100-memory-window",
       .explained_by = {"pcie.bars-assigned"},
       .check = memory_window},
      {.id = "gpu.firmware",
       .title = "driver finds its firmware",
       .why = "Since Turing a GPU starts with firmware of exactly the driver's version.",
       .source = "\"Direct firmware load for nvidia/… failed\" in the kernel log",
       .standard = "none that is missing by now",
       .remedy = "Install it in the driver's version.",
       .fixture = "h100-gpu-firmware",
       .explained_by = {},
       .check = firmware},
  };
  return kRules;
}

}  // namespace railbed
