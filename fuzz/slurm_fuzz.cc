// What sinfo and squeue print holds what anybody wrote as a reason: any bytes are read or passed over, what
// is taken of a name is one node, and what is shown moves no terminal.
//
// Rooms: fleet inventory host nvidia os base
#include <cstdint>
#include <string>

#include "fleet/slurm_text.h"
#include "fuzz/require.h"
#include "inventory/hostlist.h"

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
  if (!names) return require_printable(names.error().text);
  require(!names->empty());
  for (const std::string& name : *names) require(is_slurm_name(name));
  const auto again = slurm_names(slurm_hostlist(*names));
  require(again && *again == *names);
}

// An error is about a part of the list, and no list makes more or longer names than the limits.
void check_list(std::string_view text) {
  constexpr std::size_t kLimit = 1000;
  constexpr std::size_t kLongest = 255 + 18;  // a bracket's number may follow the last character
  const auto names = expand_hostlists(text, kLimit);
  if (!names) return require(names.error().length > 0 && names.error().offset <= text.size());
  require(!names->empty() && names->size() <= kLimit);
  for (const std::string& name : *names) require(!name.empty() && name.size() <= kLongest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  check_nodes(text);
  for (const SlurmJob& job : parse_slurm_jobs(text, kNonce)) {
    require_printable(job.user);
    for (const std::string& node : job.nodes) require(is_slurm_name(node));
  }
  for (const std::string_view line : lines(text)) {
    check_names(line);
    check_list(line);
  }
  return 0;
}
