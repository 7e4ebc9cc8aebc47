#include <algorithm>

#include "base/wording.h"
#include "report/picture/picture.h"
#include "report/picture/svg.h"

namespace railbed {
namespace {

using svg::Anchor;
using svg::Box;

constexpr double kPage = 1000;
constexpr double kBarPitch = 46;
constexpr double kBarHeight = 32;
constexpr double kCardHeight = 132;
constexpr double kChipHeight = 40;
constexpr double kDrop = 34;  // between the bars and the cards
constexpr std::size_t kInOneRow = 4;

std::string rail_text(const SceneRail& rail) {
  std::string text = rail.name;
  for (const std::string& part : {rail.speed, rail.mtu, rail.kind})
    if (!part.empty()) text += " · " + part;
  return text;
}

std::string second_text(const SceneRail& rail) {
  return rail.trouble.health > Health::kWarn ? rail.trouble.text : rail.measured;
}

std::string health_css(std::string_view what, Health health) {
  return fmt::format("{} {}", what, css_class(health));
}

Html card_text(const SceneNode& node, const Box& box, double y) {
  const double room = box.width - 24;
  Html text = svg::text(box.x + 12, y, room - 20, svg::kName, node.name);
  text += svg::mark(box.right() - 19, y - 5.5, 7.5, node.trouble.health);
  if (node.trouble.health == Health::kUnreachable) {
    text += svg::text(box.x + 12, y + 20, room, svg::kNote, "no answer", Anchor::kStart, "quiet");
    text += svg::text(box.x + 12, y + 37, room, svg::kTiny, node.trouble.text, Anchor::kStart, "quiet");
  } else {
    text += svg::text(box.x + 12, y + 20, room, svg::kNote, summarise(node.gpus));
    text += svg::text(box.x + 12, y + 37, room, svg::kNote, node.machine, Anchor::kStart, "quiet");
  }
  return text;
}

Html chip(const ScenePort& port, const Box& box) {
  Html inside = svg::rect(box, 5, "chip");
  const bool is_red = port.trouble.health != Health::kGood;
  const double room = box.width - 12 - (is_red ? 16 : 0);
  if (room >= 34) {
    inside += svg::text(box.x + 7, box.y + 17, room, svg::kNote, port.interface);
    inside +=
        svg::text(box.x + 7, box.y + 31, box.width - 12, svg::kTiny, port.device, Anchor::kStart, "quiet");
  }
  if (is_red)
    inside += svg::mark(box.right() - 10, box.y + 11, std::min(6.0, box.width / 3), port.trouble.health);
  const std::string& said = port.trouble.text.empty() ? port.device : port.trouble.text;
  return svg::group(health_css("port", port.trouble.health), port.interface + ": " + said, inside);
}

// Rails as bars across the page. Nodes hang from them; if there are more than four, half are above the bars.
class Spine {
 public:
  explicit Spine(const Scene& scene) : scene_(scene) {
    const std::size_t count = scene.nodes.size();
    above_ = count > kInOneRow ? count / 2 : 0;
    bars_y_ = above_ > 0 ? kCardHeight + kDrop + 2 : 8;
    below_y_ =
        bars_y_ + static_cast<double>(scene.rails.size()) * kBarPitch - (kBarPitch - kBarHeight) + kDrop;
  }
  double height() const { return below_y_ + kCardHeight + 2; }

  Html draw() const {
    Html wires;
    Html cards;
    for (std::size_t i = 0; i < scene_.nodes.size(); ++i) {
      const Box box = card_box(i);
      Html inside = svg::rect(box, 10, "body");
      inside += card_text(scene_.nodes[i], box, box.y + (is_above(i) ? 30 : 78));
      for (std::size_t r = 0; r < scene_.nodes[i].ports.size(); ++r) {
        if (!scene_.nodes[i].ports[r].present) continue;
        const Box port = chip_box(i, r);
        const double port_y = is_above(i) ? port.bottom() : port.y;
        const std::string css = health_css("rail", scene_.nodes[i].ports[r].trouble.health);
        wires += svg::group(
            css, "", svg::line(port.centre(), port_y, port.centre(), bar_y(r) + kBarHeight / 2, "wire"));
        inside += chip(scene_.nodes[i].ports[r], port);
      }
      cards += svg::group(health_css("node", scene_.nodes[i].trouble.health), scene_.nodes[i].trouble.text,
                          inside);
    }
    for (std::size_t r = 0; r < scene_.rails.size(); ++r) wires += bar(r);
    wires += cards;
    return wires;
  }

 private:
  bool is_above(std::size_t node) const { return node < above_; }
  double bar_y(std::size_t rail) const { return bars_y_ + static_cast<double>(rail) * kBarPitch; }

  Box card_box(std::size_t i) const {
    const std::size_t in_row = is_above(i) ? above_ : scene_.nodes.size() - above_;
    const double place = static_cast<double>(is_above(i) ? i : i - above_);
    const double gap = 20;
    const double columns = std::max(static_cast<double>(in_row), 3.0);
    const double width = (kPage - 2 - gap * (columns - 1)) / columns;
    const double used = static_cast<double>(in_row) * (width + gap) - gap;
    return {(kPage - used) / 2 + place * (width + gap), is_above(i) ? 1 : below_y_, width, kCardHeight};
  }

  Box chip_box(std::size_t node, std::size_t rail) const {
    const Box card = card_box(node);
    const double count = static_cast<double>(scene_.nodes[node].ports.size());
    const double width = std::min(130.0, (card.width - 24 - 6 * (count - 1)) / count);
    const double used = count * (width + 6) - 6;
    const double x = card.centre() - used / 2 + static_cast<double>(rail) * (width + 6);
    return {x, is_above(node) ? card.bottom() - kChipHeight - 10 : card.y + 10, width, kChipHeight};
  }

  Html bar(std::size_t r) const {
    const SceneRail& rail = scene_.rails[r];
    const Box box{60, bar_y(r), kPage - 120, kBarHeight};
    const bool is_red = rail.trouble.health != Health::kGood;
    Html inside = svg::rect(box, 6, "switch");
    const std::string what = rail.has_switch ? "switch" : "cable";
    inside += svg::text(box.x + 14, box.middle() + 4.5, 52, svg::kNote, what, Anchor::kStart, "quiet");
    inside += svg::text(box.x + 72, box.middle() + 4.5, 370, svg::kLabel, rail_text(rail));
    if (is_red) inside += svg::mark(box.right() - 18, box.middle(), 8, rail.trouble.health);
    inside += svg::text(box.right() - (is_red ? 34 : 14), box.middle() + 4.5, 390, svg::kNote,
                        second_text(rail), Anchor::kEnd, rail.trouble.health > Health::kWarn ? "bad" : "");
    return svg::group(health_css("rail", rail.trouble.health), rail.trouble.text, inside);
  }

  const Scene& scene_;
  std::size_t above_ = 0;
  double bars_y_ = 0;
  double below_y_ = 0;
};

// The rails, named on top, run down the left; the nodes are one under another.
class SpineLadder {
 public:
  explicit SpineLadder(const Scene& scene) : scene_(scene) {
    step_ = std::min(16.0, 56 / std::max(1.0, static_cast<double>(scene.rails.size())));
    nodes_y_ = static_cast<double>(scene.rails.size()) * 40 + 14;
    for (std::size_t i = 0; i < scene.nodes.size(); ++i)
      y_.push_back(i == 0 ? nodes_y_ : y_.back() + card_height(i - 1) + 12);
  }
  double height() const { return y_.back() + card_height(y_.size() - 1) + 2; }

  Html draw() const {
    Html all;
    for (std::size_t r = 0; r < scene_.rails.size(); ++r) all += rail(r);
    for (std::size_t i = 0; i < scene_.nodes.size(); ++i) all += node(i);
    return all;
  }

 private:
  static constexpr double kRow = 26;
  double card_height(std::size_t i) const {
    return 78 + kRow * static_cast<double>(scene_.nodes[i].ports.size());
  }
  double rail_x(std::size_t r) const { return 12 + static_cast<double>(r) * step_; }
  double card_x() const { return 30 + static_cast<double>(scene_.rails.size()) * step_; }
  double port_y(std::size_t node, std::size_t r) const {
    return y_[node] + 80 + kRow * static_cast<double>(r);
  }

  Html rail(std::size_t r) const {
    const SceneRail& rail = scene_.rails[r];
    const double top = 20 + static_cast<double>(r) * 40;
    Html inside = svg::line(rail_x(r), top, rail_x(r), port_y(scene_.nodes.size() - 1, r), "wire");
    inside += svg::line(rail_x(r), top, card_x() - 6, top, "wire");
    const bool is_red = rail.trouble.health != Health::kGood;
    if (is_red) inside += svg::mark(card_x() + 4, top, 7, rail.trouble.health);
    const double x = card_x() + (is_red ? 18 : 0);
    inside += svg::text(x, top + 4, 386 - x, svg::kLabel, rail_text(rail));
    inside += svg::text(x, top + 20, 386 - x, svg::kNote, second_text(rail), Anchor::kStart,
                        rail.trouble.health > Health::kWarn ? "bad" : "quiet");
    return svg::group(health_css("rail", rail.trouble.health), rail.trouble.text, inside);
  }

  Html node(std::size_t i) const {
    const SceneNode& node = scene_.nodes[i];
    const Box box{card_x(), y_[i], 389 - card_x(), card_height(i)};
    Html wires;
    Html inside = svg::rect(box, 10, "body");
    inside += card_text(node, box, box.y + 26);
    for (std::size_t r = 0; r < node.ports.size(); ++r) {
      const ScenePort& port = node.ports[r];
      if (!port.present) continue;
      const double y = port_y(i, r);
      if (r < scene_.rails.size())
        wires += svg::group(health_css("rail", port.trouble.health), "",
                            svg::line(rail_x(r), y, box.x + 14, y, "wire"));
      const bool is_red = port.trouble.health != Health::kGood;
      Html row = svg::mark(box.x + 20, y, is_red ? 6.5 : 4, port.trouble.health);
      row += svg::text(box.x + 34, y + 4, 100, svg::kNote, port.interface);
      row += svg::text(box.x + 140, y + 4, box.width - 150, svg::kNote,
                       is_red && !port.trouble.text.empty() ? port.trouble.text : port.device, Anchor::kStart,
                       "quiet");
      inside += svg::group(health_css("port", port.trouble.health), port.trouble.text, row);
    }
    wires += svg::group(health_css("node", node.trouble.health), node.trouble.text, inside);
    return wires;
  }

  const Scene& scene_;
  double step_ = 0;
  double nodes_y_ = 0;
  std::vector<double> y_;
};

}  // namespace

Html draw_spine(const Scene& scene, Width width) {
  std::string description;
  for (const SceneRail& rail : scene.rails) description += rail_text(rail) + " " + second_text(rail) + ". ";
  const std::string title =
      fmt::format("{} on {}", counted(scene.nodes.size(), "node"), counted(scene.rails.size(), "rail"));
  if (width == Width::kWide) {
    const Spine spine(scene);
    return svg::picture(kPage, spine.height(), "wide", title, description, spine.draw());
  }
  const SpineLadder ladder(scene);
  return svg::picture(390, ladder.height(), "narrow", title, description, ladder.draw());
}

}  // namespace railbed
