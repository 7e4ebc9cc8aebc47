// Records the serial consoles of many nodes in parallel into files, such as the boot of a whole rack.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "campaign/change/bmc_nodes.h"

namespace railbed {

struct ConsoleRecord {
  // NODE.log in it gets the node's lines, each with its time. Created if missing.
  std::string folder;
  bool steal = false;              // detach another user's session
  std::chrono::seconds length{0};  // 0: until the caller stops it
};
using HearConsole = std::function<void(const std::string& node, std::string_view line)>;

// Records until the time is over or the caller stops. Returns true if every console was attached at the end.
// A session that breaks off is retried every five seconds; the cause goes into the node's file and is
// reported as a note. Lines contain no control characters for a terminal.
Result<bool> record_consoles(const Cluster& cluster, const Names& names, const ConsoleRecord& wanted,
                             const BmcReach& reach, const Caller& caller, const HearConsole& hear);

// Opens a file to append console output to. It is readable by this user only, because consoles can show typed
// passwords. Fails if it is not a regular file or belongs to another user.
Result<Fd> open_console_log(const std::string& path);

}  // namespace railbed
