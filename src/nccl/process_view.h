// Shared by the checks of a process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nccl/process_lint.h"

namespace railbed::nccl {

struct ProcessView {
  const Process& process;
  const Facts& node;
  const Choices& choices;
  const NetworkUse& uses;
  std::vector<ProcessComplaint> complaints = {};

  void say(Severity severity, std::string_view id, std::string message, std::string remedy,
           std::string kubernetes = "", std::string_view source = "");
  bool contained() const;      // in a container or a mount namespace of its own
  bool node_has_rdma() const;  // a port is ACTIVE
  bool wants_rdma() const;     // no variable disables it
  bool has(std::string_view library) const;
  std::string variable(std::string_view name) const;  // empty if it is not set
  // Returns the interface of the process's network that has this address; empty if none has.
  std::string interface_of(std::string_view address) const;
  // Returns whether the job runs on more than one node, from WORLD_SIZE and LOCAL_WORLD_SIZE, else from its
  // connections; nothing if unknown.
  std::optional<bool> spans_nodes() const;
  // Returns kError if the job is known to span nodes, kNote if it is known not to, else `unless_known`.
  Severity between_nodes(Severity unless_known) const;
};

// Returns the number of connections to addresses that are not this process's own.
int remote_connections(const Process& process);
bool is_loopback(std::string_view address);

void lint_process_devices(ProcessView& view);  // process_devices.cc: nodes, limits, memory, namespaces
void lint_process_addresses(
    ProcessView& view);  // process_addresses.cc: variables compared with its own network

}  // namespace railbed::nccl
