// What the checks of a process share.
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
  bool contained() const;      // in a container, or in a mount namespace of its own
  bool node_has_rdma() const;  // a port is ACTIVE
  bool wants_rdma() const;     // no variable switches it off
  bool has(std::string_view library) const;
  std::string variable(std::string_view name) const;  // empty when it is not set
  // The interface of its network that has this address; empty: none.
  std::string interface_of(std::string_view address) const;
  // Whether the job runs on more than one node: by WORLD_SIZE and LOCAL_WORLD_SIZE, else by its connections.
  // Nothing: it cannot be told.
  std::optional<bool> spans_nodes() const;
  // An error where the job is known to span nodes, a note where it is known not to.
  Severity between_nodes(Severity unless_known) const;
};

// Connections to addresses that are not this process's own.
int remote_connections(const Process& process);
bool is_loopback(std::string_view address);

void lint_process_devices(ProcessView& view);    // process_devices.cc: nodes, limits, memory, namespaces
void lint_process_addresses(ProcessView& view);  // process_addresses.cc: variables against its own network

}  // namespace railbed::nccl
