#include "apply/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "settings/step.h"

namespace railbed {
namespace {

constexpr std::size_t kMostEdits = 4096;
constexpr std::size_t kLargestEdit = 8 << 20;
constexpr int kShortestWait = 5;
constexpr int kLongestWait = 3600;
constexpr std::string_view kIdForm = "00000000T000000Z-0000";

FileEdit edit_of(const FileChange& file) {
  FileEdit edit{.path = file.path, .mode = file.mode, .aside = file.action == FileAction::kMoveAside};
  if (file.before) edit.before = FileContent{*file.before};
  if (file.after) edit.after = FileContent{*file.after};
  return edit;
}

tl::unexpected<Error> bad(std::string text) {
  return fail(ErrorKind::kBadInput, "the request for this node is not sound: " + std::move(text));
}

}  // namespace

std::string make_apply_id() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return fmt::format("{}-{:.4}", text, random_hex(2));
}

bool is_apply_id(std::string_view text) {
  return text.size() == kIdForm.size() && std::ranges::equal(text, kIdForm, [](char c, char form) {
           return form != '0' ? c == form : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

ApplyRequest request_of(const std::vector<NodeChange>& changes) {
  ApplyRequest request;
  std::set<std::string> paths;
  for (const NodeChange& change : changes) {
    if (!change.held.empty()) continue;
    request.titles.push_back(change.title);
    for (const FileChange& file : change.files)
      if (paths.insert(file.path).second) request.files.push_back(edit_of(file));
    for (const NodeStep& step : change.steps)
      if (std::ranges::find(request.steps, step) == request.steps.end()) request.steps.push_back(step);
  }
  return request;
}

bool is_path_of_settings(std::string_view path) {
  return path.starts_with("/etc/") && path.size() < 1024 && !path.ends_with('/') &&
         path.find("//") == std::string_view::npos && path.find("/../") == std::string_view::npos &&
         !path.ends_with("/..") &&
         std::ranges::all_of(path, [](unsigned char c) { return c > ' ' && c < 127; });
}

Result<void> check_request(const ApplyRequest& request) {
  if (!is_apply_id(request.id)) return bad(fmt::format("\"{}\" is no apply's name", printable(request.id)));
  if (request.seconds < kShortestWait || request.seconds > kLongestWait)
    return bad(fmt::format("it waits {} s for the decision; {} to {} s are allowed", request.seconds,
                           kShortestWait, kLongestWait));
  if (request.files.size() > kMostEdits || request.steps.size() > kMostEdits)
    return bad("more files or steps than any cluster.yaml asks for");
  std::set<std::string_view> paths;
  for (const FileEdit& edit : request.files) {
    if (!is_path_of_settings(edit.path) || !paths.insert(edit.path).second)
      return bad(
          fmt::format("\"{}\" is no path that it may change, or is there twice", printable(edit.path)));
    if (edit.after && edit.after->bytes.size() > kLargestEdit)
      return bad(edit.path + " is larger than 8 MiB");
    if ((edit.mode & ~0777) != 0) return bad(fmt::format("{} would get mode {:o}", edit.path, edit.mode));
  }
  for (const NodeStep& step : request.steps)
    if (auto checked = check_step(step); !checked) return checked;
  return {};
}

}  // namespace railbed
