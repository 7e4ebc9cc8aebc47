// Readers of the other outputs of nvidia-smi: the values of `nvidia-smi -q` as XML or in a table, and errors.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railbed {

// Caps of what is read: a node has at most 16 GPUs, a GPU a few hundred values.
inline constexpr std::size_t kMostGpus = 256;
inline constexpr std::size_t kMostSmiValues = 4096;  // per GPU

using SmiValues = std::map<std::string, std::string, std::less<>>;  // "PCI/Bus Id" → "00000000:17:00.0"

inline constexpr std::string_view kSmiIndex = "Index";  // NVML's, in the table alone

bool is_nvidia_smi_xml(std::string_view text);
// Values under the names of nvidia-smi -q.
struct SmiOutput {
  SmiValues head;
  std::vector<std::pair<std::string, SmiValues>> gpus;  // by "00000000:17:00.0"
  std::vector<std::string> without_address;             // names of GPUs that the output gives no PCI address
};
SmiOutput read_nvidia_smi_xml(std::string_view text);

// The table that nvidia-smi prints without options.
bool is_nvidia_smi_table(std::string_view text);
SmiOutput read_nvidia_smi_table(std::string_view text);

// Any of these, or the text of nvidia-smi -q; nullopt if it is none of them.
std::optional<SmiOutput> read_nvidia_smi(std::string_view query);

// The PCI addresses of GPUs by NVML's index, which other outputs count by.
using GpuAddresses = std::map<int, std::string>;
// Returns those of such an output. Empty if a GPU is missing in it, so that its order gives no index.
GpuAddresses find_gpu_addresses(std::string_view query);

// Returns the PCI addresses of the GPUs that nvidia-smi names in "Unable to determine the device handle".
std::vector<std::string> lost_gpus_in(std::string_view text);

}  // namespace railbed
