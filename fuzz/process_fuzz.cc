// What a running job says of itself is its user's text: the files of its folder in /proc, its variables, and
// the whole answer in a captured tree. Everything ends, holds its limits, and says nothing that a terminal
// obeys.
//
// Rooms: nccl facts host nvidia os base
// Seeds: tests/running
#include <cstdint>

#include "facts/facts.h"
#include "facts/software/gpu_job.h"
#include "facts/software/process.h"
#include "fuzz/require.h"
#include "host/process_text.h"
#include "host/tree.h"
#include "nccl/process_lint.h"

using namespace railbed;

namespace {

void read_as_files(std::string_view text) {
  for (const auto& [name, value] : kept_variables(text)) require_printable(name + value);
  (void)variable_of(text, "HOSTNAME");
  (void)soft_limit(text, "Max locked memory");
  (void)parse_stat(text);
  (void)parse_status(text);
  (void)container_of(text);
  const CgroupJob job = job_of(text);
  require(job.slurm_job.empty() || is_slurm_job(job.slurm_job));
  require(job.pod_uid.size() <= 36);
  if (const auto log = parse_container_log(text))
    require_printable(log->pod + log->name_space + log->container);
  (void)addresses_of(text, "gpu01");
  (void)nccl_lines(text);
  (void)parse_queue_pairs(std::string(text), 7);
  require(mapped_libraries(text).size() <= kMostLibraries);
  auto flows = flows_of(text, {1, 7, 4242});
  require(flows.size() <= kMostFlows);
  const std::string whole(text);
  name_interfaces(flows, interfaces_of({whole, whole, whole, whole}));
}

void judge_tree(std::string_view text) {
  auto tree = parse_tree(text, "fuzz", nullptr);
  if (!tree) return;
  const auto host = open_tree(std::move(*tree));
  const auto running = collect_running(*host);
  if (!running || running->found.empty()) return;
  const Facts node = collect_facts(*host);
  for (const Process& process : running->found)
    require_printable(nccl::to_text(nccl::judge_process(process, node, {{}, 104, true})));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  read_as_files(text);
  judge_tree(text);
  return 0;
}
