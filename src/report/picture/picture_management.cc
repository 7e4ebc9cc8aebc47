// The management network and the BMCs, below the rails; drawn quietly unless something is wrong.
#include <algorithm>
#include <cmath>

#include "report/picture/picture.h"
#include "report/picture/svg.h"

namespace railbed {
namespace {

using svg::Anchor;
using svg::Box;

constexpr double kBand = 34;  // the network's name above its line
constexpr std::size_t kNodesNamed = 8;
constexpr std::size_t kNodesDrawn = 32;

std::string network_text(const Scene& scene) {
  std::string text = "management network";
  for (const std::string& part : {scene.management, scene.bmcs})
    if (!part.empty()) text += " · " + part;
  return text;
}

std::string tooltip(const SceneNode& node) {
  const SceneManagement& management = node.management;
  std::string text = node.name;
  if (!management.address.empty()) text += " " + management.address;
  if (management.bmc.empty()) return text;
  text += "; BMC " + management.bmc;
  for (const std::string& part : {management.state, management.trouble.text})
    if (!part.empty()) text += ": " + part;
  return text;
}

// Layout of cards in rows, each row connected to a line of the network.
struct Rows {
  double page = 1000;
  std::size_t columns = 4;
  double card = 62;
  double gap = 20;
  double left = 14;  // room for the line that joins the rows

  double pitch() const { return card + 34; }
  double width() const {
    return (page - 1 - left - gap * (static_cast<double>(columns) - 1)) / static_cast<double>(columns);
  }
  double line_y(std::size_t node) const { return kBand + static_cast<double>(node / columns) * pitch(); }
  Box box(std::size_t node) const {
    return {left + static_cast<double>(node % columns) * (width() + gap), line_y(node) + 14, width(), card};
  }
  double height(std::size_t count) const { return line_y(count - 1) + 14 + card + 2; }
};

Html network_lines(const Scene& scene, const Rows& rows) {
  const std::size_t count = scene.nodes.size();
  const bool is_one = count <= rows.columns;
  const double start = is_one ? rows.box(0).centre() : 4;
  Html all;
  if (!is_one) all += svg::line(start, rows.line_y(0), start, rows.line_y(count - 1), "manage");
  for (std::size_t first = 0; first < count; first += rows.columns) {
    const std::size_t last = std::min(first + rows.columns, count) - 1;
    all += svg::line(start, rows.line_y(first), rows.box(last).centre(), rows.line_y(first), "manage");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Box box = rows.box(i);
    if (!scene.nodes[i].management.empty())
      all += svg::line(box.centre(), rows.line_y(i), box.centre(), box.y, "manage");
  }
  return all;
}

// Draws name and address of the node, then its BMC with address and state.
Html named_card(const SceneNode& node, const Box& box) {
  const SceneManagement& management = node.management;
  const double inner = box.width - 20;
  Html inside = svg::rect(box, 7, "body");
  inside += svg::text(box.x + 10, box.y + 19, inner * 0.5, svg::kLabel, node.name);
  inside += svg::text(box.right() - 10, box.y + 19, inner * 0.48, svg::kNote, management.address,
                      Anchor::kEnd, "quiet");
  const Box chip{box.x + 6, box.bottom() - 34, box.width - 12, 28};
  if (management.bmc.empty())
    return svg::group("node", "",
                      inside + svg::text(chip.x + 4, chip.middle() + 4, chip.width, svg::kNote,
                                         "no BMC is named", Anchor::kStart, "quiet"));
  const Health health = management.trouble.health;
  const bool asked = !management.state.empty();
  Html drawn = svg::rect(chip, 5, "chip");
  drawn +=
      svg::text(chip.x + 8, chip.middle() + 4, chip.width * 0.5 - 8, svg::kNote, "BMC " + management.bmc);
  drawn += svg::text(chip.right() - (asked ? 24 : 8), chip.middle() + 4, chip.width * 0.5 - 28, svg::kTiny,
                     asked ? management.state : "not asked", Anchor::kEnd,
                     health == Health::kGood ? "quiet" : css_class(health));
  if (asked) drawn += svg::mark(chip.right() - 12, chip.middle(), 6, health);
  inside += svg::group(fmt::format("port {}", css_class(health)), tooltip(node), drawn);
  return svg::group("node", "", inside);
}

// Draws the same in two short lines; the rest is a tooltip.
Html small_card(const SceneNode& node, const Box& box) {
  const SceneManagement& management = node.management;
  const Health health = management.trouble.health;
  const bool asked = !management.state.empty();
  Html inside = svg::rect(box, 5, "chip");
  inside += svg::text(box.x + 7, box.y + 14, box.width - 28, svg::kTiny, node.name);
  inside += svg::text(box.x + 7, box.y + 28, box.width - 12, svg::kTiny,
                      management.bmc.empty() ? "no BMC" : management.bmc, Anchor::kStart, "quiet");
  if (asked) inside += svg::mark(box.right() - 11, box.y + 11, 5, health);
  return svg::group(fmt::format("port {}", css_class(health)), tooltip(node), inside);
}

Html draw_rows(const Scene& scene, const Rows& rows, const auto& card) {
  Html all = svg::text(1, 18, rows.page - 2, svg::kNote, network_text(scene));
  all += network_lines(scene, rows);
  for (std::size_t i = 0; i < scene.nodes.size(); ++i)
    if (!scene.nodes[i].management.empty()) all += card(scene.nodes[i], rows.box(i));
  return all;
}

// Draws one cell for each node. Neighbors in the same state are one shape, so that a thousand healthy BMCs
// take a few lines.
class BmcCells {
 public:
  BmcCells(const Scene& scene, double page, std::size_t columns)
      : scene_(scene),
        page_(page),
        columns_(columns),
        cell_((page - kLabel) / static_cast<double>(columns)) {}
  double height() const { return row_y(scene_.nodes.size() - 1) + cell_ + 4; }

  Html draw() const {
    Html all = svg::text(1, 18, page_ - 2, svg::kNote, network_text(scene_));
    for (std::size_t first = 0; first < scene_.nodes.size(); first += columns_) {
      all += svg::text(kLabel - 8, row_y(first) + cell_ * 0.7, kLabel - 10, svg::kTiny,
                       scene_.nodes[first].name, Anchor::kEnd, "quiet");
      all += row(first, std::min(first + columns_, scene_.nodes.size()));
    }
    return all;
  }

 private:
  static constexpr double kLabel = 74;
  double row_y(std::size_t node) const {
    return kBand - 6 + static_cast<double>(node / columns_) * (cell_ + 6);
  }
  Box run_box(std::size_t first, std::size_t end) const {
    return {kLabel + static_cast<double>(first % columns_) * cell_, row_y(first),
            static_cast<double>(end - first) * cell_ - cell_ * 0.14, cell_ * 0.86};
  }
  // Returns the CSS class; empty if no BMC is known.
  static std::string_view css_of(const SceneNode& node) {
    if (node.management.bmc.empty()) return "";
    return node.management.state.empty() ? "chip" : css_class(node.management.trouble.health);
  }

  Html row(std::size_t first, std::size_t end) const {
    Html all;
    while (first < end) {
      const std::string_view css = css_of(scene_.nodes[first]);
      const bool calm = css == "good" || css == "chip";
      std::size_t last = first + 1;
      while (calm && last < end && css_of(scene_.nodes[last]) == css) ++last;
      if (!css.empty()) all += run(first, last, css);
      first = last;
    }
    return all;
  }

  Html run(std::size_t first, std::size_t end, std::string_view css) const {
    const Box box = run_box(first, end);
    if (css == "chip") return svg::rect(box, 1.5, "chip");
    Html shape = svg::rect(box, 1.5, fmt::format("cell {}", css));
    if (css == "good") return shape;
    shape += svg::mark(box.centre(), box.middle(), box.height * 0.45,
                       scene_.nodes[first].management.trouble.health);
    return svg::group("", tooltip(scene_.nodes[first]), shape);
  }

  const Scene& scene_;
  double page_;
  std::size_t columns_;
  double cell_;
};

}  // namespace

Html draw_management(const Scene& scene, Width width) {
  const bool is_known =
      std::ranges::any_of(scene.nodes, [](const SceneNode& node) { return !node.management.empty(); });
  if (!is_known) return {};
  const bool is_wide = width == Width::kWide;
  const double page = is_wide ? 1000 : 390;
  const std::string css = is_wide ? "wide management" : "narrow management";
  const std::size_t count = scene.nodes.size();
  if (count > kNodesDrawn) {
    const BmcCells cells(scene, page, is_wide ? 50 : 20);
    return svg::picture(page, cells.height(), css, network_text(scene), "", cells.draw());
  }
  if (count > kNodesNamed) {
    const Rows rows{.page = page, .columns = is_wide ? std::size_t{8} : 3, .card = 36, .gap = 8};
    return svg::picture(page, rows.height(count), css, network_text(scene), "",
                        draw_rows(scene, rows, small_card));
  }
  const std::size_t most = is_wide ? 3 : 1;
  const std::size_t columns = std::max<std::size_t>(std::min(count, most), is_wide ? 2 : 1);
  const Rows rows{.page = page, .columns = columns, .left = count <= columns ? 1.0 : 14.0};
  return svg::picture(page, rows.height(count), css, network_text(scene), "",
                      draw_rows(scene, rows, named_card));
}

}  // namespace railbed
