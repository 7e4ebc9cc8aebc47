// Ways to get a Host: this machine, a folder that looks like one, a tree file, or a support report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "host/support/sent.h"

namespace railbed {

std::unique_ptr<Host> open_this_machine();

// Opens a folder that looks like `/` (a copied machine, a chroot). Symbolic links are followed inside it,
// absolute ones as if it were the root, so nothing outside can be read. Commands and calls are absent, unless
// the folder is "/" itself.
Result<std::unique_ptr<Host>> open_folder(const std::string& root);

// The same for callers that read the same files of sysfs repeatedly: files stay open between reads. The
// entries of a folder, and that a file is missing, are looked up once, except for the entries of
// /sys/class/NAME. So make a new Host from time to time. Not thread-safe.
Result<std::unique_ptr<Host>> open_folder_kept(const std::string& root);

// Opens "/", a folder that looks like it (with sys, proc or etc in it), a .tree file, or a fixture folder that holds
// exactly one. Also opens a support report: a sosreport (packed or not), an nvidia-bug-report, a sysinfo-snapshot,
// outputs of commands in one file or in a folder; a fact that the report does not contain is unknown. Adds files that
// are not read to `unread` unless that is null.
Result<std::unique_ptr<Host>> open_root(const std::string& path, std::vector<Unread>* unread = nullptr);

struct NamedHost {
  std::string node;
  std::unique_ptr<Host> host;
};
// The same, but a folder may hold several nodes, sorted by file name: each *.tree is a node named by its stem. Reports
// and outputs are nodes by the host that they state, else by the folder or file in which they are
// (host/support/pieces.h); those of one node are merged. Beside trees only sosreport-*.tar.xz, .tar.gz and
// nvidia-bug-report*.log, .log.gz are read. Two trees or whole reports of one node are an error (kBadInput), and so is
// a folder without a file that is read. A plain folder or one tree file is one node, named by its last part.
Result<std::vector<NamedHost>> open_nodes(const std::string& path, std::vector<Unread>* unread = nullptr);

// Returns true if those functions read support reports at a path. In these a missing file is unknown, not absent.
bool holds_reports(const std::string& path);

// Returns lines such as "reports/photo.jpg is not read: not text", and how many more there are than are shown.
std::vector<std::string> lines_of(const std::vector<Unread>& unread);

}  // namespace railbed
