// Queue disciplines that hold back a rail's packets on purpose, perhaps left over from a test.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

std::string effect_of(const Shaper& shaper) {
  std::vector<std::string> parts;
  if (shaper.bits_per_second > 0) parts.push_back("limits it to " + to_text(BitRate{shaper.bits_per_second}));
  if (shaper.delay_ms > 0) parts.push_back(fmt::format("delays it by {:g} ms", shaper.delay_ms));
  if (shaper.loss > 0) parts.push_back(fmt::format("drops {:.2g} % of it", 100 * shaper.loss));
  if (parts.empty()) return fmt::format("shapes it as {}'s classes say", shaper.kind);
  return fmt::format("{}", fmt::join(parts, " and "));
}

// Returns true unless the shaper only limits the rate, to no less than the link's own speed.
bool is_slower(const Shaper& shaper, const NetInterface& interface) {
  if (shaper.bits_per_second == 0 || shaper.delay_ms > 0 || shaper.loss > 0) return true;
  return !interface.speed_mbps || shaper.bits_per_second < 1e6 * *interface.speed_mbps;
}

Complaint shaped(const RailEnd& end, const Shaper& shaper) {
  const std::string observed = fmt::format("{}: {}", shaper.kind, effect_of(shaper));
  return {.message = fmt::format("{} does not send as fast as its link: a queue discipline ({}) {}",
                                 end.where(), shaper.kind, effect_of(shaper)),
          .expected = "no limit, delay or loss by a queue discipline",
          .observed = observed,
          .remedy = {"If nobody wants it any more, take it away, and look for what sets it at boot.",
                     {command("tc -s qdisc show dev {}", shaper.interface),
                      command("tc qdisc del dev {} root", shaper.interface)}}};
}

void held_back(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    const auto* shapers = verdict.read_if_there(end.facts->net.shapers, "not recorded");
    if (shapers == nullptr) return;
    const NetInterface* carrier = carrier_of(end.facts->net, end.name);
    for (const Shaper& shaper : *shapers) {
      const bool its =
          shaper.interface == end.name || (carrier != nullptr && shaper.interface == carrier->name);
      if (!its || !is_slower(shaper, *end.interface)) continue;
      const bool known = shaper.bits_per_second > 0 || shaper.delay_ms > 0 || shaper.loss > 0;
      return known ? verdict.fail(shaped(end, shaper)) : verdict.warn(shaped(end, shaper));
    }
    verdict.pass("nothing holds it back");
  });
}

}  // namespace

std::span<const Rule> shaper_rules() {
  static const Rule kRules[] = {
      {.id = "net.held-back",
       .title = "no queue discipline holds a rail back",
       .why =
           "A limit or a delay from an old test shows in no counter: the link is up, and everything over it "
           "is slow. RDMA adapters do not pass it, software RDMA and TCP do.",
       .source = "tc -j qdisc show",
       .standard =
           "no tbf, netem or cake below the link's speed; htb, hfsc and cbq warn, their classes are not "
           "read",
       .remedy = "tc qdisc del dev INTERFACE root.",
       .fixture = "measured-held-back",
       .explained_by = {"net.interface"},
       .check = held_back},
  };
  return kRules;
}

}  // namespace railbed
