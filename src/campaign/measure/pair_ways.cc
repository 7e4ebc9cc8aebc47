#include "campaign/measure/pair_ways.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "results/measurement.h"

namespace railbed {
namespace {

constexpr std::uint64_t kLargest = 64 << 20;

// Returns a rank of the interface, compared lexicographically; greater is better.
auto worth(const Facts& facts, const NetInterface& interface) {
  const RdmaPortRef rdma = rdma_port_of(facts.rdma, facts.net, interface.name);
  return std::tuple(!has_default_route(facts.net, interface.name), static_cast<bool>(rdma),
                    interface.speed_mbps.value_or(0));
}

bool usable(const NetInterface& interface, const InterfaceAddress& own) {
  constexpr int kLoopback = 772;  // ARPHRD_LOOPBACK
  return interface.link_type.value_or(0) != kLoopback && !own.address.is_link_local() &&
         interface.carrier.value_or(true);
}

bool share_subnet(const InterfaceAddress& a, const InterfaceAddress& b) {
  const auto subnet = Subnet::of(a.address, a.prefix);
  return subnet && a.prefix == b.prefix && a.address != b.address && subnet->contains(b.address);
}

struct Candidate {
  const NetInterface* interface = nullptr;
  IpAddress address;
  InterfaceAddress own;
};

std::vector<Candidate> candidates(const Facts& facts, std::string_view only) {
  std::vector<Candidate> found;
  if (!facts.net.interfaces) return found;
  for (const NetInterface& interface : *facts.net.interfaces) {
    if ((!only.empty() && interface.name != only) || !interface.addresses) continue;
    for (const InterfaceAddress& own : *interface.addresses)
      if (usable(interface, own)) found.push_back({&interface, own.address, own});
  }
  return found;
}

bool is_of_a_rail(const Cluster& cluster, std::string_view node, const std::string& interface) {
  return std::ranges::any_of(cluster.rails, [&](const Rail& rail) {
    const RailPort* port = find_port(rail, node);
    return port != nullptr && port->interface == interface;
  });
}

// Returns the interfaces that belong to no rail, those with the default route first.
std::vector<Candidate> besides_rails(const Cluster& cluster, const Facts& facts, std::string_view node) {
  auto found = candidates(facts, "");
  std::erase_if(found, [&](const Candidate& candidate) {
    return is_of_a_rail(cluster, node, candidate.interface->name);
  });
  std::stable_partition(found.begin(), found.end(), [&](const Candidate& candidate) {
    return has_default_route(facts.net, candidate.interface->name);
  });
  return found;
}

Result<void> check_interface(const Facts& facts, std::string_view node, std::string_view name) {
  std::vector<std::string_view> names;
  for (const NetInterface& interface : *facts.net.interfaces) names.push_back(interface.name);
  if (std::ranges::find(names, name) != names.end()) return {};
  constexpr std::size_t kMostNamed = 16;
  const std::string meant = did_you_mean(name, names);
  const bool more = names.size() > kMostNamed;
  if (more) names.resize(kMostNamed);
  return fail(ErrorKind::kBadInput,
              fmt::format("{} has no interface \"{}\"{}{} has {}{}", node, printable(name), meant,
                          meant.empty() ? "; it" : " It",
                          printable(fmt::format("{}", fmt::join(names, ", "))), more ? ", …" : ""));
}

BenchPath over_management(const Candidate& a, const Candidate& b) {
  return {std::string(kManagement), {a.interface->name, a.address}, {b.interface->name, b.address}};
}

}  // namespace

Result<std::vector<BenchPath>> rails_between(const Cluster& cluster, std::string_view a, std::string_view b,
                                             std::string_view rail) {
  for (const std::string_view name : {a, b})
    if (find_node(cluster, name) == nullptr) return fail(no_such_node(cluster, name));
  if (!rail.empty() && find_rail(cluster, rail) == nullptr) return fail(no_such_rail(cluster, rail));
  std::vector<BenchPath> paths;
  for (const Rail& one : cluster.rails) {
    const RailPort* port_a = find_port(one, a);
    const RailPort* port_b = find_port(one, b);
    if ((!rail.empty() && one.name != rail) || port_a == nullptr || port_b == nullptr) continue;
    paths.push_back({one.name,
                     {port_a->interface, port_a->address},
                     {port_b->interface, port_b->address},
                     one.topology == Topology::kSwitch});
  }
  if (paths.empty()) return fail(ErrorKind::kBadInput, fmt::format("no rail joins {} and {}", a, b));
  return paths;
}

Result<BenchPath> path_between(const Facts& a, std::string_view node_a, const Facts& b,
                               std::string_view node_b, std::string_view interface) {
  if (!interface.empty() && a.net.interfaces.ok()) RETURN_IF_ERROR(check_interface(a, node_a, interface));
  const auto of_a = candidates(a, interface);
  const auto of_b = candidates(b, "");
  const Candidate* best_a = nullptr;
  const Candidate* best_b = nullptr;
  for (const Candidate& candidate : of_a)
    for (const Candidate& other : of_b) {
      if (!share_subnet(candidate.own, other.own)) continue;
      const auto value = std::min(worth(a, *candidate.interface), worth(b, *other.interface));
      if (best_a != nullptr && value <= std::min(worth(a, *best_a->interface), worth(b, *best_b->interface)))
        continue;
      best_a = &candidate;
      best_b = &other;
    }
  if (best_a == nullptr)
    return fail(
        ErrorKind::kUnavailable,
        fmt::format("{} and {} have no addresses in one subnet{}; "
                    "describe their rails in a cluster.yaml and give it with --cluster",
                    node_a, node_b, interface.empty() ? "" : fmt::format(" on {} of {}", interface, node_a)));
  return BenchPath{best_a->interface->name == best_b->interface->name
                       ? best_a->interface->name
                       : fmt::format("{}-{}", best_a->interface->name, best_b->interface->name),
                   {best_a->interface->name, best_a->address},
                   {best_b->interface->name, best_b->address}};
}

Result<BenchPath> management_path(const Cluster& cluster, const Facts& a, std::string_view node_a,
                                  const Facts& b, std::string_view node_b) {
  const auto of_a = besides_rails(cluster, a, node_a);
  const auto of_b = besides_rails(cluster, b, node_b);
  for (const Candidate& candidate : of_a)
    for (const Candidate& other : of_b)
      if (share_subnet(candidate.own, other.own)) return over_management(candidate, other);
  const auto is_routed = [](const Facts& facts, const std::vector<Candidate>& found) {
    return !found.empty() && has_default_route(facts.net, found.front().interface->name);
  };
  if (is_routed(a, of_a) && is_routed(b, of_b) && of_a.front().address != of_b.front().address &&
      of_a.front().address.is_v4() == of_b.front().address.is_v4())
    return over_management(of_a.front(), of_b.front());
  return fail(ErrorKind::kUnavailable,
              fmt::format("no network besides the rails joins {} and {}", node_a, node_b));
}

BenchPath loopback_path() {
  const auto address = IpAddress::parse("127.0.0.1");
  return {"loopback", {"lo", address}, {"lo", address}};
}

Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string_view word : split(text, ',')) {
    const auto size = parse_byte_count(trim(word));
    if (!size || size->bytes == 0 || size->bytes > kLargest)
      return fail(ErrorKind::kBadInput, fmt::format("size \"{}\": write 4096, 64K or 1M; at most 64M", word));
    sizes.push_back(size->bytes);
  }
  return sizes;
}

}  // namespace railbed
