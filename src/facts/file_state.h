// Files as a node has them, whole: what `railbed plan` compares with what they shall be. Asked for by path,
// and no part of the facts.
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
  std::optional<int> mode;  // permissions; none: nobody told (a captured tree)
  FIELDS(FileState, content, mode);
  bool operator==(const FileState&) const = default;
};

// By path. A file that is not there is absent, one that may not be read is denied.
using FileStates = std::map<std::string, Reading<FileState>>;

// The asked files, and every file whose name says that it is railbed's in the folders where railbed writes:
// one that nothing asks for any more is found too. More than kMostAskedFiles are left out.
inline constexpr std::size_t kMostAskedFiles = 1024;
FileStates collect_files(Host& host, const std::vector<std::string>& paths);

}  // namespace railbed
