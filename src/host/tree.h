// A machine as a value: the files, command outputs and call results that were read from it, and the `.tree`
// text format for them (docs/reference/tree-format.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
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
  // The entry of one name. Only folders have something below them.
  struct Node {
    TreeEntry entry;
    std::map<std::string, Node, std::less<>> below;  // by name, which has no slash and is neither . nor ..
    bool operator==(const Node&) const = default;
  };

  Node root;
  std::map<std::string, Reading<CommandOutput>, std::less<>> commands;  // by words joined by spaces
  std::map<std::string, Reading<std::string>, std::less<>> calls;       // by name

  // Returns `path` with its links followed, clamped inside the root; the errno is ENOENT, ENOTDIR or ELOOP.
  // Adds the number of components that links led through to `followed`: the cost of the walk.
  Reading<std::string> resolve(std::string_view path, std::size_t* followed = nullptr) const;
  // The same, but returns the node; never null.
  Reading<const Node*> node(std::string_view path, std::size_t* followed = nullptr) const;

  // Returns the entry at a path without links; null if there is none.
  const TreeEntry* find(std::string_view path) const;
  bool has(std::string_view path) const { return find(path) != nullptr; }
  // Visits every entry except folders that are not empty, in the order of a walk; `path` is absolute.
  void each(const std::function<void(const std::string& path, const TreeEntry&)>& visit) const;
  void each(const std::function<void(const std::string& path, TreeEntry&)>& visit);
  std::size_t size() const { return nodes_; }  // number of entries, folders included

  // Sets one entry, following links on the way and making folders. Refuses to put something below a file, and
  // to replace a folder that is not empty by a file, link or failure.
  Result<void> set(std::string_view path, TreeEntry entry);
  // Removes the entry and everything below it. The folder around it stays.
  void remove(std::string_view path);

 private:
  std::size_t nodes_ = 0;
};

// Returns the tree that a `base:` line names.
using LoadBase = std::function<Result<Tree>(const std::string& base)>;

// Parses untrusted text. `name` precedes the line number in error messages. Without `load_base`, a `base:`
// line is an error.
Result<Tree> parse_tree(std::string_view text, std::string_view name, const LoadBase& load_base);
// Reads a file and, through `base:`, at most kMaxBases others.
Result<Tree> read_tree(const std::string& file);
std::string write_tree(const Tree& tree);

inline constexpr int kMaxBases = 4;
inline constexpr std::size_t kMaxTreeBytes = 64 << 20;
inline constexpr std::size_t kMaxTreeEntries = 500'000;

std::unique_ptr<Host> open_tree(Tree tree);

// The extent of a partial tree: anything that it does not hold is unknown, not absent.
struct Gaps {
  std::string why;
  // Folders, by their paths without links, that the tree holds completely: an entry missing in them is
  // absent.
  std::set<std::string, std::less<>> whole;
};
std::unique_ptr<Host> open_tree(Tree tree, Gaps gaps);

}  // namespace railbed
