// Readers of the other outputs of nvidia-smi: the values of `nvidia-smi -q` as XML or in a table, and errors.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railbed {

// Caps of what is read: a node has at most 16 GPUs, a GPU a few hundred values.
inline constexpr std::size_t kMostGpus = 256;
inline constexpr std::size_t kMostSmiValues = 4096;  // per GPU

using SmiValues = std::map<std::string, std::string, std::less<>>;  // "PCI/Bus Id" → "00000000:17:00.0"

bool is_nvidia_smi_xml(std::string_view text);
// Values under the names of nvidia-smi -q.
struct SmiOutput {
  SmiValues head;
  std::vector<std::pair<std::string, SmiValues>> gpus;  // by "00000000:17:00.0"
};
SmiOutput read_nvidia_smi_xml(std::string_view text);

// The table that nvidia-smi prints without options.
bool is_nvidia_smi_table(std::string_view text);
SmiOutput read_nvidia_smi_table(std::string_view text);

// Returns the PCI addresses of the GPUs that nvidia-smi names in "Unable to determine the device handle".
std::vector<std::string> lost_gpus_in(std::string_view text);

}  // namespace railbed
