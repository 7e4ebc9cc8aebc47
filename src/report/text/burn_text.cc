#include "report/text/burn_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/units.h"
#include "base/wording.h"
#include "inventory/hostlist.h"
#include "report/escape.h"

namespace railbed {
namespace {

constexpr std::size_t kMostGpusListed = 16;
constexpr std::size_t kMostFindings = 40;
constexpr std::size_t kMostNamed = 200;  // characters of a list of nodes

std::string rate_text(BurnPhase phase, double rate) {
  return is_product(phase) ? fmt::format("{:.4g} TFLOP/s", rate / 1e12)
                           : fmt::format("{:.4g} GB/s", rate / 1e9);
}

std::string gigabits_text(double bytes_per_second) {
  return fmt::format("{:.4g} Gb/s", bytes_per_second * 8 / 1e9);
}

std::string_view status_word(BurnStatus status) {
  switch (status) {
    case BurnStatus::kFailure:
      return "FAIL";
    case BurnStatus::kUnknown:
      return "UNKNOWN";
    case BurnStatus::kWarning:
      return "WARN";
    case BurnStatus::kNote:
      return "NOTE";
  }
  return "";
}

std::size_t count_of(const BurnReport& report, BurnStatus status) {
  return static_cast<std::size_t>(std::ranges::count(report.findings, status, &BurnFinding::status));
}

std::size_t burned_gpus(const BurnReport& report) {
  std::size_t count = 0;
  for (const BurnNode& node : report.nodes)
    count += static_cast<std::size_t>(std::ranges::count_if(node.gpus, &BurnGpu::began));
  return count;
}

std::size_t burned_hosts(const BurnReport& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.nodes, [](const BurnNode& node) { return node.host && node.host->began; }));
}

std::size_t burned_drives(const BurnReport& report) {
  std::size_t count = 0;
  for (const BurnNode& node : report.nodes)
    count += static_cast<std::size_t>(std::ranges::count_if(node.drives, &BurnDrive::began));
  return count;
}

std::size_t burned_ports(const BurnReport& report) {
  if (!report.rails) return 0;
  return static_cast<std::size_t>(std::ranges::count(report.rails->ports, "", &BurnPort::skipped));
}

// "16 GPUs", "16 GPUs and the processors", "16 GPUs, the processors and 3 drives", "2 ports of rails"
std::string loads_text(std::size_t gpus, bool hosts, std::size_t drives, std::size_t ports) {
  std::vector<std::string> loads;
  if (gpus > 0 || (!hosts && drives == 0 && ports == 0)) loads.push_back(counted(gpus, "GPU"));
  if (hosts) loads.emplace_back("the processors");
  if (drives > 0) loads.push_back(counted(drives, "drive"));
  if (ports > 0) loads.push_back(counted(ports, "port of rails", "ports of rails"));
  std::string text = loads.front();
  for (std::size_t i = 1; i < loads.size(); ++i) text += (i + 1 == loads.size() ? " and " : ", ") + loads[i];
  return text;
}
std::string loaded_text(const BurnReport& report) {
  return loads_text(burned_gpus(report), burned_hosts(report) > 0, burned_drives(report),
                    burned_ports(report));
}

std::string drill_text(const BurnDrill& drill, const std::string& node) {
  switch (drill.kind) {
    case BurnInjection::kSlow:
      return fmt::format("GPU {} of {} paused {:.3g} % of the time", drill.gpu, node, drill.amount);
    case BurnInjection::kWrongResult:
      return fmt::format("one bit of a result of GPU {} of {} flipped after {:.0f} s", drill.gpu, node,
                         drill.amount);
    case BurnInjection::kWrongCpu:
      return fmt::format("one bit of a result of CPU {} of {} flipped after {:.0f} s", drill.gpu, node,
                         drill.amount);
    case BurnInjection::kWrongHostMemory:
      return fmt::format("one bit in the memory of CPU {} of {} flipped after {:.0f} s", drill.gpu, node,
                         drill.amount);
    case BurnInjection::kWrongCollective:
      return fmt::format("one bit that GPU {} of {} received in a collective flipped after {:.0f} s",
                         drill.gpu, node, drill.amount);
    case BurnInjection::kWrongDrive:
      return fmt::format("one bit in the file on drive {} of {} flipped after {:.0f} s", drill.gpu, node,
                         drill.amount);
  }
  return "";
}

// "60 min", "stopped after 20 s of 60 min", "ended after 20 s of 60 min"
std::string length_text(const BurnReport& report) {
  constexpr double kLateLook = 10;  // seconds: the end is seen with the next look
  const bool early = report.seconds > 0 && report.seconds < 0.98 * report.planned - kLateLook;
  if (!report.stopped && !early) return short_time_text(report.planned);
  return fmt::format("{} after {} of {}", report.stopped ? "stopped" : "ended",
                     short_time_text(report.seconds), short_time_text(report.planned));
}

std::string head_text(const BurnReport& report, std::string_view what) {
  std::string verdict;
  for (const auto& [status, word] :
       {std::pair{BurnStatus::kFailure, "failure"}, std::pair{BurnStatus::kUnknown, "unknown"},
        std::pair{BurnStatus::kWarning, "warning"}})
    if (const std::size_t count = count_of(report, status); count > 0)
      verdict += fmt::format("{}{}{}", verdict.empty() ? "" : ", ", fmt::format("{} {}", count, word),
                             count == 1 || status == BurnStatus::kUnknown ? "" : "s");
  std::string text =
      fmt::format("{} of {} on {}, {}: {}\n", what, loaded_text(report), counted(report.nodes.size(), "node"),
                  length_text(report), verdict.empty() ? "nothing wrong was found" : verdict);
  if (report.watts_cap > 0)
    text += fmt::format("  --watts: each GPU paused to stay below {:.0f} W on average\n", report.watts_cap);
  for (const BurnDrill& drill : report.injected)
    text += fmt::format("  INJECTED, a drill: {}\n",
                        drill_text(drill, printable(report.nodes.empty() ? "" : report.nodes.front().node)));
  return text;
}

std::string families_text(const BurnReport& report) {
  std::string text;
  std::string name;
  for (const BurnFamily& family : report.families) {
    if (family.name != name) {
      name = family.name;
      text += fmt::format("\n  {}\n  {:<8}{:>6}{:>18}{:>18}{:>18}{:>9}{:>12}{:>9}{:>13}\n",
                          printable(shortened(name, 60)), "phase", "GPUs", "median", "slowest", "fastest",
                          "spread", "data sheet", "power", "found from");
    }
    const auto percent = [](double share) { return fmt::format("{:.2g} %", share * 100); };
    text += fmt::format(
        "  {:<8}{:>6}{:>18}{:>18}{:>18}{:>9}{:>12}{:>9}{:>13}\n", burn_phase_word(family.phase), family.gpus,
        rate_text(family.phase, family.median), rate_text(family.phase, family.low),
        rate_text(family.phase, family.high), family.gpus > 1 ? percent(family.spread) : "–",
        family.data_sheet ? fmt::format("{:.0f} %", family.median / *family.data_sheet * 100) : "–",
        family.watts > 0 ? fmt::format("{:.0f} W", family.watts) : "–",
        family.smallest ? percent(*family.smallest) : "–");
  }
  return text;
}

std::string too_few_text(const BurnReport& report) {
  const auto alone = [](const auto& family) { return !family.smallest; };
  if (std::ranges::none_of(report.families, alone) && std::ranges::none_of(report.host_families, alone) &&
      std::ranges::none_of(report.drive_families, alone) &&
      (!report.rails || std::ranges::none_of(report.rails->families, alone)))
    return "";
  return "  \"found from\" –: too few siblings of one kind to say that one is slow\n";
}

std::string host_families_text(const BurnReport& report) {
  std::string text;
  std::string_view name;
  for (const BurnHostFamily& family : report.host_families) {
    if (text.empty() || family.name != name) {
      name = family.name;
      text += fmt::format("\n  {}\n  {:<10}{:>6}{:>18}{:>18}{:>18}{:>9}{:>13}\n",
                          printable(shortened(family.name.empty() ? "processors" : family.name, 60)), "host",
                          "nodes", "median", "slowest", "fastest", "spread", "found from");
    }
    const auto rate = [&](double value) {
      return family.what == "memory" ? fmt::format("{:.4g} GB/s", value / 1e9)
                                     : fmt::format("{:.4g} GFLOP/s", value / 1e9);
    };
    const auto percent = [](double share) { return fmt::format("{:.2g} %", share * 100); };
    text += fmt::format("  {:<10}{:>6}{:>18}{:>18}{:>18}{:>9}{:>13}\n", family.what, family.nodes,
                        rate(family.median), rate(family.low), rate(family.high),
                        family.nodes > 1 ? percent(family.spread) : "–",
                        family.smallest ? percent(*family.smallest) : "–");
  }
  return text;
}

// The same finding about many GPUs differs in its numbers, so only the first of many are printed.
std::string findings_text(const BurnReport& report, bool all) {
  std::string text;
  std::size_t shown = 0;
  for (const BurnFinding& finding : report.findings) {
    if (!all && shown >= kMostFindings) break;
    ++shown;
    text += fmt::format("{}{:<8}{}{}\n", shown == 1 ? "\n" : "", status_word(finding.status),
                        finding.injected ? "INJECTED: " : "", printable(finding.message));
    if (!finding.remedy.empty()) text += fmt::format("        do: {}\n", printable(finding.remedy));
  }
  if (shown < report.findings.size())
    text += fmt::format("        and {} more; --all lists them\n", report.findings.size() - shown);
  return text;
}

bool has_finding(const BurnReport& report, const BurnNode& node, const BurnGpu& gpu) {
  return std::ranges::any_of(report.findings, [&](const BurnFinding& finding) {
    return finding.node == node.node && finding.gpu == gpu.ordinal;
  });
}

// Returns the phases of which GPUs have tallies, in the order of BurnPhase.
std::vector<BurnPhase> phases_of(const BurnReport& report) {
  std::vector<BurnPhase> phases;
  for (std::size_t i = 0; i < kGpuPhases; ++i)
    if (std::ranges::find(report.phases, static_cast<BurnPhase>(i), &BurnShare::phase) != report.phases.end())
      phases.push_back(static_cast<BurnPhase>(i));
  return phases;
}

std::string gpu_line(const BurnNode& node, const BurnGpu& gpu, const std::vector<BurnPhase>& phases) {
  std::string text = fmt::format("  {:<16}{:>4}", printable(shortened(node.node, 15)), gpu.ordinal);
  for (const BurnPhase phase : phases) {
    const auto tally = std::ranges::find(gpu.tallies, phase, &BurnTally::phase);
    const bool has = tally != gpu.tallies.end() && tally->rate > 0;
    text += fmt::format("{:>8}",
                        has ? fmt::format("{:.4g}", tally->rate / (is_product(phase) ? 1e12 : 1e9)) : "–");
  }
  text +=
      fmt::format("{:>9}", gpu.samples > 0 ? fmt::format("{:.0f}/{:.0f}", gpu.watts, gpu.watts_max) : "–");
  text += fmt::format("{:>5}", gpu.temperature > 0 ? std::to_string(gpu.temperature) : "–");
  std::uint64_t wrong = 0;
  for (const BurnTally& tally : gpu.tallies) wrong += tally.wrong;
  text += fmt::format("{:>7}", wrong);
  std::string held;
  for (const BurnSlowdown& one : gpu.slowdowns)
    if (gpu.samples > 0)
      held += fmt::format("{}{} {:.0f} %", held.empty() ? "" : ", ", printable(shortened(one.reason, 30)),
                          100.0 * static_cast<double>(one.samples) / static_cast<double>(gpu.samples));
  return text + (held.empty() ? "" : "  " + held) + '\n';
}

std::string gpus_text(const BurnReport& report, bool all) {
  const bool few = burned_gpus(report) <= kMostGpusListed;
  const std::vector<BurnPhase> phases = phases_of(report);
  std::string text;
  for (const BurnNode& node : report.nodes)
    for (const BurnGpu& gpu : node.gpus)
      if (gpu.began && (all || few || has_finding(report, node, gpu))) text += gpu_line(node, gpu, phases);
  if (text.empty()) return "";
  std::string head = fmt::format("\n  {:<16}{:>4}", "node", "GPU");
  for (const BurnPhase phase : phases) head += fmt::format("{:>8}", burn_phase_word(phase));
  const bool only_products = std::ranges::all_of(phases, is_product);
  return head + fmt::format("{:>9}{:>5}{:>7}  {}\n", "W", "°C", "wrong", "held back by") + text +
         fmt::format("  {}; W: mean and highest\n", only_products ? "TFLOP/s" : "TFLOP/s and GB/s");
}

std::string drive_families_text(const BurnReport& report) {
  if (report.drive_families.empty()) return "";
  std::string text = fmt::format("\n  {:<42}{:>7}{:>13}{:>13}{:>13}{:>9}{:>12}\n", "drives, read", "number",
                                 "median", "slowest", "fastest", "spread", "found from");
  const auto rate = [](double value) { return fmt::format("{:.4g} GB/s", value / 1e9); };
  const auto percent = [](double share) { return fmt::format("{:.2g} %", share * 100); };
  for (const BurnDriveFamily& family : report.drive_families)
    text += fmt::format("  {:<42}{:>7}{:>13}{:>13}{:>13}{:>9}{:>12}\n", printable(shortened(family.name, 40)),
                        family.drives, rate(family.median), rate(family.low), rate(family.high),
                        family.drives > 1 ? percent(family.spread) : "–",
                        family.smallest ? percent(*family.smallest) : "–");
  return text;
}

std::string drive_line(const BurnNode& node, const BurnDrive& drive) {
  std::string names;
  int temperature = 0;
  int used = -1;
  for (const BurnDevice& device : drive.devices) {
    names += (names.empty() ? "" : ",") + device.name;
    temperature = std::max(temperature, device.temperature);
    if (device.no_health.empty()) used = std::max(used, device.used);
  }
  return fmt::format("  {:<16}{:>4} {:<16}{:<20}{:>9}{:>10}{:>10}{:>7}{:>6}{:>6}{:>7}\n",
                     printable(shortened(node.node, 15)), drive.ordinal, printable(shortened(names, 15)),
                     printable(shortened(drive.folder, 19)), to_text(ByteCount{drive.held}),
                     to_text(ByteCount{drive.written}), to_text(ByteCount{drive.read}),
                     drive.rate > 0 ? fmt::format("{:.3g}", drive.rate / 1e9) : "–",
                     temperature > 0 ? std::to_string(temperature) : "–",
                     used >= 0 ? fmt::format("{} %", used) : "–", drive.fault_count);
}

std::string drives_text(const BurnReport& report, bool all) {
  const bool few = burned_drives(report) <= kMostGpusListed;
  std::string text;
  for (const BurnNode& node : report.nodes)
    for (const BurnDrive& drive : node.drives) {
      const bool bad = drive.fault_count > 0 || drive.failed_reads > 0 || !drive.trouble.empty();
      if (drive.began && (all || few || bad)) text += drive_line(node, drive);
    }
  if (text.empty()) return "";
  return fmt::format("\n  {:<16}{:>4} {:<16}{:<20}{:>9}{:>10}{:>10}{:>7}{:>6}{:>6}{:>7}\n", "node", "no.",
                     "drive", "folder", "file", "written", "read", "GB/s", "°C", "worn", "wrong") +
         text;
}

std::string rail_families_text(const BurnReport& report) {
  if (!report.rails || report.rails->families.empty()) return "";
  std::string text =
      fmt::format("\n  {:<20}{:<10}{:>7}{:>14}{:>14}{:>14}{:>9}{:>9}{:>12}\n", "rails, ceiling", "", "ports",
                  "median", "slowest", "fastest", "spread", "reached", "found from");
  const auto percent = [](double share) { return fmt::format("{:.2g} %", share * 100); };
  for (const BurnRailFamily& family : report.rails->families)
    text += fmt::format("  {:<20}{:<10}{:>7}{:>14}{:>14}{:>14}{:>9}{:>9}{:>12}\n", family.name, family.what,
                        family.ports, gigabits_text(family.median), gigabits_text(family.low),
                        gigabits_text(family.high), family.ports > 1 ? percent(family.spread) : "–",
                        percent(family.median / family.ceiling),
                        family.smallest ? percent(*family.smallest) : "–");
  return text;
}

std::string collectives_text(const BurnReport& report) {
  if (!report.collectives || report.collectives->rate <= 0) return "";
  const BurnCollectives& all = *report.collectives;
  const auto rate = [](double bytes) { return fmt::format("{:.4g}", bytes / 1e9); };
  return fmt::format(
      "\n  all_reduce of {} over {} of {} in {}: bus bandwidth {} GB/s (slowest turn {}, fastest {}){}; {} of results "
      "compared; NCCL {}\n",
      to_text(ByteCount{all.bytes}), counted(static_cast<std::size_t>(all.gpus), "GPU"),
      counted(static_cast<std::size_t>(all.nodes), "node"),
      counted(static_cast<std::size_t>(all.turns), "turn"), rate(all.rate), rate(all.low), rate(all.high),
      all.ceiling > 0 ? fmt::format(", {:.0f} % of {} GB/s, {}", all.rate / all.ceiling * 100,
                                    rate(all.ceiling), printable(all.ceiling_name))
                      : "",
      to_text(ByteCount{all.compared}), printable(all.version));
}

std::string ports_text(const BurnReport& report, bool all) {
  const bool few = burned_ports(report) <= kMostGpusListed;
  std::string text;
  if (!report.rails) return text;
  for (const BurnPort& port : report.rails->ports) {
    const bool bad = port.wrong > 0 || port.failed > 0;
    if (port.turns == 0 || (!all && !few && !bad)) continue;
    const auto rate = [](double value) { return value > 0 ? gigabits_text(value) : "–"; };
    text += fmt::format(
        "  {:<16}{:<16}{:<16}{:>6}{:>7}{:>14}{:>14}{:>9}{:>7}{:>7}\n", printable(shortened(port.node, 15)),
        printable(shortened(port.interface, 15)), printable(shortened(port.rail, 15)), port.engine,
        port.turns, rate(port.sent), rate(port.received),
        port.ceiling > 0 && port.sent > 0 ? fmt::format("{:.0f} %", port.sent / port.ceiling * 100) : "–",
        port.failed, port.wrong);
  }
  if (text.empty()) return "";
  return fmt::format("\n  {:<16}{:<16}{:<16}{:>6}{:>7}{:>14}{:>14}{:>9}{:>7}{:>7}\n", "node", "port", "rail",
                     "by", "turns", "sent", "received", "ceiling", "failed", "wrong") +
         text;
}

std::string compared_text(const BurnReport& report) {
  std::uint64_t compared = 0;
  std::uint64_t memory = 0;
  std::uint64_t host_memory = 0;
  std::uint64_t files = 0;
  for (const BurnNode& node : report.nodes) {
    for (const BurnDrive& drive : node.drives) {
      compared += drive.compared;
      files += drive.held;
    }
    if (node.host) {
      compared += node.host->compared;
      host_memory += node.host->memory;
    }
    for (const BurnGpu& gpu : node.gpus) {
      memory += gpu.memory;
      for (const BurnTally& tally : gpu.tallies) compared += tally.compared;
    }
  }
  std::string rails;
  if (report.rails && report.rails->bytes > 0)
    rails =
        fmt::format("{} sent over rails in {}, {} of them compared", to_text(ByteCount{report.rails->bytes}),
                    counted(report.rails->turns, "turn"), to_text(ByteCount{report.rails->checked}));
  if (compared == 0) return rails.empty() ? "" : "  " + rails + '\n';
  std::string text = fmt::format("  {:.3g} results compared bit for bit", static_cast<double>(compared));
  if (!rails.empty()) text += "; " + rails;
  if (memory > 0) text += fmt::format("; {} of GPU memory tested", to_text(ByteCount{memory}));
  if (host_memory > 0) text += fmt::format("; {} of host memory tested", to_text(ByteCount{host_memory}));
  if (files > 0) text += fmt::format("; {} of drives tested", to_text(ByteCount{files}));
  return text + '\n';
}

}  // namespace

std::string watts_text(double watts) {
  return watts < 10'000 ? fmt::format("{:.0f} W", watts) : fmt::format("{:.1f} kW", watts / 1000);
}

std::string burn_text(const BurnReport& report, bool all, std::string_view what) {
  return head_text(report, what) + compared_text(report) + families_text(report) +
         host_families_text(report) + drive_families_text(report) + rail_families_text(report) +
         collectives_text(report) + too_few_text(report) + findings_text(report, all) +
         gpus_text(report, all) + drives_text(report, all) + ports_text(report, all);
}

std::string burn_line(const BurnReport& report, double left) {
  std::size_t gpus = 0;
  std::size_t nodes = 0;
  std::size_t wrong = 0;
  std::size_t ended = 0;
  double watts = 0;
  std::map<std::string, int> phases;
  std::vector<std::string> lost;
  std::vector<std::string> away;
  std::size_t hosts = 0;
  std::size_t wrong_hosts = 0;
  std::size_t drives = 0;
  std::size_t wrong_drives = 0;
  for (const BurnNode& node : report.nodes) {
    if (node.lost) lost.push_back(node.node);
    if (node.lost || (node.gpus.empty() && !node.host && node.drives.empty())) continue;
    ++nodes;
    if (!node.trouble.empty()) away.push_back(node.node);
    for (const BurnDrive& drive : node.drives) {
      drives += drive.began && drive.trouble.empty() ? 1 : 0;
      wrong_drives += drive.fault_count > 0 || drive.failed_reads > 0 ? 1 : 0;
    }
    hosts += node.host && node.host->began ? 1 : 0;
    wrong_hosts += node.host && node.host->fault_count > 0 ? 1 : 0;
    for (const BurnGpu& gpu : node.gpus) {
      wrong += gpu.fault_count > 0 ? 1 : 0;
      ended += gpu.trouble.empty() ? 0 : 1;
      if (!gpu.trouble.empty()) continue;
      ++gpus;
      watts += gpu.course.watts.empty() ? gpu.watts : gpu.course.watts.back();
      ++phases[gpu.phase];
    }
  }
  const auto most = std::ranges::max_element(phases, {}, [](const auto& one) { return one.second; });
  std::string text = fmt::format("{} left: {} on {}", short_time_text(left),
                                 loads_text(gpus, hosts > 0, drives, burned_ports(report)),
                                 counted(nodes > 0 ? nodes : report.nodes.size(), "node"));
  if (watts > 0) text += ", " + watts_text(watts);
  if (most != phases.end() && !most->first.empty()) text += ", " + shortened(most->first, 20);
  if (wrong_hosts > 0) text += fmt::format("; {} computed wrong", counted(wrong_hosts, "host"));
  if (report.rails && report.rails->fault_count > 0)
    text += fmt::format("; rails failed {}", counted(report.rails->fault_count, "time"));
  if (report.collectives && report.collectives->fault_count > 0)
    text += fmt::format("; collectives failed {}", counted(report.collectives->fault_count, "time"));
  if (wrong_drives > 0) text += fmt::format("; {} read wrong", counted(wrong_drives, "drive"));
  if (wrong > 0) text += fmt::format("; {} gave wrong results", counted(wrong, "GPU"));
  if (ended > 0) text += fmt::format("; {} ended early", counted(ended, "GPU"));
  if (!away.empty()) text += fmt::format("; not reached: {}", shortened(fold_hosts(away), kMostNamed));
  if (!lost.empty()) text += fmt::format("; lost: {}", shortened(fold_hosts(lost), kMostNamed));
  return printable(text);
}

}  // namespace railbed
