#include "report/picture/fabric_svg.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "base/wording.h"
#include "fabric/layout.h"
#include "report/picture/svg.h"

namespace railbed {
namespace {

using svg::Anchor;
using svg::Box;

constexpr double kColumn = 170;  // width of a switch and of the HCAs below it
constexpr double kSwitchHeight = 38;
constexpr double kGap = 16;
constexpr double kGroupGap = 40;
constexpr double kRise = 110;  // between two levels of switches
constexpr double kHcaHeight = 19;
constexpr double kEdge = 20;
constexpr double kRow = 20;         // of the list of findings
constexpr double kListWidth = 900;  // at least, if there are findings
constexpr double kHighestArc = 220;
constexpr std::size_t kHcasShown = 48;
constexpr std::size_t kMostBoxes = 40;     // more switches are folded
constexpr std::size_t kMostUnfolded = 24;  // switches that stay boxes of their own
constexpr std::size_t kMostListed = 40;    // findings
constexpr std::size_t kMostLabelled = 24;  // lines, all of which get their number of cables
constexpr std::size_t kPortsNamed = 3;

constexpr std::string_view kStyle =
#include "report/picture/fabric.css.text"
    ;

// Orders leaf9 before leaf10.
std::pair<std::size_t, std::string> order_of(const IbNode& node) {
  std::string name = name_of(node);
  return {name.size(), std::move(name)};
}

// What is wrong at a place.
struct FabricMark {
  Health health = Health::kGood;
  std::vector<std::size_t> numbers;  // of the findings, as the list below the picture has them
  void add(Health more, std::size_t number) {
    health = std::max(health, more);
    if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
  }
  void add(const FabricMark& more) {
    for (const std::size_t number : more.numbers) add(more.health, number);
  }
  bool empty() const { return numbers.empty() && health == Health::kGood; }
};

// One box: a switch, several that are folded, or an HCA of a subnet without switches.
struct FabricBox {
  std::vector<int> nodes;
  int group = -1;
  Box box = {};
  const int& first() const { return nodes.front(); }
};

// The cables between two boxes, drawn as one line from the lower box, `a`.
struct Bundle {
  int cables = 0;
  IbLink slowest;
  bool uneven = false;              // its links differ
  std::set<int> ports_a, ports_b;   // of boxes that are one switch
  std::vector<std::string> places;  // "port 1 of leaf0 to port 3 of spine1"; the first few
  FabricMark mark;
  double x_a = 0, x_b = 0;  // where it meets the boxes
};

// "1-4, 7", at most kPortsNamed of them
std::string port_ranges(const std::set<int>& ports) {
  std::vector<std::string> ranges;
  for (auto at = ports.begin(); at != ports.end();) {
    const int begin = *at;
    int end = begin;
    while (++at != ports.end() && *at == end + 1) ++end;
    if (ranges.size() == kPortsNamed) {
      ranges.emplace_back("…");
      break;
    }
    ranges.push_back(begin == end ? std::to_string(begin) : fmt::format("{}-{}", begin, end));
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

Health health_of(const Finding& finding) {
  return finding.status == Status::kFail ? Health::kBad : Health::kWarn;
}

class Drawing {
 public:
  Drawing(const IbFabric& fabric, const IbLayout& layout, const FabricView* view, const Findings& findings)
      : fabric_(fabric), layout_(layout) {
    find_marks(view, findings);
    for (const IbManager& manager : fabric.managers)
      if (manager.end) {
        auto& state = managers_[manager.end.node];
        state = std::max(state, manager.state);
      }
    make_boxes();
    find_bundles();
    place();
    attach();
  }

  Html draw() {
    Html wires, boxes;
    const Html frames = group_frames();
    for (const auto& [pair, bundle] : bundles_) wires += wire(pair.first, pair.second, bundle);
    for (std::size_t b = 0; b < boxes_.size(); ++b) boxes += column(b);
    Html below = key();
    below += list();  // each adds to the height
    return html(
               R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}" role="img"><title>{}</title>)",
               width_ + 2 * kEdge, height_ + kEdge, describe(fabric_, layout_)) +
           Html{"<style>" + std::string(kStyle) + "</style>\n"} + frames + wires + boxes + below +
           Html{"</svg>\n"};
  }

 private:
  using Ends = std::pair<IbEnd, IbEnd>;
  static Ends ends_of(const IbEnd& one, const IbEnd& other) {
    return {std::min(one, other), std::max(one, other)};
  }
  const IbNode& node(int n) const { return fabric_.nodes[static_cast<std::size_t>(n)]; }
  int level_of(int n) const { return layout_.level[static_cast<std::size_t>(n)]; }
  int group_of(int n) const { return layout_.group[static_cast<std::size_t>(n)]; }

  // Numbers the red findings that no other explains, and marks the cable or the node that a finding is about. One
  // without either (a GUID, the subnet) is only listed.
  void find_marks(const FabricView* view, const Findings& findings) {
    std::unordered_map<std::string, int> by_name, by_host;
    if (!findings.empty())
      for (std::size_t n = 0; n < fabric_.nodes.size(); ++n) {
        by_name.emplace(name_of(fabric_.nodes[n]), static_cast<int>(n));
        by_host.emplace(host_of(fabric_.nodes[n]), static_cast<int>(n));
      }
    if (view != nullptr && view->compared)
      for (const CablingMistake& mistake : view->compared->mistakes)
        if (mistake.kind == CablingMistake::Kind::kMissing)
          missing_.emplace(mistake.ends[0], ends_of(mistake.ends[0], mistake.ends[1]));
    for (const Finding& finding : findings) {
      if (!is_red(finding) || finding.caused_by) continue;
      listed_.push_back(&finding);
      const std::size_t number = listed_.size();
      const Health health = health_of(finding);
      listed_health_.push_back(health);
      std::string_view name = finding.subject;
      int port = -1;
      if (const std::size_t of = name.find(" of ");
          name.starts_with("port ") && of != std::string_view::npos) {
        port = parse_number<int>(name.substr(5, of - 5)).value_or(-1);
        if (port >= 0) name = name.substr(of + 4);
      }
      auto found = by_name.find(std::string(name));
      if (found == by_name.end() && (found = by_host.find(std::string(name))) == by_host.end()) continue;
      const int n = found->second;
      if (port >= 0 && port <= node(n).last_port()) {
        const IbEnd end{n, port};
        const auto hole = missing_.find(end);
        if (const IbEnd peer = fabric_.port(end).peer) {
          cable_marks_[ends_of(end, peer)].add(health, number);
          continue;
        }
        if (hole != missing_.end()) {
          cable_marks_[hole->second].add(listed_health_.back() = Health::kUnreachable, number);
          continue;
        }
      }
      node_marks_[n].add(health, number);
    }
  }

  bool is_drawn(std::size_t n) const { return fabric_.nodes[n].is_switch() || without_switches_; }
  std::size_t row_of(int n) const {
    return without_switches_
               ? 1U
               : static_cast<std::size_t>(std::max(level_of(n) < 0 ? layout_.top : level_of(n), 1));
  }

  // Returns the nodes that no fold may hide: those with a finding, on themselves or on an end, and managers.
  std::set<int> told_apart() const {
    std::vector<std::pair<int, int>> wanted;  // rank, node
    const auto add = [&](int n, Health health) {
      if (!node(n).is_switch()) {
        const auto up =
            std::ranges::find_if(node(n).ports, [](const IbPort& port) { return bool(port.peer); });
        if (up == node(n).ports.end() || !fabric_.at(up->peer).is_switch()) return;
        n = up->peer.node;
      }
      wanted.emplace_back(-static_cast<int>(health), n);
    };
    for (const auto& [n, state] : managers_)
      if (state == IbManagerState::kMaster) add(n, Health::kUnreachable);
    for (const auto& [ends, mark] : cable_marks_)
      for (const IbEnd& end : {ends.first, ends.second}) add(end.node, mark.health);
    for (const auto& [n, mark] : node_marks_) add(n, mark.health);
    std::ranges::sort(wanted);
    std::set<int> apart;
    for (const auto& [rank, n] : wanted)
      if (apart.size() < kMostUnfolded) apart.insert(n);
    return apart;
  }

  // Switches of a row that a fold may hold together: those of one group, or those with the same switches above them.
  std::vector<int> kinship(int n) const {
    if (group_of(n) >= 0) return {-1, group_of(n)};
    std::set<int> above;
    for (const IbPort& port : node(n).ports)
      if (port.peer && fabric_.at(port.peer).is_switch() && level_of(port.peer.node) > level_of(n))
        above.insert(port.peer.node);
    return {above.begin(), above.end()};
  }

  void make_boxes() {
    const auto switches = static_cast<std::size_t>(std::ranges::count_if(fabric_.nodes, &IbNode::is_switch));
    without_switches_ = switches == 0;
    rows_.resize(without_switches_ ? 2 : static_cast<std::size_t>(std::max(layout_.top, 1)) + 1);
    const bool folded = switches > kMostBoxes;
    const std::set<int> apart = folded ? told_apart() : std::set<int>{};
    // Folds by kinship; if that leaves too many boxes, by level alone.
    for (const bool by_kinship : {true, false}) {
      boxes_.clear();
      std::map<std::pair<std::size_t, std::vector<int>>, std::size_t> folds;
      for (std::size_t i = 0; i < fabric_.nodes.size(); ++i) {
        if (!is_drawn(i)) continue;
        const int n = static_cast<int>(i);
        if (folded && !apart.contains(n)) {
          const auto [fold, fresh] =
              folds.try_emplace({row_of(n), by_kinship ? kinship(n) : std::vector<int>{}}, boxes_.size());
          if (!fresh) {
            boxes_[fold->second].nodes.push_back(n);
            continue;
          }
        }
        boxes_.push_back({{n}, by_kinship ? group_of(n) : -1});
      }
      if (boxes_.size() <= kMostBoxes + kMostUnfolded || !folded) break;
    }
    for (FabricBox& box : boxes_) std::ranges::sort(box.nodes, {}, [&](int n) { return order_of(node(n)); });
    for (std::size_t b = 0; b < boxes_.size(); ++b) {
      rows_[row_of(boxes_[b].first())].push_back(b);
      for (const int n : boxes_[b].nodes) box_of_[n] = b;
    }
    for (auto& row : rows_)
      std::ranges::sort(row, {}, [&](std::size_t b) {
        return std::pair(boxes_[b].group, order_of(node(boxes_[b].first())));
      });
  }

  bool is_above(std::size_t a, std::size_t b) const {
    return row_of(boxes_[a].first()) > row_of(boxes_[b].first());
  }
  bool is_beside(std::size_t a, std::size_t b) const {
    return row_of(boxes_[a].first()) == row_of(boxes_[b].first());
  }

  // Returns the bundle of a cable between two different boxes, and the cable's ends in its order; null for others.
  Bundle* bundle_of(IbEnd& end, IbEnd& other) {
    const auto from = box_of_.find(end.node), to = box_of_.find(other.node);
    if (from == box_of_.end() || to == box_of_.end() || from->second == to->second) return nullptr;
    std::size_t a = from->second, b = to->second;
    if (is_above(a, b) || (is_beside(a, b) && a > b)) {
      std::swap(a, b);
      std::swap(end, other);
    }
    return &bundles_[{a, b}];
  }

  void find_bundles() {
    std::map<std::string, std::size_t> kinds;
    each_cable(fabric_, [&](IbEnd end, IbEnd other) {
      const auto marked = cable_marks_.find(ends_of(end, other));
      Bundle* bundle = bundle_of(end, other);
      if (bundle == nullptr) {
        // Both ends are in one box, which shows the mark.
        if (const auto box = box_of_.find(end.node); box != box_of_.end() && marked != cable_marks_.end())
          if (box_of_.contains(other.node)) box_marks_[box->second].add(marked->second);
        return;
      }
      const IbLink& link = fabric_.port(end).active;
      if (bundle->cables > 0 && !(link == bundle->slowest)) bundle->uneven = true;
      if (bundle->cables++ == 0 || link.gigabits() < bundle->slowest.gigabits()) bundle->slowest = link;
      add_ends(*bundle, end, other);
      if (marked != cable_marks_.end()) bundle->mark.add(marked->second);
      const std::string text = link.to_text();
      if (++kinds[text] > usual_count_) {
        usual_count_ = kinds[text];
        usual_ = text;
      }
      fastest_ = std::max(fastest_, link.gigabits());
    });
    for (const auto& [hole, ends] : missing_) {
      IbEnd end = ends.first, other = ends.second;
      const auto marked = cable_marks_.find(ends);
      if (Bundle* bundle = marked == cable_marks_.end() ? nullptr : bundle_of(end, other)) {
        add_ends(*bundle, end, other);
        bundle->mark.add(marked->second);
      }
    }
  }

  void add_ends(Bundle& bundle, const IbEnd& end, const IbEnd& other) {
    bundle.ports_a.insert(end.port);
    bundle.ports_b.insert(other.port);
    if (bundle.places.size() < kPortsNamed)
      bundle.places.push_back(fmt::format("{} to {}", place_of(fabric_, end), place_of(fabric_, other)));
  }

  double arc_height(const Box& a, const Box& b) const {
    return std::clamp(24 + 0.12 * std::abs(a.centre() - b.centre()), 24.0, kHighestArc);
  }

  void place() {
    std::vector<double> widths(rows_.size());
    for (std::size_t level = 1; level < rows_.size(); ++level) {
      double x = 0;
      for (std::size_t i = 0; i < rows_[level].size(); ++i) {
        const FabricBox& box = boxes_[rows_[level][i]];
        if (i > 0) x += boxes_[rows_[level][i - 1]].group == box.group ? kGap : kGroupGap;
        x += kColumn;
      }
      widths[level] = x;
      width_ = std::max(width_, x + kGap);
    }
    if (!listed_.empty()) width_ = std::max(width_, kListWidth);
    // First the places in their rows: the height of an arc depends on them.
    for (std::size_t level = 1; level < rows_.size(); ++level) {
      const double free = width_ - widths[level];
      const double more = free / static_cast<double>(std::max<std::size_t>(rows_[level].size(), 1));
      double x = kEdge + more / 2;
      for (std::size_t i = 0; i < rows_[level].size(); ++i) {
        FabricBox& box = boxes_[rows_[level][i]];
        if (i > 0) x += more + (boxes_[rows_[level][i - 1]].group == box.group ? kGap : kGroupGap);
        box.box = {x, 0, kColumn, kSwitchHeight};
        x += kColumn;
      }
    }
    std::vector<double> arcs(rows_.size());
    for (const auto& [pair, bundle] : bundles_)
      if (is_beside(pair.first, pair.second)) {
        double& arc = arcs[row_of(boxes_[pair.first].first())];
        arc = std::max(arc, arc_height(boxes_[pair.first].box, boxes_[pair.second].box) + 14);
      }
    double y = kEdge + (has_groups() ? 16 : 0);
    for (std::size_t level = rows_.size(); level-- > 1;) {
      y += arcs[level];
      for (const std::size_t b : rows_[level]) boxes_[b].box.y = y;
      if (level > 1) y += kSwitchHeight + kRise;
    }
    height_ = y + kSwitchHeight;
  }

  bool has_groups() const {
    return std::ranges::any_of(boxes_, [](const FabricBox& box) { return box.group >= 0; });
  }

  // Spreads the lines of each side of a box over its width, in the order of their far ends.
  void attach() {
    std::map<std::pair<std::size_t, bool>, std::vector<std::pair<double, double*>>> sides;
    for (auto& [pair, bundle] : bundles_) {
      const auto [a, b] = pair;
      sides[{a, true}].emplace_back(boxes_[b].box.centre(), &bundle.x_a);
      sides[{b, is_beside(a, b)}].emplace_back(boxes_[a].box.centre(), &bundle.x_b);
    }
    for (auto& [side, lines] : sides) {
      std::ranges::stable_sort(lines, {}, [](const auto& line) { return line.first; });
      const Box& box = boxes_[side.first].box;
      const double step = (box.width - 16) / static_cast<double>(lines.size());
      for (std::size_t i = 0; i < lines.size(); ++i)
        *lines[i].second = box.x + 8 + step * (static_cast<double>(i) + 0.5);
      room_[side] = step;
    }
  }

  Html mark_at(double x, double y, const FabricMark& mark) const {
    if (mark.numbers.empty()) return {};
    Html out = svg::mark(x, y, 7, mark.health);
    const std::size_t shown = std::min(mark.numbers.size(), kPortsNamed);
    out += svg::text(
        x + 10, y + 4, 60, svg::kNote,
        fmt::format("{}{}",
                    fmt::join(mark.numbers.begin(), mark.numbers.begin() + static_cast<long>(shown), ","),
                    shown < mark.numbers.size() ? ",…" : ""));
    return out;
  }

  std::string line_class(const Bundle& bundle) const {
    if (!bundle.mark.empty()) return fmt::format("wire {}", css_class(bundle.mark.health));
    return bundle.slowest.gigabits() < fastest_ ? "slow" : "wire";
  }

  Html wire(std::size_t a, std::size_t b, const Bundle& bundle) {
    const FabricBox &from = boxes_[a], &to = boxes_[b];
    const bool arc = is_beside(a, b);
    const double y1 = from.box.y, y2 = arc ? to.box.y : to.box.bottom();
    const double thick =
        std::min(1.0 + 0.5 * std::max(bundle.cables - 1, 0), 5.0) + (bundle.mark.empty() ? 0 : 1);
    const std::string css = line_class(bundle);
    double middle_x = 0, middle_y = 0;
    Html inside;
    if (arc) {
      const double high = arc_height(from.box, to.box);
      middle_x = (bundle.x_a + bundle.x_b) / 2;
      middle_y = y1 - high;
      inside =
          html(R"(<path d="M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}" stroke-width="{:.1f}" class="{}"/>)",
               bundle.x_a, y1, middle_x, y1 - 2 * high, bundle.x_b, y2, thick, css);
    } else {
      // Nearer to the lower box, where lines to several boxes above are apart.
      middle_x = bundle.x_a + 0.4 * (bundle.x_b - bundle.x_a);
      middle_y = y1 + 0.4 * (y2 - y1);
      inside = html(R"(<path d="M{:.1f} {:.1f}L{:.1f} {:.1f}" stroke-width="{:.1f}" class="{}"/>)",
                    bundle.x_a, y1, bundle.x_b, y2, thick, css);
    }
    inside += port_label(a, true, bundle.x_a, y1 - 3, bundle.ports_a, bundle);
    inside += port_label(b, arc, bundle.x_b, arc ? y2 - 3 : y2 + 10, bundle.ports_b, bundle);
    inside += mark_at(middle_x, middle_y, bundle.mark);
    std::vector<std::string> words;
    if (bundle.cables > 1 && bundles_.size() <= kMostLabelled)
      words.push_back(fmt::format("{} ×", bundle.cables));
    const std::string link = bundle.cables == 0 ? "no link" : bundle.slowest.to_text();
    if (link != usual_) words.push_back(bundle.uneven ? "slowest " + link : link);
    inside += svg::text(middle_x + 5, middle_y + (bundle.mark.numbers.empty() ? -2 : 17), 90, svg::kTiny,
                        fmt::format("{}", fmt::join(words, " ")));
    std::string title =
        fmt::format("{} to {}: {} × {}", name_of_box(from), name_of_box(to), bundle.cables, link);
    for (const std::string& place : bundle.places) title += "; " + place;
    return svg::group("", title + messages_of(bundle.mark), inside);
  }

  Html port_label(std::size_t b, bool top, double x, double y, const std::set<int>& ports,
                  const Bundle& bundle) const {
    if (boxes_[b].nodes.size() > 1) return {};  // numbers of several switches say nothing
    const std::string text = port_ranges(ports);
    const double wide = 6.5 * static_cast<double>(text.size()) + 2;
    if (wide + 3 > room_.at({b, top}) && bundle.mark.numbers.empty()) return {};
    return svg::text(x + 3, y, wide + 10, svg::kTiny, text, Anchor::kStart, "quiet");
  }

  std::string messages_of(const FabricMark& mark) const {
    std::string text;
    for (const std::size_t number : mark.numbers)
      text += fmt::format("; {}: {}", number, listed_[number - 1]->message);
    return text;
  }

  std::string name_of_box(const FabricBox& box) const {
    const std::string first = name_of(node(box.first()));
    return box.nodes.size() == 1 ? first : fmt::format("{} … {}", first, name_of(node(box.nodes.back())));
  }

  static std::string manager_text(IbManagerState state) {
    return state == IbManagerState::kMaster ? "SM" : fmt::format("SM {}", lower(word(state)));
  }
  static double manager_width(IbManagerState state) {
    return 10 + 6.5 * static_cast<double>(manager_text(state).size());
  }

  // Draws the mark of the subnet manager that a node or, if it is folded, one of several runs.
  Html manager_mark(double right, double y, std::optional<IbManagerState> state) const {
    if (!state) return {};
    const bool master = *state == IbManagerState::kMaster;
    const std::string text = manager_text(*state);
    const double wide = manager_width(*state);
    return svg::rect({right - wide, y, wide, 14}, 3, master ? "manager" : "standby") +
           svg::text(right - wide / 2, y + 10.5, wide, svg::kTiny, text, Anchor::kMiddle);
  }

  std::optional<IbManagerState> manager_of(int n) const {
    const auto found = managers_.find(n);
    return found == managers_.end() ? std::nullopt : std::optional(found->second);
  }

  std::size_t hcas_below(int n) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        node(n).ports, [&](const IbPort& port) { return port.peer && fabric_.at(port.peer).is_hca(); }));
  }

  Html column(std::size_t b) {
    const FabricBox& here = boxes_[b];
    const Box& box = here.box;
    FabricMark mark = box_marks_[b];
    std::optional<IbManagerState> manager;
    std::size_t hcas = 0;
    const bool folded = here.nodes.size() > 1;
    for (const int n : here.nodes) {
      if (const auto found = node_marks_.find(n); found != node_marks_.end()) mark.add(found->second);
      if (const auto state = manager_of(n)) manager = std::max(manager.value_or(*state), *state);
      hcas += node(n).is_switch() ? hcas_below(n) : 0;
      if (!folded) continue;
      // What the HCAs of a folded switch have is shown on the fold.
      for (const IbPort& port : node(n).ports) {
        if (!port.peer || !fabric_.at(port.peer).is_hca()) continue;
        if (const auto found = node_marks_.find(port.peer.node); found != node_marks_.end())
          mark.add(found->second);
        const auto cable = cable_marks_.find(ends_of({n, port.number}, port.peer));
        if (cable != cable_marks_.end()) mark.add(cable->second);
        if (const auto state = manager_of(port.peer.node))
          manager = std::max(manager.value_or(*state), *state);
      }
    }
    Html inside;
    if (folded)  // a second sheet behind the box
      inside += svg::rect({box.x + 4, box.y - 4, box.width, box.height}, 6, "switch");
    inside +=
        svg::rect(box, 6, mark.empty() ? "switch" : fmt::format("switch box {}", css_class(mark.health)));
    inside +=
        svg::text(box.centre(), box.y + 17, box.width - 8, svg::kLabel, name_of_box(here), Anchor::kMiddle);
    inside += svg::text(box.centre(), box.y + 31, box.width - 8, svg::kTiny, note_of(here, hcas),
                        Anchor::kMiddle, "quiet");
    inside += mark_at(box.x + 2, box.y + 2, mark);
    inside += manager_mark(box.right() + 4, box.y - 7, manager);
    const std::string guid =
        folded ? counted(here.nodes.size(), "switch", "switches") : guid_text(node(here.first()).guid);
    Html out = svg::group("", guid + messages_of(mark), inside);
    if (!folded && node(here.first()).is_switch() && level_of(here.first()) == 1)
      out += hcas_of(here.first(), box);
    return out;
  }

  std::string note_of(const FabricBox& here, std::size_t hcas) const {
    if (here.nodes.size() > 1)
      return fmt::format("{}{}", counted(here.nodes.size(), "switch", "switches"),
                         hcas > 0 ? " · " + counted(hcas, "HCA") : "");
    const int n = here.first();
    std::string note = counted(static_cast<std::size_t>(std::max(node(n).last_port(), 0)), "port");
    const auto& devices = layout_.leaf_devices[static_cast<std::size_t>(n)];
    if (layout_.rails && !devices.empty()) note += fmt::format(" · {}", fmt::join(devices, ", "));
    return note;
  }

  Html hcas_of(int leaf, const Box& box) {
    Html out;
    double y = box.bottom() + 6;
    std::size_t shown = 0, all = 0;
    for (const IbPort& port : node(leaf).ports) {
      if (!port.peer || !fabric_.at(port.peer).is_hca()) continue;
      const int n = port.peer.node;
      FabricMark mark;
      if (const auto cable = cable_marks_.find(ends_of({leaf, port.number}, port.peer));
          cable != cable_marks_.end())
        mark.add(cable->second);
      if (const auto found = node_marks_.find(n); found != node_marks_.end()) mark.add(found->second);
      const auto manager = manager_of(n);
      if (++all > kHcasShown && mark.empty() && !manager) continue;
      ++shown;
      const Box cell{box.x + 6, y, box.width - 12, kHcaHeight - 3};
      Html inside =
          svg::rect(cell, 3, mark.empty() ? "hca" : fmt::format("hca box {}", css_class(mark.health)));
      const std::string link = port.active.to_text();
      const bool odd = link != usual_ && port.active.width > 0;
      inside += svg::text(cell.x + 5, cell.y + 11.5,
                          cell.width - (manager ? 10 + manager_width(*manager)
                                        : odd   ? 46
                                                : 8),
                          svg::kTiny, fmt::format("{} · {}", port.number, name_of(node(n))));
      if (odd && !manager)
        inside += svg::text(cell.right() - 4, cell.y + 11.5, 44, svg::kTiny, link, Anchor::kEnd, "quiet");
      inside += manager_mark(cell.right(), cell.y + 1, manager);
      inside += mark_at(cell.right() + 4, cell.middle(), mark);
      out += svg::group(
          "", fmt::format("port {}: {}, {}", port.number, name_of(node(n)), link) + messages_of(mark),
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

  // A frame around the boxes of each group in a row, with its number.
  Html group_frames() const {
    Html out;
    for (const auto& row : rows_)
      for (std::size_t begin = 0, end = 0; begin < row.size(); begin = end) {
        const int group = boxes_[row[begin]].group;
        for (end = begin; end < row.size() && boxes_[row[end]].group == group;) ++end;
        if (group < 0) continue;
        const Box &first = boxes_[row[begin]].box, &last = boxes_[row[end - 1]].box;
        out += svg::rect({first.x - 10, first.y - 12, last.right() - first.x + 20, kSwitchHeight + 22}, 8,
                         "frame");
        out += svg::text(first.x - 8, first.y - 15, 90, svg::kTiny, fmt::format("group {}", group + 1),
                         Anchor::kStart, "quiet");
      }
    return out;
  }

  // What the lines mean that are not labelled.
  Html key() {
    if (usual_.empty()) return {};
    height_ += kRow + 8;
    std::string text = fmt::format("A link without a rate is {}.", usual_);
    if (boxes_.size() > 1) text += " Numbers at the boxes are ports; a thicker line is more cables.";
    if (!managers_.empty()) text += " SM: subnet manager.";
    return svg::text(kEdge, height_, width_, svg::kNote, text, Anchor::kStart, "quiet");
  }

  Html list() {
    Html out;
    const std::size_t shown = std::min(listed_.size(), kMostListed);
    for (std::size_t i = 0; i < shown; ++i) {
      height_ += kRow;
      const Finding& finding = *listed_[i];
      const Html line = svg::mark(kEdge + 8, height_ - 4, 7, listed_health_[i]) +
                        svg::text(kEdge + 22, height_, width_ - 22, svg::kNote,
                                  fmt::format("{} {}: {}", i + 1, finding.rule, finding.message));
      out += svg::group("", fmt::format("{}. {}", finding.message, finding.remedy.text), line);
    }
    if (listed_.size() > shown) {
      height_ += kRow;
      out += svg::text(kEdge + 22, height_, width_ - 22, svg::kNote,
                       fmt::format("and {} more", listed_.size() - shown), Anchor::kStart, "quiet");
    }
    return out;
  }

  const IbFabric& fabric_;
  const IbLayout& layout_;
  std::vector<const Finding*> listed_;
  std::vector<Health> listed_health_;  // of each, as it is marked
  std::map<IbEnd, Ends> missing_;      // planned cables without a link, by the end that findings name
  std::map<Ends, FabricMark> cable_marks_;
  std::map<int, FabricMark> node_marks_;
  std::map<std::size_t, FabricMark> box_marks_;
  std::map<int, IbManagerState> managers_;
  bool without_switches_ = false;
  std::vector<FabricBox> boxes_;
  std::map<int, std::size_t> box_of_;
  std::vector<std::vector<std::size_t>> rows_;                     // boxes by level; 0 is empty
  std::map<std::pair<std::size_t, std::size_t>, Bundle> bundles_;  // the lower box first
  std::map<std::pair<std::size_t, bool>, double> room_;  // for a label, by box and side (true: the top)
  std::string usual_;                                    // the commonest link
  std::size_t usual_count_ = 0;
  double fastest_ = 0;
  double width_ = kColumn;
  double height_ = 0;
};

}  // namespace

std::string fabric_svg(const IbFabric& fabric) {
  return Drawing(fabric, layout_of(fabric), nullptr, {}).draw().markup;
}

std::string fabric_svg(const FabricView& view, const Findings& findings) {
  return Drawing(view.fabric, view.layout, &view, findings).draw().markup;
}

}  // namespace railbed
