// A Host over a Tree: captured machines, fixtures and tests.
#include <atomic>
#include <cerrno>
#include <optional>

#include "host/host.h"
#include "host/tree.h"
#include "os/errno_name.h"
#include "os/words.h"

namespace railbed {
namespace {

class TreeHost : public Host {
 public:
  TreeHost(Tree tree, std::optional<Gaps> gaps) : tree_(std::move(tree)), gaps_(std::move(gaps)) {}

  Reading<std::string> read(std::string_view path, std::size_t limit) override {
    const auto found = find(path);
    if (!found) return {found.miss(), std::string(path)};
    const TreeEntry& entry = (*found)->entry;
    if (entry.kind == TreeEntry::Kind::kFolder) return {miss_of(EISDIR), std::string(path)};
    return {entry.content.substr(0, limit), std::string(path)};
  }

  Reading<std::vector<std::string>> list(std::string_view path) override {
    const auto found = find(path);
    if (!found) return {found.miss(), std::string(path)};
    if ((*found)->entry.kind == TreeEntry::Kind::kFile) return {miss_of(ENOTDIR), std::string(path)};
    if (gaps_ && !gaps_->whole.contains(tree_.resolve(path).value_or(""))) return {gap(), std::string(path)};
    std::vector<std::string> names;
    for (const auto& [name, below] : (*found)->below) names.push_back(name);
    return {std::move(names), std::string(path)};
  }

  Reading<std::string> resolve(std::string_view path) override {
    if (const auto found = find(path); !found && found.miss().why == miss_of(ENOENT).why)
      return {found.miss(), std::string(path)};
    return follow(path, &Tree::resolve);
  }

  Reading<CommandOutput> run(const std::vector<std::string>& words, std::chrono::milliseconds) override {
    const std::string command = joined(words);
    const auto found = tree_.commands.find(command);
    if (found == tree_.commands.end()) return {not_recorded(), command};
    return found->second;
  }

  Reading<std::string> call(std::string_view name) override {
    const auto found = tree_.calls.find(name);
    if (found == tree_.calls.end()) return {not_recorded(), std::string(name)};
    return found->second;
  }

 private:
  // A tree may be hostile, and each lookup follows its links again, so all lookups share a budget for links.
  static constexpr std::size_t kMostFollowed = 2'000'000;

  template <class T>
  Reading<T> follow(std::string_view path,
                    Reading<T> (Tree::*how)(std::string_view, std::size_t*) const) const {
    if (followed_ > kMostFollowed) return {miss_of(ELOOP), std::string(path)};
    std::size_t followed = 0;
    auto found = (tree_.*how)(path, &followed);
    if (followed != 0) followed_ += followed;
    if (gaps_ && found.absent() && !is_told(path)) return {gap(), std::string(path)};
    return found;
  }

  Miss gap() const { return {Missing::kUnknown, gaps_->why}; }
  Miss not_recorded() const { return gaps_ ? gap() : Miss{Missing::kAbsent, "not recorded in this tree"}; }

  // Returns whether a missing path is in a folder that the tree holds completely.
  bool is_told(std::string_view path) const {
    while (path.rfind('/') != std::string_view::npos && path.rfind('/') > 0) {
      path = path.substr(0, path.rfind('/'));
      if (gaps_->whole.contains(path)) return true;
      if (const auto above = tree_.resolve(path)) return gaps_->whole.contains(*above);
    }
    return false;
  }

  // Returns the node, or the reason why reading it fails.
  Reading<const Tree::Node*> find(std::string_view path) const {
    auto found = follow(path, &Tree::node);
    if (found && (*found)->entry.kind == TreeEntry::Kind::kFailure)
      return {miss_of((*found)->entry.error), std::string(path)};
    return found;
  }

  const Tree tree_;
  const std::optional<Gaps> gaps_;
  mutable std::atomic<std::size_t> followed_ = 0;  // collectors use a Host from several threads
};

}  // namespace

std::unique_ptr<Host> open_tree(Tree tree) {
  return std::make_unique<TreeHost>(std::move(tree), std::nullopt);
}

std::unique_ptr<Host> open_tree(Tree tree, Gaps gaps) {
  return std::make_unique<TreeHost>(std::move(tree), std::move(gaps));
}

}  // namespace railbed
