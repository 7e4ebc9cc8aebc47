#include "host/open.h"

#include <algorithm>
#include <filesystem>

#include "host/tree.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> tree_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".tree" && entry.is_regular_file(error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Result<NamedHost> open_file(const fs::path& file) {
  auto tree = read_tree(file.string());
  if (!tree) return fail(tree.error());
  return NamedHost{file.stem().string(), open_tree(std::move(*tree))};
}

}  // namespace

Result<std::vector<NamedHost>> open_nodes(const std::string& path) {
  std::error_code error;
  std::vector<NamedHost> nodes;
  const bool folder = fs::is_directory(path, error);
  if (!folder && !fs::exists(path, error))
    return fail(ErrorKind::kBadInput, path + ": no such file or folder");
  auto files = folder ? tree_files(path) : std::vector<fs::path>{path};
  if (files.empty()) {
    auto host = open_folder(path);
    if (!host) return fail(host.error());
    const fs::path whole = fs::absolute(path, error).lexically_normal();
    const fs::path name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
    nodes.push_back({name.empty() ? "localhost" : name.string(), std::move(*host)});
    return nodes;
  }
  for (const auto& file : files) {
    auto node = open_file(file);
    if (!node) return fail(node.error());
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

Result<std::unique_ptr<Host>> open_root(const std::string& path) {
  auto nodes = open_nodes(path);
  if (!nodes) return fail(nodes.error());
  if (nodes->size() == 1) return std::move(nodes->front().host);
  return fail(ErrorKind::kBadInput, path + ": holds several nodes; name one of its files, such as " + path +
                                        "/" + nodes->front().node + ".tree");
}

}  // namespace railbed
