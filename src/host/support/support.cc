#include "host/support/support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/text.h"
#include "host/support/interpret.h"
#include "host/support/outputs.h"
#include "host/support/pieces.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

// Returns the last part of a path up to its first ending: "gpu01" for "reports/gpu01.tar.xz" and for "gpu01/".
std::string name_of(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error).lexically_normal();
  const std::string name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  const bool is_folder = fs::is_directory(path, error);
  return is_folder ? name : name.substr(0, name.find('.', 1));
}

bool is_whole_report(const Piece& piece) { return piece.kind != Piece::Kind::kOutputs; }

// Puts the pieces of one node together. An output that the node has already, or that is of another time than its
// whole report, is left out.
class Merged {
 public:
  explicit Merged(std::vector<Unread>& unread) : unread_(unread) {}

  void add(Piece piece) {
    if (from_.empty()) node_ = piece.node, tree_ = std::move(piece.copies);
    for (const Output& output : piece.outputs.all()) add(output, piece);
    is_whole_ = is_whole_ || is_whole_report(piece);
    from_.push_back(std::move(piece.path));
  }

  SupportReport read() && {
    SupportReport report{node_, std::move(tree_)};
    interpret(outputs_, report.tree);
    for (const std::string& why : report.tree.left_out()) unread_.push_back({from_.front(), why});
    if (report.tree.empty() && report.tree.left_out().empty())
      for (const std::string& path : from_)
        unread_.push_back({path, "holds nothing that railbed understands"});
    return report;
  }

 private:
  void add(const Output& output, const Piece& piece) {
    constexpr std::string_view kOfOneBoot[] = {"dmesg", "journalctl", "date", "uptime"};
    const bool is_dated = std::ranges::find(kOfOneBoot, output.words[0]) != std::end(kOfOneBoot);
    const std::string command = command_of(output);
    if (is_whole_ && is_dated)
      return unread_.push_back(
          {piece.path, fmt::format("`{}`: {} may be of another boot", printable(command), from_.front())});
    const auto [known, is_new] = texts_.try_emplace(command, piece.path, output.text);
    const bool is_again = !is_new && known->second.first != piece.path && !is_dated && !output.filtered;
    if (is_again && output.words[0] != "hostname" && trim(known->second.second) != trim(output.text))
      return unread_.push_back(
          {piece.path, fmt::format("`{}`: that of {} is read", printable(command), known->second.first)});
    if (!is_again) outputs_.add(output);
  }

  std::vector<Unread>& unread_;
  std::string node_;
  std::vector<std::string> from_;
  bool is_whole_ = false;
  ReportTree tree_;
  Outputs outputs_;
  std::map<std::string, std::pair<std::string, std::string>> texts_;  // by command: path and text
};

Result<SupportReports> merge(Pieces pieces, const std::string& name) {
  SupportReports reports;
  reports.unread = std::move(pieces.unread);
  name_nodes(pieces.pieces, name_of(name));
  // Whole reports first: they hold copies, and their outputs are of one moment.
  std::ranges::stable_sort(pieces.pieces, [](const Piece& a, const Piece& b) { return a.kind < b.kind; });
  std::map<std::string, std::vector<Piece>> nodes;
  for (Piece& piece : pieces.pieces) {
    auto& of_node = nodes[short_name(piece.node)];
    if (!of_node.empty() && is_whole_report(piece))
      return fail(ErrorKind::kBadInput,
                  fmt::format("{} and {} are both of {}: move one of them elsewhere and look at it alone",
                              of_node.front().path, piece.path, piece.node));
    of_node.push_back(std::move(piece));
  }
  for (auto& [key, of_node] : nodes) {
    Merged merged(reports.unread);
    for (Piece& piece : of_node) merged.add(std::move(piece));
    SupportReport report = std::move(merged).read();
    if (!report.tree.empty()) reports.nodes.push_back(std::move(report));
  }
  if (reports.nodes.empty()) return nothing_read(name, reports.unread);
  return reports;
}

// Adds the pieces of an archive in a folder. One that cannot be unpacked does not affect the others.
void add_archive(const std::string& path, const SentLimits& limits, Pieces& found) {
  auto sent = read_archive(path, limits);
  if (!sent) return found.unread.push_back({path, std::move(sent.error().text)});
  Pieces own = pieces_of(std::move(*sent), path, name_of(path));
  std::ranges::move(own.pieces, std::back_inserter(found.pieces));
  std::ranges::move(own.unread, std::back_inserter(found.unread));
}

Result<Pieces> read_folder(const std::string& folder,
                           const std::function<bool(const std::string& path)>& is_other,
                           const SentLimits& limits) {
  std::vector<std::string> archives;
  const auto is_apart = [&](const std::string& path) {
    std::error_code error;
    if (is_other(path)) return true;
    const bool packed =
        fs::is_regular_file(fs::symlink_status(path, error)) && kind_of(path) == SentKind::kPacked;
    if (packed) archives.push_back(path);
    return packed;
  };
  ASSIGN_OR_RETURN(auto sent, read_sent_folder(folder, limits, is_apart));
  std::string from = folder;
  while (from.size() > 1 && from.ends_with('/')) from.pop_back();
  Pieces found = pieces_of(std::move(sent), from);
  std::ranges::sort(archives);
  for (const std::string& path : archives) add_archive(path, limits, found);
  return found;
}

}  // namespace

Result<SupportReports> reports_of(Sent sent, const std::string& name) {
  return merge(pieces_of(std::move(sent), name), name);
}

Result<SupportReports> read_support_reports(const std::string& path,
                                            const std::function<bool(const std::string& path)>& is_other,
                                            const SentLimits& limits) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    ASSIGN_OR_RETURN(auto pieces, read_folder(path, is_other, limits));
    return merge(std::move(pieces), path);
  }
  ASSIGN_OR_RETURN(auto sent, read_archive(path, limits));
  return reports_of(std::move(sent), path);
}

tl::unexpected<Error> nothing_read(const std::string& path, const std::vector<Unread>& tried) {
  constexpr std::size_t kMostShown = 5;
  std::string reasons;
  for (std::size_t i = 0; i < std::min(tried.size(), kMostShown); ++i)
    reasons += (i == 0 ? "" : "; ") +
               (tried[i].path == path ? tried[i].why : fmt::format("{}: {}", tried[i].path, tried[i].why));
  if (tried.empty()) reasons = "there is no file in it";
  if (tried.size() > kMostShown) reasons += fmt::format("; and {} more", tried.size() - kMostShown);
  return fail(
      ErrorKind::kBadInput,
      fmt::format(
          "{}: neither a sosreport, nor an nvidia-bug-report, nor a folder of command outputs, nor a folder "
          "like / (with etc, proc or sys): {}. Outputs of these commands are read: {}; `railbed capture` "
          "writes what railbed reads best",
          path, printable(reasons), fmt::join(readable_programs(), ", ")));
}

}  // namespace railbed
