// Judges how the container engines of a node reach its GPUs. Rules print the faults, and settings mend them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/survey.h"

namespace railbed {

// Returns true if the node is described as one whose containers of cluster.yaml podman starts.
bool asks_for_podman(const NodeView& node);

// A container engine of a node, and NVIDIA's runtime in its files.
struct EngineGpus {
  std::string_view engine = {};      // docker, containerd or crio
  bool asked = false;                // cluster.yaml wants the runtime
  bool installed = false;            // the engine is there
  std::optional<bool> runtime = {};  // its files name the runtime; nullopt if they could not be read
  // No way on the node leads from a container to a GPU, although NVIDIA's toolkit is installed: no runtime, no hook and no
  // folder of CDI. Only of engines that run, and of containerd where a kubelet runs; CRI-O's hooks are not read.
  bool plainly_lacks = false;
};
// Returns the engines that are there or that cluster.yaml asks for; none on a node without GPUs.
std::vector<EngineGpus> engine_gpus(const NodeView& node);

// Reasons why a person has to look at containerd's files before a runtime is added to config.toml.
enum class ContainerdHold {
  kNone,
  kVersion,    // config.toml is of a version of the format that railbed does not write
  kCriOff,     // it switches the plugin off that serves Kubernetes
  kOverridden  // a file that it imports may replace what is added (EngineFiles::overriding)
};
ContainerdHold containerd_hold(const EngineFiles& files);

// Returns the runtime whose settings one more runtime starts from: the default one, else runc or crun; null if the files
// name none of these, or it is NVIDIA's or no runtime of containers on the host's kernel.
const EngineRuntime* low_level_runtime(const EngineFiles& files);

// Returns the descriptions of CDI that engines use: those in /run if there are some, which replace devices of the same names
// in /etc (SPEC.md of the Container Device Interface, "CDI JSON Specification").
std::vector<const CdiSpec*> used_cdi_specs(const std::vector<CdiSpec>& specs);

// Returns what a description names that the node does not have: "names libcuda.so.570.133.20, which is gone"; empty if nothing.
std::string cdi_fault(const CdiSpec& spec, const Gpus& gpus);

// Returns what is wrong with the descriptions together: a fault of one that is used, or a GPU that none of them has; empty if
// nothing is wrong or there are none.
std::string cdi_fault(const std::vector<CdiSpec>& specs, const Gpus& gpus);

// Returns true if a service runs that ends a process before memory is used up. systemd-oomd is none: it acts only on units
// that ask for it.
bool has_memory_guard(const std::vector<std::string>& guards);

}  // namespace railbed
