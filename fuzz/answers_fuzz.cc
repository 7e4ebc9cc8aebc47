// What other programs, devices, launchers and nodes say in a few words: each is read within its limits or
// passed over, and what is kept of it moves no terminal.
//
// A byte says which.
//
// Rooms: campaign bench fleet apply facts host nvidia os base
#include <algorithm>
#include <cstdint>
#include <string>

#include "apply/node_apply.h"
#include "base/json.h"
#include "base/moment.h"
#include "bench/collective/collective.h"
#include "bench/gpu/gpu_copy.h"
#include "bench/train/gpu_train.h"
#include "campaign/change/output_lines.h"
#include "campaign/change/slurm.h"
#include "campaign/look/host_keys.h"
#include "facts/file_state.h"
#include "facts/network/counts_answer.h"
#include "fleet/launcher.h"
#include "fleet/rendezvous.h"
#include "fuzz/require.h"
#include "host/device_calls.h"
#include "inventory/load.h"
#include "results/collective.h"

using namespace railbed;

namespace {

// `scontrol show node`.
void slurm_node(std::string_view text) {
  const auto node = parse_slurm_node(text);
  require(!node || node->reason.find('\n') == std::string::npos);
}

// A file of keys that somebody trusted named.
void expected_keys(std::string_view text) {
  static const Cluster cluster = *parse_cluster("railbed: 1\ncluster: c\nnodes: [gpu1, gpu2]\n", "c.yaml");
  const auto keys = parse_expected_keys(text, "keys", cluster);
  if (!keys) return require_printable(keys.error().text);
  for (const auto& [node, expected] : *keys) require(node == "gpu1" || node == "gpu2");
}

// The environment in which srun or mpirun starts a rank, NAME=VALUE on each line.
void rank_environment(std::string_view text) {
  fleet::Environment environment;
  for (const std::string_view line : lines(text))
    if (const auto sign = line.find('='); sign != std::string_view::npos)
      environment.emplace(line.substr(0, sign), line.substr(sign + 1));
  const auto launched = fleet::find_launcher(environment);
  if (!launched) return require_printable(launched.error().text);
  if (!*launched) return;
  for (const std::string& wanted : {std::string(), fleet::text_of(environment, "WANTED")})
    if (const auto at = fleet::plan_rendezvous(**launched, environment, wanted); at)
      require(!at->host.empty() && at->port > 0 && at->port <= 65'535);
    else
      require_printable(at.error().text);
}

// The SMART page that an NVMe drive answers.
void health_page(std::string_view text) {
  std::string page(text.substr(0, 512));
  page.resize(512, '\0');
  (void)json::dump(json::encode(parse_health_page(page)));
}

// Attributes of netlink's reply. What they hold also goes the way of an agent's answer.
void fec_reply(std::string_view text) {
  const FecState fec = parse_fec_reply(text);
  const std::string once = json::dump(json::encode(fec));
  require(fec.configured.size() <= enum_names(FecMode()).size());
  const auto again = json::read<FecState>(once);
  require(again && json::dump(json::encode(*again)) == once);
}

// A program's output on its way from a node, as it comes in pieces.
void output(std::string_view text) {
  OutputLines whole;
  std::string shown;
  for (std::size_t at = 0; at < text.size(); at += 7) whole.take(text.substr(at, 7), shown);
  require_printable(printable_lines(shown));
}

template <class T>
void answer(std::string_view text) {
  const auto value = json::read<T>(text);
  if (!value) return require_printable(value.error().text);
  const std::string once = json::dump(json::encode(*value));
  const auto again = json::read<T>(once);
  require(again && json::dump(json::encode(*again)) == once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = as_text(data + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      slurm_node(text);
      break;
    case 1:
      expected_keys(text);
      break;
    case 2:
      rank_environment(text);
      break;
    case 3:
      health_page(text);
      break;
    case 4:
      output(text);
      break;
    case 5:
      if (const auto since = parse_since(text, 1.8e9)) require(*since == *since);
      break;
    case 7:
      fec_reply(text);
      break;
    default:
      answer<CountsAnswer>(text);
      answer<FileStates>(text);
      answer<ApplyStatus>(text);
      answer<ApplyHistory>(text);
      answer<CollectiveNews>(text);
      answer<GpuCopyNews>(text);
      answer<GpuTrainNews>(text);
      answer<VisibleGpus>(text);
  }
  return 0;
}
