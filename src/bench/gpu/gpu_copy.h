// Copies by the GPUs' copy engines: to and from pinned host memory, within a GPU, between GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/peer.h"
#include "nvidia/calls.h"
#include "os/process.h"
#include "results/collective.h"

namespace railbed {

struct Facts;

enum class Copy {
  kToGpu,          // from pinned host memory
  kFromGpu,        // to pinned host memory
  kHostBothWays,   // both at the same time; the rate is their sum
  kWithin,         // from one buffer of a GPU to another; every byte is read and written
  kPeer,           // from GPU `from` to GPU `to`
  kPeersBothWays,  // both at the same time; the rate is their sum
};
constexpr auto enum_names(Copy) {
  return std::array<std::string_view, 6>{"host-to-gpu", "gpu-to-host", "host-both-ways",
                                         "within",      "peer",        "peers-both-ways"};
}

struct GpuCopyPlan {
  std::vector<int> gpus;                           // ordinals; empty: all
  std::uint64_t bytes = std::uint64_t{128} << 20;  // of one copy
  int samples = 24;                                // of each number
  double patience = 60;                            // timeout of one step in seconds
  FIELDS(GpuCopyPlan, gpus, bytes, samples, patience);
};

struct GpuCopyResult {
  Copy copy = Copy::kToGpu;
  int from = -1;  // ordinals; -1 is the host
  int to = -1;
  std::vector<double> samples;  // bits per second
  double seconds = 0;
  std::uint64_t checked = 0;  // bytes
  std::uint64_t wrong = 0;
  bool peer_access = false;  // of peers: directly, not through host memory
  FIELDS(GpuCopyResult, copy, from, to, samples, seconds, checked, wrong, peer_access);
};

// One line of the child's news. Exactly one member is set, or `bytes` and `cut` or `failure` and `kind` together.
struct GpuCopyNews {
  std::optional<std::vector<VisibleGpu>> gpus = {};
  std::optional<GpuCopyResult> result = {};
  std::optional<std::string> failure = {};
  std::optional<FailureKind> kind = {};     // of the failure
  std::optional<std::uint64_t> bytes = {};  // of one copy, if the plan's were too many
  std::optional<std::string> cut = {};      // why they were too many
  static void fields(auto&& field) {
    field("bytes", &GpuCopyNews::bytes);
    field("cut", &GpuCopyNews::cut);
    field("seats", &GpuCopyNews::gpus);
    field("result", &GpuCopyNews::result);
    field("failure", &GpuCopyNews::failure);
    field("kind", &GpuCopyNews::kind);
  }
};

// Measures the copies; to be called only in a child process. Reports each GpuCopyNews as one line.
void run_gpu_copies(const GpuCopyPlan& plan, const NvidiaLibraries& from, const Tell& tell);

inline constexpr std::string_view kGpuCopies = "bench.gpu.copies";  // GpuCopyPlan → ChildName

struct GpuCopyReport {
  std::vector<VisibleGpu> gpus;
  std::vector<GpuCopyResult> results;
  std::optional<Failure> failure;  // the results before it are kept
  std::uint64_t bytes = 0;         // of one copy
  std::string cut;                 // why these are fewer than the plan's; empty if they are not
};
GpuCopyReport measure_gpu_copies(Peer& peer, const GpuCopyPlan& plan,
                                 const std::function<void(std::string_view)>& on_measuring,
                                 const std::stop_token& stop);

// Returns a name like "host → GPU 0" or "GPU 0 ↔ GPU 1".
std::string copy_name(const GpuCopyResult& result);
// Converts the results to measurements, for the history. The ceilings come from the node's facts.
std::vector<Measurement> copy_measurements(const GpuCopyReport& report, const std::string& node,
                                           const Facts& facts);

}  // namespace railbed
