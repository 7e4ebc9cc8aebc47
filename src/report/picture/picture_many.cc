#include <algorithm>
#include <cmath>

#include "base/wording.h"
#include "report/picture/picture.h"
#include "report/picture/svg.h"

namespace railbed {
namespace {

using svg::Anchor;
using svg::Box;

std::string describe(const Scene& scene) {
  std::size_t counts[5] = {};
  for (const SceneNode& node : scene.nodes) ++counts[static_cast<std::size_t>(node.trouble.health)];
  std::string text;
  for (const Health health :
       {Health::kBad, Health::kUnreachable, Health::kWarn, Health::kUnknown, Health::kGood})
    if (const std::size_t count = counts[static_cast<std::size_t>(health)]; count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word(health));
  return text;
}

std::string headline(const Scene& scene) {
  return fmt::format("{} on {}: {}", counted(scene.nodes.size(), "node"), counted(scene.rails.size(), "rail"),
                     describe(scene));
}

std::string rail_line(const SceneRail& rail) {
  std::string text = rail.name;
  for (const std::string& part : {rail.speed, rail.mtu, rail.kind, rail.measured})
    if (!part.empty()) text += " · " + part;
  return text;
}

// Draws the rails, one on each line, numbered from the top like their lines and cells.
Html legend(const Scene& scene, double page, double pitch) {
  Html all;
  for (std::size_t r = 0; r < scene.rails.size(); ++r) {
    const SceneRail& rail = scene.rails[r];
    const double y = 14 + static_cast<double>(r) * pitch;
    Html inside = svg::mark(9, y - 4, 6, rail.trouble.health);
    inside += svg::text(24, y, page - 30, svg::kNote, rail_line(rail));
    all += svg::group(fmt::format("rail {}", css_class(rail.trouble.health)), rail.trouble.text, inside);
  }
  return all;
}

// Cards in rows. The rails run as lines under each row and are joined on the left.
class Grid {
 public:
  Grid(const Scene& scene, double page, std::size_t columns)
      : scene_(scene), page_(page), columns_(columns), rails_(static_cast<double>(scene.rails.size())) {
    top_ = rails_ * 20 + 18;
    card_width_ =
        (page - 2 - kLeft - kGap * (static_cast<double>(columns) - 1)) / static_cast<double>(columns);
  }
  double height() const {
    const double rows = std::ceil(static_cast<double>(scene_.nodes.size()) / static_cast<double>(columns_));
    return top_ + rows * row_pitch();
  }

  Html draw() const {
    Html all = legend(scene_, page_, 20);
    for (std::size_t r = 0; r < scene_.rails.size(); ++r) all += lines_of(r);
    for (std::size_t i = 0; i < scene_.nodes.size(); ++i) all += card(i);
    return all;
  }

 private:
  static constexpr double kGap = 12;
  static constexpr double kLeft = 30;
  static constexpr double kCard = 66;
  double line_pitch() const { return std::min(6.0, 36 / std::max(rails_, 1.0)); }
  double row_pitch() const { return kCard + 16 + rails_ * line_pitch() + 12; }
  double row_y(std::size_t node) const { return top_ + static_cast<double>(node / columns_) * row_pitch(); }
  double line_y(std::size_t node, std::size_t rail) const {
    return row_y(node) + kCard + 14 + static_cast<double>(rail) * line_pitch();
  }
  double line_x(std::size_t rail) const { return 6 + static_cast<double>(rail) * std::min(6.0, 20 / rails_); }
  Box box(std::size_t node) const {
    return {kLeft + static_cast<double>(node % columns_) * (card_width_ + kGap), row_y(node), card_width_,
            kCard};
  }
  Box port_box(std::size_t node, std::size_t rail) const {
    const Box card = box(node);
    const double count = static_cast<double>(scene_.nodes[node].ports.size());
    const double size = std::min(14.0, (card.width - 20 - 3 * (count - 1)) / count);
    return {card.x + 10 + static_cast<double>(rail) * (size + 4), card.bottom() - 20, size, size};
  }

  Html lines_of(std::size_t r) const {
    Html inside;
    const std::size_t last = scene_.nodes.size() - 1;
    inside += svg::line(line_x(r), line_y(0, r), line_x(r), line_y(last, r), "wire");
    for (std::size_t first = 0; first <= last; first += columns_) {
      const std::size_t end = std::min(first + columns_ - 1, last);
      inside += svg::line(line_x(r), line_y(first, r), port_box(end, r).centre(), line_y(first, r), "wire");
    }
    return svg::group("rail good", "", inside);
  }

  Html card(std::size_t i) const {
    const SceneNode& node = scene_.nodes[i];
    const Box card = box(i);
    Html wires;
    Html inside = svg::rect(card, 7, "body");
    inside += svg::text(card.x + 10, card.y + 18, card.width - 34, svg::kLabel, node.name);
    inside += svg::mark(card.right() - 14, card.y + 14, 6, node.trouble.health);
    const bool is_gone = node.trouble.health == Health::kUnreachable;
    inside += svg::text(card.x + 10, card.y + 34, card.width - 16, svg::kTiny,
                        is_gone ? "no answer" : summarise(node.gpus), Anchor::kStart, "quiet");
    for (std::size_t r = 0; r < node.ports.size(); ++r) {
      const ScenePort& port = node.ports[r];
      if (!port.present) continue;
      const Box square = port_box(i, r);
      const std::string css(css_class(port.trouble.health));
      wires += svg::group("rail " + css, "",
                          svg::line(square.centre(), square.bottom(), square.centre(), line_y(i, r), "wire"));
      Html chip = svg::rect(square, 2, "chip");
      if (port.trouble.health != Health::kGood)
        chip += svg::mark(square.centre(), square.middle(), square.width / 2, port.trouble.health);
      inside += svg::group("port " + css, port.interface + " " + port.trouble.text, chip);
    }
    wires += svg::group(fmt::format("node {}", css_class(node.trouble.health)), node.trouble.text, inside);
    return wires;
  }

  const Scene& scene_;
  double page_;
  std::size_t columns_;
  double rails_;
  double top_ = 0;
  double card_width_ = 0;
};

// Nodes side by side in rows, their rails as cells below one another. Healthy cells are one pattern; only the
// others are drawn one by one, so that a thousand healthy nodes take a few lines.
class Matrix {
 public:
  Matrix(const Scene& scene, double page, std::size_t columns, std::string_view pattern)
      : scene_(scene), page_(page), columns_(columns), pattern_(pattern) {
    cells_ = static_cast<double>(std::max<std::size_t>(scene.rails.size(), 1));
    top_ = static_cast<double>(scene.rails.size()) * 20 + 40;
    cell_ = (page - kLabel) / static_cast<double>(columns);
  }
  double height() const { return row_y(scene_.nodes.size() - 1) + cells_ * cell_ + 8; }

  Html draw() const {
    Html all = html(
        R"(<defs><pattern id="{0}" width="{1:.3f}" height="{1:.3f}" patternUnits="userSpaceOnUse" x="{2:.3f}">)"
        R"(<rect width="{3:.3f}" height="{3:.3f}" rx="1.5" class="cell good"/></pattern>{4}</defs>)",
        pattern_, cell_, kLabel, cell_ * 0.86, stamps());
    all += legend(scene_, page_, 20);
    all +=
        svg::text(0, top_ - 14, page_, svg::kTiny,
                  "a column is a node, a row a rail · × broken · ! warning · ? could not look · – no answer",
                  Anchor::kStart, "quiet");
    for (std::size_t first = 0; first < scene_.nodes.size(); first += columns_) {
      const std::size_t count = std::min(columns_, scene_.nodes.size() - first);
      all += svg::text(kLabel - 8, row_y(first) + cell_ * 0.75, kLabel - 10, svg::kTiny,
                       scene_.nodes[first].name, Anchor::kEnd, "quiet");
      // The rectangle, not the pattern, is moved to align them to the row.
      all += html(
          R"svg(<g transform="translate(0 {:.3f})"><rect x="{:.3f}" width="{:.3f}" height="{:.3f}" fill="url(#{})"/></g>)svg",
          row_y(first), kLabel, cell_ * static_cast<double>(count) - 0.001, cell_ * cells_ - 0.001, pattern_);
    }
    for (std::size_t i = 0; i < scene_.nodes.size(); ++i) all += troubled(i);
    return all;
  }

 private:
  static constexpr double kLabel = 74;
  double row_y(std::size_t node) const {
    return top_ + static_cast<double>(node / columns_) * (cells_ * cell_ + 10);
  }

  Html troubled(std::size_t i) const {
    const SceneNode& node = scene_.nodes[i];
    Health worst_port = Health::kGood;
    for (const ScenePort& port : node.ports) worst_port = std::max(worst_port, port.trouble.health);
    Html cells;
    for (std::size_t r = 0; r < static_cast<std::size_t>(cells_); ++r) {
      const bool has_port = r < node.ports.size() && node.ports[r].present;
      Trouble trouble = has_port ? node.ports[r].trouble : Trouble{};
      // A trouble of the node that none of its ports has is shown on its first cell.
      if (r == 0 && worst_port < node.trouble.health) trouble = node.trouble;
      if (trouble.health != Health::kGood) cells += cell(i, r, trouble);
    }
    return cells.empty() ? cells : svg::group("", node.name + ": " + node.trouble.text, cells);
  }

  // The four kinds of cell in trouble, each drawn once.
  Html stamps() const {
    Html all;
    const double size = cell_ * 0.86;
    for (const Health health : {Health::kUnknown, Health::kWarn, Health::kBad, Health::kUnreachable}) {
      Html inside = svg::rect({0, 0, size, size}, 1.5, fmt::format("cell {}", css_class(health)));
      inside += svg::mark(size / 2, size / 2, size * 0.42, health);
      all += html(R"(<g id="{}-{}">{}</g>)", pattern_, css_class(health), inside);
    }
    return all;
  }

  Html cell(std::size_t i, std::size_t r, const Trouble& trouble) const {
    return html(R"(<use href="#{}-{}" x="{:.1f}" y="{:.1f}"/>)", pattern_, css_class(trouble.health),
                kLabel + static_cast<double>(i % columns_) * cell_,
                row_y(i) + static_cast<double>(r) * cell_);
  }

  const Scene& scene_;
  double page_;
  std::size_t columns_;
  std::string_view pattern_;
  double cells_ = 1;
  double top_ = 0;
  double cell_ = 0;
};

}  // namespace

Html draw_grid(const Scene& scene, Width width) {
  const bool is_wide = width == Width::kWide;
  const Grid grid(scene, is_wide ? 1000 : 390, is_wide ? 8 : 3);
  return svg::picture(is_wide ? 1000 : 390, grid.height(), is_wide ? "wide fine" : "narrow fine",
                      headline(scene), describe(scene), grid.draw());
}

Html draw_matrix(const Scene& scene, Width width) {
  const bool is_wide = width == Width::kWide;
  const Matrix matrix(scene, is_wide ? 1000 : 390, is_wide ? 50 : 20,
                      is_wide ? "cells-wide" : "cells-narrow");
  return svg::picture(is_wide ? 1000 : 390, matrix.height(), is_wide ? "wide" : "narrow", headline(scene),
                      describe(scene), matrix.draw());
}

Html draw_cluster(const Scene& scene) {
  constexpr std::size_t kPair = 2;
  constexpr std::size_t kSpine = 8;
  constexpr std::size_t kGrid = 32;
  const std::size_t count = scene.nodes.size();
  if (count == 0) return html("<p class=\"quiet\">No node was looked at.</p>");
  const auto draw = count <= kPair    ? draw_pair
                    : count <= kSpine ? draw_spine
                    : count <= kGrid  ? draw_grid
                                      : draw_matrix;
  Html both = draw(scene, Width::kWide);
  both += draw(scene, Width::kNarrow);
  for (const Width width : {Width::kWide, Width::kNarrow}) both += draw_management(scene, width);
  return html("<div class=\"cluster\">{}</div>", both);
}

}  // namespace railbed
