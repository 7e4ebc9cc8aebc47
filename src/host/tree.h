// A machine as a value: the files, command outputs and call answers that were read from it, and the `.tree`
// text that holds them (docs/reference/tree-format.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/result.h"
#include "host/host.h"

namespace railbed {

struct TreeEntry {
  enum class Kind { kFolder, kFile, kLink, kFailure };
  Kind kind = Kind::kFolder;
  std::string content;  // a file's bytes, a link's target
  int error = 0;        // a failure's errno
  bool operator==(const TreeEntry&) const = default;
};

struct Tree {
  // Keys are absolute, normalised paths ("/sys/class/net") that pass through no link. A folder stands here
  // only when nothing below it does.
  std::map<std::string, TreeEntry, std::less<>> entries;
  std::map<std::string, Reading<CommandOutput>, std::less<>> commands;  // by words joined by spaces
  std::map<std::string, Reading<std::string>, std::less<>> calls;       // by name

  // Where `path` ends when links are followed, clamped inside the root; the errno ENOENT, ENOTDIR or ELOOP. `followed`
  // grows by what that cost: components that links led through.
  Reading<std::string> resolve(std::string_view path, std::size_t* followed = nullptr) const;
  // Where `path` itself stands: links are followed up to its parent only, which need not exist.
  Reading<std::string> place(std::string_view path) const;
  bool has(std::string_view path) const;  // an entry, or a folder implied by entries below it
  std::vector<std::string> names(std::string_view folder) const;

  // Sets one entry, following links on the way. Refuses to put something below a file, and a file, link or
  // failure over a folder that has something in it.
  Result<void> set(std::string_view path, TreeEntry entry);
  // Removes what stands there and everything below.
  void remove(std::string_view path);
};

// Turns the text of a `base:` line into that tree.
using LoadBase = std::function<Result<Tree>(const std::string& base)>;

// Untrusted text; `name` stands before the line number in complaints. Without `load_base`, base: is one of
// them.
Result<Tree> parse_tree(std::string_view text, std::string_view name, const LoadBase& load_base);
// Reads a file and, through `base:`, at most kMaxBases others.
Result<Tree> read_tree(const std::string& file);
std::string write_tree(const Tree& tree);

inline constexpr int kMaxBases = 4;
inline constexpr std::size_t kMaxTreeBytes = 64 << 20;
inline constexpr std::size_t kMaxTreeEntries = 500'000;

std::unique_ptr<Host> open_tree(Tree tree);

}  // namespace railbed
