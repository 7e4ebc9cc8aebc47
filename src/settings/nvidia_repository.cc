#include "settings/nvidia_repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/shell.h"
#include "base/text.h"
#include "hardware/gpu_model.h"
#include "settings/files.h"
#include "settings/step.h"

namespace railbed {
namespace {

constexpr std::string_view kNvidiaRepositories = "https://developer.download.nvidia.com/compute/cuda/repos";
constexpr std::string_view kOwnSource = "railbed-nvidia-cuda";

// The folders of the repository: NVIDIA, "CUDA Installation Guide for Linux", system requirements and network
// repositories. Clones of RHEL use RHEL's.
struct SystemFolder {
  std::string_view os;       // ID of os-release, "rhel" for all of its family
  std::string_view release;  // as in the folder
  bool arm;                  // there is one for arm64 servers (sbsa), too
  std::string_view key;  // fingerprint of the key that signs it; empty if railbed knows its short name alone
  std::string_view key_file;
};
// The fingerprint of 3BF863CC is in NVIDIA's github.com/NVIDIA/cuda-repo-management, SIGNATURES.md; that of D42D0685 is
// pinned by several projects that compared it on their own. For RHEL 10 only the short name CDF6BA43 is published where it could be compared.
constexpr std::string_view kDebianKey = "EB693B3035CD5710E231E123A4B469963BF863CC";
constexpr std::string_view kRhelKey = "610C7B14E068A878070DA4E99CD0A493D42D0685";
constexpr SystemFolder kSystemFolders[] = {{"ubuntu", "2204", true, kDebianKey, "3bf863cc.pub"},
                                           {"ubuntu", "2404", true, kDebianKey, "3bf863cc.pub"},
                                           {"debian", "12", false, kDebianKey, "3bf863cc.pub"},
                                           {"rhel", "8", true, kRhelKey, "D42D0685.pub"},
                                           {"rhel", "9", true, kRhelKey, "D42D0685.pub"},
                                           {"rhel", "10", true, "", "CDF6BA43.pub"}};

const SystemFolder* folder_of(const Platform& platform) {
  const bool rhel = platform.family == OsFamily::kRhel;
  std::string release = rhel ? platform.version.substr(0, platform.version.find('.')) : platform.version;
  std::erase(release, '.');
  const std::string_view os = rhel ? "rhel" : std::string_view(platform.os);
  const auto found = std::ranges::find_if(
      kSystemFolders, [&](const SystemFolder& one) { return one.os == os && one.release == release; });
  return found == std::end(kSystemFolders) || platform.os == "fedora" ? nullptr : found;
}

// Returns whether the expected GPU is on one board with an Arm processor: Grace's, DGX Spark's.
bool is_beside_arm(const Target& target) {
  const GpuModel* const model = find_gpu_model(target.node().expect.gpu_model.value_or(""));
  return model != nullptr && (model->c2c || model->name == "GB10");
}

// Returns the architecture's name in the repository; nullopt if the node's is not known.
std::optional<std::string_view> architecture_of(const Target& target) {
  const auto& machine = target.facts().system.os.architecture;
  if (!machine.ok()) return is_beside_arm(target) ? std::optional<std::string_view>("sbsa") : std::nullopt;
  if (*machine == "x86_64") return "x86_64";
  if (*machine == "aarch64") return "sbsa";
  return "";
}

bool names_repository(const PackageSource& source, std::string_view folder, std::string_view place) {
  const std::string_view uri = source.uri;
  return uri.find(folder) != std::string_view::npos && uri.starts_with(place);
}

// Returns the file of somebody else's that names this repository; empty if there is none.
std::string others_source(const Target& target, std::string_view folder, std::string_view place) {
  const auto& sources = target.facts().system.package_sources;
  if (!sources.ok()) return {};
  for (const PackageSource& source : *sources)
    if (source.file.find(kOwnSource) == std::string::npos &&
        (names_repository(source, folder, place) || names_repository(source, folder, kNvidiaRepositories)))
      return source.file;
  return {};
}

DesiredFile source_file(OsFamily family, const std::string& url, const std::string& key_file) {
  if (family == OsFamily::kDebian)
    return {.path = fmt::format("/etc/apt/sources.list.d/{}.sources", kOwnSource),
            .content =
                fmt::format("{}Types: deb\nURIs: {}\nSuites: /\nSigned-By: {}\n", kFileMark, url, key_file)};
  return {.path = fmt::format("/etc/yum.repos.d/{}.repo", kOwnSource),
          .content =
              fmt::format("{}[{}]\nname=NVIDIA CUDA\nbaseurl={}\nenabled=1\ngpgcheck=1\ngpgkey=file://{}\n",
                          kFileMark, kOwnSource, url, key_file)};
}

}  // namespace

void use_nvidia_repository(const Target& target, std::string_view package, Setting& setting) {
  const Platform& platform = target.platform;
  const bool rhel = platform.family == OsFamily::kRhel;
  const SystemFolder* const system = folder_of(platform);
  const std::string said = target.configure().nvidia_repository.value_or("nvidia");
  const std::string place = said == "nvidia" || said == "none" ? std::string(kNvidiaRepositories) : said;
  const auto add_note = [&](std::string_view why) {
    setting.notes.push_back(fmt::format(
        "{} is in NVIDIA's CUDA repository, {}/{}{}: {}; `{}` tells whether this node has it.", package,
        place, system == nullptr ? "" : system->os, system == nullptr ? "" : system->release, why,
        (rhel ? command("dnf list {}", package) : command("apt-cache policy {}", package)).text()));
  };
  if (said == "none") return add_note("configure.nvidia_repository leaves it to somebody else");
  if (system == nullptr)
    return add_note("railbed knows no folder of it for this system, so a person has to add it");
  const auto architecture = architecture_of(target);
  if (architecture == "" || (architecture == "sbsa" && !system->arm))
    return add_note("railbed knows no packages in it for this processor");
  const std::string folder =
      fmt::format("{}{}/{}", system->os, system->release, architecture.value_or("x86_64"));
  if (const std::string file = others_source(target, folder, place); !file.empty())
    return add_note(fmt::format("{} names it already", printable(file)));
  // apt refuses to refresh anything if two files name one repository with different keys.
  const auto& sources = target.facts().system.package_sources;
  if (!sources.ok() && !sources.absent())
    return add_note(fmt::format("whether a file names it already is not known, for {} cannot be read",
                                printable(sources.from())));
  const std::string key = target.configure().nvidia_key.value_or(std::string(system->key));
  if (key.empty())
    return add_note(
        fmt::format("its key {} is not one whose fingerprint railbed knows. Compare it with NVIDIA's "
                    "announcement and say it in configure.nvidia_key, or add the repository by hand",
                    system->key_file));
  const std::string url = fmt::format("{}/{}/", place, folder);
  const std::string key_file = fmt::format("{}/{}.asc", rhel ? "/etc/pki/rpm-gpg" : "/etc/apt", kOwnSource);
  const std::string key_name = key == system->key || system->key.empty()
                                   ? std::string(system->key_file)
                                   : key.substr(key.size() - 8) + ".pub";
  setting.files.insert(setting.files.begin(), source_file(platform.family, url, key_file));
  setting.steps.insert(setting.steps.begin(), {StepKind::kFetchKey, {key_file, url + key_name, key}});
  setting.notes.push_back(fmt::format(
      "{} comes from NVIDIA's CUDA repository: the node needs HTTP access to {}, or to a mirror of it that "
      "configure.nvidia_repository names. Nothing of it is trusted unless the key {} signed it.",
      package, url, key));
  if (!architecture)
    setting.notes.push_back(
        "Its processor is not known before the node was looked at: for arm64, x86_64 is sbsa.");
}

}  // namespace railbed
