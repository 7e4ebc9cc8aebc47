#include "host/recording_host.h"

#include "base/text.h"
#include "os/errno_name.h"
#include "os/words.h"

namespace railbed {
namespace {

using Kind = TreeEntry::Kind;

TreeEntry failure(const Miss& miss) { return {Kind::kFailure, "", error_of(miss)}; }

}  // namespace

// Records every link on the way and returns the path without them.
std::string RecordingHost::locate(std::string_view path) {
  if (const auto known = located_.find(path); known != located_.end()) return known->second;
  const auto slash = path.rfind('/');
  if (path.empty() || slash == std::string_view::npos) return "";
  const std::string here = locate(path.substr(0, slash)) + "/" + std::string(path.substr(slash + 1));
  std::string real = here;
  if (const auto resolved = inner_.resolve(path); resolved && *resolved != here) {
    real = *resolved;
    put(here, {Kind::kLink, real, 0});
  }
  located_.emplace(path, real);
  return real;
}

// Records an entry. Of two for one path the longer content wins; a folder never replaces what it holds. A
// tree cannot hold some entries (a file that is also a folder): the machine has changed, and the first entry
// stays.
void RecordingHost::put(const std::string& real, TreeEntry entry) {
  const TreeEntry* known = tree_.find(real);
  const bool keep = known != nullptr && known->kind != Kind::kFolder &&
                    (entry.kind == Kind::kFolder || entry.content.size() < known->content.size());
  if (keep) return;
  if (auto set = tree_.set(real, std::move(entry)); !set) return;
}

Reading<std::string> RecordingHost::read(std::string_view path, std::size_t limit) {
  auto answer = inner_.read(path, limit);
  if (answer.absent()) return answer;
  const std::lock_guard lock(mutex_);
  put(locate(path), answer ? TreeEntry{Kind::kFile, *answer, 0} : failure(answer.miss()));
  return answer;
}

Reading<std::vector<std::string>> RecordingHost::list(std::string_view path) {
  auto answer = inner_.list(path);
  if (answer.absent()) return answer;
  const std::lock_guard lock(mutex_);
  const std::string real = locate(path);
  put(real, answer ? TreeEntry{} : failure(answer.miss()));
  if (answer)
    for (const auto& name : *answer) put(real + "/" + name, {});
  return answer;
}

Reading<std::string> RecordingHost::resolve(std::string_view path) {
  auto answer = inner_.resolve(path);
  if (!answer) return answer;
  const std::lock_guard lock(mutex_);
  put(locate(path), {});
  return answer;
}

Reading<CommandOutput> RecordingHost::run(const std::vector<std::string>& words,
                                          std::chrono::milliseconds deadline) {
  auto answer = inner_.run(words, deadline);
  const std::lock_guard lock(mutex_);
  tree_.commands.insert_or_assign(joined(words), answer);
  return answer;
}

Reading<std::string> RecordingHost::call(std::string_view name) {
  auto answer = inner_.call(name);
  const std::lock_guard lock(mutex_);
  tree_.calls.insert_or_assign(std::string(name), answer);
  return answer;
}

Tree RecordingHost::tree() const {
  const std::lock_guard lock(mutex_);
  return tree_;
}

}  // namespace railbed
