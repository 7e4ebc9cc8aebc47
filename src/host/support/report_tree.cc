#include "host/support/report_tree.h"

#include <cerrno>

namespace railbed {

// Adds an entry. One that cannot be placed, below a file or above a folder, is dropped: the first entry wins.
void ReportTree::set(std::string_view path, TreeEntry entry) {
  if (tree_.size() >= kMaxTreeEntries || tree_.has(path) || has(path)) return;
  if (auto done = tree_.set(path, std::move(entry)); !done) return;
}

void ReportTree::copy(std::string_view path, std::string content) {
  set(path, {TreeEntry::Kind::kFile, std::move(content), 0});
}

void ReportTree::link(std::string_view path, std::string target) {
  // A function that only a link names is there, though nothing else is known of it: without it the link leads nowhere.
  constexpr std::string_view kFunctions = "/sys/bus/pci/devices";
  const bool is_function = target.starts_with(kFunctions) && !gaps_.whole.contains(kFunctions);
  const std::string named = is_function ? target : "";
  set(path, {TreeEntry::Kind::kLink, std::move(target), 0});
  if (!named.empty()) set(named, {});
}

void ReportTree::line(std::string_view path, std::string_view value) {
  if (!has(path)) copy(path, std::string(value) + "\n");
}

void ReportTree::nothing(std::string_view path) {
  if (!has(path)) set(path, {TreeEntry::Kind::kFailure, "", ENOENT});
}

void ReportTree::whole(std::string_view path) {
  set(path, {});
  gaps_.whole.emplace(path);
  // A copy may hold a part of the path as a link, and a host knows folders by where they are.
  if (const auto where = tree_.resolve(path)) gaps_.whole.insert(*where);
}

void ReportTree::command(std::string_view words, std::string output) {
  const std::string from(words);
  tree_.commands.try_emplace(from, CommandOutput{0, std::move(output), ""}, from);
}

void ReportTree::call(std::string_view name, std::string answer) {
  const std::string from(name);
  tree_.calls.try_emplace(from, std::move(answer), from);
}

void ReportTree::failed_call(std::string_view name, Miss miss) {
  const std::string from(name);
  tree_.calls.try_emplace(from, std::move(miss), from);
}

std::string ReportTree::text(std::string_view path) const {
  const auto found = tree_.node(path);
  return found && (*found)->entry.kind == TreeEntry::Kind::kFile ? (*found)->entry.content : "";
}

std::vector<std::string> ReportTree::names(std::string_view folder) const {
  std::vector<std::string> found;
  if (const auto node = tree_.node(folder))
    for (const auto& [name, below] : (*node)->below) found.push_back(name);
  return found;
}

}  // namespace railbed
