// How a Host is had: this machine, a folder that looks like one, a tree file, or what people send to support.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace railbed {

std::unique_ptr<Host> open_this_machine();

// A folder that looks like `/` (a copied machine, a chroot). Symbolic links are followed inside it, absolute
// ones as if it were the root, so nothing outside can be read. Commands and calls are absent, except below
// "/" itself.
Result<std::unique_ptr<Host>> open_folder(const std::string& root);

// Likewise, for whoever reads the same files of sysfs again and again: they stay open between two reads;
// what a folder holds, and that a file is not there, is asked once. Make a new one now and then. Not for two
// threads at once.
Result<std::unique_ptr<Host>> open_folder_kept(const std::string& root);

// "/", a folder that looks like it, a .tree file, or a fixture folder that holds exactly one. Or a support
// report: a sosreport (packed or not), an nvidia-bug-report, a folder of command outputs; what it does not
// hold is unknown.
Result<std::unique_ptr<Host>> open_root(const std::string& path);

struct NamedHost {
  std::string node;
  std::unique_ptr<Host> host;
};
// Likewise, but a folder may hold several: each *.tree is a node named by its stem, sorted, and each
// sosreport-*.tar.xz and nvidia-bug-report*.log.gz one named by its host. A plain folder or one tree file is
// one node, named by its last part.
Result<std::vector<NamedHost>> open_nodes(const std::string& path);

}  // namespace railbed
