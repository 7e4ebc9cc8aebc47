// Finds the files of the network plugins that NCCL_NET_PLUGIN names.
#include "facts/nccl_plugin.h"

#include <algorithm>

#include "facts/readings.h"

namespace railbed {
namespace {

constexpr std::size_t kMostPlugins = 16;
constexpr std::size_t kLongestPlugin = 255;

// Returns the names in a value. NCCL 2.27 accepts a list; "none" in any case selects no plugin
// (src/plugin/net.cc).
std::vector<std::string> names_in(std::string_view value) {
  std::vector<std::string> names;
  for (const auto part : split(value, ','))
    if (is_plain_word(part, kLongestPlugin) && lower(part) != "none") names.emplace_back(part);
  return names;
}

void add_names(const Reading<std::vector<NcclVariable>>& variables, std::vector<std::string>& names) {
  for (const NcclVariable& variable : items(variables)) {
    if (variable.name != "NCCL_NET_PLUGIN") continue;
    for (std::string& name : names_in(variable.value))
      if (names.size() < kMostPlugins && std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
  }
}

// Looks a plugin up in the output of ldconfig:
// "\tlibnccl-net-ofi.so (libc6,x86-64) => /opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so"
Reading<std::string> in_loader_cache(const Reading<CommandOutput>& cache, const std::string& name) {
  // Without ldconfig it is not known whether the plugin exists: that is not "absent".
  if (!cache || cache->exit_code != 0)
    return {Miss{Missing::kUnsupported, cache ? "ldconfig failed" : cache.miss().why}, cache.from()};
  for (const auto line : lines(cache->output)) {
    const auto parts = words(line);
    if (parts.size() < 3 || (parts[0] != name && parts[0] != "libnccl-net-" + name + ".so")) continue;
    return {std::string(parts.back()), cache.from()};
  }
  return {Miss{Missing::kAbsent, "not in the loader's cache"}, cache.from()};
}

}  // namespace

std::vector<NcclPlugin> collect_net_plugins(Host& host, const Nccl& nccl) {
  std::vector<std::string> names;
  for (const auto* variables : {&nccl.environment, &nccl.profile, &nccl.user_file, &nccl.system_file})
    add_names(*variables, names);
  for (const NcclService& service : nccl.services) add_names(service.variables, names);
  const auto is_path = [](const std::string& name) { return name.find('/') != std::string::npos; };
  Reading<CommandOutput> cache;
  if (!std::ranges::all_of(names, is_path)) cache = host.run({"ldconfig", "-p"});
  std::vector<NcclPlugin> plugins;
  for (const std::string& name : names)
    plugins.push_back({name, is_path(name) ? host.resolve(name) : in_loader_cache(cache, name)});
  return plugins;
}

std::string used_loader_cache(std::string_view output) {
  std::string used;
  for (const auto line : lines(output))
    if (line.find("libnccl") != std::string_view::npos) used += std::string(line) + "\n";
  return used;
}

}  // namespace railbed
