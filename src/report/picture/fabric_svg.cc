#include "report/picture/fabric_svg.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/wording.h"
#include "fabric/layout.h"
#include "report/picture/svg.h"

namespace railbed {
namespace {

using svg::Anchor;
using svg::Box;

constexpr double kColumn = 156;  // width of a leaf and its HCAs
constexpr double kSwitchHeight = 38;
constexpr double kGap = 16;
constexpr double kRise = 110;  // between two levels of switches
constexpr double kHcaHeight = 19;
constexpr double kEdge = 20;
constexpr std::size_t kHcasShown = 48;

constexpr std::string_view kStyle =
#include "report/picture/fabric.css.text"
    ;

// The cables between two boxes, drawn as one line.
struct Bundle {
  int cables = 0;
  IbLink slowest;
};

// The layout. Each level of switches is a row, the highest at the top, in the order of their names at equal
// distances. Below a leaf are its HCAs, up to kHcasShown. All cables between two boxes are one line, which is
// wider for more cables, and marked if its slowest link is slower than the fastest link drawn.
class Drawing {
 public:
  explicit Drawing(const IbFabric& fabric) : fabric_(fabric), layout_(layout_of(fabric)) {
    rows_.resize(static_cast<std::size_t>(std::max(layout_.top, 1)) + 1);
    for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
      if (fabric.nodes[n].is_switch()) {
        const int level = layout_.level[n] < 0 ? layout_.top : layout_.level[n];
        rows_[static_cast<std::size_t>(std::max(level, 1))].push_back(static_cast<int>(n));
      }
    if (rows_[1].empty()) lone_hcas();
    for (auto& row : rows_) std::ranges::sort(row, {}, [&](int n) { return name_of(node(n)); });
    for (const auto& row : rows_)
      width_ = std::max(width_, static_cast<double>(row.size()) * (kColumn + kGap));
    place();
    find_bundles();
  }

  Html draw() {
    Html wires, boxes;
    for (const auto& [pair, bundle] : bundles_) wires += wire(pair.first, pair.second, bundle);
    for (const auto& row : rows_)
      for (const int n : row) boxes += column(n);
    const std::string title = describe(fabric_, layout_);
    return html(
               R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}" role="img"><title>{}</title>)",
               width_ + 2 * kEdge, height_ + kEdge, title) +
           Html{"<style>" + std::string(kStyle) + "</style>\n"} + wires + boxes + Html{"</svg>\n"};
  }

 private:
  const IbNode& node(int n) const { return fabric_.nodes[static_cast<std::size_t>(n)]; }

  // A subnet without leaves: each node is a box of its own.
  void lone_hcas() {
    for (std::size_t n = 0; n < fabric_.nodes.size(); ++n) rows_[1].push_back(static_cast<int>(n));
  }

  void place() {
    double y = kEdge;
    for (std::size_t level = rows_.size(); level-- > 1;) {
      const auto& row = rows_[level];
      const double step = width_ / static_cast<double>(std::max<std::size_t>(row.size(), 1));
      for (std::size_t i = 0; i < row.size(); ++i)
        boxes_[row[i]] = {kEdge + step * (static_cast<double>(i) + 0.5) - kColumn / 2, y, kColumn,
                          kSwitchHeight};
      if (level > 1) y += kSwitchHeight + kRise;
    }
    height_ = y + kSwitchHeight;
  }

  void find_bundles() {
    each_cable(fabric_, [&](const IbEnd& end, const IbEnd& other) {
      if (!boxes_.contains(end.node) || !boxes_.contains(other.node)) return;
      Bundle& bundle = bundles_[{std::min(end.node, other.node), std::max(end.node, other.node)}];
      const IbLink& link = fabric_.port(end).active;
      if (bundle.cables++ == 0 || link.gigabits() < bundle.slowest.gigabits()) bundle.slowest = link;
      fastest_ = std::max(fastest_, link.gigabits());
    });
  }

  Html wire(int a, int b, const Bundle& bundle) {
    const Box& box = boxes_.at(a).y < boxes_.at(b).y ? boxes_.at(a) : boxes_.at(b);
    const Box& other = &box == &boxes_.at(a) ? boxes_.at(b) : boxes_.at(a);
    const bool slow = bundle.slowest.gigabits() < fastest_;
    const bool same_row = box.y == other.y;
    const Html path = html(R"(<path d="M{:.1f} {:.1f}L{:.1f} {:.1f}" stroke-width="{:.1f}" class="{}"/>)",
                           same_row ? box.right() : box.centre(), same_row ? box.middle() : box.bottom(),
                           same_row ? other.x : other.centre(), same_row ? other.middle() : other.y,
                           std::min(1.0 + 0.5 * (bundle.cables - 1), 5.0), slow ? "slow" : "wire");
    return svg::group("",
                      fmt::format("{} to {}: {} × {}", name_of(node(a)), name_of(node(b)), bundle.cables,
                                  bundle.slowest.to_text()),
                      path);
  }

  Html column(int n) {
    const Box& box = boxes_.at(n);
    const IbNode& here = node(n);
    Html inside = svg::rect(box, 6, "switch");
    inside += svg::text(box.centre(), box.y + 17, box.width - 8, svg::kLabel, name_of(here), Anchor::kMiddle);
    const std::string rail =
        fmt::format("{}", fmt::join(layout_.leaf_devices[static_cast<std::size_t>(n)], ", "));
    std::string note = counted(here.last_port(), "port");
    if (layout_.rails && !rail.empty()) note += " · " + rail;
    inside += svg::text(box.centre(), box.y + 31, box.width - 8, svg::kTiny, note, Anchor::kMiddle, "quiet");
    Html out = svg::group("", guid_text(here.guid), inside);
    if (layout_.level[static_cast<std::size_t>(n)] == 1) out += hcas_of(here, box);
    return out;
  }

  Html hcas_of(const IbNode& leaf, const Box& box) {
    Html out;
    double y = box.bottom() + 6;
    std::size_t shown = 0, all = 0;
    for (const IbPort& port : leaf.ports) {
      if (!port.peer || !fabric_.at(port.peer).is_hca()) continue;
      if (++all > kHcasShown) continue;
      ++shown;
      const Box cell{box.x + 6, y, box.width - 12, kHcaHeight - 3};
      Html inside = svg::rect(cell, 3, "hca");
      inside += svg::text(cell.x + 5, cell.y + 11.5, cell.width - 8, svg::kTiny,
                          fmt::format("{} · {}", port.number, name_of(fabric_.at(port.peer))));
      out += svg::group(
          "",
          fmt::format("port {}: {}, {}", port.number, name_of(fabric_.at(port.peer)), port.active.to_text()),
          inside);
      y += kHcaHeight;
    }
    if (all > shown) {
      out += svg::text(box.x + 11, y + 10, box.width - 12, svg::kTiny,
                       fmt::format("and {} more", all - shown), Anchor::kStart, "quiet");
      y += kHcaHeight;
    }
    height_ = std::max(height_, y);
    return out;
  }

  const IbFabric& fabric_;
  IbLayout layout_;
  std::vector<std::vector<int>> rows_;  // switches by level; 0 is empty
  std::map<int, Box> boxes_;
  std::map<std::pair<int, int>, Bundle> bundles_;
  double fastest_ = 0;
  double width_ = kColumn;
  double height_ = 0;
};

}  // namespace

std::string fabric_svg(const IbFabric& fabric) {
  Drawing drawing(fabric);
  // The first pass computes the height, which depends on the columns; the second has it.
  static_cast<void>(drawing.draw());
  return drawing.draw().markup;
}

}  // namespace railbed
