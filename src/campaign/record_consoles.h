// The serial consoles of many nodes, side by side, into files: a boot of a whole rack.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "campaign/bmc_nodes.h"

namespace railbed {

struct ConsoleRecord {
  std::string folder;  // NODE.log in it gets the node's lines, each with its time; made where it is not there
  bool steal = false;  // from whoever is attached
  std::chrono::seconds length{0};  // 0: until the caller stops it
};
using HearConsole = std::function<void(const std::string& node, std::string_view line)>;

// Whether every console was attached to at the end. A session that breaks off is tried again every five
// seconds; why it did stands in the node's file and is a note of the caller's. Lines hold nothing that a
// terminal obeys.
Result<bool> record_consoles(const Cluster& cluster, const Names& names, const ConsoleRecord& wanted,
                             const BmcReach& reach, const Caller& caller, const HearConsole& hear);

// A file that what consoles say is appended to. What they show, passwords typed by somebody among it, is
// nobody else's.
Result<Fd> open_console_log(const std::string& path);

}  // namespace railbed
