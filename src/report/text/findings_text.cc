// The layout. Causes come first, the worst at the top. Of a rule with many causes only kCausesPerRule are
// shown in full, and one line names the rest; options.all shows every one. Then come the properties in which
// nodes differ, and a line of totals.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "base/wording.h"
#include "inventory/hostlist.h"
#include "report/causes.h"
#include "report/escape.h"
#include "report/findings.h"
#include "report/text/hostlist.h"

namespace railbed {
namespace {

// Causes of one rule that are shown in full; one line sums up the rest.
constexpr std::size_t kCausesPerRule = 3;
constexpr std::size_t kConsequencesShown = 4;
constexpr std::size_t kHostLines = 6;       // for the nodes of one cause
constexpr std::size_t kMargin = 6;          // "FAIL  "
constexpr std::size_t kLongCommands = 200;  // bytes; longer commands of a setting are not shown twice

struct Style {
  std::string_view word;
  std::string_view colour;
};

Style style_of(Status status) {
  switch (status) {
    case Status::kFail:
      return {"FAIL", "\033[1;31m"};
    case Status::kWarn:
      return {"WARN", "\033[33m"};
    case Status::kUnknown:
      return {"UNKNOWN", "\033[35m"};
    case Status::kPass:
      return {"PASS", "\033[32m"};
    case Status::kNotApplicable:
      return {"N/A", "\033[2m"};
  }
  return {};
}

// Fills lines with pieces and a space between them. No piece is ever broken, so that commands and paths can
// be copied.
template <class Pieces>
std::vector<std::string> fill(const Pieces& pieces, std::size_t width) {
  std::vector<std::string> filled(1);
  for (const auto& piece : pieces) {
    std::string& line = filled.back();
    if (line.empty())
      line = piece;
    else if (columns(line) + 1 + columns(piece) <= width)
      (line += ' ') += piece;
    else
      filled.emplace_back(piece);
  }
  return filled;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) { return fill(words(text), width); }

// Wraps "one · two · three" at the dots only.
std::vector<std::string> wrap_list(std::vector<std::string> items, std::size_t width) {
  for (std::size_t i = 0; i + 1 < items.size(); ++i) items[i] += " ·";
  return fill(items, width);
}

// Wraps "gpu[1,3,5]" after commas only.
std::vector<std::string> fill_list(std::string_view folded, std::size_t width) {
  std::vector<std::string> filled(1);
  for (std::size_t at = 0; at < folded.size();) {
    const std::size_t end = std::min(folded.find(',', at), folded.size() - 1) + 1;
    if (columns(filled.back()) + columns(folded.substr(at, end - at)) > width && !filled.back().empty())
      filled.emplace_back();
    filled.back() += trim(folded.substr(at, end - at));
    at = end;
  }
  return filled;
}

class Writer {
 public:
  explicit Writer(const TextOptions& options) : options_(options) {
    options_.width = std::max<std::size_t>(options_.width, 40);
  }

  void cause(const Cause& cause);
  void more_of(const std::vector<const Cause*>& rest);
  void differences(const std::vector<Difference>& differences);
  void all_passed(const Run& run, const StatusCounts& counts);
  void summary(const Run& run, const StatusCounts& counts, const std::vector<Cause>& causes);
  void blank() { text_ += '\n'; }
  std::string take() { return std::move(text_); }

 private:
  std::string coloured(std::string_view text, std::string_view colour) const {
    return options_.colour ? fmt::format("{}{}\033[0m", colour, text) : std::string(text);
  }
  // Writes "FAIL  vm2: eth1 is down                net.down".
  void first_lines(const Folded& root);
  // Writes "      label: text", continued under the text.
  void detail(std::string_view label, std::string_view text);
  void detail_lines(std::string_view label, const std::vector<std::string>& lines);
  std::size_t room_after(std::string_view label) const {
    return options_.width - kMargin - columns(label) - 2;
  }
  void command(std::string_view command);
  void remedy(std::string_view rule, const Remedy& remedy);
  void consequences(const Cause& cause);
  void could_not_look(const Cause& cause);
  void hosts(const Folded& root);

  TextOptions options_;
  std::string text_;
  std::map<std::string, std::string, std::less<>> shown_;  // long commands, and the rule that showed them
};

void Writer::first_lines(const Folded& root) {
  const Style style = style_of(root.example->status);
  const std::string rule = printable(root.example->rule);
  const std::size_t hang = std::max(kMargin, style.word.size() + 2);
  const std::size_t width = options_.width - hang;
  const auto pieces = wrap(printable(headline(root)), width);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == 0)
      text_ += coloured(style.word, style.colour) + std::string(hang - style.word.size(), ' ');
    else
      text_ += '\n' + std::string(hang, ' ');
    text_ += pieces[i];
  }
  const std::size_t used = columns(pieces.back());
  if (used + 2 + columns(rule) <= width)
    text_ += std::string(width - used - columns(rule), ' ');
  else
    text_ += '\n' + std::string(hang, ' ');
  text_ += coloured(rule, "\033[2m") + '\n';
}

void Writer::detail(std::string_view label, std::string_view text) {
  detail_lines(label, wrap(printable(text), room_after(label)));
}

void Writer::detail_lines(std::string_view label, const std::vector<std::string>& lines) {
  text_ += fmt::format("{:{}}{}: {}\n", "", kMargin, label, lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i)
    text_ += fmt::format("{:{}}{}\n", "", kMargin + columns(label) + 2, lines[i]);
}

// A command is never wrapped, so that it can be copied.
void Writer::command(std::string_view command) {
  text_ += fmt::format("{:{}}  $ {}\n", "", kMargin, printable(command));
}

// One setting may fix many findings of a node, and its files are long: its commands are shown once.
void Writer::remedy(std::string_view rule, const Remedy& remedy) {
  if (!remedy.text.empty()) detail("do", remedy.text);
  const std::string all = fmt::format("{}", fmt::join(remedy.commands, "\n"));
  if (const auto shown = shown_.find(all); shown != shown_.end()) {
    detail("run", fmt::format("the commands of {} above mend this as well", shown->second));
  } else {
    for (const std::string& one : remedy.commands) command(one);
    if (all.size() >= kLongCommands) shown_.emplace(all, rule);
  }
  if (remedy.needs_reboot) detail("note", "takes effect after a reboot");
  if (!remedy.reversible) detail("note", "this cannot be undone");
}

void Writer::consequences(const Cause& cause) {
  if (cause.consequences.empty()) return;
  if (cause.worst == Status::kUnknown && !options_.all) return could_not_look(cause);
  std::vector<std::string> items;
  for (const Folded& folded : cause.consequences) {
    if (!options_.all && items.size() == kConsequencesShown) {
      items.push_back(fmt::format("and {} more", cause.consequences.size() - items.size()));
      break;
    }
    std::string item(folded.example->rule);
    if (!folded.nodes.empty()) item += ' ' + fold_hosts(folded.nodes);
    if (!folded.example->subject.empty()) item += ' ' + folded.example->subject;
    items.push_back(printable(item));
  }
  const std::string label = fmt::format("explains {} more", cause.explained);
  detail_lines(label, wrap_list(std::move(items), room_after(label)));
}

// Unknown findings below an unknown one have its reason: their number is what matters.
void Writer::could_not_look(const Cause& cause) {
  std::set<std::string_view> rules = {cause.root.example->rule};
  for (const Folded& folded : cause.consequences) rules.insert(folded.example->rule);
  detail("same reason",
         fmt::format("{} could not look, {} in all; --all names them", counted(rules.size(), "rule", "rules"),
                     counted(cause.explained + cause.root.count, "check", "checks")));
}

void Writer::cause(const Cause& cause) {
  const Finding& finding = *cause.root.example;
  first_lines(cause.root);
  const bool red = severity(finding.status) < severity(Status::kPass);
  if (finding.status == Status::kUnknown && !finding.evidence.empty()) detail("looked at", finding.evidence);
  if (red || options_.all) hosts(cause.root);
  if (red) remedy(finding.rule, finding.remedy);
  if (red && cause.root.commands_differ)
    detail("note",
           fmt::format("these files are {}'s: `railbed plan --fix` shows those of each node", finding.node));
  consequences(cause);
}

// Names the nodes if the headline only gives their number.
void Writer::hosts(const Folded& root) {
  const std::string folded = printable(fold_hosts(root.nodes));
  if (root.nodes.size() < 2 || printable(headline(root)).find(folded) != std::string::npos) return;
  auto lines = fill_list(folded, room_after("on"));
  if (!options_.all && lines.size() > kHostLines) {
    lines.resize(kHostLines);
    lines.emplace_back("… --all names every one");
  }
  detail_lines("on", lines);
}

void Writer::more_of(const std::vector<const Cause*>& rest) {
  std::vector<std::string> nodes;
  for (const Cause* cause : rest)
    nodes.insert(nodes.end(), cause->root.nodes.begin(), cause->root.nodes.end());
  std::string line =
      counted(rest.size(), "more", "more") + " of " + printable(rest.front()->root.example->rule);
  if (!nodes.empty()) line += " on " + printable(fold_hosts(nodes));
  for (const auto& piece : wrap(line + "; --all shows them", options_.width - kMargin))
    text_ += fmt::format("{:{}}{}\n", "", kMargin, piece);
}

// Writes the value of most nodes with their number, and the other values with the names of their nodes.
void Writer::differences(const std::vector<Difference>& differences) {
  constexpr std::size_t kValuesShown = 6;
  constexpr std::size_t kLongestValue = 60;
  text_ += "nodes differ\n";
  std::size_t label_width = 0;
  for (const Difference& difference : differences)
    label_width = std::max(label_width, columns(difference.property));
  for (const Difference& difference : differences) {
    std::vector<std::string> items;
    for (const SameValue& same : difference.values) {
      if (!options_.all && items.size() == kValuesShown) {
        items.push_back(fmt::format("and {} more values", difference.values.size() - items.size()));
        break;
      }
      const std::string value = shortened(printable(same.value), kLongestValue);
      const bool most = &same == &difference.values.front() && same.nodes.size() > 2;
      items.push_back(fmt::format(
          "{} on {}", value,
          most ? counted(same.nodes.size(), "node") : printable(listed_hosts(same.nodes, options_.all))));
    }
    const std::size_t indent = label_width + 4;
    const auto lines = wrap_list(std::move(items), options_.width - std::min(indent, options_.width - 20));
    text_ += fmt::format("  {}{:{}}{}\n", printable(difference.property), "",
                         indent - 2 - columns(difference.property), lines.front());
    for (std::size_t i = 1; i < lines.size(); ++i) text_ += fmt::format("{:{}}{}\n", "", indent, lines[i]);
  }
}

void Writer::all_passed(const Run& run, const StatusCounts& counts) {
  const std::string where = run.cluster.empty() ? "" : printable(run.cluster) + ": ";
  const std::string what = counts.pass == 0   ? "nothing could be checked here"
                           : counts.pass == 1 ? "the one check passed"
                                              : fmt::format("all {} checks passed", counts.pass);
  const Style style = style_of(counts.pass == 0 ? Status::kUnknown : Status::kPass);
  text_ += fmt::format("{}  {}{}\n", coloured(style.word, style.colour), where, what);
}

void Writer::summary(const Run& run, const StatusCounts& counts, const std::vector<Cause>& causes) {
  std::vector<std::string> parts;
  std::size_t explained = 0;
  for (const Cause& cause : causes) explained += cause.explained;
  if (counts.fail > 0) parts.push_back(counted(counts.fail, "failure", "failures"));
  if (counts.warn > 0) parts.push_back(counted(counts.warn, "warning", "warnings"));
  if (counts.unknown > 0) parts.push_back(fmt::format("{} unknown", counts.unknown));
  if (explained > 0) parts.push_back(fmt::format("{} of them explained by others", explained));
  parts.push_back(fmt::format("{} passed", counts.pass));
  if (counts.not_applicable > 0) parts.push_back(fmt::format("{} not applicable", counts.not_applicable));
  if (run.nodes > 0) parts.push_back(counted(run.nodes, "node", "nodes"));
  if (run.seconds > 0) parts.push_back(fmt::format("{:.{}f} s", run.seconds, run.seconds < 10 ? 2 : 0));
  for (const auto& line : wrap_list(std::move(parts), options_.width))
    text_ += coloured(line, "\033[2m") + '\n';
}

bool is_shown(const Cause& cause, const TextOptions& options) {
  return options.all || severity(cause.worst) < severity(Status::kPass);
}

}  // namespace

std::string render_text(const Verdict& verdict, const Run& run, const TextOptions& options) {
  Writer writer(options);
  const auto causes = root_causes(verdict.findings);
  const StatusCounts counts = verdict.findings.counts();
  if (counts.fail + counts.warn + counts.unknown == 0) writer.all_passed(run, counts);

  std::map<std::pair<Status, std::string_view>, std::vector<const Cause*>> of_rule;
  for (const Cause& cause : causes) of_rule[{cause.worst, cause.root.example->rule}].push_back(&cause);
  const Cause* previous = nullptr;
  for (const Cause& cause : causes) {
    if (!is_shown(cause, options)) continue;
    const auto& kin = of_rule[{cause.worst, cause.root.example->rule}];
    const std::size_t shown = options.all || kin.size() <= kCausesPerRule + 1 ? kin.size() : kCausesPerRule;
    const auto place = static_cast<std::size_t>(std::find(kin.begin(), kin.end(), &cause) - kin.begin());
    if (place >= shown) continue;
    if (previous != nullptr && previous->worst != cause.worst) writer.blank();
    writer.cause(cause);
    if (place + 1 == shown && shown < kin.size())
      writer.more_of({kin.begin() + static_cast<std::ptrdiff_t>(shown), kin.end()});
    previous = &cause;
  }
  if (previous != nullptr) writer.blank();
  if (!run.differences.empty()) {
    writer.differences(run.differences);
    writer.blank();
  }
  writer.summary(run, counts, causes);
  return writer.take();
}

}  // namespace railbed
