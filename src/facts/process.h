// A running job as its processes see the node: asked for by pid, by container, or wherever NCCL is loaded.
// Not part of a node's facts: it is looked at only when somebody asks.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "base/result.h"
#include "facts/nccl.h"
#include "host/process_answer.h"

namespace railbed {

class Host;

// Queue pairs of one process on one port, of one type and state. `rdma -j resource show qp`
struct QueuePairs {
  std::string device;
  int port = 0;
  std::string type;   // RC, UD
  std::string state;  // RTS: connected and sending
  int count = 0;
  FIELDS(QueuePairs, device, port, type, state, count);
  bool operator==(const QueuePairs&) const = default;
};

struct Process {
  ProcessAnswer seen;
  Reading<std::vector<QueuePairs>> queue_pairs;
  Reading<std::vector<std::string>> rdma_devices;  // those whose uverbs node it has and may use
  // What NCCL reads in this process: its environment and the files in its root; the library that is mapped.
  Nccl nccl;
  FIELDS(Process, seen, queue_pairs, rdma_devices, nccl);
};

struct Processes {
  std::vector<Process> found;
  std::vector<std::string> left_out;  // "3 forked helpers of 4242", "12 of other users"
  FIELDS(Processes, found, left_out);
};

inline constexpr std::size_t kMostLookedAt = 64;

// kUnavailable: no such process. What it may not be asked is missing in its readings.
Result<Processes> collect_process(Host& host, int pid);
// All that have a libnccl mapped, without helpers that a rank forked.
Result<Processes> collect_running(Host& host);
// Those of a container, by its name or by 12 or more digits of its identifier: those that have a libnccl
// mapped, else the first of all. The name is looked up by `docker inspect` or `podman inspect`.
Result<Processes> collect_container(Host& host, const std::string& name);

// "[{"ifname":"mlx5_0","port":1,"type":"RC","state":"RTS","pid":4242,…}]"; text from elsewhere.
std::optional<std::vector<QueuePairs>> parse_queue_pairs(const std::string& output, int pid);
// A name as docker and podman give them: a letter or digit, then letters, digits, "_", "." and "-".
bool is_container_name(std::string_view name);
// A child that was forked, started no program of its own and made no connection of its own: a loader of data.
struct SeenProcess {
  Process process;
  ProcessBrief brief;
};
bool is_forked_helper(const SeenProcess& child, const SeenProcess& parent);

}  // namespace railbed
