#include "host/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "host/support/support.h"
#include "host/tree.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

// Matches the file names of sos and nvidia-bug-report.sh.
bool is_sent_name(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (name.starts_with("sosreport-")) return ends(".tar.xz") || ends(".tar.gz");
  return name.starts_with("nvidia-bug-report") && (ends(".log.gz") || ends(".log"));
}

std::vector<fs::path> node_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if ((entry.path().extension() == ".tree" || is_sent_name(entry.path())) && entry.is_regular_file(error))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Returns the name up to its first ending: "gpu01" for "gpu01.tree", "sosreport-gpu01" for
// "sosreport-gpu01.tar.xz"
std::string name_of(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.find('.', 1));
}

Result<NamedHost> open_report(const fs::path& path) {
  ASSIGN_OR_RETURN(auto report, read_support_report(path.string()));
  Gaps gaps = report.tree.gaps();
  return NamedHost{report.node.empty() ? name_of(path) : report.node,
                   open_tree(std::move(report.tree).tree(), std::move(gaps))};
}

Result<NamedHost> open_file(const fs::path& file) {
  if (is_support_report(file.string())) return open_report(file);
  ASSIGN_OR_RETURN(auto tree, read_tree(file.string()));
  return NamedHost{file.stem().string(), open_tree(std::move(tree))};
}

Result<std::vector<NamedHost>> open_files(const std::vector<fs::path>& files) {
  std::vector<NamedHost> nodes;
  std::map<std::string, fs::path> known;
  for (const auto& file : files) {
    ASSIGN_OR_RETURN(auto node, open_file(file));
    const auto [of_node, is_new] = known.emplace(node.node, file);
    if (!is_new)
      return fail(ErrorKind::kBadInput,
                  fmt::format("{} and {} are both of {}: move one of them elsewhere and look at it alone",
                              of_node->second.string(), file.string(), node.node));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

Result<std::vector<NamedHost>> open_nodes(const std::string& path) {
  std::error_code error;
  std::vector<NamedHost> nodes;
  const bool folder = fs::is_directory(path, error);
  if (!folder && !fs::exists(path, error))
    return fail(ErrorKind::kBadInput, path + ": no such file or folder");
  auto files = folder ? node_files(path) : std::vector<fs::path>{path};
  if (files.empty() && is_support_report(path)) {
    ASSIGN_OR_RETURN(auto node, open_report(fs::absolute(path, error).lexically_normal()));
    nodes.push_back(std::move(node));
    return nodes;
  }
  if (files.empty()) {
    ASSIGN_OR_RETURN(auto host, open_folder(path));
    const fs::path whole = fs::absolute(path, error).lexically_normal();
    const fs::path name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
    nodes.push_back({name.empty() ? "localhost" : name.string(), std::move(host)});
    return nodes;
  }
  return open_files(files);
}

Result<std::unique_ptr<Host>> open_root(const std::string& path) {
  ASSIGN_OR_RETURN(auto nodes, open_nodes(path));
  if (nodes.size() == 1) return std::move(nodes.front().host);
  return fail(ErrorKind::kBadInput, path + ": holds several nodes; name one of its files, such as " + path +
                                        "/" + nodes.front().node + ".tree");
}

}  // namespace railbed
