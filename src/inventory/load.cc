#include "inventory/load.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/complaint.h"
#include "base/files.h"
#include "base/yaml.h"
#include "inventory/raw.h"

namespace railbed {

Result<Cluster> parse_cluster(std::string_view text, std::string_view file) {
  // yaml-cpp does not count a byte order mark, and neither do editors.
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Complaints complaints(text, file);
  const auto document = parse_yaml(text, complaints);
  if (!document) return tl::unexpected(complaints.to_error());
  const RawCluster raw = read_raw(*document, complaints);
  const std::string folder = std::filesystem::path(file).parent_path().string();
  Cluster cluster = resolve(raw, folder, complaints);
  if (!complaints.empty()) return tl::unexpected(complaints.to_error());
  cluster.file = file;
  return cluster;
}

Result<Cluster> load_cluster(const std::string& path) {
  const auto text = read_file(path, kMaxFileBytes);
  if (!text) {
    const bool none = access(path.c_str(), F_OK) != 0 && errno == ENOENT;
    const std::string_view swapped =
        is_description(path) ? "" : "; a cluster.yaml is named here, before any node";
    return fail(ErrorKind::kBadInput, none ? fmt::format("{}{}; `railbed init HOST…` writes a first one",
                                                         text.error().text, swapped)
                                           : text.error().text);
  }
  return parse_cluster(*text, path);
}

bool is_description(std::string_view word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

}  // namespace railbed
