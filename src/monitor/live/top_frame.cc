#include "monitor/live/top_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "base/moment.h"
#include "base/text.h"
#include "monitor/events/event_text.h"
#include "monitor/live/top_text.h"

namespace railbed {
namespace {

constexpr int kWide = 70;           // columns from which on a GPU's line of rates is long
constexpr std::size_t kRates = 14;  // columns of a rate and its line

std::string_view status_word(Status status) {
  return status == Status::kFail ? "FAIL" : status == Status::kWarn ? "warn" : "?";
}

TopLook look_of(Status status) {
  return status == Status::kFail   ? TopLook::kBad
         : status == Status::kWarn ? TopLook::kWarn
                                   : TopLook::kUnknown;
}

TopLook look_of(Health health) {
  return health >= Health::kBad       ? TopLook::kBad
         : health == Health::kWarn    ? TopLook::kWarn
         : health == Health::kUnknown ? TopLook::kUnknown
                                      : TopLook::kPlain;
}

// Returns "since 3 min", "5 changes in 12 min" of one that comes and goes, or an empty text if the finding is not reported yet.
std::string since_text(const LiveFinding& finding, double now) {
  if (finding.flapping_since)
    return fmt::format("{} changes in {}", finding.flaps,
                       span_text(std::max(0.0, now - *finding.flapping_since)));
  if (!finding.since) return "";
  return "since " + span_text(std::max(0.0, now - *finding.since));
}

// All lines of the body, and the position of the selected finding.
class Body {
 public:
  Body(const LiveView& view, const TopPlace& place, const TopStyle& style)
      : view_(view), place_(place), style_(style) {
    findings();
    if (!place.faults_only) {
      nodes();
      rails();
      gpus();
      events();
    }
  }
  std::vector<TopLine> lines = {};
  std::size_t selected_at = 0;  // its first line
  std::size_t selected_end = 0;

 private:
  void title(std::string_view text) { lines.push_back({std::string(text), TopLook::kTitle}); }
  void indented(std::string_view text) {
    for (std::string& part : wrapped(text, style_.width - 7))
      lines.push_back({"       " + std::move(part), TopLook::kPlain});
  }

  // Adds text with `right` at the right edge. What does not fit goes on in lines with this indent.
  void row(std::string_view text, std::string_view right, TopLook look, std::size_t indent) {
    const auto width = static_cast<std::size_t>(std::max(style_.width, 1));
    if (right.empty() ? length_of(text) <= width : length_of(text) + 1 + length_of(right) <= width) {
      lines.push_back({with_right(text, right, style_.width), look});
      return;
    }
    const auto indented_by = static_cast<int>(indent);
    const std::string begin(text.substr(0, std::min(indent, text.size())));
    std::vector<std::string> parts = wrapped(text.substr(begin.size()), style_.width - indented_by);
    for (std::size_t i = 0; i < parts.size(); ++i)
      lines.push_back({(i == 0 ? begin : std::string(indent, ' ')) + parts[i], look});
    std::string& last = lines.back().text;
    if (right.empty()) return;
    if (length_of(last) + 1 + length_of(right) > width) lines.push_back({"", look});
    lines.back().text = with_right(lines.back().text, right, style_.width);
  }

  void findings() {
    title("WHAT IS WRONG");
    if (view_.findings.empty()) lines.push_back({"  nothing", TopLook::kGood});
    for (std::size_t i = 0; i < view_.findings.size(); ++i) {
      if (i == place_.selected) selected_at = lines.size();
      finding(view_.findings[i], i == place_.selected);
      if (i == place_.selected) selected_end = lines.size();
    }
    if (view_.findings_left_out != 0)
      lines.push_back({fmt::format("  and {} more", view_.findings_left_out), TopLook::kPlain});
  }

  void finding(const LiveFinding& finding, bool selected) {
    const std::string since = since_text(finding, view_.made_at);
    const std::string begin = fmt::format("{} {:<4} {}", selected ? '>' : ' ', status_word(finding.status),
                                          printable(finding.headline));
    row(begin, since, selected ? TopLook::kSelected : look_of(finding.status), 7);
    if (selected && place_.opened) story(finding);
  }

  // Adds the details of a finding: its message, its history, what it explains, and what to do.
  void story(const LiveFinding& finding) {
    indented(finding.message);
    if (finding.times_before != 0)
      indented(fmt::format("It was there {} times before.", finding.times_before));
    if (finding.explains != 0) indented(fmt::format("It explains {} other findings.", finding.explains));
    for (const std::string& change : finding.changes_before) indented("before it: " + change);
    if (!finding.remedy.empty()) indented("remedy: " + finding.remedy);
    for (const std::string& command : finding.commands) indented("  " + command);
    indented(fmt::format("more: railbed explain {}", finding.rule));
  }

  void nodes() {
    const auto good =
        static_cast<std::size_t>(std::ranges::count(view_.nodes, Health::kGood, &LiveNode::health));
    title(view_.nodes.size() == 1 ? "NODE" : "NODES");
    if (view_.nodes.size() > 1)
      lines.push_back({fmt::format("  {} of {} are healthy", good, view_.nodes.size()), TopLook::kPlain});
    for (const LiveNode& live_node : view_.nodes)
      if (live_node.health != Health::kGood || view_.nodes.size() == 1) node(live_node);
  }

  void node(const LiveNode& node) {
    std::string text = fmt::format("  {}  {}", printable(node.name), word(node.health));
    if (!node.reachable && !node.why.empty()) text += ": " + printable(node.why);
    if (!node.reachable && !node.asked_again.empty()) text += ", asked again " + printable(node.asked_again);
    const std::string age = node.look_age ? fmt::format("looked at {} ago", span_text(*node.look_age)) : "";
    row(text, age, look_of(node.health), 4);
  }

  // Ends in trouble come first: on a large fleet, the others may not fit.
  void rails() {
    if (view_.rails.empty()) return;
    struct Row {
      std::array<std::string, 8> cells;
      TopLook look;
    };
    std::vector<Row> rows = {
        {{"RAILS", "node", "port", "state", "rate", "in", "out", "errors"}, TopLook::kTitle}};
    for (const bool sound : {false, true})
      for (const LiveRail& rail : view_.rails)
        for (const LiveEnd& end : rail.ends)
          if ((end.health == Health::kGood) == sound)
            rows.push_back({cells_of(rail, end), look_of(end.health)});
    std::array<std::size_t, 8> widths = {0, 0, 0, 0, 0, kRates, kRates, 0};
    for (const Row& row : rows)
      for (std::size_t i = 0; i < widths.size(); ++i)
        widths[i] = std::max(widths[i], length_of(printable(row.cells[i])));
    constexpr std::size_t kNames =
        3;  // columns that stay beside each other; a line of their own where it is narrow
    const auto text = [&](const Row& row, std::size_t from, std::size_t to) {
      std::string line;
      for (std::size_t i = from; i < to; ++i)
        line += (i == from ? "" : " ") + fitted(row.cells[i], widths[i]);
      return line;
    };
    const std::size_t all = std::accumulate(widths.begin(), widths.end(), widths.size() - 1);
    if (all <= static_cast<std::size_t>(std::max(style_.width, 1))) {
      for (const Row& row : rows) lines.push_back({text(row, 0, row.cells.size()), row.look});
      return;
    }
    title("RAILS");
    for (const Row& row : std::span(rows).subspan(1)) {
      this->row(text(row, 0, kNames), "", row.look, 4);
      this->row("    " + text(row, kNames, row.cells.size()), "", row.look, 4);
    }
  }

  // Returns rail, node, port, state, rate, received, sent, errors.
  std::array<std::string, 8> cells_of(const LiveRail& rail, const LiveEnd& end) const {
    const double full = end.rate ? end.rate->bits_per_second / 8 : 0;
    double errors = 0;
    for (const LiveError& error : end.errors) errors += error.a_second;
    return {"  " + rail.name,
            end.node,
            end.device.empty() ? end.interface : end.device,
            end.state,
            end.rate ? to_text(*end.rate) : "",
            spark_rate(end.receive, end.receive_samples, full),
            spark_rate(end.transmit, end.transmit_samples, full),
            end.errors.empty() ? "" : fmt::format("{:.3g}", errors)};
  }

  std::string spark_rate(const std::optional<double>& now, const LiveSamples& samples, double full) const {
    constexpr std::size_t kShown = 8;
    const std::string number = now ? bytes_a_second(*now) : "-";
    return fmt::format("{:>5} {}", number, sparkline(samples, kShown, full, style_.unicode));
  }

  void gpus() {
    // A fleet shows only GPUs in trouble; a single node shows all.
    const auto is_shown = [&](const LiveGpu& gpu) {
      return view_.nodes.size() == 1 || gpu.health != Health::kGood;
    };
    std::size_t name = 0;
    for (const LiveNode& node : view_.nodes)
      if (std::ranges::any_of(node.gpus, is_shown)) name = std::max(name, length_of(printable(node.name)));
    if (name != 0) title("GPUS");
    for (const LiveNode& node : view_.nodes)
      for (const LiveGpu& gpu : node.gpus)
        if (is_shown(gpu)) row(gpu_text(node, gpu, name), "", look_of(gpu.health), 4);
  }

  // `name`: columns of the node's name.
  std::string gpu_text(const LiveNode& node, const LiveGpu& gpu, std::size_t name) const {
    const auto shown = [](const std::optional<double>& value, std::string_view unit) {
      return value ? fmt::format("{:.0f}{}", *value, unit) : std::string("-");
    };
    constexpr double kFull = 100;
    constexpr std::size_t kShown = 16;
    std::string text = fmt::format(
        "  {} {} {:>4} {} {:>6} {:>6}", fitted(node.name, name), fitted(gpu.pci_address, 12),
        shown(gpu.utilisation, "%"),
        sparkline(gpu.utilisation_samples, style_.width < kWide ? 4 : kShown, kFull, style_.unicode),
        shown(gpu.temperature, " C"), shown(gpu.power, " W"));
    if (!gpu.trouble.empty()) text += "  " + printable(gpu.trouble);
    return text;
  }

  void events() {
    if (view_.events.empty()) return;
    title("WHAT HAPPENED");
    for (const NodeEvent& event : view_.events) {
      const double age = std::max(0.0, view_.made_at - event.time.unix_seconds);
      row(fmt::format("  {:>9} ago  {}", span_text(age), printable(event_summary(event))), "",
          TopLook::kPlain, 17);
    }
  }

  const LiveView& view_;
  const TopPlace& place_;
  const TopStyle& style_;
};

std::vector<TopLine> head_of(const LiveView& view, const TopStyle& style) {
  const std::string clock = view.made_at == 0 ? "" : utc_text(view.made_at).substr(11);
  std::vector<TopLine> lines = {
      {with_right(fmt::format("{}  {}", printable(view.title), word(view.health)), clock, style.width),
       view.health == Health::kGood ? TopLook::kGood : look_of(view.health)}};
  for (const std::string& text :
       {view.sentence, fmt::format("{} fail, {} warn, {} could not be looked at, {} pass", view.failures,
                                   view.warnings, view.unknown, view.passed)})
    for (std::string& part : wrapped(text, style.width)) lines.push_back({std::move(part), TopLook::kPlain});
  return lines;
}

// Returns the lines that are left for the body: the head and one at the foot are always shown.
std::size_t body_room(const LiveView& view, const TopStyle& style) {
  const auto height = static_cast<std::size_t>(std::max(style.height, 0));
  const std::size_t head = head_of(view, style).size();
  return height > head + 1 ? height - head - 1 : 1;
}

std::vector<TopLine> help_lines() {
  std::vector<TopLine> lines = {{"KEYS", TopLook::kTitle}};
  for (const std::string_view text :
       {"  j, k, arrows    another finding", "  Enter           its remedy, and what had changed before it",
        "  f               faults alone, or everything", "  Space, b        a page down, up",
        "  q, Ctrl-C       leave", "  ?               this, or back",
        "A line of rates is the last minutes; its top is what the port can carry."})
    lines.push_back({std::string(text), TopLook::kPlain});
  return lines;
}

// Returns the first line of the body to show: the one that the user scrolled to, or else one from which the
// selected finding is visible.
std::size_t first_shown(const Body& body, const TopPlace& place, std::size_t room) {
  const std::size_t last = body.lines.size() > room ? body.lines.size() - room : 0;
  if (place.scrolled != 0) return std::min(place.scrolled, last);
  if (body.selected_end <= room) return 0;
  return std::min({body.selected_end - room, body.selected_at, last});
}

std::string foot_text(std::size_t below, const TopStyle& style) {
  const std::string more = below == 0 ? "" : fmt::format("{} more lines below", below);
  return with_right("q leave  Enter remedy  f faults  ? help", more, style.width);
}

}  // namespace

std::vector<std::string> top_frame(const LiveView& view, const TopPlace& place, const TopStyle& style) {
  std::vector<TopLine> lines = head_of(view, style);
  if (style.height == 0) {
    const Body body(view, place, style);
    lines.insert(lines.end(), body.lines.begin(), body.lines.end());
  } else {
    const Body body(view, place, style);
    const std::vector<TopLine> shown = place.help ? help_lines() : body.lines;
    const std::size_t room = body_room(view, style);
    const std::size_t head = lines.size();
    const std::size_t first = place.help ? 0 : first_shown(body, place, room);
    const std::size_t end = std::min(shown.size(), first + room);
    lines.insert(lines.end(), shown.begin() + static_cast<std::ptrdiff_t>(first),
                 shown.begin() + static_cast<std::ptrdiff_t>(end));
    lines.resize(head + room);
    lines.push_back({foot_text(shown.size() - end, style), TopLook::kDim});
    if (lines.size() > static_cast<std::size_t>(style.height))
      lines.resize(static_cast<std::size_t>(style.height));
  }
  std::vector<std::string> drawn;
  for (const TopLine& line : lines) drawn.push_back(draw(line, style));
  return drawn;
}

TopPlace after_key(TopPlace place, TopKey key, const LiveView& view, const TopStyle& style) {
  const std::size_t count = view.findings.size();
  const std::size_t room = body_room(view, style);
  const auto at = [&] {
    const Body body(view, place, style);
    return std::pair(first_shown(body, place, room), body.lines.size() > room ? body.lines.size() - room : 0);
  };
  switch (key) {
    case TopKey::kUp:
    case TopKey::kDown:
      place.scrolled = 0;
      if (key == TopKey::kUp && place.selected > 0) --place.selected;
      if (key == TopKey::kDown && place.selected + 1 < count) ++place.selected;
      break;
    case TopKey::kPageDown:
      place.scrolled = std::min(at().first + room, at().second);
      break;
    case TopKey::kPageUp:
      place.scrolled = at().first > room ? at().first - room : 0;
      break;
    case TopKey::kOpen:
      place.scrolled = 0;
      place.opened = !place.opened;
      break;
    case TopKey::kFaults:
      place.scrolled = 0;
      place.faults_only = !place.faults_only;
      break;
    case TopKey::kHelp:
      place.help = !place.help;
      break;
    case TopKey::kQuit:
      break;
  }
  return place;
}

}  // namespace railbed
