#include "configure/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/result.h"
#include "base/text.h"
#include "settings/files.h"
#include "settings/step.h"

namespace railbed {
namespace {

bool is_met(const Need& need) { return need.now == true && need.at_boot == true; }
bool is_unmet(const Need& need) { return need.now == false || need.at_boot == false; }

const Reading<FileState>* state_of(const FileStates& states, const std::string& path) {
  const auto found = states.find(path);
  return found == states.end() ? nullptr : &found->second;
}

// A file on the node, compared with its desired state.
struct Comparison {
  std::optional<FileChange> change = {};  // nullopt: it is as desired
  Author author = Author::kRailbed;       // of the present file, if it changes
  std::string unread = {};                // why it could not be compared
};

Comparison compare(const DesiredFile& file, const FileStates& states) {
  const Reading<FileState>* state = state_of(states, file.path);
  if (state == nullptr) return {.unread = "nobody looked at " + file.path};
  if (!state->ok() && !state->absent())
    return {.unread = fmt::format("{} cannot be read: {}", file.path, printable(state->miss().why))};
  FileChange change{.path = file.path, .mode = file.mode};
  if (!state->ok()) {
    change.after = content_after(file, std::nullopt);
    return {.change = std::move(change)};
  }
  const FileState& now = **state;
  const std::string& content = now.content.bytes;
  change.before = content;
  change.after = content_after(file, content);
  change.mode_before = now.mode;
  // A shared file keeps its mode.
  if (file.block) change.mode = now.mode.value_or(file.mode);
  change.action = change.before == change.after ? FileAction::kSetMode : FileAction::kChange;
  const bool same_mode = now.mode.value_or(change.mode) == change.mode;
  if (change.before == change.after && same_mode) return {};
  return {.change = std::move(change), .author = author_of(content, file.block)};
}

std::vector<FileChange> moved_aside(const Setting& setting, const FileStates& states) {
  std::vector<FileChange> changes;
  for (const Contradiction& contradiction : setting.contradictions) {
    const Reading<FileState>* state = state_of(states, contradiction.path);
    if (state == nullptr || state->absent()) continue;
    // The content is left out: another author's secrets stay on the node.
    changes.push_back(
        {.action = FileAction::kMoveAside, .path = contradiction.path, .why = contradiction.why});
  }
  return changes;
}

void hold(NodeChange& change, std::string why) {
  change.held += (change.held.empty() ? "" : "; ") + std::move(why);
}

// Adds the differences of the setting's files to `change`. Returns true if one of railbed's own files is out
// of date, which has to be changed even if all needs are met.
bool add_files(const Setting& setting, const FileStates& states, const PlanOptions& options,
               NodeChange& change) {
  bool outdated = false;
  for (const DesiredFile& file : setting.files) {
    Comparison compared = compare(file, states);
    if (!compared.unread.empty()) {
      hold(change, compared.unread);
      continue;
    }
    if (!compared.change) continue;
    const bool there = compared.change->before.has_value();
    const bool own =
        there && (!file.block || block_in(*compared.change->before)) && compared.author != Author::kOther;
    outdated = outdated || own;
    if (there && compared.author != Author::kRailbed && !options.take_over)
      hold(change, fmt::format("{} {}: look at it, then say --take-over to overwrite it", file.path,
                               compared.author == Author::kEdited ? "was edited by hand"
                                                                  : "is there already and is not railbed's"));
    change.files.push_back(std::move(*compared.change));
  }
  return outdated;
}

// Returns the change that the setting needs; nullopt if it is met.
std::optional<NodeChange> change_for(const Setting& setting, const FileStates& states,
                                     const Platform& platform, const PlanOptions& options) {
  NodeChange change{.section = setting.section,
                    .setting = setting.name,
                    .subjects = setting.subjects,
                    .title = setting.title,
                    .reason = setting.reason,
                    .risk = setting.risk,
                    .reboot = setting.reboot};
  change.notes = setting.notes;
  change.needs = setting.needs;
  std::ranges::copy_if(setting.needs, std::back_inserter(change.unmet), is_unmet);
  const bool outdated = add_files(setting, states, options, change);
  if (!setting.doubt.empty() && options.take_over)
    change.notes.push_back(setting.doubt);
  else if (!setting.doubt.empty())
    hold(change, setting.doubt + ", then say --take-over");
  if (!setting.refused.empty()) hold(change, setting.refused);
  const bool met = !setting.needs.empty() && std::ranges::all_of(setting.needs, is_met);
  if ((met || (!setting.asked && change.unmet.empty())) && !outdated) return std::nullopt;
  if (change.files.empty() && change.held.empty() && change.unmet.empty()) return std::nullopt;
  const auto aside = moved_aside(setting, states);
  change.files.insert(change.files.begin(), aside.begin(), aside.end());
  change.steps = setting.steps;
  change.commands = commands_of(change.steps, platform);
  return change;
}

// Returns true if all files are in place and only the running system lacks the setting. If no step applies
// it, a new login or the service's next start will. Of a setting without files only its needs can show that its steps have run.
bool awaits_reboot(const Setting& setting, const NodeChange& change) {
  const auto is_set = [&](const Need& need) {
    return setting.files.empty() && !change.steps.empty() ? need.at_boot == true : need.at_boot != false;
  };
  return (setting.reboot || change.steps.empty()) && change.files.empty() && change.held.empty() &&
         std::ranges::all_of(setting.needs, is_set);
}

constexpr std::string_view kUnitFolder = "/etc/systemd/system/";

// Returns steps that stop units before their files are removed.
std::vector<NodeStep> steps_to_remove(const std::vector<FileChange>& files) {
  std::vector<NodeStep> steps;
  bool units = false;
  for (const FileChange& file : files) {
    if (!file.path.starts_with(kUnitFolder)) continue;
    units = true;
    const std::string unit = file.path.substr(kUnitFolder.size());
    if (unit.find('/') == std::string::npos) steps.push_back({StepKind::kDisableUnit, {unit}});
  }
  if (units) steps.push_back({StepKind::kReloadUnits, {}});
  return steps;
}

// Returns the removal of files that railbed wrote for an older cluster.yaml; nullopt if there are none.
std::optional<NodeChange> leftovers(const std::vector<Setting>& settings, const FileStates& states,
                                    const Platform& platform, const PlanOptions& options) {
  std::set<std::string_view> wanted;
  for (const Setting& setting : settings)
    for (const DesiredFile& file : setting.files) wanted.insert(file.path);
  NodeChange change{.section = Section::kLeftovers,
                    .title = "files that cluster.yaml does not ask for any more",
                    .reason = "railbed wrote them; what they set would come back at every boot"};
  for (const auto& [path, state] : states) {
    if (!state.ok() || wanted.contains(path) || author_of(state->content.bytes, false) == Author::kOther)
      continue;
    change.files.push_back({.action = FileAction::kRemove, .path = path, .before = state->content.bytes});
    if (author_of(state->content.bytes, false) == Author::kEdited && !options.take_over)
      hold(change, path + " was edited by hand: look at it, then say --take-over to remove it");
  }
  if (change.files.empty()) return std::nullopt;
  change.steps = steps_to_remove(change.files);
  change.commands = commands_of(change.steps, platform);
  change.notes = {"what they set stays as it is until the next boot"};
  return change;
}

}  // namespace

int ClusterPlan::exit_code() const {
  if (std::ranges::any_of(nodes, [](const NodePlan& node) { return !node.error.empty(); }))
    return kExitCouldNotLook;
  const bool changes = std::ranges::any_of(nodes, [](const NodePlan& node) { return !node.changes.empty(); });
  return changes ? kExitWarnings : kExitClean;
}

std::vector<std::string> files_of(const std::vector<Setting>& settings) {
  std::set<std::string> paths;
  for (const Setting& setting : settings) {
    for (const DesiredFile& file : setting.files) paths.insert(file.path);
    for (const Contradiction& contradiction : setting.contradictions) paths.insert(contradiction.path);
  }
  return {paths.begin(), paths.end()};
}

NodePlan plan_node(const Target& target, const std::vector<Setting>& settings, const FileStates& states,
                   const PlanOptions& options) {
  NodePlan plan{.node = target.node().name, .family = target.platform.family};
  for (const Setting& setting : settings) {
    auto change = change_for(setting, states, target.platform, options);
    if (!change) {
      plan.met.push_back(setting.title);
    } else if (!awaits_reboot(setting, *change)) {
      plan.changes.push_back(std::move(*change));
    } else {
      plan.awaiting_reboot.push_back(setting.title);
      plan.awaiting.push_back(std::move(*change));
      plan.wants_reboot = plan.wants_reboot || setting.reboot;
    }
  }
  if (options.leftovers)
    if (auto change = leftovers(settings, states, target.platform, options))
      plan.changes.push_back(std::move(*change));
  return plan;
}

}  // namespace railbed
