#include "bench/verbs/gid_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace railbed {
namespace {

bool is_v2(const GidOffer& offer) { return offer.type == "RoCE v2"; }

// Returns whether both are in one subnet by each end's own prefix. Link-local addresses are so by definition.
bool share_subnet(const GidOffer& a, const GidOffer& b) {
  if (a.gid.is_link_local() || b.gid.is_link_local()) return a.gid.is_link_local() && b.gid.is_link_local();
  if (a.gid.is_v4() != b.gid.is_v4() || a.prefix < 0 || b.prefix < 0) return false;
  const auto of_a = Subnet::of(a.gid, a.prefix);
  const auto of_b = Subnet::of(b.gid, b.prefix);
  return of_a && of_b && of_a->contains(b.gid) && of_b->contains(a.gid);
}

// Only RoCE v2 is IP and can be routed; v1 needs both ends on one Ethernet.
bool can_meet(const GidOffer& a, const GidOffer& b) {
  return a.type == b.type && a.gid.is_v4() == b.gid.is_v4() &&
         a.gid.is_link_local() == b.gid.is_link_local() && (is_v2(a) || share_subnet(a, b));
}

// Returns a value that is greater for a better pair. The lowest indexes break ties, because they are the
// oldest entries.
auto worth(const GidOffer& a, const GidOffer& b) {
  return std::tuple(!a.gid.is_link_local(), is_v2(a), share_subnet(a, b), a.gid.is_v4(), -a.index, -b.index);
}

std::vector<GidOffer> of_interface(const GidSide& side) {
  std::vector<GidOffer> own;
  for (const GidOffer& offer : side.offers)
    if (offer.netdev == side.interface || offer.netdev.empty()) own.push_back(offer);
  return own;
}

std::string list(const std::vector<GidOffer>& offers) {
  std::set<std::string> words;
  for (const GidOffer& offer : offers) words.insert(fmt::format("{} ({})", offer.gid.to_text(), offer.type));
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

Result<ChosenGids> choose_gids(const GidSide& a, const GidSide& b) {
  const auto offers_a = of_interface(a);
  const auto offers_b = of_interface(b);
  for (const auto& [side, own] : {std::pair{&a, &offers_a}, std::pair{&b, &offers_b}})
    if (own->empty())
      return fail(ErrorKind::kUnavailable,
                  fmt::format("{} of {} has no GID: give the interface its IP address, and bring it up",
                              side->interface, side->node));
  std::optional<ChosenGids> best;
  for (const GidOffer& offer : offers_a)
    for (const GidOffer& other : offers_b)
      if (can_meet(offer, other) && (!best || worth(offer, other) > worth(best->a, best->b)))
        best = ChosenGids{offer, other, ""};
  if (!best)
    return fail(ErrorKind::kUnavailable, fmt::format("no GIDs that can meet: {} offers {}; {} offers {}",
                                                     a.node, list(offers_a), b.node, list(offers_b)));
  if (best->a.gid.is_link_local())
    best->doubt =
        fmt::format("link-local GIDs only: the rail address of {} or {} has no GID", a.node, b.node);
  else if (!share_subnet(best->a, best->b))
    best->doubt = fmt::format("{} and {} are in different subnets: this works only where they are routed",
                              best->a.gid.to_text(), best->b.gid.to_text());
  return *best;
}

}  // namespace railbed
