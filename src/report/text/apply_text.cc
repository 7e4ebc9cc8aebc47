#include "report/text/apply_text.h"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "base/shell.h"
#include "base/text.h"
#include "base/wording.h"
#include "report/text/hostlist.h"

namespace railbed {
namespace {

std::string_view told_state(const NodeOutcome& outcome) {
  if (!outcome.state && outcome.told_to_keep)
    return "lost when it was told to keep the change: it keeps it, or goes back by itself. When it is back, "
           "`railbed plan` says which, and `railbed rollback` takes it back";
  if (!outcome.state) return "not reached: left alone it goes back by itself";
  switch (*outcome.state) {
    case ApplyState::kStaged:
    case ApplyState::kDropped:
      return "not changed";
    case ApplyState::kSwitching:
      return "still changing: left alone it goes back by itself";
    case ApplyState::kSwitched:
      return "changed and not told what to do: left alone it goes back by itself";
    case ApplyState::kCommitted:
      return "changed";
    case ApplyState::kReverting:
      return "going back; if this stays so, a file could not be restored: see the reason";
    case ApplyState::kReverted:
      return "as it was before";
  }
  return "";
}

std::string_view state_word(ApplyState state) { return enum_names(state)[static_cast<std::size_t>(state)]; }

// Returns a line for each state with its nodes.
std::string states_text(const std::vector<NodeOutcome>& nodes) {
  std::map<std::string_view, std::vector<std::string>> by_state;
  for (const NodeOutcome& outcome : nodes) by_state[told_state(outcome)].push_back(outcome.node);
  std::string text;
  for (const auto& [state, names] : by_state) text += fmt::format("  {}: {}\n", listed_hosts(names), state);
  return text;
}

std::string reasons_text(const std::vector<NodeOutcome>& nodes) {
  std::string text;
  for (const NodeOutcome& outcome : nodes)
    if (!outcome.why.text.empty())
      text += fmt::format("  {}: {}\n", printable(outcome.node), printable_lines(trim(outcome.why.text)));
  return text;
}

std::string fault_text(const RailFault& fault, std::string_view note) {
  std::string text = fmt::format("  {}, {} to {}: {}{}\n", printable(fault.rail), printable(fault.from),
                                 printable(fault.to), note, printable(fault.cause));
  if (!fault.remedy.empty()) text += fmt::format("    remedy: {}\n", printable(fault.remedy));
  return text;
}

std::string old_faults_text(const std::vector<RailFault>& faults) {
  std::string text;
  for (const RailFault& fault : faults)
    text += fault_text(fault, "carried nothing before this change either, which does not concern it: ");
  return text;
}

struct ToldApply {
  const PastApply* apply = nullptr;
  std::vector<std::string> nodes;
};

}  // namespace

std::string apply_text(const ApplyOutcome& outcome) {
  std::string text;
  if (outcome.committed)
    text = fmt::format(
        "done: apply {}{}\n", outcome.id,
        outcome.paths > 0 ? fmt::format("; {} from both ends", counted(outcome.paths, "path of rails carries",
                                                                       "paths of rails carry"))
                          : "");
  else
    text = fmt::format("{}: {}\n", outcome.was_begun() ? "TAKEN BACK" : "NOTHING WAS CHANGED",
                       printable_lines(trim(outcome.why.text)));
  text += states_text(outcome.nodes);
  if (outcome.committed)
    return text + old_faults_text(outcome.old_faults) + reasons_text(outcome.nodes) +
           fmt::format("back to what was before: {}\n",
                       command("railbed rollback CLUSTER {}", outcome.id).text());
  for (const RailFault& fault : outcome.faults) text += fault_text(fault, "");
  if (!outcome.faults.empty())
    text += "  to keep a change whatever the rails do: the same command with --no-prove\n";
  text += old_faults_text(outcome.old_faults);
  return text + reasons_text(outcome.nodes);
}

std::string reboot_text(const RebootOutcome& outcome) {
  std::string text;
  std::vector<std::string> left;
  for (const RebootedNode& node : outcome.nodes) {
    const std::string name = printable(node.node);
    if (node.state == RebootState::kWell)
      text += fmt::format("{}: rebooted, and as it shall be, after {:.0f} s\n", name, node.seconds);
    else if (node.state == RebootState::kNotWell)
      text += fmt::format("{}: REBOOTED, AND SOMETHING IS WRONG: {}\n", name, printable_lines(node.why.text));
    else if (!node.why.text.empty())
      text += fmt::format("{}: not rebooted: {}\n", name, printable_lines(node.why.text));
    else
      left.push_back(node.node);
  }
  if (!left.empty())
    text += fmt::format("{}: not rebooted, since one before was not well\n", listed_hosts(left));
  return text;
}

std::string history_text(const std::vector<NodeHistory>& histories) {
  std::map<std::string, std::map<std::string_view, ToldApply>, std::greater<>> by_id;  // the latest first
  std::string text;
  for (const NodeHistory& node : histories) {
    if (!node.error.empty())
      text += fmt::format("{}: {}\n", printable(node.node), printable_lines(node.error));
    for (const PastApply& apply : node.applies) {
      ToldApply& told = by_id[apply.id][state_word(apply.state)];
      told.apply = &apply;
      told.nodes.push_back(node.node);
    }
  }
  if (by_id.empty() && text.empty()) return "nothing was applied here yet\n";
  for (const auto& [id, states] : by_id)
    for (const auto& [state, told] : states) {
      text += fmt::format("{}  {:<9}  {}  by {}\n", printable(id), state, listed_hosts(told.nodes),
                          printable(told.apply->who));
      for (const std::string& title : told.apply->titles) text += fmt::format("    {}\n", printable(title));
      if (!told.apply->why.text.empty())
        text += fmt::format("    why: {}\n", printable_lines(trim(told.apply->why.text)));
    }
  return text;
}

}  // namespace railbed
