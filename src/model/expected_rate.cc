#include "model/expected_rate.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {
namespace {

// Returns the end's present rate; nullopt without a link, and for software RDMA.
std::optional<BitRate> rate_now(const RailEnd& end) {
  if (end.software_rdma()) return std::nullopt;
  if (end.infiniband()) {
    if (!end.rdma || !end.rdma.port->rate || end.rdma.port->state.value_or("") != "ACTIVE")
      return std::nullopt;
    return *end.rdma.port->rate;
  }
  if (end.interface == nullptr || !end.interface->speed_mbps || *end.interface->speed_mbps <= 0)
    return std::nullopt;
  return BitRate{*end.interface->speed_mbps * 1e6};
}

const LinkModes* modes_of(const RailEnd& end) {
  return end.interface != nullptr && end.interface->modes.ok() ? &*end.interface->modes : nullptr;
}

}  // namespace

Offers offers_of(const Survey& survey, const RailEnd& end) {
  const LinkModes* own = modes_of(end);
  if (own == nullptr) return {};
  Offers offers{own->advertised_mbps, own->peer_mbps};
  if (offers.peer > 0) return offers;
  const RailEnd* other = other_end(survey, end);
  if (const LinkModes* modes = other == nullptr ? nullptr : modes_of(*other))
    offers.peer = modes->advertised_mbps;
  return offers;
}

ExpectedRates::ExpectedRates(const Survey& survey) : survey_(survey) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      const auto rate = rate_now(end);
      if (!rate) continue;
      if (end.rail != nullptr) ++by_rail_[end.rail][rate->bits_per_second];
      if (end.model != nullptr) ++by_kind_[{end.model, end.infiniband()}][rate->bits_per_second];
    }
}

// Returns the rate of more than half of at least three ports; nullopt if there is none.
std::optional<BitRate> ExpectedRates::usual(const Votes& votes) {
  int all = 0;
  for (const auto& [rate, count] : votes) all += count;
  for (const auto& [rate, count] : votes)
    if (all > 2 && count * 2 > all) return BitRate{rate};
  return std::nullopt;
}

std::optional<ExpectedRate> ExpectedRates::of(const RailEnd& end) const {
  if (end.rail != nullptr && end.rail->speed) return ExpectedRate{*end.rail->speed, true, "cluster.yaml"};
  if (const auto rail = by_rail_.find(end.rail); rail != by_rail_.end())
    if (const auto rate = usual(rail->second))
      return ExpectedRate{*rate, true, "the other nodes of this rail"};
  if (const auto kind = by_kind_.find({end.model, end.infiniband()}); kind != by_kind_.end())
    if (const auto rate = usual(kind->second))
      return ExpectedRate{*rate, false, fmt::format("most rails on a {}", end.model->name)};
  const Offers offers = end.infiniband() ? Offers{} : offers_of(survey_, end);
  if (offers.own > 0 && offers.peer > 0)
    return ExpectedRate{{std::min(offers.own, offers.peer) * 1e6}, false, "both ends offer it"};
  return std::nullopt;
}

}  // namespace railbed
