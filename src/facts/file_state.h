// Whole files of a node, which `railbed plan` compares with their intended content. They are read by path and
// are not part of the facts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "facts/file_content.h"

namespace railbed {

class Host;

struct FileState {
  FileContent content;
  std::optional<int> mode;  // permissions; nullopt if not recorded (a captured tree)
  FIELDS(FileState, content, mode);
  bool operator==(const FileState&) const = default;
};

// Maps paths to files. A missing file is absent; an unreadable one is denied; one above 4 MiB is unsupported.
using FileStates = std::map<std::string, Reading<FileState>>;

// Reads the files in `paths`. Also reads every file whose name contains "railbed" in the folders where
// railbed writes, to find its files that are no longer wanted. Returns at most kMostAskedFiles files.
inline constexpr std::size_t kMostAskedFiles = 1024;
FileStates collect_files(Host& host, const std::vector<std::string>& paths);

}  // namespace railbed
