#include "report/text/pairs_text.h"

#include <fmt/format.h>

#include "base/shell.h"
#include "base/units.h"
#include "base/wording.h"
#include "report/escape.h"
#include "report/text/bench_table.h"

namespace railbed {
namespace {

constexpr std::size_t kMostLines = 8;

std::string lines_text(std::string_view head, const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < kMostLines; ++i)
    text += fmt::format("  {}: {}\n", head, printable(lines[i]));
  if (lines.size() > kMostLines)
    text += fmt::format("  … and {} more, all in --json\n", lines.size() - kMostLines);
  return text;
}

const std::string& name(const RailReport& rail, int node) {
  return rail.nodes[static_cast<std::size_t>(node)];
}

}  // namespace

std::string measured_text(const RailReport& rail) {
  if (rail.engine == Engine::kCollective) return "NCCL's broadcast";
  return engine_name(rail.engine) + (rail.gpu_memory ? " between GPUs' memories" : "");
}

std::string slow_sentence(const RailReport& rail, const Slow& slow) {
  const std::string share = fmt::format("at {:.0f} % of what the others reach", slow.share * 100);
  switch (slow.kind) {
    case SlowKind::kNode:
      return fmt::format("{} sends and receives {}", name(rail, slow.node), share);
    case SlowKind::kSending:
      return fmt::format("{} sends {}", name(rail, slow.node), share);
    case SlowKind::kReceiving:
      return fmt::format("{} receives {}", name(rail, slow.node), share);
    case SlowKind::kLink:
      return fmt::format("{} and {} reach each other {}, and everybody else well", name(rail, slow.node),
                         name(rail, slow.other), share);
    case SlowKind::kSilent:
      return fmt::format("{} could be measured with nobody", name(rail, slow.node));
  }
  return {};
}

namespace {

std::string remedy(const RailReport& rail, const Slow& slow) {
  const bool gpus = rail.engine == Engine::kCollective || rail.gpu_memory;
  switch (slow.kind) {
    case SlowKind::kNode:
    case SlowKind::kSending:
    case SlowKind::kReceiving:
      return fmt::format(
          "look at the adapter, cable, PCIe slot and switch port of {} on {}{}: "
          "`railbed verify` and its counters",
          name(rail, slow.node), rail.rail, gpus ? ", and at the way between its GPU and this adapter" : "");
    case SlowKind::kLink:
      return "look at what only these two share: the path through the switches, its hash, "
             "a trunk that lost a member";
    case SlowKind::kSilent:
      if (gpus)
        return fmt::format("`{}` measures TCP, RDMA and NCCL in turn, and names the first that fails",
                           command("railbed bench ladder {} {} --rail {}", name(rail, slow.node),
                                   name(rail, slow.node == 0 ? 1 : 0), rail.rail)
                               .text());
      return fmt::format("`railbed verify`: link, address and firewall of {} on {}", name(rail, slow.node),
                         rail.rail);
  }
  return {};
}

std::string slow_text(const RailReport& rail, const Slow& slow) {
  if (slow.confirmed)
    return fmt::format("  SLOW  {}{}\n        do: {}\n", slow_sentence(rail, slow),
                       slow.kind == SlowKind::kSilent ? "" : ", alone too", remedy(rail, slow));
  if (rail.report.too_many) return fmt::format("  slow  {}; not measured again\n", slow_sentence(rail, slow));
  if (slow.shared)
    return fmt::format(
        "  slow  {}, and not known why: other traffic crossed its links while it was alone; measure "
        "again when they are idle\n",
        slow_sentence(rail, slow));
  return fmt::format("  slow  {} while others run, and as fast as they alone: congestion, not hardware\n",
                     slow_sentence(rail, slow));
}

}  // namespace

HeatMap heat_map_of(const RailReport& rail) {
  HeatMap map;
  map.title = fmt::format("{}: {}", rail.rail, measured_text(rail));
  map.names = rail.nodes;
  map.typical = rail.report.together;
  for (const PairSpeed& pair : rail.report.pairs)
    // A pair that was only measured alone does not belong among those that ran together.
    if (pair.together || !pair.alone) map.cells.push_back({pair.from, pair.to, pair.together});
  return map;
}

std::string pairs_text(const RailReport& rail) {
  const SlowReport& report = rail.report;
  if (rail.nodes.size() < 2) return fmt::format("{}: fewer than two nodes to measure\n", rail.rail);
  std::string text = fmt::format("{}, {}: {} nodes, {}, all pairs of a round at once: median {}\n", rail.rail,
                                 measured_text(rail), report.nodes,
                                 counted(static_cast<std::size_t>(report.rounds), "round"),
                                 to_text(BitRate{report.together}));
  if (report.alone > 0)
    text += fmt::format("  {} measured again alone; those without a suspect reach {}\n",
                        counted(static_cast<std::size_t>(report.retests), "pair was", "pairs were"),
                        to_text(BitRate{report.alone}));
  if (report.too_many)
    text += fmt::format("  {} of {} differ: too many to be the exception, so none was measured again\n",
                        report.slow.size(), report.nodes);
  for (const Slow& slow : report.slow) text += slow_text(rail, slow);
  if (report.slow.empty() && rail.nodes.size() == 2)
    text += fmt::format(
        "  two nodes cannot be ranked, for there is no other to compare with: `{}` "
        "holds them against their ceilings\n",
        command("railbed bench ladder {} {}", rail.nodes[0], rail.nodes[1]).text());
  else if (report.slow.empty())
    text += "  no node is slower than the others\n";
  text += lines_text("no number", rail.failures) + lines_text("note", rail.notes);
  return text + heat_map_text(heat_map_of(rail));
}

}  // namespace railbed
