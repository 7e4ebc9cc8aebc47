#include <algorithm>

#include "report/picture/picture.h"
#include "report/picture/svg.h"

namespace railbed {
namespace {

using svg::Anchor;
using svg::Box;

constexpr double kHeader = 88;
constexpr double kPortPitch = 88;
constexpr double kPortHeight = 60;
constexpr double kGpuPitch = 52;
constexpr double kGpuHeight = 42;
constexpr double kFoot = 16;
constexpr double kChip = 134;
constexpr double kInset = 16;
constexpr double kSocket = 8;  // length of a port outside its node
// More GPUs than this are drawn as one chip with a count.
constexpr std::size_t kGpusDrawn = 8;

// A node whose rails leave to the right or, mirrored, to the left.
class Card {
 public:
  Card(const SceneNode& node, const Box& box, bool is_mirrored)
      : node_(node), box_(box), is_mirrored_(is_mirrored) {}

  Html draw() const {
    Html inside = svg::rect(box_, 10, "body");
    inside += header();
    const bool is_gone = node_.trouble.health == Health::kUnreachable;
    if (is_gone)
      inside += svg::text(box_.x + kInset, box_.y + 50, box_.width - 2 * kInset, svg::kNote,
                          node_.trouble.text, Anchor::kStart, "quiet");
    else
      inside += links() + gpus();
    for (std::size_t i = 0; i < node_.ports.size(); ++i)
      if (node_.ports[i].present) inside += port(i);
    return svg::group(fmt::format("node {}", css_class(node_.trouble.health)), "", inside);
  }

  // The point where the rail of this port starts.
  double socket_x() const { return is_mirrored_ ? box_.x - kSocket : box_.right() + kSocket; }
  double port_y(std::size_t port) const {
    const double used = static_cast<double>(node_.ports.size()) * kPortPitch;
    return box_.y + kHeader + (body_height() - used) / 2 + (static_cast<double>(port) + 0.5) * kPortPitch;
  }

 private:
  double body_height() const { return box_.height - kHeader - kFoot; }
  // Places a box that starts `from` units from the outer edge, on either side.
  Box placed(double from, double y, double width, double height) const {
    return {is_mirrored_ ? box_.right() - from - width : box_.x + from, y, width, height};
  }
  double bus_x() const {
    const double from = box_.width - kChip - 34;
    return is_mirrored_ ? box_.right() - from : box_.x + from;
  }

  Html header() const {
    const double room = box_.width - 2 * kInset;
    const std::string_view state = word(node_.trouble.health);
    const double state_width = static_cast<double>(state.size()) * 7.4 + 26;
    Html text = svg::text(box_.x + kInset, box_.y + 30, room - state_width, svg::kName, node_.name);
    text += svg::mark(box_.right() - kInset - 7, box_.y + 24.5, 7.5, node_.trouble.health);
    text += svg::text(box_.right() - kInset - 21, box_.y + 28.5, state_width, svg::kNote, state, Anchor::kEnd,
                      css_class(node_.trouble.health));
    text += svg::text(box_.x + kInset, box_.y + 50, room, svg::kNote, node_.system, Anchor::kStart, "quiet");
    text += svg::text(box_.x + kInset, box_.y + 67, room, svg::kNote, node_.machine, Anchor::kStart, "quiet");
    return text;
  }

  Box port_box(std::size_t i) const {
    return placed(box_.width - kChip + kSocket, port_y(i) - kPortHeight / 2, kChip, kPortHeight);
  }

  Html port(std::size_t i) const {
    const ScenePort& port = node_.ports[i];
    const Box chip = port_box(i);
    Html inside = svg::rect(chip, 6, "chip");
    const double x = chip.x + 11;
    const double room = chip.width - 22;
    const bool is_red = port.trouble.health != Health::kGood;
    inside += svg::text(x, chip.y + 20, room - (is_red ? 18 : 0), svg::kLabel, port.interface);
    const std::string& second = port.device.empty() ? port.attach : port.device;
    inside += svg::text(x, chip.y + 36, room, svg::kNote, second, Anchor::kStart, "quiet");
    if (!port.device.empty())
      inside += svg::text(x, chip.y + 51, room, svg::kNote, port.attach, Anchor::kStart, "quiet");
    if (is_red) inside += svg::mark(chip.right() - 14, chip.y + 15, 6.5, port.trouble.health);
    const std::string title =
        port.interface + ": " + (port.trouble.text.empty() ? std::string("healthy") : port.trouble.text);
    return svg::group(fmt::format("port {}", css_class(port.trouble.health)), title, inside);
  }

  std::vector<SceneGpu> drawn_gpus() const {
    if (node_.gpus.size() <= kGpusDrawn) return node_.gpus;
    return {{summarise(node_.gpus), node_.gpus.front().attach, {}}};
  }

  Box gpu_box(std::size_t i, std::size_t count) const {
    const double top = box_.y + kHeader + (body_height() - static_cast<double>(count) * kGpuPitch) / 2;
    const double width = box_.width - kChip - 34 - kInset - 26;
    return placed(kInset, top + static_cast<double>(i) * kGpuPitch + (kGpuPitch - kGpuHeight) / 2, width,
                  kGpuHeight);
  }

  Html gpus() const {
    const auto drawn = drawn_gpus();
    Html all;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const Box chip = gpu_box(i, drawn.size());
      Html inside = svg::rect(chip, 6, "chip");
      const double room = chip.width - 20;
      const double name_y = drawn[i].attach.empty() ? chip.middle() + 4.5 : chip.y + 18;
      inside += svg::text(chip.x + 10, name_y, room, svg::kNote, drawn[i].model);
      inside +=
          svg::text(chip.x + 10, chip.y + 33, room, svg::kTiny, drawn[i].attach, Anchor::kStart, "quiet");
      if (drawn[i].trouble.health != Health::kGood)
        inside += svg::mark(chip.right() - 10, chip.y + 10, 6, drawn[i].trouble.health);
      all += svg::group(fmt::format("gpu {}", css_class(drawn[i].trouble.health)), drawn[i].trouble.text,
                        inside);
    }
    if (drawn.empty()) {
      const Box empty = gpu_box(0, 1);
      all += svg::text(empty.centre(), empty.middle() + 4, empty.width, svg::kNote, "no GPU", Anchor::kMiddle,
                       "quiet");
    }
    return all;
  }

  // Draws PCIe: a trunk from which GPUs and adapters branch.
  Html links() const {
    const auto drawn = drawn_gpus();
    std::vector<double> heights;
    Html branches;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const Box chip = gpu_box(i, drawn.size());
      heights.push_back(chip.middle());
      branches +=
          svg::line(is_mirrored_ ? chip.x : chip.right(), chip.middle(), bus_x(), chip.middle(), "pcie");
    }
    for (std::size_t i = 0; i < node_.ports.size(); ++i) {
      if (!node_.ports[i].present) continue;
      const Box chip = port_box(i);
      heights.push_back(chip.middle());
      branches +=
          svg::line(is_mirrored_ ? chip.right() : chip.x, chip.middle(), bus_x(), chip.middle(), "pcie");
    }
    if (drawn.empty() || heights.empty()) return {};
    const auto [top, bottom] = std::minmax_element(heights.begin(), heights.end());
    branches += svg::line(bus_x(), *top, bus_x(), *bottom, "pcie trunk");
    return branches;
  }

  const SceneNode& node_;
  Box box_;
  bool is_mirrored_;
};

double card_height(const Scene& scene) {
  double body = kPortPitch;
  for (const SceneNode& node : scene.nodes) {
    const double gpus = node.gpus.size() > kGpusDrawn ? 1 : static_cast<double>(node.gpus.size());
    body = std::max({body, gpus * kGpuPitch, static_cast<double>(node.ports.size()) * kPortPitch});
  }
  return kHeader + body + kFoot;
}

std::string listed(std::initializer_list<std::string> parts) {
  std::string text;
  for (const auto& part : parts)
    if (!part.empty()) (text += text.empty() ? "" : " · ") += part;
  return text;
}

std::string rail_css(const SceneRail& rail) { return fmt::format("rail {}", css_class(rail.trouble.health)); }

bool is_broken(const SceneRail& rail) {
  return rail.trouble.health == Health::kBad || rail.trouble.health == Health::kUnreachable;
}

// Returns the line under a rail: its trouble, else the measurement.
std::string second_line(const SceneRail& rail) { return is_broken(rail) ? rail.trouble.text : rail.measured; }

Html draw_rail(const SceneRail& rail, double left, double right, double y) {
  const double centre = (left + right) / 2;
  const double room = right - left - 28;
  Html inside = svg::line(left, y, right, y, "wire");
  if (rail.has_switch) {
    const Box box{centre - 34, y - 11, 68, 22};
    inside += svg::group(
        "", "",
        svg::rect(box, 5, "switch") + svg::text(centre, y + 4, 60, svg::kNote, "switch", Anchor::kMiddle));
  }
  if (rail.trouble.health != Health::kGood)
    inside += svg::mark(rail.has_switch ? centre + 50 : centre, y, 9, rail.trouble.health);
  const std::string first = listed({rail.name, rail.speed});
  inside += svg::text(centre, y - (rail.has_switch ? 19 : 11), room, svg::kLabel, first, Anchor::kMiddle);
  inside += svg::text(centre, y + (rail.has_switch ? 27 : 22), room, svg::kNote,
                      listed({rail.kind, rail.mtu}), Anchor::kMiddle, "quiet");
  inside += svg::text(centre, y + (rail.has_switch ? 42 : 37), room, svg::kNote, second_line(rail),
                      Anchor::kMiddle, is_broken(rail) ? "bad" : "");
  return svg::group(rail_css(rail), rail.trouble.text, inside);
}

Html draw_wide(const Scene& scene) {
  const double height = card_height(scene);
  const bool is_pair = scene.nodes.size() > 1;
  const Box first{is_pair ? 1.0 : 330, 1, 340, height};
  const Card left(scene.nodes[0], first, false);
  Html inside;
  if (is_pair) {
    const Card right(scene.nodes[1], {659, 1, 340, height}, true);
    for (std::size_t i = 0; i < scene.rails.size(); ++i)
      if (scene.nodes[0].ports[i].present && scene.nodes[1].ports[i].present)
        inside += draw_rail(scene.rails[i], left.socket_x(), right.socket_x(), left.port_y(i));
    inside += right.draw();
  }
  inside += left.draw();
  return inside;
}

// Draws the second node under the first. Rails are brackets on the right, named between the nodes.
Html draw_narrow(const Scene& scene, double* height) {
  const double card = card_height(scene);
  const auto rails = static_cast<double>(scene.rails.size());
  const double step = std::min(12.0, 44 / std::max(rails, 1.0));
  const double gap = 18 + rails * 52;
  const Box first{1, 1, 318, card};
  const Card top(scene.nodes[0], first, false);
  Html inside;
  *height = card + 2;
  if (scene.nodes.size() > 1) {
    const Card bottom(scene.nodes[1], {1, card + gap, 318, card}, false);
    for (std::size_t i = 0; i < scene.rails.size(); ++i) {
      if (!scene.nodes[0].ports[i].present || !scene.nodes[1].ports[i].present) continue;
      const SceneRail& rail = scene.rails[i];
      const double x = top.socket_x() + 6 + (rails - static_cast<double>(i)) * step;
      const double y = card + 28 + static_cast<double>(i) * 52;
      Html one = html(R"(<path d="M{0:.1f} {1:.1f}H{2:.1f}V{3:.1f}H{0:.1f}" class="wire"/>)", top.socket_x(),
                      top.port_y(i), x, bottom.port_y(i));
      if (rail.trouble.health != Health::kGood) one += svg::mark(x, y, 8, rail.trouble.health);
      one += svg::text(312, y, 300, svg::kLabel, listed({rail.name, rail.speed, rail.mtu}), Anchor::kEnd);
      one += svg::text(312, y + 17, 300, svg::kNote, second_line(rail), Anchor::kEnd,
                       is_broken(rail) ? "bad" : "quiet");
      inside += svg::group(rail_css(rail), rail.trouble.text, one);
    }
    inside += bottom.draw();
    *height = 2 * card + gap + 1;
  }
  inside += top.draw();
  return inside;
}

}  // namespace

Html draw_pair(const Scene& scene, Width width) {
  std::string description;
  for (const SceneRail& rail : scene.rails)
    description += listed({rail.name, rail.speed, rail.mtu, rail.measured, rail.trouble.text}) + ". ";
  const std::string title = scene.nodes.size() > 1 ? scene.nodes[0].name + " and " + scene.nodes[1].name +
                                                         " and the rails between them"
                                                   : scene.nodes[0].name;
  if (width == Width::kWide)
    return svg::picture(1000, card_height(scene) + 2, "wide", title, description, draw_wide(scene));
  double height = 0;
  const Html inside = draw_narrow(scene, &height);
  return svg::picture(390, height, "narrow", title, description, inside);
}

}  // namespace railbed
