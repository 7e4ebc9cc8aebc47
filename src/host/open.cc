#include "host/open.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include "base/readable.h"
#include "base/text.h"
#include "host/support/pieces.h"
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

bool is_machine(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder / "sos_commands", error)) return false;
  if (fs::exists(folder / kGatherMark, error)) return false;
  return std::ranges::any_of(std::array{"proc", "sys", "etc"},
                             [&](const char* name) { return fs::is_directory(folder / name, error); });
}

// Returns true if a folder below `root` lies in a sosreport or in what hwloc-gather-topology copied: its proc, which has a
// folder sys, is a part of that machine and no machine.
bool is_within_report(const fs::path& folder, const fs::path& root) {
  std::error_code error;
  for (fs::path above = folder; above != root && above.has_relative_path();) {
    above = above.parent_path();
    if (fs::is_directory(above / "sos_commands", error) || fs::exists(above / kGatherMark, error))
      return true;
  }
  return false;
}

// A pipe or a device is no report: reading it might not end. read_tree() returns the error.
bool is_tree(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return true;
  return file.extension() == ".tree" || kind_of(file.string()) == SentKind::kTree;
}

// Returns the trees in a folder and the reports beside them; empty if there is no tree.
std::vector<fs::path> trees_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  bool any = false;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const bool tree = entry.path().extension() == ".tree";
    if ((!tree && !is_sent_name(entry.path())) || !entry.is_regular_file(error)) continue;
    files.push_back(entry.path());
    any = any || tree;
  }
  if (!any) files.clear();
  std::sort(files.begin(), files.end());
  return files;
}

// Returns the last part of a path, also of one that ends in a slash.
std::string last_part(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error).lexically_normal();
  const fs::path name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  return name.empty() ? "localhost" : name.string();
}

Result<std::vector<NamedHost>> open_machine(const fs::path& folder) {
  std::vector<NamedHost> nodes;
  ASSIGN_OR_RETURN(auto host, open_folder(folder.string()));
  nodes.push_back({last_part(folder), std::move(host)});
  return nodes;
}

Result<std::vector<NamedHost>> open_tree_file(const fs::path& file) {
  std::vector<NamedHost> nodes;
  ASSIGN_OR_RETURN(auto tree, read_tree(file.string()));
  nodes.push_back({file.stem().string(), open_tree(std::move(tree))});
  return nodes;
}

std::vector<NamedHost> hosts_of(SupportReports reports, std::vector<Unread>& unread) {
  std::vector<NamedHost> nodes;
  for (SupportReport& report : reports.nodes) {
    Gaps gaps = report.tree.gaps();
    nodes.push_back({std::move(report.node), open_tree(std::move(report.tree).tree(), std::move(gaps))});
  }
  std::ranges::move(reports.unread, std::back_inserter(unread));
  return nodes;
}

// Opens the reports in a file or a folder, and in the latter also the folders that look like "/".
Result<std::vector<NamedHost>> open_reports(const std::string& path, std::vector<Unread>& unread) {
  std::vector<fs::path> machines;
  const auto is_machine_folder = [&](const std::string& entry) {
    std::error_code error;
    const bool is = fs::is_directory(fs::symlink_status(entry, error)) && is_machine(entry) &&
                    !is_within_report(entry, path);
    if (is) machines.emplace_back(entry);
    return is;
  };
  auto reports = read_support_reports(path, is_machine_folder);
  if (!reports && machines.empty()) return fail(std::move(reports.error()));
  std::vector<NamedHost> nodes;
  if (reports) nodes = hosts_of(std::move(*reports), unread);
  std::ranges::sort(machines);
  for (const fs::path& machine : machines) {
    ASSIGN_OR_RETURN(auto own, open_machine(machine));
    std::ranges::move(own, std::back_inserter(nodes));
  }
  return nodes;
}

Result<std::vector<NamedHost>> open_files(const std::vector<fs::path>& files, std::vector<Unread>& unread) {
  std::vector<NamedHost> nodes;
  std::map<std::string, fs::path> known;
  for (const auto& file : files) {
    auto own = is_tree(file) ? open_tree_file(file) : open_reports(file.string(), unread);
    if (!own) return own;
    for (NamedHost& node : *own) {
      const auto [of_node, is_new] = known.emplace(node.node, file);
      if (!is_new)
        return fail(ErrorKind::kBadInput,
                    fmt::format("{} and {} are both of {}: move one of them elsewhere and look at it alone",
                                of_node->second.string(), file.string(), node.node));
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

}  // namespace

Result<std::vector<NamedHost>> open_nodes(const std::string& path, std::vector<Unread>* unread) {
  std::error_code error;
  std::vector<Unread> ignored;
  std::vector<Unread>& left_out = unread == nullptr ? ignored : *unread;
  RETURN_IF_ERROR(check_reachable(path));
  if (!fs::is_directory(path, error))
    return is_tree(path) ? open_tree_file(path) : open_reports(path, left_out);
  if (const auto files = trees_in(path); !files.empty()) return open_files(files, left_out);
  return is_machine(path) ? open_machine(path) : open_reports(path, left_out);
}

Result<std::unique_ptr<Host>> open_root(const std::string& path, std::vector<Unread>* unread) {
  ASSIGN_OR_RETURN(auto nodes, open_nodes(path, unread));
  if (nodes.size() == 1) return std::move(nodes.front().host);
  std::vector<std::string_view> names;
  for (const NamedHost& node : nodes) names.push_back(node.node);
  return fail(ErrorKind::kBadInput,
              fmt::format("{}: holds several nodes ({}); name one of its files or folders", path,
                          fmt::join(names, ", ")));
}

bool holds_reports(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return fs::exists(path, error) && !is_tree(path);
  const auto files = trees_in(path);
  return files.empty() ? !is_machine(path) : !std::ranges::all_of(files, is_tree);
}

std::vector<std::string> lines_of(const std::vector<Unread>& unread) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> shown;
  for (const Unread& file : unread)
    if (shown.size() < kMost)
      shown.push_back(printable(fmt::format("{} is not read: {}", file.path, file.why)));
  if (unread.size() > kMost) shown.push_back(fmt::format("{} more are not read", unread.size() - kMost));
  return shown;
}

}  // namespace railbed
