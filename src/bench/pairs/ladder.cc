#include "bench/pairs/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "hardware/ceilings.h"

namespace railbed {
namespace {

void rate_rung(Rung& rung) {
  rung.share.reset();
  rung.of_wire.reset();
  if (!rung.has_number()) return;
  const Ceiling& ceiling = rung.measurement->ceiling;
  if (ceiling.nominal || ceiling.limits.empty()) return;
  rung.share = rung.rate() / ceiling.limits.front().rate.bits_per_second;
  const Limit* wire = find_wire(ceiling);
  rung.of_wire = wire == nullptr ? *rung.share : rung.rate() / wire->rate.bits_per_second;
}

// Walks up the rungs, from `first`, for which `value` returns a number. Returns the rung at which the largest
// part of the smallest value below it is lost; -1 if no rung loses a tenth.
template <class Value>
int largest_drop(const Ladder& ladder, std::size_t first, std::optional<double> before, Value value) {
  int loser = -1;
  double worst = kGoodRung;
  for (std::size_t i = first; i < ladder.rungs.size(); ++i) {
    const std::optional<double> here = value(ladder.rungs[i]);
    if (!here) continue;
    if (before && *before > 0 && *here / *before < worst) {
      worst = *here / *before;
      loser = static_cast<int>(i);
    }
    before = std::min(before.value_or(*here), *here);
  }
  return loser;
}

int find_loser(const Ladder& ladder) {
  const auto of_wire = [](const Rung& rung) {
    return rung.lacks_for_traffic(kGoodRung) ? std::nullopt : rung.of_wire;
  };
  const auto rate = [](const Rung& rung) {
    return rung.has_number() ? std::optional(rung.rate()) : std::nullopt;
  };
  const bool any =
      std::ranges::any_of(ladder.rungs, [&](const Rung& rung) { return of_wire(rung).has_value(); });
  if (!any) return largest_drop(ladder, 0, std::nullopt, rate);
  const auto above_tcp = [](const Rung& rung) { return rung.kind != RungKind::kTcp && rung.has_number(); };
  const bool climbed = std::ranges::any_of(ladder.rungs, above_tcp);
  return largest_drop(ladder, climbed ? 1 : 0, 1.0, of_wire);
}

}  // namespace

std::string why_no_rdma(const LadderEnd& a, const LadderEnd& b) {
  for (const LadderEnd* end : {&a, &b})
    if (!rdma_port_of(end->facts->rdma, end->facts->net, end->interface))
      return items(end->facts->rdma.devices).empty()
                 ? fmt::format("{} has no RDMA device", end->node)
                 : fmt::format("{} of {} has no RDMA device", end->interface, end->node);
  return "";
}

std::string why_no_gpu(const LadderEnd& a, const LadderEnd& b) {
  for (const LadderEnd* end : {&a, &b})
    if (end->gpu.empty()) return end->node + " has no NVIDIA GPU";
  for (const LadderEnd* end : {&a, &b})
    if (!end->facts->gpus.driver_version)
      return fmt::format("the NVIDIA driver is not loaded on {}", end->node);
  return "";
}

Ceiling with_gpu_paths(Ceiling path, const LadderEnd& a, const LadderEnd& b) {
  for (const LadderEnd* end : {&a, &b})
    add_pcie_limit(path, items(end->facts->pci), end->gpu, end->node, PcieWay::kToMemory);
  return path;
}

void judge_ladder(Ladder& ladder, const LadderEnd& a, const LadderEnd& b) {
  for (Rung& rung : ladder.rungs) rate_rung(rung);
  ladder.loser = find_loser(ladder);
  for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
    Rung& rung = ladder.rungs[i];
    rung.causes.clear();
    const bool loses = static_cast<int>(i) == ladder.loser || rung.of_wire.value_or(1) < kGoodRung;
    if (loses) rung.causes = causes_of(ladder, rung, a, b);
  }
}

}  // namespace railbed
