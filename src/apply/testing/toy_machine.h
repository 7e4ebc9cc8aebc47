// A machine in a folder: /etc, and its running state as files, too (/live), so that all of it outlives a
// process that is killed and can be compared as a whole. Its programs change that state as the real ones do.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apply/writable_host.h"
#include "base/testing/temporary_folder.h"
#include "base/text.h"

namespace railbed {

class ToyMachine {
 public:
  ToyMachine() {
    for (const char* one :
         {"/etc/sysctl.d", "/etc/netplan", "/etc/apt", "/etc/systemd/system/sysinit.target.wants", "/var/lib",
          "/live/sysctl", "/live/active", "/live/enabled", "/live/kernels", "/sys/module"})
      std::filesystem::create_directories(root_ + one);
    put("/etc/systemd/system/sysinit.target.wants/other.service", "");
  }

  WritableHost host() {
    return WritableHost(root_, [this](const std::vector<std::string>& words, auto) { return run(words); });
  }
  void put(const std::string& path, std::string_view text, unsigned mode = 0644) const {
    std::ofstream(root_ + path) << text;
    chmod((root_ + path).c_str(), mode);
  }
  std::string text(const std::string& path) const {
    std::ifstream file(root_ + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool has(const std::string& path) const { return std::filesystem::exists(root_ + path); }
  void remove(const std::string& path) const { std::filesystem::remove(root_ + path); }

  // Returns every file with its mode, and every folder, except railbed's own records.
  std::map<std::string, std::string> state() const {
    std::map<std::string, std::string> all;
    for (const auto& one : std::filesystem::recursive_directory_iterator(root_)) {
      const std::string path = one.path().string().substr(root_.size());
      if (path.starts_with("/var/lib/railbed")) continue;
      struct stat status = {};
      lstat(one.path().c_str(), &status);
      all[path] = std::to_string(status.st_mode) + (one.is_regular_file() ? " " + text(path) : "");
    }
    return all;
  }

  // Sets the running state to the one after a restart, according to the files.
  void boot() const {
    for (const char* folder : {"/live/active", "/live/sysctl", "/sys/module"})
      for (const auto& one : std::filesystem::directory_iterator(root_ + folder))
        std::filesystem::remove_all(one.path());
    put("/live/sysctl/net.a", "1");
    put("/live/sysctl/net.b", "0");
    for (const auto& one : std::filesystem::directory_iterator(root_ + "/etc/sysctl.d"))
      if (one.path().extension() == ".conf") load(one.path().string().substr(root_.size()));
    for (const auto& one : std::filesystem::directory_iterator(root_ + "/live/enabled"))
      put("/live/active/" + one.path().filename().string(), "");
    apply_netplan();
  }

  std::vector<std::string> ran;  // of this process
  std::string fails;             // this program exits with 1
  bool old_grubby = false;       // that of 2018
  Reading<CommandOutput> run(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    ran.push_back(line);
    if (!fails.empty() && line.starts_with(fails)) return {CommandOutput{1, "", "it does not want to"}, line};
    return {CommandOutput{0, answer(words), ""}, line};
  }

 private:
  std::string answer(const std::vector<std::string>& words) const {
    const std::string& last = words.back();
    const std::string verb = words.size() > 1 ? words[1] : "";
    if (words[0] == "sysctl" && verb == "--values") return text("/live/sysctl/" + last);
    if (words[0] == "sysctl" && verb == "--load") load(last);
    if (words[0] == "sysctl" && verb == "--write") set(last);
    if (words[0] == "modprobe" && verb == "--")
      std::filesystem::create_directories(root_ + "/sys/module/" + last);
    if (words[0] == "modprobe" && verb == "--remove") remove("/sys/module/" + last);
    if (words[0] == "netplan" && verb == "apply") apply_netplan();
    if (words[0] == "gpg" && words[words.size() - 3] == "--output")
      put(words[words.size() - 2], "key " + last);
    if (words[0] == "rm") remove(last);
    if (words[0] == "grubby") return grubby(words);
    if (words[0] == "systemctl") return systemctl(words, verb, last);
    return "";
  }
  std::string systemctl(const std::vector<std::string>& words, const std::string& verb,
                        const std::string& unit) const {
    const bool now = words[2 % words.size()] == "--now";
    if (verb == "is-active") return has("/live/active/" + unit) ? "active" : "inactive";
    if (verb == "is-enabled") return has("/live/enabled/" + unit) ? "enabled" : "disabled";
    if (verb == "enable") put("/live/enabled/" + unit, "");
    if (verb == "disable") remove("/live/enabled/" + unit);
    if (verb == "start" || (verb == "enable" && now)) put("/live/active/" + unit, "");
    if (verb == "stop" || (verb == "disable" && now)) remove("/live/active/" + unit);
    return "";
  }
  // grubby with the kernels' arguments as files of /live/kernels, of which the last by name is the default. Later releases drop all
  // of a key that is given and append; that of 2018 replaces its first argument by each (settings/step.cc).
  std::string grubby(const std::vector<std::string>& words) const {
    std::vector<std::string> kernels;
    for (const auto& one : std::filesystem::directory_iterator(root_ + "/live/kernels"))
      kernels.push_back(one.path().filename());
    std::ranges::sort(kernels, std::greater());
    const auto value = [&](std::string_view option) -> std::string {
      for (const std::string& word : words)
        if (word.starts_with(option)) return word.substr(option.size());
      return "";
    };
    const std::string info = value("--info="), which = value("--update-kernel=");
    std::string output;
    for (const std::string& kernel : kernels) {
      const std::string path = "/live/kernels/" + kernel;
      if (!info.empty() && (info == "ALL" || kernel == kernels.front()))
        output +=
            "index=0\nkernel=\"/boot/" + kernel + "\"\nargs=\"" + text(path) + "\"\nroot=\"/dev/sda2\"\n";
      if (which == "ALL" || which == "/boot/" + kernel)
        put(path, with_arguments(text(path), value("--remove-args="), value("--args=")));
    }
    return output;
  }
  std::string with_arguments(std::string_view line, std::string_view removed, std::string_view added) const {
    std::vector<std::string> kept;
    for (const std::string_view word : words(line)) kept.emplace_back(word);
    const auto key = [](std::string_view argument) { return argument.substr(0, argument.find('=') + 1); };
    const auto first = [&](std::string_view beginning) {
      return std::ranges::find_if(kept, [&](const std::string& word) { return word.starts_with(beginning); });
    };
    for (std::string_view one : words(removed)) {
      if (one.starts_with("\\b")) {
        if (!old_grubby) continue;
        one.remove_prefix(2);
      }
      if (!old_grubby)
        std::erase(kept, one);
      else if (const auto found = first(one); found != kept.end())
        kept.erase(found);
    }
    if (!old_grubby)
      for (const std::string_view one : words(added))
        std::erase_if(kept, [&](const std::string& word) { return word.starts_with(key(one)); });
    for (const std::string_view one : words(added)) {
      const auto found = old_grubby ? first(key(one)) : kept.end();
      if (found == kept.end())
        kept.emplace_back(one);
      else
        *found = one;
    }
    std::string all;
    for (const std::string& word : kept) all += (all.empty() ? "" : " ") + word;
    return all;
  }
  void set(const std::string& assignment) const {
    if (const auto pair = key_value(assignment, '='))
      put("/live/sysctl/" + std::string(pair->first), pair->second);
  }
  void load(const std::string& file) const {
    const std::string content = text(file);
    for (const std::string_view line : lines(content)) set(std::string(line));
  }
  void apply_netplan() const {
    std::string all;
    for (const auto& one : std::filesystem::directory_iterator(root_ + "/etc/netplan"))
      if (one.path().extension() == ".yaml") all += text(one.path().string().substr(root_.size()));
    put("/live/network", all);
  }

  // In memory if possible: thousands of interrupted runs sync tens of thousands of times.
  TemporaryFolder folder_{access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"};
  std::string root_ = folder_.path();
};

}  // namespace railbed
