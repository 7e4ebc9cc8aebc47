#include "bench/core/spare_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/units.h"
#include "host/host.h"

namespace railbed {
namespace {

// Shares of what is available; ours. What is pinned cannot be had back when others need it.
constexpr std::uint64_t kHostShare = 2;
constexpr std::uint64_t kPinnedShare = 4;
// What NCCL and the driver take beside a bench's own buffers.
constexpr std::uint64_t kGpuReserve = std::uint64_t{1} << 30;
constexpr unsigned kIpcLock = 14;  // CAP_IPC_LOCK, capabilities(7): RLIMIT_MEMLOCK does not hold

// What stands after the key at the start of a line: "MemAvailable:  16384 kB" of /proc/meminfo, "VmPin: …" of
// proc_pid_status(5), "inactive_file 4096" of memory.stat.
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

// What one control group still allows: memory.max less memory.current, in which files that were read count
// although the kernel drops them first (kernel, Documentation/admin-guide/cgroup-v2.rst). None: no limit.
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

// The least that this process's control group and those above it allow.
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

SpareMemory of_host(const MemoryLeft& left, std::uint64_t share) {
  if (!left.host) return {std::numeric_limits<std::uint64_t>::max(), ""};
  return {*left.host / share, fmt::format("the machine has {} available", to_text(ByteCount{*left.host}))};
}

SpareMemory of_gpu(const MemoryLeft& left) {
  if (!left.gpu) return {std::numeric_limits<std::uint64_t>::max(), ""};
  return {*left.gpu - std::min(*left.gpu / 2, std::max(*left.gpu / 16, kGpuReserve)),
          fmt::format("the GPU has {} free", to_text(ByteCount{*left.gpu}))};
}

SpareMemory less_of(SpareMemory a, SpareMemory b) { return a.bytes <= b.bytes ? a : b; }

SpareMemory of_all(const MemoryLeft& left, MemoryUse use) {
  switch (use) {
    case MemoryUse::kHost:
      return of_host(left, kHostShare);
    case MemoryUse::kPinned:
      return of_host(left, kPinnedShare);
    case MemoryUse::kLocked:
      break;
    case MemoryUse::kGpu:
      // What CUDA calls free on unified memory leaves out what the kernel would give back (vLLM issue 35313,
      // llama.cpp pull request 17368): the host's own number is the better one.
      return left.unified && left.host ? of_host(left, kPinnedShare) : of_gpu(left);
  }
  const auto host = of_host(left, kPinnedShare);
  if (!left.lockable) return host;
  return less_of({*left.lockable, fmt::format("this process may lock {} more (RLIMIT_MEMLOCK)",
                                              to_text(ByteCount{*left.lockable}))},
                 host);
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

SpareMemory spare_memory(const MemoryLeft& left, MemoryUse use, int sharers) {
  SpareMemory spare = of_all(left, use);
  // Each GPU has memory of its own, unless it is the machine's.
  const bool is_own = use == MemoryUse::kGpu && !(left.unified && left.host);
  if (!spare.why.empty() && !is_own) spare.bytes /= static_cast<std::uint64_t>(std::max(sharers, 1));
  return spare;
}

std::string cut_text(std::uint64_t bytes, const SpareMemory& spare) {
  return fmt::format("cut to {}: {}", to_text(ByteCount{bytes}), spare.why);
}

}  // namespace railbed
