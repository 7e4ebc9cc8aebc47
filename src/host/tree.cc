// A tree is stored as nested folders, not as a list of paths: the paths of /sys are long and begin alike, so
// a lookup in a list would compare the same hundred characters again and again.
#include "host/tree.h"

#include <cerrno>

#include "base/text.h"
#include "host/errno_name.h"

namespace railbed {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's limit: MAXSYMLINKS
// Components of one path, the targets of its links included; /sys has a few dozen.
constexpr std::size_t kMaxSteps = 512;

struct Step {
  std::string_view name;
  const Tree::Node* node;  // null if there is no entry
};

const Tree::Node* below(const Tree::Node* folder, std::string_view name) {
  if (folder == nullptr) return nullptr;
  const auto found = folder->below.find(name);
  return found == folder->below.end() ? nullptr : &found->second;
}

// Walks one path component by component and keeps the way from the root. `rest_` is a stack of the remaining
// components; following a link pushes those of its target.
class Walk {
 public:
  Walk(const Tree& tree, bool follow_last, bool must_exist)
      : tree_(tree), follow_last_(follow_last), must_exist_(must_exist) {}

  // Returns 0 or an errno.
  int go(std::string_view path) {
    push(path);
    steps_ = rest_.size();
    while (!rest_.empty()) {
      const std::string_view name = rest_.back();
      rest_.pop_back();
      if (const int error = step(name); error != 0) return error;
    }
    return 0;
  }

  std::size_t followed() const { return followed_; }
  const std::vector<Step>& way() const { return way_; }
  const Tree::Node* node() const { return way_.empty() ? &tree_.root : way_.back().node; }
  std::string path() const {
    std::string text;
    for (const Step& step : way_) text.append("/").append(step.name);
    return text.empty() ? "/" : text;
  }

 private:
  std::size_t push(std::string_view path) {
    const auto pieces = split(path, '/');
    rest_.insert(rest_.end(), pieces.rbegin(), pieces.rend());
    return pieces.size();
  }

  int step(std::string_view name) {
    if (name.empty() || name == ".") return 0;
    if (name == "..") {
      if (!way_.empty()) way_.pop_back();
      return 0;
    }
    const Tree::Node* next = below(node(), name);
    const bool link = next != nullptr && next->entry.kind == TreeEntry::Kind::kLink;
    if (link && (follow_last_ || !rest_.empty())) return follow(next->entry.content);
    if (must_exist_ && next == nullptr) return ENOENT;
    way_.push_back({name, next});
    return 0;
  }

  int follow(std::string_view target) {
    const std::size_t pieces = push(target);
    followed_ += pieces;
    if (++links_ > kMaxLinks || (steps_ += pieces) > kMaxSteps) return ELOOP;
    if (target.starts_with('/')) way_.clear();
    return 0;
  }

  const Tree& tree_;
  const bool follow_last_, must_exist_;
  std::vector<std::string_view> rest_;  // remaining components, the next one last
  std::vector<Step> way_;
  std::size_t steps_ = 0, followed_ = 0;
  int links_ = 0;
};

bool is_leaf(const TreeEntry& entry) { return entry.kind != TreeEntry::Kind::kFolder; }

std::size_t nodes_in(const Tree::Node& node) {
  std::size_t count = 1;
  for (const auto& [name, child] : node.below) count += nodes_in(child);
  return count;
}

template <class Node, class Visit>
void visit_below(Node& node, std::string& path, const Visit& visit) {
  for (auto& [name, child] : node.below) {
    const std::size_t end = path.size();
    path.append("/").append(name);
    if (child.below.empty()) visit(path, child.entry);
    visit_below(child, path, visit);
    path.resize(end);
  }
}

}  // namespace

Reading<std::string> Tree::resolve(std::string_view path, std::size_t* followed) const {
  Walk walk(*this, true, true);
  const int error = walk.go(path);
  if (followed != nullptr) *followed += walk.followed();
  if (error != 0) return {miss_of(error), std::string(path)};
  return {walk.path(), std::string(path)};
}

Reading<const Tree::Node*> Tree::node(std::string_view path, std::size_t* followed) const {
  Walk walk(*this, true, true);
  const int error = walk.go(path);
  if (followed != nullptr) *followed += walk.followed();
  if (error != 0) return {miss_of(error), std::string(path)};
  return {walk.node(), std::string(path)};
}

const TreeEntry* Tree::find(std::string_view path) const {
  const Node* at = &root;
  for (const auto piece : split(path, '/'))
    if (!piece.empty()) at = below(at, piece);
  return at == nullptr ? nullptr : &at->entry;
}

void Tree::each(const std::function<void(const std::string& path, const TreeEntry&)>& visit) const {
  std::string path;
  visit_below(root, path, visit);
}

void Tree::each(const std::function<void(const std::string& path, TreeEntry&)>& visit) {
  std::string path;
  visit_below(root, path, visit);
}

Result<void> Tree::set(std::string_view path, TreeEntry entry) {
  Walk walk(*this, false, false);
  if (walk.go(path) != 0) return fail(ErrorKind::kBadInput, "too many symbolic links");
  if (walk.way().empty()) return fail(ErrorKind::kBadInput, "the root itself cannot be set");
  Node* at = &root;
  std::string above;
  for (const Step& step : walk.way()) {
    if (is_leaf(at->entry)) return fail(ErrorKind::kBadInput, above + " is not a folder");
    above.append("/").append(step.name);
    const auto [child, added] = at->below.try_emplace(std::string(step.name));
    nodes_ += added ? 1 : 0;
    at = &child->second;
  }
  if (!at->below.empty() && is_leaf(entry))
    return fail(ErrorKind::kBadInput,
                above + " is a folder that holds " + above + "/" + at->below.begin()->first);
  if (at->below.empty()) at->entry = std::move(entry);
  return {};
}

void Tree::remove(std::string_view path) {
  Walk walk(*this, false, true);
  if (walk.go(path) != 0 || walk.way().empty()) return;
  Node* folder = &root;
  for (auto step = walk.way().begin(); step + 1 != walk.way().end(); ++step)
    folder = &folder->below.find(step->name)->second;
  const auto gone = folder->below.find(walk.way().back().name);
  nodes_ -= nodes_in(gone->second);
  folder->below.erase(gone);
}

}  // namespace railbed
