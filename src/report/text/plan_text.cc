#include "report/text/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/shell.h"
#include "base/text.h"
#include "base/wording.h"
#include "report/text/diff.h"
#include "report/text/hostlist.h"
#include "settings/step.h"

namespace railbed {
namespace {

template <class Enum>
std::string_view word_of(Enum value) {
  return enum_names(value)[static_cast<std::size_t>(value)];
}

std::string_view sign_of(FileAction action) {
  switch (action) {
    case FileAction::kCreate:
      return "create";
    case FileAction::kChange:
      return "change";
    case FileAction::kSetMode:
      return "set mode of";
    case FileAction::kMoveAside:
      return "move aside";
    case FileAction::kRemove:
      return "remove";
  }
  return "";
}

std::string file_line(const FileChange& file) {
  std::string text = fmt::format("{} {}", sign_of(file.action), printable(file.path));
  if (file.action == FileAction::kSetMode)
    text += fmt::format(": {:o}, not {:o}", file.mode, file.mode_before.value_or(0));
  if (!file.why.empty()) text += ": " + printable(file.why);
  return text;
}

// The text of a change below its title; equal for nodes with the same change.
class ChangeText {
 public:
  ChangeText(const NodeChange& change, const PlanTextOptions& options) {
    for (const PlannedFinding& finding : change.answers)
      line(change.held.empty() ? "mends" : "would mend",
           fmt::format("{}: {}", finding.rule, finding.message));
    line("why", change.reason + (change.reason.empty() ? "" : "."));
    for (const Need& need : change.unmet)
      line("now", need.what + (need.found.empty() ? " is not so" : ": " + need.found));
    for (const FileChange& file : change.files) {
      line("file", file_line(file));
      if (options.diff && file.action != FileAction::kMoveAside) diff(file);
    }
    for (const auto& command : change.commands) line("run", shell_line(command));
    if (const auto risk = warning_of(change.risk); !risk.empty()) line("risk", risk);
    if (change.reboot) line("then", "it is true after the next reboot");
    for (const std::string& note : change.notes) line("note", note);
    if (!change.held.empty()) line("HELD", change.held);
  }
  const std::string& text() const { return text_; }

 private:
  void line(std::string_view label, std::string_view value) {
    if (!value.empty()) text_ += fmt::format("    {:<5} {}\n", label, printable(value));
  }
  void diff(const FileChange& file) {
    const std::string all = unified_diff(file.path, file.before, file.after);
    std::size_t at = 0;
    while (at < all.size()) {
      const auto end = all.find('\n', at);
      text_ += "      " + all.substr(at, end - at + 1);
      at = end + 1;
    }
  }

  std::string text_;
};

struct ToldChange {
  std::string title;
  std::string text;
  std::vector<std::string> nodes;
};

// Returns the changes of all nodes in the order in which they are made, equal ones together.
std::vector<ToldChange> told_once(const ClusterPlan& plan, const PlanTextOptions& options) {
  std::vector<ToldChange> all;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const NodePlan& node : plan.nodes)
    for (const NodeChange& change : node.changes) {
      const std::string title = fmt::format("[{}] {}", word_of(change.section), printable(change.title));
      const std::string text = ChangeText(change, options).text();
      const auto [found, fresh] = known.try_emplace({title, text}, all.size());
      if (fresh) all.push_back({title, text, {}});
      all[found->second].nodes.push_back(node.node);
    }
  return all;
}

struct Tally {
  std::size_t changes = 0;
  std::size_t held = 0;
  std::size_t changed_nodes = 0;
  std::size_t failed_nodes = 0;
};

Tally tally_of(const ClusterPlan& plan) {
  Tally tally;
  for (const NodePlan& node : plan.nodes) {
    tally.changes += node.changes.size();
    tally.held +=
        std::ranges::count_if(node.changes, [](const NodeChange& change) { return !change.held.empty(); });
    tally.changed_nodes += !node.changes.empty();
    tally.failed_nodes += !node.error.empty();
  }
  return tally;
}

std::string summary(const ClusterPlan& plan) {
  const Tally tally = tally_of(plan);
  std::string text = fmt::format("{}: ", printable(plan.cluster));
  if (tally.changes == 0 && tally.failed_nodes == 0)
    return text + fmt::format("nothing to do on {}\n", counted(plan.nodes.size(), "node"));
  text += fmt::format("{} on {} of {}", counted(tally.changes, "change"), tally.changed_nodes,
                      counted(plan.nodes.size(), "node"));
  if (tally.held > 0) text += fmt::format(", {} held until somebody decides", tally.held);
  if (tally.failed_nodes > 0)
    text += fmt::format("; {} could not be planned", counted(tally.failed_nodes, "node"));
  return text + "\n";
}

// Returns the titles, each with the nodes that share it.
std::string shared_titles(const ClusterPlan& plan, std::string_view label,
                          std::vector<std::string> NodePlan::*titles) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> nodes;
  for (const NodePlan& node : plan.nodes)
    for (const std::string& title : node.*titles) {
      auto& those = nodes[title];
      if (those.empty()) order.push_back(title);
      those.push_back(node.node);
    }
  std::string text;
  for (const std::string& title : order)
    text += fmt::format("{} {} ({})\n", label, printable(title), listed_hosts(nodes[title]));
  return text;
}

// Returns a line for each rule and reason, with the first message and the nodes if there are several.
std::string unanswered_lines(const std::vector<const PlannedFinding*>& findings) {
  std::vector<const PlannedFinding*> first;
  std::map<std::pair<std::string_view, std::string_view>, std::vector<std::string>> nodes;
  for (const PlannedFinding* const finding : findings) {
    auto [found, is_new] = nodes.try_emplace({finding->rule, finding->why});
    if (is_new) first.push_back(finding);
    if (!finding->node.empty() && std::ranges::find(found->second, finding->node) == found->second.end())
      found->second.push_back(finding->node);
  }
  std::string text;
  for (const PlannedFinding* const finding : first) {
    const auto& those = nodes[{finding->rule, finding->why}];
    text += fmt::format("  {:<22} {}\n", finding->rule, printable(finding->message));
    if (those.size() > 1) text += fmt::format("  {:<22} on {}\n", "", listed_hosts(those));
    if (!finding->why.empty()) text += fmt::format("  {:<22} {}\n", "", printable(finding->why));
  }
  return text;
}

// Returns the findings that no change fixes; equal ones of several nodes once.
std::string unanswered_text(const ClusterPlan& plan) {
  std::vector<const PlannedFinding*> mendable;
  std::vector<const PlannedFinding*> others;
  for (const PlannedFinding& finding : plan.unanswered)
    (finding.why.empty() ? others : mendable).push_back(&finding);
  std::string text;
  if (!mendable.empty())
    text += fmt::format("\n{} that this plan leaves:\n{}", counted(mendable.size(), "finding"),
                        unanswered_lines(mendable));
  if (!others.empty())
    text += fmt::format("\n{} that no setting mends; `railbed explain RULE` says what does:\n{}",
                        counted(others.size(), "finding"), unanswered_lines(others));
  return text;
}

}  // namespace

std::string plan_text(const ClusterPlan& plan, const PlanTextOptions& options) {
  const std::string_view bold = options.colour ? "\033[1m" : "";
  const std::string_view plain = options.colour ? "\033[0m" : "";
  std::string text = summary(plan);
  for (const NodePlan& node : plan.nodes)
    if (!node.error.empty())
      text +=
          fmt::format("\n{}{}{}\n    {}\n", bold, printable(node.node), plain, printable_lines(node.error));
  for (const ToldChange& change : told_once(plan, options))
    text += fmt::format("\n{}{}{}\n    on    {}\n{}", bold, change.title, plain, listed_hosts(change.nodes),
                        change.text);
  const std::string waiting =
      shared_titles(plan, "waits for a reboot or a new login:", &NodePlan::awaiting_reboot);
  if (!waiting.empty()) text += "\n" + waiting;
  text += unanswered_text(plan);
  if (options.all) {
    const std::string met = shared_titles(plan, "as it shall be:", &NodePlan::met);
    if (!met.empty()) text += "\n" + met;
  }
  return text;
}

std::string settings_text(const std::vector<NodeSettings>& nodes) {
  std::string text;
  for (const NodeSettings& node : nodes) {
    text += fmt::format("{}==== {} ====\n", text.empty() ? "" : "\n", printable(node.node));
    if (!node.error.empty()) text += printable_lines(node.error) + "\n";
    for (const Setting& setting : node.settings) {
      text += fmt::format("\n[{}] {}\n", word_of(setting.section), printable(setting.title));
      if (!setting.reason.empty()) text += fmt::format("why   {}\n", setting.reason);
      for (const std::string& note : setting.notes) text += fmt::format("note  {}\n", printable(note));
      if (!setting.doubt.empty()) text += fmt::format("HELD  {}\n", printable(setting.doubt));
      for (const DesiredFile& file : setting.files)
        text += fmt::format("---- {} {}\n{}", file.path,
                            file.block ? "(lines of it)" : fmt::format("{:04o}", file.mode), file.content);
      for (const auto& command : commands_of(setting.steps, node.platform))
        text += fmt::format("run   {}\n", shell_line(command));
    }
  }
  return text;
}

}  // namespace railbed
