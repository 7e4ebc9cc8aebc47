// Files as a node has them, and the part of a shared file that is railbed's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "configure/setting.h"

namespace railbed {

// What lies at a path. Host call "file PATH"
struct FileState {
  std::string content;
  int mode = 0;  // permissions
  int owner = 0;
  int group = 0;
  static void fields(auto&& field) {
    field("content", &FileState::content);
    field("mode", &FileState::mode);
    field("owner", &FileState::owner);
    field("group", &FileState::group);
  }
  bool operator==(const FileState&) const = default;
};
// By path. A file that is not there is absent, one that may not be read is denied.
using FileStates = std::map<std::string, Reading<FileState>, std::less<>>;

// A shared file with railbed's lines between their marks, put where they stand already, else at the end;
// every other byte stays. An empty block takes the marks out as well.
std::string with_block(std::string_view content, std::string_view block);
// The lines between the marks; none: there are no marks.
std::optional<std::string> block_in(std::string_view content);

// What the whole file holds once `file` is as desired. `now`: what it holds; none: it is not there.
std::string content_after(const DesiredFile& file, const std::optional<std::string>& now);

// The first line of every file that is railbed's alone.
inline constexpr std::string_view kFileMark =
    "# Written by railbed from cluster.yaml. Change it there: `railbed plan` shows what differs here.\n";

}  // namespace railbed
