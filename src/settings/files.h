// railbed's marks in files: they show whether a file is railbed's, and which lines of a shared file are.
//
// A whole file begins with kFileMark and a line with the digest of all lines below it; a block in a shared
// file has the digest in its first mark. The file itself therefore shows whether a person changed what
// railbed wrote, even on a node whose history is lost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "settings/setting.h"

namespace railbed {

// The first line of every file that belongs to railbed alone; seal() adds the digest.
inline constexpr std::string_view kFileMark =
    "# Written by railbed from cluster.yaml. Change it there: `railbed plan` shows what differs here.\n";

// Adds the digest below kFileMark. Returns a file without the mark, or with a digest, unchanged.
std::string seal(std::string_view content);

enum class Author {
  kRailbed,  // unchanged since railbed wrote it
  kEdited,   // written by railbed, changed since
  kOther     // without marks
};
// Returns the author of a whole file, or of the block in it (`block`). A file without a block returns
// kRailbed: it has no lines that could be overwritten.
Author author_of(std::string_view content, bool block);

// Marks around a block. A digest of the lines follows the first.
inline constexpr std::string_view kBlockBegin = "# railbed begin: written from cluster.yaml, sha256 ";
inline constexpr std::string_view kBlockEnd = "# railbed end\n";
// Returns a shared file with railbed's lines between the marks: in place of the present block, else at the
// end. All other lines stay. An empty block removes the marks, too.
std::string with_block(std::string_view content, std::string_view block);
// Returns the lines between the marks; nullopt if there are no marks.
std::optional<std::string> block_in(std::string_view content);

// Returns a file of one JSON object with these members joined into it; every other member stays. Returns it unchanged if
// it has them, or is no JSON object.
std::string with_members(std::string_view content, std::string_view members);

// Returns a file of TOML with these tables at its end; everything before stays byte by byte. Returns it unchanged if it has
// settings in one of them, if it is no TOML, or if it would be none with them.
std::string with_tables(std::string_view content, std::string_view tables);

// Returns the path to which a file that contradicts a setting is moved. Programs that read a folder ignore
// names that end with '~'.
std::string aside_name(const std::string& path);

// Returns the content of the whole file once `file` is in place. `now` is its present content; nullopt if it
// does not exist. Lines outside of a block stay, except those of hosts(5) that contradict it.
std::string content_after(const DesiredFile& file, const std::optional<std::string>& now);

}  // namespace railbed
