#include "facts/file_state.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kLargestAskedFile = 4 << 20;  // a hosts file of a hundred thousand names
constexpr std::string_view kOwnName = "railbed";

// The folders into which railbed writes files. Drop-ins of units are one folder deeper.
const std::string kOwnFolders[] = {"/etc/netplan",
                                   "/etc/NetworkManager/system-connections",
                                   "/etc/NetworkManager/conf.d",
                                   "/etc/systemd/network",
                                   "/etc/systemd/system",
                                   "/etc/cloud/cloud.cfg.d",
                                   "/etc/sysctl.d",
                                   "/etc/security/limits.d",
                                   "/etc/modules-load.d",
                                   "/etc/modprobe.d",
                                   "/etc/tmpfiles.d",
                                   "/etc/udev/rules.d",
                                   "/etc/default/grub.d",
                                   "/etc/ssh/sshd_config.d",
                                   "/etc/ssh/ssh_config.d",
                                   "/etc/apt/sources.list.d",
                                   "/etc/yum.repos.d",
                                   "/etc/crio/crio.conf.d",
                                   "/etc/profile.d",
                                   "/etc/exports.d",
                                   "/etc/railbed",
                                   "/etc/default"};
const std::string kUnitFolder = "/etc/systemd/system";

using Modes = std::map<std::string, int>;

class FileReader {
 public:
  explicit FileReader(Host& host) : host_(host) {}

  Reading<FileState> read(const std::string& path) {
    const auto content = host_.read(path, kLargestAskedFile + 1);
    if (!content) return {content.miss(), content.from()};
    if (content->size() > kLargestAskedFile)
      return {Miss{Missing::kUnsupported, "larger than 4 MiB"}, content.from()};
    return {FileState{{*content}, mode_of(path)}, content.from()};
  }

 private:
  std::optional<int> mode_of(const std::string& path) {
    const auto slash = path.rfind('/');
    const std::string folder = path.substr(0, slash);
    const auto [known, fresh] = modes_.try_emplace(folder);
    if (fresh)
      if (const auto answer = host_.call("modes " + folder); answer)
        known->second = json::read<Modes>(*answer).value_or(Modes{});
    const auto mode = known->second.find(path.substr(slash + 1));
    return mode == known->second.end() ? std::nullopt : std::optional(mode->second);
  }

  Host& host_;
  std::map<std::string, Modes> modes_;  // by folder; each folder is read once
};

void add_own_names(Host& host, const std::string& folder, std::set<std::string>& paths) {
  const auto names = host.list(folder);
  if (!names) return;
  for (const std::string& name : *names)
    if (name.find(kOwnName) != std::string::npos && paths.size() < kMostAskedFiles)
      paths.insert(folder + "/" + name);
}

}  // namespace

FileStates collect_files(Host& host, const std::vector<std::string>& paths) {
  std::set<std::string> all(paths.begin(), paths.begin() + std::min(paths.size(), kMostAskedFiles));
  for (const std::string& folder : kOwnFolders) add_own_names(host, folder, all);
  const auto units = host.list(kUnitFolder);
  if (units)
    for (const std::string& unit : *units)
      if (unit.ends_with(".d")) add_own_names(host, kUnitFolder + "/" + unit, all);
  FileReader reader(host);
  FileStates states;
  for (const std::string& path : all) states.emplace(path, reader.read(path));
  return states;
}

}  // namespace railbed
