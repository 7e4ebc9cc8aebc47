// A burn-in's work on local drives: files of known content, which are read again and again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mount.h"
#include "bench/burn/burn.h"
#include "os/process.h"

namespace railbed {

class Host;

// Returns the drives that a plan would burn in, and those that it names or that are there but cannot be, with the reason.
// Without paths it takes one folder on each local drive, in the file system with the most free space. Looks only.
std::vector<BurnDrive> find_burn_drives(Host& host, const BurnDrivePlan& plan);

// Returns why no local drive is known to be below a mount: memory, a file server, a drive of another machine, …; empty if
// one is.
std::string why_not_local(Host& host, const Mount& mount);

// Returns the most bytes that a drive gets by default in a whole burn, by the size of the file system.
std::uint64_t default_drive_writes(std::uint64_t size);

// Writes a file in the drive's folder within its limits, and reads and compares it until the plan's time is over. `begin`
// is the start of the burn by now_ns(). Sends the BurnDrive as a line every second or two, and at the end. The file has no
// name (make_nameless_file()).
void run_burn_drive(const BurnPlan& plan, const BurnDrive& place, Host& host, std::uint64_t begin,
                    const Tell& tell);

}  // namespace railbed
