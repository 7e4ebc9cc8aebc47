// A report before it is interpreted: the copies and outputs of each file, and the node that they state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/support/outputs.h"
#include "host/support/report_tree.h"
#include "host/support/sent.h"

namespace railbed {

// The file by which the folder of hwloc-gather-topology is known. The script copies some of /proc and /sys: what it lacks
// is unknown.
inline constexpr std::string_view kGatherMark = "proc/hwloc-nofile-info";

struct Piece {
  enum class Kind { kSosreport, kGather, kBugReport, kSnapshot, kOutputs };
  Kind kind = Kind::kOutputs;
  std::string path;    // of the file or folder that it is from, as the user may write it
  std::string folder;  // the folder that it shares with others of its node; empty at the top
  std::string node;    // host name that it states; empty if it states none
  ReportTree copies;
  Outputs outputs;
};

struct Pieces {
  std::vector<Piece> pieces;
  std::vector<Unread> unread;  // paths as those of pieces
};

// Splits a report: each sosreport in it, packed or not, each nvidia-bug-report and each file of outputs is a piece. `from` is the path of the archive or folder, `folder` that of its pieces, unless they lie in folders of
// their own.
Pieces pieces_of(Sent sent, const std::string& from, const std::string& folder = "");

// Returns a host name without its domain, as a prompt prints it; an address stays whole.
std::string short_name(const std::string& node);

// Sets the node of each piece that states none: that of its folder if all there can be of one machine, else a name by
// the folder or the file. `fallback` is the name of a machine that nothing names.
void name_nodes(std::vector<Piece>& pieces, const std::string& fallback);

}  // namespace railbed
