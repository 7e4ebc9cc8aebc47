// A machine as a value: the files, command outputs and call answers that were read from it, and the `.tree`
// text that holds them (docs/reference/tree-format.md).
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
  // What stands under one name. Only folders have something below them.
  struct Node {
    TreeEntry entry;
    std::map<std::string, Node, std::less<>> below;  // by name, which has no slash and is neither . nor ..
    bool operator==(const Node&) const = default;
  };

  Node root;
  std::map<std::string, Reading<CommandOutput>, std::less<>> commands;  // by words joined by spaces
  std::map<std::string, Reading<std::string>, std::less<>> calls;       // by name

  // Where `path` ends when links are followed, clamped inside the root; the errno ENOENT, ENOTDIR or ELOOP.
  // `followed` grows by what that cost: components that links led through.
  Reading<std::string> resolve(std::string_view path, std::size_t* followed = nullptr) const;
  Reading<const Node*> node(std::string_view path,
                            std::size_t* followed = nullptr) const;  // the same, never null

  // What stands at a path that passes through no link; null when nothing does.
  const TreeEntry* find(std::string_view path) const;
  bool has(std::string_view path) const { return find(path) != nullptr; }
  // Every entry but the folders that have something in them, in the order of a walk; `path` is absolute.
  void each(const std::function<void(const std::string& path, const TreeEntry&)>& visit) const;
  void each(const std::function<void(const std::string& path, TreeEntry&)>& visit);
  std::size_t size() const { return nodes_; }  // folders count, too

  // Sets one entry, following links on the way. Refuses to put something below a file, and a file, link or
  // failure over a folder that has something in it.
  Result<void> set(std::string_view path, TreeEntry entry);
  // Removes what stands there and everything below. The folder around it stays.
  void remove(std::string_view path);

 private:
  std::size_t nodes_ = 0;
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

// A tree that tells of a machine only in part: what it does not hold is unknown, not absent.
struct Gaps {
  std::string why;
  // Folders, by their paths without links, of which it holds all: what is not in one of them is absent.
  std::set<std::string, std::less<>> whole;
};
std::unique_ptr<Host> open_tree(Tree tree, Gaps gaps);

}  // namespace railbed
