// The drawing has the rails' switches above, the nodes in the middle, and the storage network below them: its switches,
// then the file servers. A line stands for every cable of a node or a server. Of large plans only the first nodes and
// servers are drawn, because the rest are wired alike.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/wording.h"
#include "report/picture/svg.h"
#include "report/text/rail_plan_text.h"

namespace railbed {
namespace {

using svg::Anchor;
using svg::Box;

constexpr std::size_t kMostDrawn = 16;  // nodes, and servers
constexpr double kNodeTall = 44;
constexpr double kNodeWidth = 132;
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
    const std::size_t servers = plan.storage ? static_cast<std::size_t>(plan.storage->servers) : 0;
    const std::size_t nodes = plan.cluster.nodes.size() - servers;
    for (std::size_t n = 0; n < std::min(nodes, kMostDrawn); ++n) add(nodes_, plan.cluster.nodes[n].name);
    for (std::size_t n = 0; n < std::min(servers, kMostDrawn); ++n)
      add(servers_, plan.cluster.nodes[nodes + n].name);
    for (const CableRun& cable : plan.cables)
      if (is_drawn(cable.from.device) && !is_drawn(cable.to.device))
        add(for_storage(cable) ? storage_switches_ : switches_, cable.to.device);
    more_nodes_ = nodes - nodes_.size();
    more_servers_ = servers - servers_.size();
    const std::size_t columns =
        std::max({nodes_.size(), servers_.size(), switches_.size(), storage_switches_.size()});
    width_ = std::max(static_cast<double>(columns) * (kNodeWidth + kPlanMargin), 340.0) + kPlanMargin;
  }

  Html draw() const {
    Html wires;
    Html boxes;
    for (const CableRun& cable : plan_.cables) wires += wire(cable);
    for (const Row* row : {&switches_, &nodes_, &storage_switches_, &servers_})
      for (std::size_t i = 0; i < row->size(); ++i) boxes += box(box_in(*row, i), (*row)[i]);
    std::string more;
    if (more_nodes_ > 0) more = fmt::format("and {} more", counted(more_nodes_, "node"));
    if (more_servers_ > 0)
      more += fmt::format("{}{} more", more.empty() ? "and " : ", ", counted(more_servers_, "server"));
    if (!more.empty())
      boxes += svg::text(kPlanMargin, height() - 4, width_, svg::kLabel, more + ", wired alike");
    return svg::picture(width_, height(), "plan", "The rails as planned",
                        fmt::format("{}, {}", rail_plan_title(plan_), counted(plan_.cables.size(), "cable")),
                        wires + boxes);
  }

 private:
  using Row = std::vector<std::string>;

  void add(Row& row, const std::string& name) {
    if (places_.try_emplace(name, &row, row.size()).second) row.push_back(name);
  }
  bool is_drawn(const std::string& name) const { return places_.contains(name); }
  bool for_storage(const CableRun& cable) const {
    return plan_.cluster.rails[static_cast<std::size_t>(cable.rail)].purpose == RailPurpose::kStorage;
  }

  double top_of(const Row& row) const {
    if (&row == &switches_) return kPlanMargin;
    const double nodes = switches_.empty() ? kFall : kPlanMargin + kSwitchTall + kFall;
    if (&row == &nodes_) return nodes;
    const double storage = nodes + kNodeTall + kFall;
    return &row == &storage_switches_ ? storage : storage + kSwitchTall + kFall / 2;
  }
  double height() const { return top_of(servers_.empty() ? nodes_ : servers_) + kNodeTall + 2 * kPlanMargin; }
  Box box_in(const Row& row, std::size_t i) const {
    const double step = (width_ - kPlanMargin) / static_cast<double>(row.size());
    const bool is_switch = &row == &switches_ || &row == &storage_switches_;
    return {kPlanMargin + step * static_cast<double>(i) + (step - kPlanMargin - kNodeWidth) / 2, top_of(row),
            kNodeWidth, is_switch ? kSwitchTall : kNodeTall};
  }
  Box box_of(const std::string& name) const {
    const auto& [row, i] = places_.at(name);
    return box_in(*row, i);
  }

  static Html box(const Box& at, const std::string& name) {
    return svg::rect(at, 5, "box") +
           svg::text(at.centre(), at.middle() + 5, at.width - 8, svg::kLabel, name, Anchor::kMiddle);
  }

  // Returns where a cable leaves its node; each rail has a place.
  double port_x(const Box& node, int rail) const {
    return node.x + node.width * (rail + 1) / static_cast<double>(plan_.cluster.rails.size() + 1);
  }
  // Returns where a cable from a node at `x` arrives at a switch.
  double switch_x(const Box& at, double x) const {
    return at.centre() + (x - width_ / 2) / width_ * at.width * 0.9;
  }

  Html wire(const CableRun& cable) const {
    const auto from = places_.find(cable.from.device);
    if (from == places_.end() || !is_drawn(cable.to.device)) return {};
    const Row* const row = from->second.first;
    if (row == &switches_ || row == &storage_switches_) return {};  // to a spine
    const Box end = box_of(cable.from.device);
    const Box other = box_of(cable.to.device);
    if (places_.at(cable.to.device).first == &nodes_) return between_nodes(end, other, cable.rail);
    if (row == &servers_)
      return svg::line(end.centre(), end.y, switch_x(other, end.centre()), other.bottom(), "storage wire");
    const double x = port_x(end, cable.rail);
    if (for_storage(cable)) return svg::line(x, end.bottom(), switch_x(other, x), other.y, "storage wire");
    return svg::line(x, end.y, switch_x(other, x), other.bottom(), "wire");
  }

  Html between_nodes(const Box& node, const Box& peer, int rail) const {
    const double x = port_x(node, rail);
    const double peer_x = port_x(peer, rail);
    const double y = node.y - (x - node.x);
    return svg::line(x, node.y, x, y, "wire") + svg::line(x, y, peer_x, y, "wire") +
           svg::line(peer_x, y, peer_x, peer.y, "wire");
  }

  const RailPlan& plan_;
  Row switches_, nodes_, storage_switches_, servers_;
  std::map<std::string, std::pair<const Row*, std::size_t>> places_;  // of all that is drawn
  std::size_t more_nodes_ = 0;
  std::size_t more_servers_ = 0;
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
  const std::string title = rail_plan_title(plan);
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><style>" +
         std::string(kPlanStyle) + "</style>" +
         html("<title>{}</title></head><body><h1>{}</h1>\n<figure>", title, title).markup +
         PlanDrawing(plan).draw().markup + "</figure>\n<h2>Cables</h2>\n" + cable_rows(plan).markup +
         label_sheets(plan).markup + "</body></html>\n";
}

}  // namespace railbed
