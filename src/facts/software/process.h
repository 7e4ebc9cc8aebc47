// A running job as its processes see the node, selected by pid, by container, or by a loaded NCCL. It is not
// part of a node's facts: it is collected on request only.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"
#include "base/result.h"
#include "facts/software/nccl.h"
#include "host/process_answer.h"

namespace railbed {

class Host;

// The number of queue pairs of one process on one port that have the same type and state. `rdma -j resource
// show qp`
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
  Reading<std::vector<std::string>> rdma_devices;  // RDMA devices whose uverbs node it has and may use
  // NCCL's inputs in this process: its environment, the files in its root, and the mapped library.
  Nccl nccl;
  FIELDS(Process, seen, queue_pairs, rdma_devices, nccl);
};

struct Processes {
  std::vector<Process> found;
  std::vector<std::string> left_out;  // "3 forked helpers of 4242", "12 of other users"
  FIELDS(Processes, found, left_out);
};

inline constexpr std::size_t kMostLookedAt = 64;

// Examines one process. Fails with kUnavailable if there is no such process. Data that this user may not read
// is missing in the readings.
Result<Processes> collect_process(Host& host, int pid);
// Examines all processes that have a libnccl mapped, kMostLookedAt at most, without helpers that a rank
// forked. A process that ends meanwhile is left out.
Result<Processes> collect_running(Host& host);
// Examines the processes of a container that have a libnccl mapped; if there are none, the process with the
// lowest pid. `name` is its name, or 12 or more digits of its identifier. A name is looked up by `docker
// inspect` or `podman inspect`. Fails with kUnavailable if the container is not found or has no process.
Result<Processes> collect_container(Host& host, const std::string& name);

// Parses the output of `rdma -j resource show qp`, untrusted text, and counts the queue pairs of one process.
// Returns nullopt if it is not such a list.
// "[{"ifname":"mlx5_0","port":1,"type":"RC","state":"RTS","pid":4242,…}]"
std::optional<std::vector<QueuePairs>> parse_queue_pairs(const std::string& output, int pid);
// Returns true for a valid container name of docker and podman: a letter or digit, then letters, digits, "_",
// "." and "-", 128 characters at most.
bool is_container_name(std::string_view name);
// A process, with the fields that recognize a forked child.
struct SeenProcess {
  Process process;
  ProcessBrief brief;
};
// Returns true if `child` was forked from `parent` and neither started a program nor opened a queue pair or a
// connection of its own, as a data loader does.
bool is_forked_helper(const SeenProcess& child, const SeenProcess& parent);

}  // namespace railbed
