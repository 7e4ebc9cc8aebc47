#include "facts/capture.h"

#include <algorithm>

#include "facts/boot/boot_section.h"
#include "facts/collectors.h"
#include "facts/gpu.h"
#include "facts/software/engine_files.h"
#include "facts/software/nccl.h"
#include "facts/software/nccl_environment.h"
#include "facts/software/nccl_plugin.h"
#include "host/recording_host.h"

namespace railbed {
namespace {

// Returns true for an entry of a GID table that is not in use.
bool is_empty_gid(const std::string& path, const TreeEntry& entry) {
  return entry.kind == TreeEntry::Kind::kFile && path.find("/gids/") != std::string::npos &&
         entry.content.find_first_not_of("0:\n") == std::string::npos;
}

// Returns true for a boot file of which nothing was kept, such as that of a wireless network. Its name would
// reveal where the user was.
bool is_empty_boot_file(const std::string& path, const TreeEntry& entry) {
  return entry.kind == TreeEntry::Kind::kFile && is_boot_file(path) && entry.content.empty();
}

// Reduces environments to the variables that NCCL reads, in masked and unmasked captures alike: the others
// may hold secrets of other programs.
void keep_nccl_only(Tree& tree) {
  std::vector<std::string> files{"/etc/environment"};
  for (auto& [words, output] : tree.commands) {
    if (!words.starts_with(kShowEnvironment) || !output.ok()) continue;
    for (const auto& unit : parse_unit_environments(output->output))
      files.insert(files.end(), unit.files.begin(), unit.files.end());
    output = output.parsed([](CommandOutput seen) {
      seen.output = only_nccl_environment(seen.output);
      return std::optional(std::move(seen));
    });
  }
  tree.each([&](const std::string& path, TreeEntry& entry) {
    const bool environment =
        path.starts_with("/etc/profile.d/") || std::ranges::find(files, path) != files.end();
    if (environment && entry.kind == TreeEntry::Kind::kFile)
      entry.content = first_values(only_nccl_lines(entry.content));
  });
}

}  // namespace

Tree capture(Host& host, const CollectOptions& options) {
  RecordingHost recorder(host);
  collect_facts(recorder, options);
  Tree tree = recorder.tree();
  tree.each([](const std::string& path, TreeEntry& entry) {
    if (entry.kind != TreeEntry::Kind::kFile) return;
    if (path.find("/modprobe.d/") != std::string::npos) entry.content = used_modprobe(entry.content);
    if (path.find("/sysctl.d/") != std::string::npos || path == "/etc/sysctl.conf")
      entry.content = used_sysctl(entry.content);
    if (path.find("/cdi/") != std::string::npos) entry.content = used_cdi_spec(entry.content);
    if (path == "/etc/docker/daemon.json") entry.content = used_docker_runtimes(entry.content);
    if (is_engine_file(path)) entry.content = used_engine_file(entry.content);
    if (is_package_source_file(path)) entry.content = used_package_sources(path, entry.content);
    if (is_boot_menu_file(path)) entry.content = used_boot_menu(entry.content);
    if (path.starts_with("/etc/ssh/") || path.ends_with(".pub"))
      entry.content = used_ssh(path, entry.content);
    if (is_boot_file(path)) entry.content = used_boot_file(path, entry.content);
    if (path.starts_with("/boot/config-") || (path.starts_with("/lib/modules/") && path.ends_with("/config")))
      entry.content = used_config(entry.content);
  });
  for (auto& [words, output] : tree.commands)
    if (words == "ldconfig -p")
      output = output.parsed([](CommandOutput seen) {
        seen.output = used_loader_cache(seen.output);
        return std::optional(std::move(seen));
      });
  for (auto& [words, output] : tree.commands)
    if (words.starts_with("modinfo "))
      output = output.parsed([](CommandOutput seen) { return std::optional(used_modinfo(std::move(seen))); });
  keep_nccl_only(tree);
  std::vector<std::string> empty;
  tree.each([&](const std::string& path, const TreeEntry& entry) {
    if (is_empty_gid(path, entry) || is_empty_boot_file(path, entry)) empty.push_back(path);
  });
  for (const auto& path : empty) tree.remove(path);
  return tree;
}

}  // namespace railbed
