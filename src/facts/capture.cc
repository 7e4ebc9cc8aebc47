#include "facts/capture.h"

#include "facts/collectors.h"
#include "facts/facts.h"
#include "host/recording_host.h"

namespace railbed {
namespace {

bool is_empty_gid(const std::string& path, const TreeEntry& entry) {
  return entry.kind == TreeEntry::Kind::kFile && path.find("/gids/") != std::string::npos &&
         entry.content.find_first_not_of("0:\n") == std::string::npos;
}

}  // namespace

Tree capture(Host& host, const CollectOptions& options) {
  RecordingHost recorder(host);
  collect_facts(recorder, options);
  Tree tree = recorder.tree();
  for (auto& [path, entry] : tree.entries)
    if (path.starts_with("/boot/config-")) entry.content = used_config(entry.content);
  std::vector<std::string> empty;
  for (const auto& [path, entry] : tree.entries)
    if (is_empty_gid(path, entry)) empty.push_back(path);
  for (const auto& path : empty) tree.remove(path);
  return tree;
}

}  // namespace railbed
