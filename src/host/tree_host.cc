// A Host over a Tree: captured machines, fixtures and tests.
#include <atomic>
#include <cerrno>

#include "host/errno_name.h"
#include "host/host.h"
#include "host/tree.h"
#include "host/words.h"

namespace railbed {
namespace {

class TreeHost : public Host {
 public:
  explicit TreeHost(Tree tree) : tree_(std::move(tree)) {}

  Reading<std::string> read(std::string_view path, std::size_t limit) override {
    const auto found = find(path);
    if (!found) return found;
    const auto entry = tree_.entries.find(*found);
    if (entry == tree_.entries.end() || entry->second.kind == TreeEntry::Kind::kFolder)
      return {miss_of(EISDIR), std::string(path)};
    return {entry->second.content.substr(0, limit), std::string(path)};
  }

  Reading<std::vector<std::string>> list(std::string_view path) override {
    const auto found = find(path);
    if (!found) return {found.miss(), std::string(path)};
    const auto entry = tree_.entries.find(*found);
    if (entry != tree_.entries.end() && entry->second.kind == TreeEntry::Kind::kFile)
      return {miss_of(ENOTDIR), std::string(path)};
    return {tree_.names(*found), std::string(path)};
  }

  Reading<std::string> resolve(std::string_view path) override { return follow(path); }

  Reading<CommandOutput> run(const std::vector<std::string>& words, std::chrono::milliseconds) override {
    const std::string command = joined(words);
    const auto found = tree_.commands.find(command);
    if (found == tree_.commands.end()) return {Miss{Missing::kAbsent, "not recorded in this tree"}, command};
    return found->second;
  }

  Reading<std::string> call(std::string_view name) override {
    const auto found = tree_.calls.find(name);
    if (found == tree_.calls.end())
      return {Miss{Missing::kAbsent, "not recorded in this tree"}, std::string(name)};
    return found->second;
  }

 private:
  // A tree may come from anybody, and each file is looked for anew: links have a budget for all of them.
  static constexpr std::size_t kMostFollowed = 2'000'000;

  Reading<std::string> follow(std::string_view path) const {
    if (followed_ > kMostFollowed) return {miss_of(ELOOP), std::string(path)};
    std::size_t followed = 0;
    auto resolved = tree_.resolve(path, &followed);
    followed_ += followed;
    return resolved;
  }

  // The resolved path, or why reading it fails.
  Reading<std::string> find(std::string_view path) const {
    const auto resolved = follow(path);
    if (!resolved) return resolved;
    const auto entry = tree_.entries.find(*resolved);
    if (entry != tree_.entries.end() && entry->second.kind == TreeEntry::Kind::kFailure)
      return {miss_of(entry->second.error), std::string(path)};
    return resolved;
  }

  const Tree tree_;
  mutable std::atomic<std::size_t> followed_ = 0;  // collectors ask from several threads
};

}  // namespace

std::unique_ptr<Host> open_tree(Tree tree) { return std::make_unique<TreeHost>(std::move(tree)); }

}  // namespace railbed
