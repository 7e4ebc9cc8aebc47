#include "report/all_rails.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/escape.h"
#include "report/page_sections.h"
#include "report/paths.h"
#include "results/all_rails.h"

namespace railbed {
namespace {

constexpr std::size_t kWaysShown = 6;
constexpr std::size_t kWaysListed = 300;

double share_of_alone(const AllRails& rails) {
  return rails.alone() > 0 ? rails.total->summary.median / rails.alone() : 2;
}

// Returns the ways, the worst first: by their share of the sum of each rail alone.
std::vector<AllRails> by_share(const std::vector<Measurement>& measurements) {
  std::vector<AllRails> all = all_rails_of(measurements);
  std::ranges::stable_sort(all, {}, share_of_alone);
  return all;
}

std::string alone_text(const AllRails& rails) {
  return rails.alone() > 0
             ? fmt::format("{:.0f} % of {}", 100 * share_of_alone(rails), to_text(BitRate{rails.alone()}))
             : "not known";
}

std::string part_text(const RailPart& part) {
  const std::string rate = to_text(BitRate{part.at_once->summary.median});
  return part.alone == nullptr
             ? rate
             : fmt::format("{} (alone {})", rate, to_text(BitRate{part.alone->summary.median}));
}

std::string way_text(const AllRails& rails) {
  const Measurement& total = *rails.total;
  std::string text =
      printable(fmt::format("all rails at once  {} → {}", total.from.node, total.to.node)) + '\n';
  text += fmt::format("  {:<6}{}: {} that they carry alone\n", title(total.engine),
                      to_text(BitRate{total.summary.median}), alone_text(rails));
  text += fmt::format("  {:<6}{}\n", "", printable(describe_ceiling(total)));
  for (const RailPart& part : rails.rails)
    text += printable(fmt::format("  {:<6}{}: {}", "", part.at_once->rail, part_text(part))) + '\n';
  return text;
}

Html way_row(const AllRails& rails) {
  const Measurement& total = *rails.total;
  std::vector<std::string> parts;
  for (const RailPart& part : rails.rails)
    parts.push_back(fmt::format("{} {}", part.at_once->rail, part_text(part)));
  return html(
      R"(<tr><td>{} → {}</td><td>{}</td><td class="number">{}</td><td class="number">{}</td><td>{}</td><td>{}</td></tr>)",
      total.from.node, total.to.node, title(total.engine), to_text(BitRate{total.summary.median}),
      alone_text(rails), describe_ceiling(total), fmt::format("{}", fmt::join(parts, ", ")));
}

}  // namespace

std::string all_rails_text(const std::vector<Measurement>& measurements, bool all) {
  const auto ways = by_share(measurements);
  const std::size_t shown = all ? ways.size() : std::min(ways.size(), kWaysShown);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += way_text(ways[i]);
  if (shown < ways.size())
    text +=
        fmt::format("all rails at once: {} more ways, none worse; --all shows them\n", ways.size() - shown);
  return text;
}

Html draw_all_rails(const std::vector<Measurement>& measurements) {
  const auto ways = by_share(measurements);
  if (ways.empty()) return {};
  Html rows;
  for (std::size_t i = 0; i < std::min(ways.size(), kWaysListed); ++i) rows += way_row(ways[i]);
  const Html table = html(
      R"(<table><thead><tr><th>Path</th><th>Engine</th><th class="number">All rails at once</th>)"
      R"(<th class="number">Of the sum of each alone</th><th>Of the ceiling</th><th>Each rail</th></tr></thead>)"
      R"(<tbody>{}</tbody></table>)",
      rows);
  return html(R"(<article class="path"><h3>All rails at once</h3>{}</article>)",
              scrolled_table("All rails at once", table));
}

}  // namespace railbed
