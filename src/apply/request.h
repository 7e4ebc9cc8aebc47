// What a controller asks one node to change: the node's plan without what only people read. Everything in it
// is checked again on the node, as root.
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

struct FileEdit {
  std::string path = {};
  std::optional<FileContent> before = {};  // what the plan has seen; none: it was not there
  std::optional<FileContent> after = {};   // none: it goes
  int mode = 0644;
  bool aside = false;  // it gets another name beside it (aside_name()); the plan has not seen its content
  FIELDS(FileEdit, path, before, after, mode, aside);
};

struct ApplyRequest {
  std::string id = {};       // make_apply_id(), the same on all nodes
  std::string who = {};      // "alice@head": who holds the node meanwhile
  std::string cluster = {};  // its name
  int seconds = 120;         // after its switch a node waits so long for the decision, and goes back then
  bool stays = false;        // packages: what is installed cannot be taken back, only the files
  OsFamily family = OsFamily::kDebian;
  std::vector<std::string> titles = {};  // of the settings, for the history
  std::vector<FileEdit> files = {};
  std::vector<NodeStep> steps = {};
  FIELDS(ApplyRequest, id, who, cluster, seconds, stays, family, titles, files, steps);
};

// "20261123T101500Z-1f0c": names sort by time.
std::string make_apply_id();
bool is_apply_id(std::string_view text);

// Of the node's changes; those that are held are left out. Equal steps are carried out once: all files lie
// there before the first of them.
ApplyRequest request_of(const std::vector<NodeChange>& changes);

// Returns whether an apply may change the file or folder at this path: below /etc, without "..".
bool is_path_of_settings(std::string_view path);

// Paths below /etc, steps as check_step() takes them, sizes within bounds.
Result<void> check_request(const ApplyRequest& request);

}  // namespace railbed
