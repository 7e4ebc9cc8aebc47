#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "facts/collectors.h"
#include "facts/readings.h"

namespace railbed {
namespace {

const std::string kCpus = "/sys/devices/system/cpu";

// Returns the number of entries in a list of CPUs such as "0-15,32".
Reading<int> count_of(Host& host, const std::string& path) {
  return host.read_line(path).parsed([](const std::string& line) -> std::optional<int> {
    const auto numbers = parse_list(line);
    if (!numbers) return std::nullopt;
    return static_cast<int>(numbers->size());
  });
}

// Arm's own cores by part number: the kernel's arch/arm64/include/asm/cputype.h.
constexpr std::pair<std::string_view, std::string_view> kArmCores[] = {
    {"0xd03", "Cortex-A53"},  {"0xd05", "Cortex-A55"},  {"0xd07", "Cortex-A57"},  {"0xd08", "Cortex-A72"},
    {"0xd09", "Cortex-A73"},  {"0xd0a", "Cortex-A75"},  {"0xd0b", "Cortex-A76"},  {"0xd0c", "Neoverse-N1"},
    {"0xd0d", "Cortex-A77"},  {"0xd40", "Neoverse-V1"}, {"0xd41", "Cortex-A78"},  {"0xd42", "Cortex-A78AE"},
    {"0xd46", "Cortex-A510"}, {"0xd47", "Cortex-A710"}, {"0xd49", "Neoverse-N2"}, {"0xd4d", "Cortex-A715"},
    {"0xd4f", "Neoverse-V2"}, {"0xd80", "Cortex-A520"}, {"0xd81", "Cortex-A720"}, {"0xd84", "Neoverse-V3"},
    {"0xd85", "Cortex-X925"}, {"0xd87", "Cortex-A725"}, {"0xd8e", "Neoverse-N3"},
};

std::string arm_core(std::string_view implementer, std::string_view part) {
  const auto* known =
      std::ranges::find(kArmCores, part, &std::pair<std::string_view, std::string_view>::first);
  if (implementer == "0x41" && known != std::end(kArmCores)) return "Arm " + std::string(known->second);
  return "implementer " + std::string(implementer) + " part " + std::string(part);
}

// Returns each kind of core once. A DGX Spark has two: "Arm Cortex-X925, Arm Cortex-A725".
std::string arm_cores(std::string_view cpuinfo) {
  constexpr std::size_t kMostKinds = 4;
  std::vector<std::string> kinds;
  std::string_view implementer;
  for (const auto line : lines(cpuinfo)) {
    const auto pair = key_value(line, ':');
    if (pair && pair->first == "CPU implementer") implementer = pair->second;
    if (!pair || pair->first != "CPU part" || implementer.empty()) continue;
    std::string kind = arm_core(implementer, pair->second);
    if (kinds.size() < kMostKinds && std::ranges::find(kinds, kind) == kinds.end())
      kinds.push_back(std::move(kind));
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

// Returns the model. On x86 it is "model name"; arm64 has numbers instead.
Reading<std::string> model_of(const Reading<std::string>& cpuinfo) {
  auto model = pick(cpuinfo, ':', "model name");
  if (model || !cpuinfo) return model;
  std::string cores = arm_cores(*cpuinfo);
  if (cores.empty()) return model;
  return {std::move(cores), cpuinfo.from()};
}

// Returns the microarchitecture level of an x86-64 processor: the highest one whose instructions, and those
// of all levels below, are in `flags`. Names as in the kernel (x86-64 psABI, "Microarchitecture levels";
// "pni" is SSE3, "abm" LZCNT). Every x86-64 has level 1.
int level_of(const std::set<std::string_view>& flags) {
  static const std::array<std::vector<std::string_view>, 3> kLevels = {{
      {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
      {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"},
      {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
  }};
  int level = 1;
  for (const auto& needed : kLevels) {
    if (!std::ranges::all_of(needed, [&](std::string_view flag) { return flags.contains(flag); })) break;
    ++level;
  }
  return level;
}

Reading<int> x86_level_of(const Reading<std::string>& cpuinfo) {
  return pick(cpuinfo, ':', "flags").parsed([](const std::string& line) {
    const auto said = words(line);
    return std::optional(level_of({said.begin(), said.end()}));
  });
}

// Returns the number of sockets: distinct values of "physical id".
Reading<int> sockets_of(const Reading<std::string>& cpuinfo) {
  if (!cpuinfo) return {cpuinfo.miss(), cpuinfo.from()};
  std::set<std::string_view> sockets;
  for (const auto line : lines(*cpuinfo))
    if (const auto pair = key_value(line, ':'); pair && pair->first == "physical id")
      sockets.insert(pair->second);
  if (sockets.empty()) return {Miss{Missing::kAbsent, "no physical id in it"}, cpuinfo.from()};
  return {static_cast<int>(sockets.size()), cpuinfo.from()};
}

Reading<std::map<std::string, int>> governors_of(Host& host) {
  const std::string folder = kCpus + "/cpufreq";
  const auto policies = host.list(folder);
  if (!policies) return {policies.miss(), folder};
  std::map<std::string, int> count;
  for (const auto& policy : *policies) {
    if (!policy.starts_with("policy")) continue;
    if (const auto governor = host.read_line(folder + "/" + policy + "/scaling_governor")) ++count[*governor];
  }
  if (count.empty()) return {Miss{Missing::kAbsent, "no frequency policy in it"}, folder};
  return {std::move(count), folder + "/policy*/scaling_governor"};
}

}  // namespace

Cpu collect_cpu(Host& host) {
  Cpu cpu;
  const auto cpuinfo = host.read("/proc/cpuinfo");
  cpu.model = model_of(cpuinfo);
  cpu.x86_level = x86_level_of(cpuinfo);
  cpu.sockets = sockets_of(cpuinfo);
  cpu.online = count_of(host, kCpus + "/online");
  cpu.possible = count_of(host, kCpus + "/possible");
  cpu.present = count_of(host, kCpus + "/present");
  cpu.governors = governors_of(host);
  cpu.frequency_driver = host.read_line(kCpus + "/cpufreq/policy0/scaling_driver");
  cpu.clocksource = host.read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string nodes = "/sys/devices/system/node";
  for (const auto& name : host.list(nodes).value_or({})) {
    const auto id = name.starts_with("node") ? parse_number<int>(name.substr(4)) : std::nullopt;
    if (id) cpu.numa_nodes.push_back({*id, host.read_line(nodes + "/" + name + "/cpulist")});
  }
  std::sort(cpu.numa_nodes.begin(), cpu.numa_nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  return cpu;
}

Reading<std::uint64_t> core_throttle_count(Host& host) {
  const auto names = host.list(kCpus);
  if (!names) return {names.miss(), kCpus};
  std::optional<std::uint64_t> sum;
  for (const std::string& name : *names) {
    if (!name.starts_with("cpu") || !parse_number<int>(std::string_view(name).substr(3))) continue;
    const auto count =
        read_number<std::uint64_t>(host, kCpus + "/" + name + "/thermal_throttle/core_throttle_count");
    if (count) sum = sum.value_or(0) + *count;
  }
  const std::string from = kCpus + "/cpu*/thermal_throttle/core_throttle_count";
  if (!sum) return {Miss{Missing::kAbsent, "the kernel counts no slowdowns"}, from};
  return {*sum, from};
}

}  // namespace railbed
