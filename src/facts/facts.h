// All facts of one node as one document (`railbed facts --json`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "facts/gpu.h"
#include "facts/log/kernel_log.h"
#include "facts/network/load.h"
#include "facts/network/net.h"
#include "facts/network/rdma.h"
#include "facts/pcie.h"
#include "facts/software/container.h"
#include "facts/software/nccl.h"
#include "facts/software/pytorch.h"
#include "facts/software/toolkit.h"
#include "facts/system.h"
#include "os/confined.h"

namespace railbed {

inline constexpr int kFactsVersion = 1;

// The time that one collector took, so that a slow one is visible.
struct CollectorRun {
  std::string name;
  double milliseconds = 0;
  FIELDS(CollectorRun, name, milliseconds);
};

// A program of the site's own that cluster.yaml names, and what it gave.
struct SiteCheckRun {
  std::string name;
  ConfinedJob job;
  Reading<ConfinedOutput> result;
  FIELDS(SiteCheckRun, name, job, result);
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
  Reading<Load> load;  // absent unless load_seconds is set
  Reading<KernelLog> kernel_log;
  Reading<PyTorch> pytorch;          // absent unless a venv is given
  Reading<ContainerLook> container;  // absent unless an image is given
  Toolkit toolkit;
  std::vector<SiteCheckRun> site_checks;  // empty unless asked for
  std::vector<std::string> left_out;      // lists that were cut off: "4096 of 50000 in /sys/class/net"
  std::vector<CollectorRun> collectors;
  FIELDS(Facts, version, railbed, collected_at, system, pci, net, rdma, gpus, nccl, load, kernel_log, pytorch,
         container, toolkit, site_checks, left_out, collectors);
};

struct SiteCheckOrder {
  std::string name;
  ConfinedJob job;
  FIELDS(SiteCheckOrder, name, job);
};

// Options of collect_facts(): steps beyond reading files, and parts to skip. Sent to agents as JSON.
struct CollectOptions {
  std::optional<int> load_seconds;  // run the load window for this long; nullopt: no load
  std::string log_since;            // start of the kernel log ("2026-11-21T08:00:00Z"); empty: since boot
  std::vector<std::string> paths;   // file systems to report in addition to the default ones
  std::vector<std::string> devices = {};  // block devices that cluster.yaml exports from this machine
  std::vector<std::string> folders = {};  // directories that cluster.yaml exports from here, or mounts here
  std::string venv;                       // Python environment whose PyTorch is tried; empty: no test
  int venv_seconds = 60;                  // timeout: a first import from a network file system is slow
  bool venv_on_gpu = true;                // let PyTorch compute if no process uses a GPU
  bool gds = false;                       // run gdscheck, where it is
  std::string container;                  // image to start once; empty: no container
  std::string container_runtime;          // docker or podman; empty: the first one installed
  int container_seconds = 60;             // timeout
  std::vector<SiteCheckOrder> site_checks = {};  // programs of the site's own, run one after the other
  bool asks_site = false;  // of the controller, not sent: fill site_checks from cluster.yaml for each node
  std::vector<std::string> left_alone;  // RDMA devices and interfaces whose files are not opened
  FIELDS(CollectOptions, load_seconds, log_since, paths, devices, folders, venv, venv_seconds, venv_on_gpu,
         gds, container, container_runtime, container_seconds, site_checks, left_alone);
};

// Collects all facts. Runs collectors in parallel threads, so `host` has to be thread-safe. The load window
// runs last and alone.
Facts collect_facts(Host& host, const CollectOptions& options = {});

// Convert facts to JSON and back. facts_from_json() accepts untrusted text: it rejects more than 8 MiB,
// other documents, another version, names that are not valid for a device or host, and host keys whose fingerprint does not
// match.
std::string facts_to_json(const Facts& facts);
Result<Facts> facts_from_json(std::string_view text);

}  // namespace railbed
