// railbed's marks in files: whose a file is, and which lines of a shared file are railbed's.
//
// A whole file begins with kFileMark and a line with the digest of all lines below it; a block in a shared
// file has the digest in its first mark. So the file itself tells whether a person has changed what railbed
// wrote, on a node whose history is lost as well.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "settings/setting.h"

namespace railbed {

// The first line of every file that is railbed's alone; the digest follows in seal().
inline constexpr std::string_view kFileMark =
    "# Written by railbed from cluster.yaml. Change it there: `railbed plan` shows what differs here.\n";

// Puts the digest below kFileMark; a file without the mark, or with the digest, stays as it is.
std::string seal(std::string_view content);

enum class Author {
  kRailbed,  // as railbed wrote it once
  kEdited,   // railbed's, changed since
  kOther     // without marks
};
// Of a whole file, or of the block in it (`block`). A file without a block has nothing that could be
// overwritten: its block is railbed's.
Author author_of(std::string_view content, bool block);

// The marks: a digest of the lines stands behind the first.
inline constexpr std::string_view kBlockBegin = "# railbed begin: written from cluster.yaml, sha256 ";
inline constexpr std::string_view kBlockEnd = "# railbed end\n";
// A shared file with railbed's lines between their marks, put where they stand already, else at the end;
// every other byte stays. An empty block takes the marks out as well.
std::string with_block(std::string_view content, std::string_view block);
// The lines between the marks; none: there are no marks.
std::optional<std::string> block_in(std::string_view content);

// Where a file goes that contradicts a setting. Readers of folders leave out what ends with '~'.
std::string aside_name(const std::string& path);

// What the whole file holds once `file` is as desired. `now`: what it holds; none: it is not there.
std::string content_after(const DesiredFile& file, const std::optional<std::string>& now);

}  // namespace railbed
