// railbed schema: the form of each document that a command prints with --json.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/app.h"
#include "cli/document.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

// Describes a document to people: its content and the commands that print it.
struct About {
  std::string_view format;
  std::string_view commands;  // without "railbed" and "--json"
  std::string_view purpose;
};
// clang-format off
constexpr About kAbout[] = {
    {"railbed-advise-gpus", "advise gpus", "GPU models by their data sheets: units, rates, memory, links, software"},
    {"railbed-advise-matrix", "advise matrix", "which of NVIDIA's technologies work on which nodes, and why"},
    {"railbed-advise-rails", "advise rails", "addresses, switches and cables of a cluster that is planned"},
    {"railbed-advise-switch", "advise switch", "what back to back, a ring, a mesh and a switch cost and give"},
    {"railbed-advise-upgrades", "advise upgrades", "what limits the nodes' network, and what each upgrade gains"},
    {"railbed-apply", "apply, fix, rollback", "what was changed on each node, or taken back"},
    {"railbed-bench", "bench tcp, bench rdma, bench rdma-cm, bench ping, prove --measurements", "measurements between two nodes"},
    {"railbed-bench-collectives", "bench collectives", "NCCL's collectives by size, beside their ceilings"},
    {"railbed-bench-gpu", "bench gpu", "copies to, from and between the GPUs of a node"},
    {"railbed-bench-ladder", "bench ladder", "TCP, RDMA and NCCL of one pair, and the rung that loses"},
    {"railbed-bench-pairs", "bench pairs", "measurements of many pairs, and the slow nodes and links among them"},
    {"railbed-bench-storage", "bench storage", "fio's runs on drives and file servers"},
    {"railbed-bench-train", "bench train", "a rehearsed training step"},
    {"railbed-bmc", "power status, sensors, sel, bmc show", "what the nodes' BMCs report"},
    {"railbed-bmc-certificates", "bmc certificates", "the certificates that BMCs show"},
    {"railbed-bmc-changes", "power, boot, identify, sel --clear, bmc", "what was ordered from each BMC, and whether it was done"},
    {"railbed-burn", "burn", "what each GPU computed under load, and the verdict on each"},
    {"railbed-calibration", "predict --calibrate", "the constants that predict learned from runs"},
    {"railbed-check", "check", "a cluster.yaml with every default filled in, and what does not fit"},
    {"railbed-compare", "compare", "the verdict on two runs"},
    {"railbed-error", "every command with --json that fails", "why a command has no other document; a line on standard error"},
    {"railbed-events", "events", "findings that a monitor saw come and go"},
    {"railbed-explanation", "explain", "the cause of a failure, what confirms it, and what was read"},
    {"railbed-fabric", "fabric discover", "an InfiniBand subnet: nodes, ports and cables"},
    {"railbed-fabric-counters", "fabric counters", "what every port of a subnet has counted"},
    {"railbed-facts", "facts", "everything that the rules know of a machine"},
    {"railbed-findings", "verify, prove, report, fabric verify", "findings with their causes and remedies"},
    {"railbed-history", "history", "the applies that nodes remember"},
    {"railbed-hostkeys", "hostkeys", "the nodes' ssh host keys beside known_hosts"},
    {"railbed-init", "init", "a first description, and what the ports heard"},
    {"railbed-job", "job begin, job end, job show ID", "the record of a node before and after a job"},
    {"railbed-job-nodes", "job show ID --nodes", "the records that the nodes of a job keep of it"},
    {"railbed-jobs", "job show", "all records of jobs"},
    {"railbed-launch", "launch", "the commands that start a job"},
    {"railbed-live", "top", "what is watched: findings, rails, GPUs and events"},
    {"railbed-nccl", "nccl", "NCCL's variables on a node, and what it will choose"},
    {"railbed-nccl-log", "nccl --log, explain --nccl-log", "the cause in a log of NCCL"},
    {"railbed-nccl-processes", "nccl --running, nccl --pid, nccl --container", "what running processes have of NCCL's"},
    {"railbed-nccl-ras", "nccl --ras", "what NCCL's RAS service reports of a job"},
    {"railbed-plan", "plan, apply, fix", "what differs between nodes and cluster.yaml"},
    {"railbed-predict", "predict", "how long collectives should take"},
    {"railbed-predict-against", "predict --against", "a run beside its forecast"},
    {"railbed-predict-experts", "predict experts", "dispatch and combine of a layer with experts"},
    {"railbed-predict-goodput", "predict goodput", "what failures and checkpoints leave of a long training run"},
    {"railbed-predict-latency", "predict latency", "where a message's time goes"},
    {"railbed-predict-network", "predict network", "what topologies give, whole and with something broken"},
    {"railbed-predict-train", "predict train", "a training step"},
    {"railbed-reboot", "apply --reboot, apply --reboot-all", "which nodes were restarted, and how they are now"},
    {"railbed-render", "render", "the files and steps that cluster.yaml describes for each node"},
    {"railbed-rules", "rules, explain RULE", "the rules that verify applies"},
    {"railbed-run", "runs export", "one run of the history"},
    {"railbed-runs", "runs", "the history of runs"},
    {"railbed-runs-pruned", "runs prune", "what was removed from the history"},
    {"railbed-schedule", "fabric topology, advise rails --topology", "the tree of switches for schedulers"},
    {"railbed-self-check", "self-check", "this program, and the libraries and programs that it finds"},
    {"railbed-subnet-managers", "fabric sm", "the subnet managers of a subnet"},
    {"railbed-sxid", "explain sxid N", "an error number of an NVSwitch"},
    {"railbed-topology", "facts --topology", "how GPUs and adapters of a node are connected"},
    {"railbed-xids", "explain xid, explain xid N", "error numbers of GPUs"},
};
// clang-format on

const About& about(std::string_view format) {
  static constexpr About kNothing = {};
  const auto* const found = std::ranges::find(kAbout, format, &About::format);
  return found == std::end(kAbout) ? kNothing : *found;
}

// Returns the schema of a document with what the document is and which commands print it, behind its title.
json::Value described_schema(const DocumentKind& kind) {
  json::Value described = json::detail::new_object();
  json::Value schema = kind.schema(kind.format, kind.version, kind.list);
  for (auto& [name, member] : schema.items()) {
    json::detail::append_member(described, name, std::move(member));
    if (name != "title") continue;
    json::detail::append_member(described, "description",
                                json::detail::from_text(about(kind.format).purpose));
    json::detail::append_member(described, "x-printed-by",
                                json::detail::from_text(about(kind.format).commands));
  }
  return described;
}

// Returns the kinds of documents, in the order of their formats. Declares all commands, since those know their documents.
std::vector<DocumentKind> all_documents() {
  Action none;
  const auto app = build_app(none);
  std::vector<DocumentKind> kinds = declared_documents();
  std::ranges::sort(kinds, {}, &DocumentKind::format);
  return kinds;
}

int run_schema(const std::string& format) {
  const auto kinds = all_documents();
  if (format.empty()) {
    for (const DocumentKind& kind : kinds)
      fmt::print("{:<26} {}  {}\n", kind.format, kind.version, about(kind.format).purpose);
    return kExitClean;
  }
  const auto kind = std::ranges::find(kinds, format, &DocumentKind::format);
  if (kind == kinds.end()) {
    constexpr std::string_view kBegin = "railbed-";
    std::vector<std::string_view> names;
    for (const DocumentKind& one : kinds) names.push_back(one.format.substr(kBegin.size()));
    const std::string_view name(format);
    const auto meant = closest(name.substr(name.starts_with(kBegin) ? kBegin.size() : 0, 64), names);
    return report({ErrorKind::kBadInput,
                   fmt::format("no document \"{}\"{}\nSee: railbed schema", printable(format),
                               meant ? fmt::format(", did you mean \"{}{}\"?", kBegin, *meant) : "")});
  }
  keep_lines_whole();
  print_result(json::dump_pretty(described_schema(*kind)));
  return kExitClean;
}

}  // namespace

Action declare_schema(CLI::App& app) {
  auto format = std::make_shared<std::string>();
  app.add_option("FORMAT", *format,
                 "the `format` of a document, as in railbed-findings; without it: all that there are");
  app.footer(
      "\nPrints a JSON Schema (draft 2020-12), made from the fields that the program itself writes. Each document that\n"
      "--json prints begins with `format` and `version`; the version grows when a field changes its meaning or goes away.\n"
      "Examples:\n"
      "  railbed schema\n"
      "  railbed schema railbed-findings > findings.schema.json");
  return [format] { return run_schema(*format); };
}

}  // namespace railbed
