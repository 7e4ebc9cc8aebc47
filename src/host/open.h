// Ways to get a Host: this machine, a folder that looks like one, a tree file, or a support report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"

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

// Opens "/", a folder that looks like it, a .tree file, or a fixture folder that holds exactly one. Also
// opens a support report: a sosreport (packed or not), an nvidia-bug-report, or a folder of command outputs;
// what the report does not contain is unknown.
Result<std::unique_ptr<Host>> open_root(const std::string& path);

struct NamedHost {
  std::string node;
  std::unique_ptr<Host> host;
};
// The same, but a folder may hold several nodes: each *.tree is a node named by its stem, and each
// sosreport-*.tar.xz or .tar.gz and each nvidia-bug-report*.log or .log.gz is one named by its host. Sorted
// by file name. Two files of one node are an error. A plain folder or one tree file is one node, named by its
// last part.
Result<std::vector<NamedHost>> open_nodes(const std::string& path);

}  // namespace railbed
