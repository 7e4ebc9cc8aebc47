#include "facts/collectors.h"
#include "facts/readings.h"

namespace railbed {
namespace {

// Returns the bytes of "16384 kB", or a plain count.
Reading<std::uint64_t> pick_count(const Reading<std::string>& meminfo, std::string_view key) {
  return pick(meminfo, ':', key).parsed([](const std::string& value) -> std::optional<std::uint64_t> {
    const auto number = parse_number<std::uint64_t>(value.substr(0, value.find(' ')));
    if (number && value.ends_with(" kB")) return *number * 1024;
    return number;
  });
}

Reading<ByteCount> pick_bytes(const Reading<std::string>& meminfo, std::string_view key) {
  return pick_count(meminfo, key).parsed([](std::uint64_t bytes) { return std::optional(ByteCount{bytes}); });
}

// Returns the soft or hard limit in a line such as
// "Max locked memory         65536                unlimited            bytes"; proc_pid_limits(5).
Reading<std::uint64_t> locked_memory(const Reading<std::string>& limits, bool hard) {
  constexpr std::string_view kRow = "Max locked memory";
  if (!limits) return {limits.miss(), limits.from()};
  for (const auto line : lines(*limits)) {
    if (!line.starts_with(kRow)) continue;
    const auto columns = words(line.substr(kRow.size()));
    if (columns.size() < 2) break;
    const auto text = columns[hard ? 1 : 0];
    if (text == "unlimited") return {kUnlimited, limits.from()};
    if (const auto bytes = parse_number<std::uint64_t>(text)) return {*bytes, limits.from()};
  }
  return {Miss{Missing::kGarbled, "no usable line \"Max locked memory\""}, limits.from()};
}

// Returns true for services that start jobs. The jobs inherit their limits.
bool starts_jobs(const std::string& service) {
  return service == "slurmd" || service == "containerd" || service == "docker" || service == "kubelet";
}

}  // namespace

Reading<std::uint64_t> edac_sum(Host& host, const std::string& count) {
  const std::string folder = "/sys/devices/system/edac/mc";
  const auto names = host.list(folder);
  if (!names) return {names.miss(), folder};
  std::uint64_t sum = 0;
  bool any = false;
  for (const auto& name : *names) {
    if (!name.starts_with("mc")) continue;
    const auto errors = read_number<std::uint64_t>(host, folder + "/" + name + "/" + count);
    if (!errors) return errors;
    sum += *errors;
    any = true;
  }
  if (!any) return {Miss{Missing::kAbsent, "no memory controller reports errors"}, folder};
  return {sum, folder + "/mc*/" + count};
}

Memory collect_memory(Host& host, const Reading<std::vector<Service>>& services) {
  Memory memory;
  const auto meminfo = host.read("/proc/meminfo");
  memory.total = pick_bytes(meminfo, "MemTotal");
  memory.available = pick_bytes(meminfo, "MemAvailable");
  memory.swap_total = pick_bytes(meminfo, "SwapTotal");
  memory.hugepage_size = pick_bytes(meminfo, "Hugepagesize");
  memory.hugepages_total = pick_count(meminfo, "HugePages_Total");
  memory.hugepages_free = pick_count(meminfo, "HugePages_Free");
  const auto limits = host.read("/proc/self/limits");
  memory.memlock_soft = locked_memory(limits, false);
  memory.memlock_hard = locked_memory(limits, true);
  for (const auto& service : items(services))
    if (starts_jobs(service.name) && service.main_pid > 0)
      memory.service_memlock.push_back(
          {service.name,
           locked_memory(host.read("/proc/" + std::to_string(service.main_pid) + "/limits"), false)});
  memory.edac_uncorrectable = edac_sum(host, "ue_count");
  memory.edac_correctable = edac_sum(host, "ce_count");
  return memory;
}

}  // namespace railbed
