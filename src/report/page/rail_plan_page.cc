// The drawing has switches above and nodes below, with a line for every cable of a node. Of large plans only
// the first nodes are drawn, because the rest are wired alike.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/wording.h"
#include "report/picture/svg.h"
#include "report/text/rail_plan_text.h"

namespace railbed {
namespace {

using svg::Anchor;
using svg::Box;

constexpr std::size_t kPlannedNodesDrawn = 16;
constexpr double kNodeWidth = 108;
constexpr double kSwitchTall = 34;
constexpr double kPlanMargin = 16;
constexpr double kFall = 150;
constexpr std::size_t kLabelsAcross = 3;
constexpr std::size_t kLabelsDown = 8;
constexpr double kLabelWidth = 70;  // mm
constexpr double kLabelHeight = 37;

constexpr std::string_view kPlanStyle =
#include "report/page/rail_plan.css.text"
    ;

class PlanDrawing {
 public:
  explicit PlanDrawing(const RailPlan& plan) : plan_(plan) {
    drawn_ = std::min(plan.cluster.nodes.size(), kPlannedNodesDrawn);
    for (std::size_t n = 0; n < drawn_; ++n) places_[plan.cluster.nodes[n].name] = places_.size();
    for (const CableRun& cable : plan.cables) {
      if (!places_.contains(cable.from.device)) continue;
      if (!places_.contains(cable.to.device) &&
          std::ranges::find(switches_, cable.to.device) == switches_.end())
        switches_.push_back(cable.to.device);
    }
    const auto columns = static_cast<double>(std::max(drawn_, switches_.size()));
    width_ = std::max(columns * (kNodeWidth + kPlanMargin), 340.0) + kPlanMargin;
  }

  Html draw() const {
    Html wires;
    Html boxes;
    for (const CableRun& cable : plan_.cables) wires += wire(cable);
    for (std::size_t i = 0; i < switches_.size(); ++i) boxes += box(switch_box(i), switches_[i]);
    for (std::size_t n = 0; n < drawn_; ++n) boxes += box(node_box(n), plan_.cluster.nodes[n].name);
    const std::size_t more = plan_.cluster.nodes.size() - drawn_;
    if (more > 0)
      boxes += svg::text(kPlanMargin, height() - 4, width_, svg::kLabel,
                         fmt::format("and {} more, wired alike", counted(more, "node")));
    return svg::picture(
        width_, height(), "plan", "The rails as planned",
        fmt::format("{}, {}, {}", counted(plan_.cluster.nodes.size(), "node"),
                    counted(plan_.cluster.rails.size(), "rail"), counted(plan_.cables.size(), "cable")),
        wires + boxes);
  }

 private:
  double nodes_top() const { return switches_.empty() ? kFall : kPlanMargin + kSwitchTall + kFall; }
  double height() const { return nodes_top() + 44 + 2 * kPlanMargin; }
  Box place(std::size_t i, std::size_t count, double y, double tall) const {
    const double step = (width_ - kPlanMargin) / static_cast<double>(count);
    return {kPlanMargin + step * static_cast<double>(i) + (step - kPlanMargin - kNodeWidth) / 2, y,
            kNodeWidth, tall};
  }
  Box switch_box(std::size_t i) const { return place(i, switches_.size(), kPlanMargin, kSwitchTall); }
  Box node_box(std::size_t n) const { return place(n, drawn_, nodes_top(), 44); }

  static Html box(const Box& at, const std::string& name) {
    return svg::rect(at, 5, "box") +
           svg::text(at.centre(), at.middle() + 5, at.width - 8, svg::kLabel, name, Anchor::kMiddle);
  }

  // Returns where a cable leaves its node; each rail has a place.
  double port_x(const Box& node, int number) const {
    const double rail = number;
    return node.x + node.width * (rail + 1) / static_cast<double>(plan_.cluster.rails.size() + 1);
  }

  Html wire(const CableRun& cable) const {
    const auto from = places_.find(cable.from.device);
    if (from == places_.end()) return {};
    const Box node = node_box(from->second);
    const double x = port_x(node, cable.rail);
    const auto other = places_.find(cable.to.device);
    if (other != places_.end()) {
      const Box peer = node_box(other->second);
      const double y = nodes_top() - (x - node.x);
      return svg::line(x, node.y, x, y, "wire") + svg::line(x, y, port_x(peer, cable.rail), y, "wire") +
             svg::line(port_x(peer, cable.rail), y, port_x(peer, cable.rail), peer.y, "wire");
    }
    const auto it = std::ranges::find(switches_, cable.to.device);
    const Box top = switch_box(static_cast<std::size_t>(it - switches_.begin()));
    return svg::line(x, node.y, top.centre() + (x - width_ / 2) / width_ * top.width * 0.9, top.bottom(),
                     "wire");
  }

  const RailPlan& plan_;
  std::map<std::string, std::size_t> places_;  // for the nodes that are drawn
  std::vector<std::string> switches_;
  std::size_t drawn_ = 0;
  double width_ = 0;
};

Html cable_rows(const RailPlan& plan) {
  Html rows;
  for (const CableRun& cable : plan.cables)
    rows += html("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", cable.label,
                 cable.from.device, cable.from.port, cable.to.device, cable.to.port);
  return html(
      "<table><tr><th>cable</th><th>from</th><th>port</th><th>to</th><th>port</th></tr>\n{}</table>\n", rows);
}

Html label(std::size_t place, const std::string& id, const CableEnd& here, const CableEnd& there) {
  const double x = static_cast<double>(place % kLabelsAcross) * kLabelWidth;
  const double y = static_cast<double>(place / kLabelsAcross) * kLabelHeight;
  return html(R"(<rect class="cut" x="{}" y="{}" width="{}" height="{}"/>)", x, y, kLabelWidth,
              kLabelHeight) +
         html(R"(<text class="id" x="{}" y="{}">{}</text>)", x + 5, y + 12, id) +
         html(R"(<text class="end" x="{}" y="{}">here: {} port {}</text>)", x + 5, y + 20, here.device,
              here.port) +
         html(R"(<text class="end" x="{}" y="{}">to: {} port {}</text>)", x + 5, y + 27, there.device,
              there.port) +
         Html{"\n"};
}

Html label_sheets(const RailPlan& plan) {
  constexpr std::size_t kOnASheet = kLabelsAcross * kLabelsDown;
  Html sheets;
  Html labels;
  std::size_t place = 0;
  const auto end_sheet = [&] {
    if (place == 0) return;
    sheets += html(R"(<svg class="sheet" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 210 297">)") +
              labels + Html{"</svg>\n"};
    labels = {};
    place = 0;
  };
  for (const CableRun& cable : plan.cables)
    for (const bool near : {true, false}) {
      labels += label(place++, cable.label, near ? cable.from : cable.to, near ? cable.to : cable.from);
      if (place == kOnASheet) end_sheet();
    }
  end_sheet();
  return sheets;
}

}  // namespace

std::string rail_plan_page(const RailPlan& plan) {
  const std::string title = fmt::format("{} × {}", counted(plan.cluster.nodes.size(), "node"),
                                        counted(plan.cluster.rails.size(), "rail"));
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><style>" +
         std::string(kPlanStyle) + "</style>" +
         html("<title>{}</title></head><body><h1>{}</h1>\n<figure>", title, title).markup +
         PlanDrawing(plan).draw().markup + "</figure>\n<h2>Cables</h2>\n" + cable_rows(plan).markup +
         label_sheets(plan).markup + "</body></html>\n";
}

}  // namespace railbed
