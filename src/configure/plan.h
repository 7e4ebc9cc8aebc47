// Settings and the node as it is → what would change there. Pure; nothing here touches a machine.
//
// A setting is left alone where all that it needs is true now and at the next boot, whoever saw to that: a
// node that was configured by hand, or by something else, gets no second file for the same thing. Where
// something is missing, its files are compared with those on the node, byte by byte and by mode, and its
// steps make true now what the files say. A file of railbed's that nothing asks for any more goes away.
//
// What a person changed is not overwritten: it is shown and kept, and its setting waits until it is said who
// is right (`take_over`). So does a setting that a person has to look at first (Setting::doubt).
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
  kMoveAside,  // somebody else's file that says otherwise
  kRemove      // railbed's own, which nothing asks for any more
};
constexpr auto enum_names(FileAction) {
  return std::array<std::string_view, 5>{"create", "change", "set-mode", "move-aside", "remove"};
}

struct FileChange {
  FileAction action = FileAction::kCreate;
  std::string path = {};
  std::optional<std::string> before = {};  // the whole file; none: it is not there
  std::optional<std::string> after = {};   // likewise
  std::optional<int> mode_before = {};     // none: not there, or nobody told
  int mode = 0644;
  std::string why = {};  // of kMoveAside
  FIELDS(FileChange, action, path, before, after, mode_before, mode, why);
};

// A finding of verify, as a plan speaks of it.
struct PlannedFinding {
  std::string node = {};
  std::string rule = {};
  std::string subject = {};
  std::string message = {};
  FIELDS(PlannedFinding, node, rule, subject, message);
};

// What is to be done for one setting.
struct NodeChange {
  Section section = Section::kNetwork;
  std::string setting = {};                // Setting::name
  std::vector<std::string> subjects = {};  // likewise
  std::string title = {};
  std::string reason = {};
  Risk risk = Risk::kNone;
  bool reboot = false;
  std::vector<Need> needs = {};  // of the setting; not in JSON, where `unmet` has what a reader needs
  std::vector<Need> unmet = {};  // those that are known not to be met
  std::vector<FileChange> files = {};
  std::vector<NodeStep> steps = {};
  std::vector<std::vector<std::string>> commands = {};  // the steps as programs of this node
  std::vector<std::string> notes = {};
  // Why it cannot be made as it stands, and what to do: a file that a person edited, a file that may not be
  // read. Empty: it can.
  std::string held = {};
  std::vector<PlannedFinding> answers = {};  // what it is to clear; of `railbed fix` only
  FIELDS(NodeChange, section, setting, subjects, title, reason, risk, reboot, unmet, files, steps, commands,
         notes, held, answers);
};

struct NodePlan {
  std::string node = {};
  std::string error = {};  // why there is no plan for it: unreachable, an unknown system; empty: there is one
  OsFamily family = OsFamily::kDebian;
  std::vector<NodeChange> changes = {};
  std::vector<std::string> met = {};  // titles of settings that need nothing
  std::vector<std::string> awaiting_reboot =
      {};                     // likewise, of settings that are true after the next boot or login
  double clock_offset = 0;    // seconds ahead of the clock of who asked; 0 also where nobody compared them
  bool wants_reboot = false;  // one of these wants a boot: a new login does not do
  FIELDS(NodePlan, node, error, family, changes, met, awaiting_reboot, clock_offset, wants_reboot);
};

struct ClusterPlan {
  std::string cluster = {};
  std::vector<NodePlan> nodes = {};             // in the order of the file
  std::vector<PlannedFinding> unanswered = {};  // that no change clears; of `railbed fix` only
  FIELDS(ClusterPlan, cluster, nodes, unanswered);
  int exit_code() const;  // 0 nothing to do, 1 changes, 3 a node could not be looked at
};

// All paths whose state plan_node() wants to know.
std::vector<std::string> files_of(const std::vector<Setting>& settings);

struct PlanOptions {
  bool take_over = false;  // files that a person changed are overwritten
  bool leftovers = true;   // every section was rendered: what none asks for is left over
};
NodePlan plan_node(const Target& target, const std::vector<Setting>& settings, const FileStates& states,
                   const PlanOptions& options = {});

}  // namespace railbed
