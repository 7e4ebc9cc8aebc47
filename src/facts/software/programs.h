// The processor time that each program has used since it started. Two snapshots give the programs that were
// busy in between. Not part of a node's facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/reading.h"

namespace railbed {

class Host;

// One process: /proc/PID/stat, proc_pid_stat(5). Kernel threads are left out.
struct ProgramTimes {
  int pid = 0;
  std::string name;  // name of its executable file, cut after 15 bytes
  // Clock ticks after boot. With the pid it identifies a process even if the pid is reused.
  std::uint64_t started = 0;
  std::uint64_t ticks = 0;  // clock ticks of processor time, user and kernel mode, all threads
};
struct Programs {
  int processors = 0;             // online: /sys/devices/system/cpu/online
  std::string own_name;           // name of the calling program: /proc/self/stat
  std::vector<ProgramTimes> all;  // by pid
};

// Reads the times of all programs. Denied if the programs of other users are hidden (hidepid of proc(5)).
Reading<Programs> read_programs(Host& host);

}  // namespace railbed
