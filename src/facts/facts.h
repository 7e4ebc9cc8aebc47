// Everything railbed knows of one node, as one document (`railbed facts --json`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "facts/container.h"
#include "facts/gpu.h"
#include "facts/kernel_log.h"
#include "facts/load.h"
#include "facts/nccl.h"
#include "facts/net.h"
#include "facts/pcie.h"
#include "facts/pytorch.h"
#include "facts/rdma.h"
#include "facts/system.h"
#include "facts/toolkit.h"

namespace railbed {

inline constexpr int kFactsVersion = 1;

// One collector's own health: a slow or empty one is seen, never guessed.
struct CollectorRun {
  std::string name;
  double milliseconds = 0;
  FIELDS(CollectorRun, name, milliseconds);
};

struct Facts {
  int version = kFactsVersion;
  std::string railbed;                // version of the program that collected them
  Reading<std::string> collected_at;  // RFC 3339, UTC; Host call "clock"
  System system;
  Reading<std::vector<PciDevice>> pci;
  Net net;
  Rdma rdma;
  Gpus gpus;
  Nccl nccl;
  Reading<Load> load;  // absent unless it was asked for
  Reading<KernelLog> kernel_log;
  Reading<PyTorch> pytorch;          // absent unless a venv was named
  Reading<ContainerLook> container;  // absent unless an image was named
  Toolkit toolkit;
  std::vector<std::string> left_out;  // what there was too much of: "4096 of 50000 in /sys/class/net"
  std::vector<CollectorRun> collectors;
  FIELDS(Facts, version, railbed, collected_at, system, pci, net, rdma, gpus, nccl, load, kernel_log, pytorch,
         container, toolkit, left_out, collectors);
};

// What a look at a machine may do beyond reading what lies there. Sent to agents as JSON.
struct CollectOptions {
  std::optional<int> load_seconds;  // put the machine under load for so long, and see what changes
  std::string log_since;            // kernel log from then on ("2026-11-21T08:00:00Z"); empty: since boot
  std::vector<std::string> paths;   // file systems whose room is asked for
  std::string venv;                 // Python environment whose PyTorch is tried; empty: none is
  int venv_seconds = 60;          // how long that may take: a first import from a network file system is slow
  bool venv_on_gpu = true;        // let PyTorch compute where no process uses a GPU
  std::string container;          // image that is started once; empty: none is
  std::string container_runtime;  // docker or podman; empty: the first of them that is installed
  int container_seconds = 60;     // how long that may take
  std::vector<std::string> left_alone;  // RDMA devices and interfaces of which nothing is opened
  FIELDS(CollectOptions, load_seconds, log_since, paths, venv, venv_seconds, venv_on_gpu, container,
         container_runtime, container_seconds, left_alone);
};

Facts collect_facts(Host& host, const CollectOptions& options = {});

// JSON both ways. Reading accepts untrusted text.
std::string facts_to_json(const Facts& facts);
Result<Facts> facts_from_json(std::string_view text);

}  // namespace railbed
