// Compares settings with the present state of a node and derives the changes. Pure functions; no machine is
// touched.
//
// A setting is left alone if all of its needs are met now and at the next boot, whatever the cause: a node
// that was configured by hand, or by another tool, gets no second file for the same purpose. If a need is not
// met, the setting's files are compared with those on the node, byte by byte and by mode, and its steps make
// the files' content effective now. railbed's files that are no longer needed are removed.
//
// A person's changes are not overwritten: they are shown and kept, and the setting waits until a person
// decides (`take_over`). The same holds for a setting that a person has to check first (Setting::doubt).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "facts/file_state.h"
#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

enum class FileAction {
  kCreate,
  kChange,  // the content, and the mode if it differs
  kSetMode,
  kMoveAside,  // another author's file that contradicts a setting
  kRemove      // railbed's own file that is no longer needed
};
constexpr auto enum_names(FileAction) {
  return std::array<std::string_view, 5>{"create", "change", "set-mode", "move-aside", "remove"};
}

// One file of a change.
struct FileChange {
  FileAction action = FileAction::kCreate;
  std::string path = {};
  std::optional<std::string> before = {};  // the whole file; nullopt: it does not exist, or moves aside
  std::optional<std::string> after = {};   // the same after the change
  std::optional<int> mode_before = {};     // nullopt: no file, or unknown
  int mode = 0644;
  std::string why = {};  // reason for kMoveAside
  FIELDS(FileChange, action, path, before, after, mode_before, mode, why);
};

// A finding of verify beside a plan.
struct PlannedFinding {
  std::string node = {};
  std::string rule = {};
  std::string subject = {};
  std::string message = {};
  // Of an unanswered finding: why the plan has no change for it although railbed knows settings for its rule;
  // empty if no setting fixes it.
  std::string why = {};
  FIELDS(PlannedFinding, node, rule, subject, message, why);
};

// The change for one setting.
struct NodeChange {
  Section section = Section::kNetwork;
  std::string setting = {};                // Setting::name
  std::vector<std::string> subjects = {};  // Setting::subjects
  std::string title = {};
  std::string reason = {};
  Risk risk = Risk::kNone;
  bool reboot = false;
  std::vector<Need> needs = {};  // of the setting; not in JSON, where `unmet` has what a reader needs
  std::vector<Need> unmet = {};  // needs that are known not to be met
  std::vector<FileChange> files = {};
  std::vector<NodeStep> steps = {};
  std::vector<std::vector<std::string>> commands = {};  // the steps as programs of this node
  std::vector<std::string> notes = {};
  // The reason why it cannot be applied as it is, and what to do: for example a file that a person edited, or
  // one that could not be read. Empty if it can.
  std::string held = {};
  std::vector<PlannedFinding> answers = {};  // findings that it fixes; only for `railbed fix`
  FIELDS(NodeChange, section, setting, subjects, title, reason, risk, reboot, unmet, files, steps, commands,
         notes, held, answers);
};

// All changes of one node.
struct NodePlan {
  std::string node = {};
  std::string error = {};  // why there is no plan: unreachable, an unknown system; empty if there is one
  OsFamily family = OsFamily::kDebian;
  std::vector<NodeChange> changes = {};
  std::vector<std::string> met = {};  // titles of settings that need nothing
  // titles of settings that take effect after the next boot or login
  std::vector<std::string> awaiting_reboot = {};
  std::vector<NodeChange> awaiting = {};  // the settings of these titles; not in JSON
  double clock_offset = 0;                // seconds ahead of this machine's clock; 0, too, if not compared
  bool wants_reboot = false;              // one of these needs a boot; a new login is not enough
  FIELDS(NodePlan, node, error, family, changes, met, awaiting_reboot, clock_offset, wants_reboot);
};

// The plan of a whole cluster.
struct ClusterPlan {
  std::string cluster = {};
  std::vector<NodePlan> nodes = {};             // in the order of the file
  std::vector<PlannedFinding> unanswered = {};  // no change of the plan fixes these; only for `railbed fix`
  FIELDS(ClusterPlan, cluster, nodes, unanswered);
  int exit_code() const;  // 0 nothing to do, 1 changes, 3 a node could not be checked
};

// Returns all paths whose state plan_node() needs.
std::vector<std::string> files_of(const std::vector<Setting>& settings);

struct PlanOptions {
  bool take_over = false;  // overwrite files that a person changed
  bool leftovers = true;   // every section was rendered, so files that none needs are leftovers
};
// Returns the changes of one node. `states` holds the present state of its files: those of files_of(), and of
// railbed's other files if leftovers are wanted.
NodePlan plan_node(const Target& target, const std::vector<Setting>& settings, const FileStates& states,
                   const PlanOptions& options = {});

}  // namespace railbed
