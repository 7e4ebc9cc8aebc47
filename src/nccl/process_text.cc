#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "base/text.h"
#include "nccl/node_text.h"
#include "nccl/process_lint.h"

namespace railbed::nccl {
namespace {

std::string where_it_runs(const ProcessAnswer& seen) {
  if (!seen.container.empty())
    return fmt::format("{} container {}", seen.runtime.empty() ? "a" : seen.runtime,
                       seen.container.substr(0, 12));
  const auto mount = seen.shares.find("mnt");
  if (mount == seen.shares.end() || !mount->second.ok()) return "whether in a container is not known";
  return *mount->second ? "on the node itself" : "in namespaces of its own";
}

std::string limit_text(const Reading<std::uint64_t>& limit) {
  if (!limit.ok()) return "not known";
  return *limit == UINT64_MAX ? "unlimited" : to_text(ByteCount{*limit});
}

std::string nodes_text(const Reading<std::vector<DeviceNode>>& nodes) {
  if (!nodes.ok()) return nodes.absent() ? "none" : describe(nodes.miss(), nodes.from());
  std::vector<std::string> names;
  for (const DeviceNode& node : *nodes) names.push_back(node.name + (node.usable ? "" : " (closed)"));
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string shared_text(const std::map<std::string, Reading<bool>>& shares) {
  std::vector<std::string> own;
  for (const auto& [kind, same] : shares)
    if (!same.value_or(true)) own.push_back(kind == "mnt" ? "files" : kind == "net" ? "network" : "users");
  return own.empty() ? "" : fmt::format("; its own {}", fmt::join(own, ", "));
}

std::string libraries_text(const ProcessVerdict& verdict) {
  const auto& libraries = verdict.process.seen.libraries;
  if (!libraries.ok()) return describe(libraries.miss(), libraries.from());
  std::string text;
  for (const MappedLibrary& library : *libraries) {
    if (library.name != "libnccl" && library.name != "libcudart" && library.name != "libcuda") continue;
    const std::string built = library.built_for.empty() ? "" : fmt::format(" for {}", library.built_for);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", library.name,
                        library.version.empty() ? "of unknown version" : library.version, built);
  }
  return text.empty() ? "no libnccl is mapped: not loaded yet, or linked in" : text;
}

void write_complaints(std::string& out, const std::vector<ProcessComplaint>& complaints) {
  const auto write = std::back_inserter(out);
  for (const ProcessComplaint& complaint : complaints) {
    const auto severity = enum_names(Severity{})[static_cast<std::size_t>(complaint.severity)];
    fmt::format_to(write, "{:<8} {}: {}\n         remedy   {}\n", severity, complaint.id, complaint.message,
                   complaint.remedy);
    if (!complaint.kubernetes.empty()) fmt::format_to(write, "         in a pod {}\n", complaint.kubernetes);
  }
}

}  // namespace

std::string to_text(const ProcessVerdict& verdict) {
  const ProcessAnswer& seen = verdict.process.seen;
  std::string out;
  const auto write = std::back_inserter(out);
  fmt::format_to(write, "Process {} {} (user {}), {}{}\n", seen.pid, seen.name, seen.user,
                 where_it_runs(seen), shared_text(seen.shares));
  fmt::format_to(write, "  uses now   {} ({})\n",
                 verdict.uses.network.empty() ? "not known" : verdict.uses.network, verdict.uses.why);
  fmt::format_to(write, "  libraries  {}\n", libraries_text(verdict));
  fmt::format_to(write, "  RDMA       {}\n", nodes_text(seen.rdma_nodes));
  fmt::format_to(write, "  GPUs       {}\n", nodes_text(seen.gpu_nodes));
  fmt::format_to(write, "  limits     locked memory {}{}; {} of /dev/shm\n", limit_text(seen.locked_memory),
                 seen.may_lock_memory.value_or(false) ? " (lifted by CAP_IPC_LOCK)" : "",
                 limit_text(seen.shared_memory));
  if (!seen.environment.ok())
    fmt::format_to(write, "  variables  {}\n", describe(seen.environment.miss(), seen.environment.from()));
  else
    for (const auto& [name, value] : *seen.environment) fmt::format_to(write, "  {}={}\n", name, value);
  out += "\n";
  write_complaints(out, verdict.complaints);
  out += to_text(verdict.variables);
  if (verdict.clean()) out += "Nothing is wrong with this process.\n";
  fmt::format_to(write, "\nNCCL {} chooses, as this process sees the node:\n{}", verdict.version,
                 to_text(verdict.choices));
  return printable_lines(out);
}

}  // namespace railbed::nccl
