// A controller's request to change one node: the node's plan without the parts that only people read. The
// node checks everything in it again, as root.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "configure/plan.h"
#include "facts/file_content.h"
#include "settings/platform.h"
#include "settings/setting.h"

namespace railbed {

// One file to change.
struct FileEdit {
  std::string path = {};
  std::optional<FileContent> before = {};  // the file that the plan saw; nullopt: it did not exist
  std::optional<FileContent> after = {};   // nullopt: it is removed
  int mode = 0644;
  bool aside = false;  // it is renamed to aside_name(); the plan has not seen its content
  FIELDS(FileEdit, path, before, after, mode, aside);
};

// The changes of one node.
struct ApplyRequest {
  std::string id = {};       // make_apply_id(), the same on all nodes
  std::string who = {};      // "alice@head": who holds the node during the apply
  std::string cluster = {};  // the cluster's name
  int seconds = 120;         // the node waits this long for the decision after its switch, then rolls back
  bool stays = false;        // packages: only the files can be rolled back, not what was installed
  OsFamily family = OsFamily::kDebian;
  std::vector<std::string> titles = {};  // of the settings, for the history
  std::vector<FileEdit> files = {};
  std::vector<NodeStep> steps = {};
  FIELDS(ApplyRequest, id, who, cluster, seconds, stays, family, titles, files, steps);
};

// Returns a new id such as "20261123T101500Z-1f0c": ids sort by time.
std::string make_apply_id();
bool is_apply_id(std::string_view text);

// Makes a request from the node's changes, without those that are held. Equal steps are carried out once: all
// files are in place before the first step. The caller sets the other fields.
ApplyRequest request_of(const std::vector<NodeChange>& changes);

// Returns true if an apply may change the file or folder at this path: below /etc, without "..".
bool is_path_of_settings(std::string_view path);

// Fails with kBadInput unless all paths are below /etc, steps pass check_step(), and sizes and times are
// within bounds.
Result<void> check_request(const ApplyRequest& request);

}  // namespace railbed
