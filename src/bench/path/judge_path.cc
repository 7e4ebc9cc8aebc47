#include "bench/path/judge_path.h"

#include <fmt/format.h>

#include "bench/path/path_layers.h"
#include "bench/path/path_text.h"

namespace railbed {
namespace {

bool by_ip(const PathSeen& path) {
  const auto& rdma = path.a.opened->rdma;
  return !path.rdma || !rdma || rdma->link_layer != "InfiniBand";
}

bool can_ask(PathNeeds needs, const PathSeen& path, const PathEndSeen& self, const PathEndSeen& peer) {
  const bool both_looked = path.a.opened && path.b.opened && path.a.looked && path.b.looked;
  switch (needs) {
    case PathNeeds::kEnd:
      return self.opened.has_value();
    case PathNeeds::kIp:
      return both_looked && (by_ip(path) || path.cm);
    case PathNeeds::kPackets:
      return both_looked && by_ip(path) && !path.set_up;
    case PathNeeds::kFiltered:
      return both_looked && by_ip(path) && !path.set_up &&
             (!path.rdma || (peer.opened->rdma && peer.opened->rdma->is_software()));
    case PathNeeds::kRdma:
      return self.opened && self.opened->rdma;
  }
  return false;
}

std::optional<PathDiagnosis> first_fault(std::span<const PathRow> rows, const PathSeen& path) {
  for (const PathRow& row : rows)
    for (const auto& [self, peer] : {std::pair{&path.a, &path.b}, std::pair{&path.b, &path.a}}) {
      if (!can_ask(row.needs, path, *self, *peer)) continue;
      const auto fault = row.fault(*self, *peer);
      if (!fault) continue;
      const std::string of = fault->node.empty() ? "" : fault->node + ": ";
      return PathDiagnosis{
          {row.layer, fault->node, of + fault->cause, path_text(path)},
          fault->node.empty() ? fault->remedy : fmt::format("on {}: {}", fault->node, fault->remedy)};
    }
  return std::nullopt;
}

}  // namespace

std::optional<PathDiagnosis> judge_path(const PathSeen& path) {
  if (!path.a.opened && !path.b.opened) return std::nullopt;
  if (auto found = first_fault(path_rows(), path)) return found;
  if (auto found = first_fault(path.rdma ? rdma_rows() : tcp_rows(), path)) return found;
  return PathDiagnosis{{PathLayer::kNone, "", "", path_text(path)}, ""};
}

}  // namespace railbed
