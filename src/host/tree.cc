#include "host/tree.h"

#include <algorithm>
#include <cerrno>
#include <deque>

#include "base/text.h"
#include "host/errno_name.h"

namespace railbed {
namespace {

constexpr int kMaxLinks = 40;           // as the kernel: MAXSYMLINKS
constexpr std::size_t kMaxSteps = 512;  // components of one path, its links' targets included; /sys has a few dozen

// Walks `path` component by component. `follow_last` false leaves the last component as it is. `followed`, where it is
// given, grows by the components that came from links.
Reading<std::string> walk(const Tree& tree, std::string_view path, bool follow_last, bool must_exist,
                          std::size_t* followed = nullptr) {
  const std::string asked(path);
  std::deque<std::string> rest;
  for (const auto piece : split(path, '/')) rest.emplace_back(piece);
  std::size_t steps = rest.size();
  std::string at;  // "" is the root
  int links = 0;
  while (!rest.empty()) {
    const std::string piece = std::move(rest.front());
    rest.pop_front();
    if (piece.empty() || piece == ".") continue;
    if (piece == "..") {
      at.resize(at.rfind('/') == std::string::npos ? 0 : at.rfind('/'));
      continue;
    }
    const std::string next = at + "/" + piece;
    const auto entry = tree.entries.find(next);
    if (entry != tree.entries.end() && entry->second.kind == TreeEntry::Kind::kLink &&
        (follow_last || !rest.empty())) {
      const auto target = split(entry->second.content, '/');
      if (followed != nullptr) *followed += target.size();
      if (++links > kMaxLinks || (steps += target.size()) > kMaxSteps) return {miss_of(ELOOP), asked};
      rest.insert(rest.begin(), target.begin(), target.end());
      if (entry->second.content.starts_with('/')) at.clear();
      continue;
    }
    if (must_exist && !tree.has(next)) return {miss_of(ENOENT), asked};
    at = next;
  }
  return {at.empty() ? "/" : at, asked};
}

bool is_leaf(const TreeEntry& entry) { return entry.kind != TreeEntry::Kind::kFolder; }

}  // namespace

Reading<std::string> Tree::resolve(std::string_view path, std::size_t* followed) const {
  return walk(*this, path, true, true, followed);
}

Reading<std::string> Tree::place(std::string_view path) const { return walk(*this, path, false, false); }

bool Tree::has(std::string_view path) const {
  if (path == "/" || entries.contains(path)) return true;
  const std::string below = std::string(path) + "/";
  const auto next = entries.lower_bound(below);
  return next != entries.end() && next->first.starts_with(below);
}

std::vector<std::string> Tree::names(std::string_view folder) const {
  const std::string below = folder == "/" ? "/" : std::string(folder) + "/";
  std::vector<std::string> found;
  auto entry = entries.lower_bound(below);
  while (entry != entries.end() && entry->first.starts_with(below)) {
    const auto end = entry->first.find('/', below.size());
    const std::string name = entry->first.substr(below.size(), end - below.size());
    found.push_back(name);
    // '0' follows '/': past everything below this name in one step.
    entry = end == std::string::npos ? std::next(entry) : entries.lower_bound(below + name + "0");
  }
  // "a", "a-b" and "a/c" sort in this order, so a name may come twice.
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Result<void> Tree::set(std::string_view path, TreeEntry entry) {
  const auto placed = place(path);
  if (!placed) return fail(ErrorKind::kBadInput, "too many symbolic links");
  const std::string& at = *placed;
  if (at == "/") return fail(ErrorKind::kBadInput, "the root itself cannot be set");
  for (auto slash = at.find('/', 1); slash != std::string::npos; slash = at.find('/', slash + 1)) {
    const auto above = entries.find(std::string_view(at).substr(0, slash));
    if (above == entries.end()) continue;
    if (is_leaf(above->second)) return fail(ErrorKind::kBadInput, above->first + " is not a folder");
    entries.erase(above);  // a folder that now has something in it
  }
  const auto below = entries.lower_bound(at + "/");
  if (below != entries.end() && below->first.starts_with(at + "/")) {
    if (is_leaf(entry)) return fail(ErrorKind::kBadInput, at + " is a folder that holds " + below->first);
    return {};
  }
  entries.insert_or_assign(at, std::move(entry));
  return {};
}

void Tree::remove(std::string_view path) {
  const auto placed = place(path);
  if (!placed || *placed == "/" || !has(*placed)) return;
  entries.erase(*placed);
  const auto first = entries.lower_bound(*placed + "/");
  auto last = first;
  while (last != entries.end() && last->first.starts_with(*placed + "/")) ++last;
  entries.erase(first, last);
  const std::string parent = placed->substr(0, placed->rfind('/'));
  if (!parent.empty() && !has(parent)) entries.emplace(parent, TreeEntry{});  // the folder itself stays
}

}  // namespace railbed
