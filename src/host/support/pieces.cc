// Assigns outputs to machines. Few texts state theirs: a prompt, `hostname`, `uname -a`, a sosreport. The others belong
// to the machine that the files in their folder state, unless something contradicts: two names, or two different
// outputs of one command. Then each file is a machine of its own, so that facts of two machines never mix.
#include "host/support/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/ip.h"
#include "base/text.h"
#include "host/support/bug_report.h"
#include "host/support/intake.h"
#include "host/support/interpret.h"
#include "host/support/pasted.h"
#include "host/support/sysinfo_snapshot.h"

namespace railbed {
namespace {

constexpr std::string_view kCommands = "sos_commands/";
constexpr std::string_view kCopied[] = {"proc/", "sys/", "etc/", "run/", "lib/", "usr/", "boot/"};

bool is_copy(std::string_view path) {
  return std::ranges::any_of(kCopied, [&](std::string_view start) { return path.starts_with(start); });
}

template <class Map>
void move_below(const std::string& top, Map& from, Map& to) {
  for (auto at = from.lower_bound(top); at != from.end() && at->first.starts_with(top);) {
    auto entry = from.extract(at++);
    entry.key().erase(0, top.size());
    to.insert(std::move(entry));
  }
}

// Removes the files below a folder, whose name ends in a slash or is empty, and returns them by their paths in it.
Sent take_below(const std::string& top, Sent& sent) {
  Sent below;
  move_below(top, sent.files, below.files);
  move_below(top, sent.links, below.links);
  return below;
}

// Returns the folders, each with its slash, that sosreports were packed from: "sosreport-gpu01-2026-01-19-abcdefg/".
std::set<std::string> sosreports_in(const Sent& sent) {
  std::set<std::string> tops;
  for (const auto& [path, file] : sent.files)
    if (const auto at = path.find(kCommands); at == 0 || (at != path.npos && path[at - 1] == '/'))
      tops.insert(path.substr(0, at));
  return tops;
}

// Marks the folders that are complete in a sosreport. sos copies some files of every module, among them initstate, which
// each module that was loaded has; without one the copy of the folder is of something else.
void mark_whole_folders(ReportTree& copies) {
  constexpr std::string_view kModules = "/sys/module", kFrequencies = "/sys/devices/system/cpu/cpufreq";
  const auto modules = copies.names(kModules);
  const bool any_state = std::ranges::any_of(modules, [&](const std::string& module) {
    return copies.has(fmt::format("{}/{}/initstate", kModules, module));
  });
  if (any_state) copies.whole(kModules);
  if (copies.has(kFrequencies)) copies.whole(kFrequencies);
}

// Reads a sosreport. The names of its outputs are sos's own.
Piece read_sosreport(Sent sent, std::string path) {
  Piece piece;
  piece.kind = Piece::Kind::kSosreport;
  piece.path = std::move(path);
  for (auto& [name, file] : sent.files) {
    auto words = is_copy(name) ? std::vector<std::string>() : words_of_name(name.substr(name.rfind('/') + 1));
    if (!words.empty()) piece.outputs.add({std::move(words), std::move(file.content), file.modified});
  }
  for (auto& [name, file] : sent.files)
    if (is_copy(name)) piece.copies.copy("/" + name, std::move(file.content));
  for (const auto& [name, target] : sent.links)
    if (is_copy(name)) piece.copies.link("/" + name, target);
  mark_whole_folders(piece.copies);
  piece.node = node_in(piece.outputs, piece.copies);
  return piece;
}

// Returns the folders, each with its slash, in which hwloc-gather-topology put copies.
std::set<std::string> gathers_in(const Sent& sent) {
  std::set<std::string> tops;
  for (const auto& [path, file] : sent.files)
    if (path == kGatherMark || path.ends_with("/" + std::string(kGatherMark)))
      tops.insert(path.substr(0, path.size() - kGatherMark.size()));
  return tops;
}

// Folders that the script copies with everything in them, or (its option --io) not at all.
constexpr std::string_view kGathered[] = {"/sys/devices/system/node", "/sys/devices/system/cpu",
                                          "/sys/bus/pci/devices",     "/sys/class/net",
                                          "/sys/class/infiniband",    "/sys/class/block"};

// Reads what hwloc-gather-topology copied. Its own file states what uname(2) does: "OSRelease: 6.17.0-1014-nvidia".
Piece read_gather(Sent sent, std::string path) {
  Piece piece;
  piece.kind = Piece::Kind::kGather;
  piece.path = std::move(path);
  const std::string mark = sent.files[std::string(kGatherMark)].content;
  const auto value = [&](std::string_view key) -> std::string_view {
    for (const auto line : lines(mark))
      if (const auto pair = key_value(line, ':'); pair && pair->first == key) return pair->second;
    return {};
  };
  if (!value("HostName").empty() && !value("OSRelease").empty())
    piece.outputs.add({{"uname", "-a"},
                       fmt::format("{} {} {} {} {} GNU/Linux\n", value("OSName"), value("HostName"),
                                   value("OSRelease"), value("OSVersion"), value("Architecture")),
                       0});
  for (auto& [name, file] : sent.files)
    if (is_copy(name)) piece.copies.copy("/" + name, std::move(file.content));
  for (const auto& [name, target] : sent.links)
    if (is_copy(name)) piece.copies.link("/" + name, target);
  for (const auto folder : kGathered)
    if (!piece.copies.names(folder).empty()) piece.copies.whole(folder);
  piece.node = node_in(piece.outputs, piece.copies);
  return piece;
}

std::string why_not_read(std::string_view text) {
  if (trim(text).empty()) return "empty";
  if (!is_text(text)) return std::string(kNotText);
  return "not recognised as the output of a command that railbed reads";
}

bool names_no_machine(std::string_view host) { return host == "localhost" || host.starts_with("localhost."); }

// Reads the page of a sysinfo-snapshot and the outputs beside it.
Piece read_snapshot(Sent sent, const std::string& page, std::string path) {
  Piece piece;
  piece.kind = Piece::Kind::kSnapshot;
  piece.path = std::move(path);
  read_sysinfo_snapshot(sent.files[page].content, piece.copies, piece.outputs);
  for (auto& [name, file] : sent.files) {
    if (name == page) continue;
    const auto found = outputs_in(name, std::move(file.content));
    for (const Output& output : found ? *found : std::vector<Output>())
      if (output.words[0] != "hostname") add_beside_sysinfo_snapshot(output, piece.outputs);
  }
  piece.node = node_in(piece.outputs, piece.copies);
  return piece;
}

// Returns true if the folders are there in which the script puts outputs beside its page.
bool is_snapshot_folder(const Sent& sent) {
  return std::ranges::any_of(sent.files, [](const auto& file) {
    return file.first.starts_with("commands_txt_output/") || file.first.starts_with("pcie_files/");
  });
}

// Returns the path of a sysinfo-snapshot's page; empty if there is none.
std::string page_in(const Sent& sent) {
  for (const auto& [path, file] : sent.files)
    if (is_sysinfo_snapshot(file.content)) return path;
  return "";
}

// Reads a file of a person. `path` is that of the piece, by which its command may be known.
void read_text(const std::string& path, SentFile file, const std::string& folder, Pieces& found) {
  Piece piece;
  piece.path = path;
  piece.folder = folder;
  if (is_bug_report(file.content)) {
    piece.kind = Piece::Kind::kBugReport;
    read_bug_report(file.content, piece.copies, piece.outputs);
  } else if (is_sysinfo_snapshot(file.content)) {
    piece.kind = Piece::Kind::kSnapshot;
    read_sysinfo_snapshot(file.content, piece.copies, piece.outputs);
  } else {
    const std::string why = why_not_read(file.content);
    auto outputs = outputs_in(path, std::move(file.content));
    if (!outputs || outputs->empty() || why == "empty")
      return found.unread.push_back({path, outputs ? why : std::move(outputs.error().text)});
    for (Output& output : *outputs) {
      output.when = file.modified;
      piece.outputs.add(std::move(output));
    }
  }
  piece.node = node_in(piece.outputs, piece.copies);
  if (piece.kind == Piece::Kind::kOutputs && names_no_machine(piece.node)) piece.node.clear();
  found.pieces.push_back(std::move(piece));
}

// Returns the folder that contains all files, with its slash; empty if there is none.
std::string top_of(const Sent& sent) {
  if (sent.files.empty()) return "";
  const std::string& first = sent.files.begin()->first;
  const auto slash = first.find('/');
  const std::string top = slash == std::string::npos ? "" : first.substr(0, slash + 1);
  const bool all =
      std::ranges::all_of(sent.files, [&](const auto& file) { return file.first.starts_with(top); });
  return all && !is_copy(top) ? top : "";
}

// Adds the files that a person put together. Copied files are left out: nothing shows that they are whole.
void read_loose(Sent sent, const std::string& from, const std::string& outer, Pieces& found) {
  const std::string top = top_of(sent);
  const std::string here = from + "/" + top;
  Sent below = take_below(top, sent);
  // An unpacked snapshot has its page at the top; pages in folders are files like others.
  if (const std::string page = page_in(below);
      !page.empty() && page.find('/') == page.npos && is_snapshot_folder(below)) {
    Piece piece = read_snapshot(std::move(below), page, from);
    piece.folder = outer;
    return found.pieces.push_back(std::move(piece));
  }
  for (auto& [path, file] : below.files) {
    const auto slash = path.find('/');
    std::string folder = path.substr(0, slash == path.npos ? 0 : slash);
    if (folder.empty()) folder = outer.empty() && !top.empty() ? top.substr(0, top.size() - 1) : outer;
    if (is_copy(path))
      found.unread.push_back({here + path, "a copy outside of a sosreport: nothing shows that it is whole"});
    else
      read_text(here + path, std::move(file), folder, found);
  }
  for (const auto& [path, target] : below.links)
    if (!is_copy(path)) found.unread.push_back({here + path, "a link, which is not followed"});
}

// Returns true if two pieces hold different outputs of one command that does not change with time.
bool contradict(const std::vector<const Piece*>& pieces) {
  constexpr std::string_view kChanging[] = {"dmesg", "journalctl", "date", "uptime", "hostname"};
  std::map<std::string, std::pair<const Piece*, const std::string*>> known;
  for (const Piece* piece : pieces)
    for (const Output& output : piece->outputs.all()) {
      if (output.filtered || std::ranges::find(kChanging, output.words[0]) != std::end(kChanging)) continue;
      const auto [at, is_new] = known.try_emplace(command_of(output), piece, &output.text);
      if (!is_new && at->second.first != piece && trim(*at->second.second) != trim(output.text)) return true;
    }
  return false;
}

std::set<std::string> nodes_stated(const std::vector<const Piece*>& pieces) {
  std::map<std::string, std::string> stated;  // by short name
  for (const Piece* piece : pieces)
    if (!piece->node.empty()) stated.emplace(short_name(piece->node), piece->node);
  std::set<std::string> nodes;
  for (const auto& [key, node] : stated) nodes.insert(node);
  return nodes;
}

bool may_be_one(const std::vector<const Piece*>& pieces) {
  return nodes_stated(pieces).size() <= 1 && !contradict(pieces);
}

// Returns "gpu01" for "reports/gpu01-lspci.txt", "notes" for "reports/notes.txt".
std::string name_by_file(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  const auto before = before_program(file);
  return before.empty() ? file.substr(0, file.find('.', 1)) : std::string(before);
}

void name_alike(const std::vector<Piece*>& pieces, const std::string& fallback) {
  const std::vector<const Piece*> all(pieces.begin(), pieces.end());
  const auto stated = nodes_stated(all);
  const bool one = may_be_one(all);
  for (Piece* piece : pieces) {
    if (!piece->node.empty()) continue;
    const std::string alone =
        piece->folder.empty() ? name_by_file(piece->path) : piece->folder + "-" + name_by_file(piece->path);
    piece->node = printable(!one ? alone : stated.empty() ? fallback : *stated.begin());
  }
}

}  // namespace

std::string short_name(const std::string& node) {
  return IpAddress::parse(node) ? node : node.substr(0, node.find('.', 1));
}

Pieces pieces_of(Sent sent, const std::string& from, const std::string& folder) {
  Pieces found;
  for (Unread& file : sent.unread) found.unread.push_back({from + "/" + file.path, std::move(file.why)});
  if (auto single = sent.files.find(kSingleFile); single != sent.files.end() && sent.files.size() == 1) {
    read_text(from, std::move(single->second), folder, found);
    return found;
  }
  for (const std::string& top : sosreports_in(sent)) {
    const std::string path = top.empty() ? from : from + "/" + top.substr(0, top.size() - 1);
    Piece piece = read_sosreport(take_below(top, sent), path);
    piece.folder = folder.empty() ? top.substr(0, top.size() - std::min<std::size_t>(top.size(), 1)) : folder;
    if (piece.outputs.empty())
      found.unread.push_back({path, "holds no output of a command that railbed reads"});
    else
      found.pieces.push_back(std::move(piece));
  }
  for (const std::string& top : gathers_in(sent)) {
    const std::string path = top.empty() ? from : from + "/" + top.substr(0, top.size() - 1);
    found.pieces.push_back(read_gather(take_below(top, sent), path));
  }
  read_loose(std::move(sent), from, folder, found);
  return found;
}

void name_nodes(std::vector<Piece>& pieces, const std::string& fallback) {
  std::map<std::string, std::vector<Piece*>> by_folder;
  std::vector<const Piece*> all;
  for (Piece& piece : pieces) {
    by_folder[piece.folder].push_back(&piece);
    all.push_back(&piece);
  }
  const auto top = by_folder.find("");
  const bool top_states =
      top != by_folder.end() && !nodes_stated({top->second.begin(), top->second.end()}).empty();
  const bool one_place = by_folder.size() <= 1 || (top != by_folder.end() && by_folder.size() == 2);
  if ((top_states || one_place) && may_be_one(all)) {
    std::vector<Piece*> whole;
    for (Piece& piece : pieces) whole.push_back(&piece);
    const bool in_a_folder = by_folder.size() == 1 && top == by_folder.end();
    return name_alike(whole, in_a_folder ? by_folder.begin()->first : fallback);
  }
  for (auto& [folder, own] : by_folder) name_alike(own, folder.empty() ? fallback : folder);
}

}  // namespace railbed
