#include "host/memory_left.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr unsigned kIpcLock = 14;  // CAP_IPC_LOCK, capabilities(7): RLIMIT_MEMLOCK does not apply

// Returns the word after a key at the start of a line: "MemAvailable:  16384 kB" of /proc/meminfo, "VmPin: …"
// of proc_pid_status(5), "inactive_file 4096" of memory.stat.
std::string_view word_after(std::string_view text, std::string_view key) {
  for (const auto line : lines(text)) {
    if (!line.starts_with(key)) continue;
    const auto columns = words(line.substr(key.size()));
    return columns.empty() ? "" : columns[0];
  }
  return "";
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  return parse_number<std::uint64_t>(word_after(text, key));
}

std::optional<std::uint64_t> number_in(Host& host, const std::string& path) {
  const auto text = host.read(path);
  return text ? parse_number<std::uint64_t>(*text) : std::nullopt;
}

// Returns what one control group still allows: memory.max minus memory.current. Pages of files that were read
// are not counted as used, because the kernel drops them first (kernel,
// Documentation/admin-guide/cgroup-v2.rst). Returns nullopt without a limit.
std::optional<std::uint64_t> left_in(Host& host, const std::string& group) {
  const auto most = number_in(host, group + "/memory.max");
  const auto now = number_in(host, group + "/memory.current");
  if (!most || !now) return std::nullopt;
  const auto stat = host.read(group + "/memory.stat").value_or("");
  const auto files =
      number_after(stat, "inactive_file ").value_or(0) + number_after(stat, "active_file ").value_or(0);
  const std::uint64_t used = *now - std::min(*now, files);
  return *most - std::min(*most, used);
}

// Returns the least that this process's control group and its ancestors allow.
std::optional<std::uint64_t> left_in_groups(Host& host) {
  const std::string root = "/sys/fs/cgroup";
  const auto group = host.read("/proc/self/cgroup").value_or("");
  if (!group.starts_with("0::/")) return std::nullopt;
  std::optional<std::uint64_t> least;
  for (std::string folder = root + std::string(trim(std::string_view(group).substr(3)));
       folder.size() > root.size(); folder.erase(folder.rfind('/')))
    if (const auto left = left_in(host, folder)) least = std::min(least.value_or(*left), *left);
  return least;
}

std::optional<std::uint64_t> lockable(Host& host) {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto status = host.read("/proc/self/status").value_or("");
  const auto capabilities = parse_number<std::uint64_t>(word_after(status, "CapEff:"), 16);
  if (capabilities && (*capabilities >> kIpcLock & 1) != 0) return std::nullopt;
  const std::uint64_t most = limit.rlim_cur;
  return most - std::min<std::uint64_t>(most, number_after(status, "VmPin:").value_or(0) * 1024);
}

}  // namespace

MemoryLeft memory_left(Host& host) {
  MemoryLeft left;
  if (const auto kib = number_after(host.read("/proc/meminfo").value_or(""), "MemAvailable:"))
    left.host = *kib * 1024;
  if (const auto group = left_in_groups(host)) left.host = std::min(left.host.value_or(*group), *group);
  left.lockable = lockable(host);
  return left;
}

}  // namespace railbed
