#include "inventory/load.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "inventory/complaint.h"
#include "inventory/document.h"
#include "inventory/raw.h"

namespace railbed {

Result<Cluster> parse_cluster(std::string_view text, std::string_view file) {
  // yaml-cpp leaves a byte order mark out of its counting; so does everyone else.
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
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  char chunk[1 << 16];
  // One byte more than is allowed is enough to be told so.
  while (stream && text.size() <= kMaxFileBytes) {
    stream.read(chunk, sizeof chunk);
    text.append(chunk, static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.eof() && text.size() <= kMaxFileBytes) {
    const int problem = errno;
    const std::string_view advice = problem == ENOENT ? "; `railbed init HOST…` writes a first one" : "";
    return fail(ErrorKind::kBadInput, path + ": " + std::strerror(problem) + std::string(advice));
  }
  return parse_cluster(text, path);
}

}  // namespace railbed
