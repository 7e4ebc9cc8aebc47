// What the programs of a machine have used of its processors since they began: read twice, it tells who was
// busy meanwhile. No part of a node's facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/reading.h"

namespace railbed {

class Host;

// /proc/PID/stat, proc_pid_stat(5). Threads of the kernel are left out.
struct ProgramTimes {
  int pid = 0;
  std::string name;           // of the file that it runs, cut after 15 bytes
  std::uint64_t started = 0;  // ticks after boot: with the pid it tells a program from its successor
  std::uint64_t ticks = 0;    // of processors, in user and kernel mode, all of its threads
};
struct Programs {
  int processors = 0;             // online: /sys/devices/system/cpu/online
  std::string own_name;           // of the program that asks: /proc/self/stat
  std::vector<ProgramTimes> all;  // by pid
};

// Denied where programs of other users are hidden (hidepid of proc(5)).
Reading<Programs> read_programs(Host& host);

}  // namespace railbed
