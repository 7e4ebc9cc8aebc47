#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "facts/collectors.h"
#include "facts/readings.h"

namespace railbed {
namespace {

const std::string kCpus = "/sys/devices/system/cpu";

Reading<int> count_of(Host& host, const std::string& path) {
  return host.read_line(path).parsed([](const std::string& line) -> std::optional<int> {
    const auto numbers = parse_list(line);
    if (!numbers) return std::nullopt;
    return static_cast<int>(numbers->size());
  });
}

// x86 calls it "model name"; arm64 prints none and lscpu decodes the part number, so the words it has are
// kept.
Reading<std::string> model_of(const Reading<std::string>& cpuinfo) {
  auto model = pick(cpuinfo, ':', "model name");
  if (model || !cpuinfo) return model;
  const auto implementer = pick(cpuinfo, ':', "CPU implementer");
  const auto part = pick(cpuinfo, ':', "CPU part");
  if (!implementer || !part) return model;
  return {"implementer " + *implementer + " part " + *part, cpuinfo.from()};
}

// The instructions of each level as the kernel names them (x86-64 psABI, "Microarchitecture levels"; "pni" is
// SSE3, "abm" LZCNT). Level 1 is every x86-64.
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

}  // namespace railbed
