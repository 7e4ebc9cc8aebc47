// NCCL's choices on each node, predicted from its facts (nccl/choice.h): sockets although there is RDMA, a
// NIC left out, GPUDirect off, a GID that peers cannot reach.
#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "hardware/spark.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/nccl_topics.h"
#include "verify/walk.h"

namespace railbed {
namespace {

bool has_rdma_rail(const NodeView& node) {
  return std::ranges::any_of(
      node.ends, [](const RailEnd& end) { return end.for_gpus() && end.wants_rdma() && end.rdma; });
}

const nccl::PortChoice* choice_of(const NodeView& node, const RailEnd& end) {
  for (const nccl::PortChoice& port : node.nccl_choices.ports)
    if (port.device == end.rdma.device->name && port.port == end.rdma.port->number) return &port;
  return nullptr;
}

void chooses_sockets(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "network", its_nccl, [](Case& verdict, const NodeView& node) {
    if (!has_rdma_rail(node)) return verdict.not_applicable("no rail with an RDMA device");
    if (verdict.lacks_settings(node)) return;
    const auto* const devices = verdict.read(node.facts->rdma.devices);
    if (devices == nullptr) return;
    const nccl::Choices& choices = node.nccl_choices;
    if (choices.network != "Socket" && !choices.network.empty()) return verdict.pass(choices.network);
    std::string ports;
    for (const nccl::PortChoice& port : choices.ports)
      ports += fmt::format("; {}:{} {}", port.device, port.port, port.why);
    verdict.fail(
        {.message =
             choices.network.empty()
                 ? fmt::format("NCCL will not start on {}: {}{}", *node.name, choices.network_why, ports)
                 : fmt::format("NCCL on {} will talk over TCP: {}{}", *node.name, choices.network_why, ports),
         .expected = "IB",
         .observed = choices.network.empty() ? "none" : choices.network,
         .remedy = {
             "Clear what keeps the ports out (libibverbs1 and ibverbs-providers, port state, NCCL_IB_HCA), "
             "then look again.",
             {"railbed nccl"}}});
  });
}

// Returns the cost of using half of a DGX Spark's cable, when both halves are rails and NCCL uses only one.
// An owner measured 98 Gb/s of bus bandwidth with one and 161 with both
// (github.com/tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark, pull request 35).
std::string_view what_half_costs(const NodeView& node, const RailEnd& left_out) {
  for (const RailEnd& end : node.ends) {
    const nccl::PortChoice* const port = end.rdma ? choice_of(node, end) : nullptr;
    if (port != nullptr && port->used && share_spark_cable(*node.facts, end.name, left_out.name))
      return ". It is half of a DGX Spark's cable; an owner measured 98 Gb/s with one half and 161 with both";
  }
  return "";
}

void covers_rails(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NCCL_IB_HCA", its_nccl, [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_settings(node)) return;
    std::vector<std::string> left_out;
    std::string_view half;
    std::size_t used = 0;
    for (const RailEnd& end : node.ends) {
      // Only cluster.yaml defines rails: an adapter for storage is left out on purpose.
      if (!end.rdma_rail() || !end.rdma || !end.for_gpus()) continue;
      if (end.rdma.port->state.value_or("") != "ACTIVE") continue;
      const nccl::PortChoice* const port = choice_of(node, end);
      if (port == nullptr) continue;
      if (port->used) {
        ++used;
        continue;
      }
      left_out.push_back(fmt::format("{} ({}): {}", end.rdma_name(), end.name, port->why));
      if (half.empty()) half = what_half_costs(node, end);
    }
    if (used + left_out.size() == 0) return verdict.not_applicable("no rail with an active RDMA port");
    if (left_out.empty()) return verdict.pass(fmt::format("{} port{} used", used, used == 1 ? "" : "s"));
    const NcclVariable* const variable = effective(node.facts->nccl, "NCCL_IB_HCA");
    if (variable != nullptr) verdict.add_evidence(variable->from);
    verdict.warn(
        {.message = fmt::format("NCCL on {} leaves out {}: that rail stays idle{}", *node.name,
                                fmt::join(left_out, ", "), half),
         .expected = "every rail",
         .observed = variable == nullptr ? fmt::format("{} used", used) : variable->value,
         .remedy = {variable == nullptr
                        ? "Name the rails' devices in NCCL_IB_HCA."
                        : fmt::format("Add it to the list in {}, or take the rail out of cluster.yaml.",
                                      variable->from)}});
  });
}

void leaves_storage(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NCCL_IB_HCA", its_nccl, [](Case& verdict, const NodeView& node) {
    const auto is_of_storage = [](const RailEnd& end) { return !end.for_gpus() && end.rdma; };
    if (std::ranges::none_of(node.ends, is_of_storage))
      return verdict.not_applicable("no rail for storage with an RDMA device");
    if (verdict.lacks_gpus(node) || verdict.lacks_settings(node)) return;
    std::vector<std::string> taken;
    for (const RailEnd& end : node.ends) {
      const nccl::PortChoice* const port = is_of_storage(end) ? choice_of(node, end) : nullptr;
      if (port == nullptr || !port->used) continue;
      taken.push_back(fmt::format("{} ({})", end.rdma_name(), end.name));
      verdict.touch("rdma:" + end.rdma_name());
    }
    if (taken.empty()) return verdict.pass("left out");
    const NcclVariable* const variable = effective(node.facts->nccl, "NCCL_IB_HCA");
    if (variable != nullptr) verdict.add_evidence(variable->from);
    verdict.warn(
        {.message = fmt::format("NCCL on {} takes {}, too, which cluster.yaml keeps for storage: training "
                                "and storage slow each other down",
                                *node.name, fmt::join(taken, ", ")),
         .expected = "the rails of computation alone",
         .observed = variable == nullptr ? "NCCL_IB_HCA is not set" : variable->value});
  });
}

void gid_choice(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    verdict.touch("nccl");
    if (!end.for_gpus()) return verdict.not_applicable("a rail for storage");
    if (!end.rdma || end.infiniband() || !end.wants_rdma()) return verdict.not_applicable("no RoCE port");
    if (verdict.lacks_settings(node)) return;
    const nccl::PortChoice* const port = choice_of(node, end);
    if (port == nullptr || !port->used) return verdict.not_applicable("NCCL does not use this port");
    const auto* const gids = verdict.read(end.rdma.port->gids);
    if (gids == nullptr) return;
    const auto found = std::ranges::find(*gids, port->gid_index.value_or(0), &Gid::index);
    const bool there = found != gids->end() && found->gid.ok();
    const bool good = there && found->gid->is_v4() && found->type.value_or("RoCE v2").starts_with("RoCE v2");
    const std::string seen =
        fmt::format("GID {}: {}", port->gid_index.value_or(0),
                    !there ? "empty" : fmt::format("{} {}", found->gid->to_text(), found->type.value_or("")));
    if (good) return verdict.pass(seen);
    verdict.warn({.message = fmt::format("NCCL will send from {} of {} on {} ({}): not RoCE v2 over IPv4",
                                         seen, end.rdma_name(), *end.node, port->gid_why),
                  .expected = "a RoCE v2 IPv4 GID",
                  .observed = seen,
                  .remedy = {"Give the interface its IPv4 address, leave NCCL_IB_GID_INDEX unset, "
                             "or set NCCL_IB_ADDR_FAMILY on purpose (2.21).",
                             {command("ip -brief address show {}", end.name)}}});
  });
}

void gdr_reachable(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "GPUDirect RDMA", its_nccl, [](Case& verdict, const NodeView& node) {
    const auto& pairs = node.nccl_choices.pairs;
    const auto lost = std::ranges::find_if(
        pairs, [](const nccl::PairChoice& pair) { return pair.nearest && !pair.blocked_by.empty(); });
    if (pairs.empty()) return verdict.not_applicable("no pair of GPU and RDMA port");
    if (verdict.lacks_settings(node)) return;
    if (lost == pairs.end()) {
      const auto direct = std::ranges::count_if(
          pairs, [](const nccl::PairChoice& pair) { return pair.nearest && pair.gpudirect; });
      if (direct == 0)
        verdict.not_applicable(pairs.front().why);
      else
        verdict.pass(counted(direct, "pair"));
      return;
    }
    const NcclVariable* const variable = effective(node.facts->nccl, lost->blocked_by);
    if (variable != nullptr) verdict.add_evidence(variable->from);
    const auto blocked = std::ranges::count_if(
        pairs, [](const nccl::PairChoice& pair) { return pair.nearest && !pair.blocked_by.empty(); });
    verdict.warn(
        {.message = fmt::format("{} keeps GPUDirect RDMA off on {} where the hardware could: {} pair{}, "
                                "as GPU {} with {} ({})",
                                lost->blocked_by, *node.name, blocked, blocked == 1 ? "" : "s", lost->gpu,
                                lost->nic, lost->path),
         .expected = lost->blocked_by + " unset",
         .observed = variable == nullptr ? "set" : variable->value,
         .remedy = {fmt::format("Remove {}{}; by itself NCCL goes up to PXB, or P2C on NVLink-C2C.",
                                lost->blocked_by, variable == nullptr ? "" : " from " + variable->from)}});
  });
}

void library_expected(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "NCCL library", Things{"nccl"}, [](Case& verdict, const NodeView& node) {
    if (!node.expect().nccl) return verdict.not_applicable("no NCCL version is expected (expect.nccl)");
    const auto* const library = verdict.read_if_there(
        node.facts->nccl.library, "no libnccl.so.2 in the usual folders: programs bring their own");
    if (library == nullptr) return;
    if (library->version == *node.expect().nccl || library->version.starts_with(*node.expect().nccl + "."))
      return verdict.pass(library->version);
    verdict.warn(
        {.message =
             fmt::format("NCCL on {} is {}, expected {}", *node.name, library->version, *node.expect().nccl),
         .expected = *node.expect().nccl,
         .observed = library->version,
         .remedy = {"Install that version and hold it, or correct expect.nccl in cluster.yaml.",
                    for_system(node, {"apt-cache policy libnccl2"}, {"dnf list --showduplicates libnccl"})}});
  });
}

}  // namespace

std::span<const Rule> nccl_choice_rules() {
  static constexpr std::string_view kTold =
      "told from RDMA, GPU and PCI facts and the variables that are set, by the rules of NCCL's sources";
  static const Rule kRules[] = {
      {.id = "nccl.version",
       .title = "NCCL library as expected",
       .why = "Variables, defaults and faults of NCCL differ by version.",
       .source = "libnccl.so.2 in /usr/lib, /usr/lib64, /usr/local/lib, /usr/local/cuda",
       .standard = "expect.nccl of cluster.yaml; not judged without it",
       .remedy = "Install that version.",
       .fixture = "v100-nccl-version",
       .explained_by = {},
       .settings = {"packages/nccl"},
       .check = library_expected},
      {.id = "nccl.chooses-sockets",
       .title = "NCCL will use RDMA",
       .why = "Where no RDMA port can be used NCCL falls back to TCP and says so only in its log.",
       .source = kTold,
       .standard = "IB where a rail of the node has an RDMA device",
       .remedy = "Clear what keeps the ports out.",
       .fixture = "v100-nccl-no-verbs",
       .explained_by = {"nccl.rdma-on", "nccl.net-forced", "nccl.hca", "nccl.hca-port",
                        "rdma.adapter-modules", "rdma.core-modules", "rdma.verbs-devices", "rdma.pci-device",
                        "rdma.rail-device", "rdma.physical-state", "rdma.subnet-manager", "rdma.port-state",
                        "net.admin-up", "net.carrier"},
       .check = chooses_sockets},
      {.id = "nccl.hca-covers-rails",
       .title = "NCCL will use every rail",
       .why = "A rail that NCCL leaves out is paid for and idle.",
       .source = kTold,
       .standard = "each rail's active port is used",
       .remedy = "Add it to NCCL_IB_HCA.",
       .fixture = "v100-nccl-hca-one-port",
       .explained_by = {"nccl.hca", "nccl.chooses-sockets"},
       .settings = {"nccl/variables"},
       .check = covers_rails},
      {.id = "nccl.leaves-storage",
       .title = "NCCL leaves the storage network alone",
       .why =
           "NCCL takes every RDMA port that is active. Over the port of the storage network, checkpoints and "
           "collectives wait for each other, and the slowest port sets the pace of all.",
       .source = kTold,
       .standard = "no port of a rail with purpose: storage is used",
       .remedy = "Name the rails of computation in NCCL_IB_HCA.",
       .fixture = "v100-nccl-storage-rail",
       .explained_by = {},
       .settings = {"nccl/variables"},
       .check = leaves_storage},
      {.id = "nccl.gid-choice",
       .title = "NCCL will send from a RoCE v2 IPv4 address",
       .why =
           "The GID that NCCL takes decides whether routers pass its packets and whether the peer answers: "
           "a wrong one ends in error 12.",
       .source = kTold,
       .standard = "RoCE v2 over IPv4 on every RoCE rail",
       .remedy = "Give the interface its address; leave NCCL_IB_GID_INDEX unset.",
       .fixture = "v100-nccl-gid-family",
       .explained_by = {"nccl.gid-index", "nccl.gid-entry", "nccl.gid-range", "net.address", "net.interface",
                        "net.admin-up", "rdma.gid", "rdma.gid-interface", "nccl.version",
                        "nccl.variable-version"},
       .settings = {"nccl/variables"},
       .check = gid_choice},
      {.id = "nccl.gdr-reachable",
       .title = "NCCL will use GPUDirect RDMA where it can",
       .why = "A level that is too strict, or DMA-BUF switched off, sends GPU data through host memory: "
              "half the bandwidth.",
       .source = kTold,
       .standard =
           "no variable keeps it off between a GPU and its nearest NIC, up to PXB (NCCL's own default)",
       .remedy = "Remove NCCL_NET_GDR_LEVEL or NCCL_DMABUF_ENABLE.",
       .fixture = "h100-nccl-gdr-off",
       .explained_by = {"nccl.gdr-level", "gpu.driver", "gpu.gpudirect-route"},
       .check = gdr_reachable},
  };
  return kRules;
}

}  // namespace railbed
