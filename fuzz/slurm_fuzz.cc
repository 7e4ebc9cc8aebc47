// What sinfo and squeue print holds what anybody wrote as a reason: any bytes are read or passed over, what
// is taken of a name is one node, and what is shown moves no terminal.
//
// Rooms: fleet inventory host nvidia os base
#include <cstdint>
#include <string>

#include "fleet/slurm_text.h"
#include "fuzz/require.h"

using namespace railbed;
using namespace railbed::fleet;

namespace {

constexpr std::string_view kNonce = "0123456789abcdef";

void check_nodes(std::string_view text) {
  const SlurmNodes found = parse_slurm_nodes(text, kNonce);
  for (const SlurmNodeState& node : found.nodes) {
    require(is_slurm_name(node.name));
    for (const SlurmUse use : {SlurmUse::kAlone, SlurmUse::kOverlap, SlurmUse::kJob})
      if (const auto why = why_not(node, use)) require_printable(*why);
  }
  const std::string partition = partition_of_all(found.nodes, found.standard_partition);
  require(partition.empty() || is_slurm_name(partition));
}

void check_names(std::string_view text) {
  const auto names = slurm_names(text);
  for (const std::string& name : names) require(is_slurm_name(name));
  if (!names.empty()) require(slurm_names(slurm_hostlist(names)) == names);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  check_nodes(text);
  for (const SlurmJob& job : parse_slurm_jobs(text, kNonce)) {
    require_printable(job.user);
    for (const std::string& node : job.nodes) require(is_slurm_name(node));
  }
  for (const std::string_view line : lines(text)) check_names(line);
  return 0;
}
