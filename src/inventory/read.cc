// Converts a YAML tree to a RawCluster: keys, kinds and the syntax of single values. A value that cannot be
// read is reported and stays unset, so that one run reports all errors of a file.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "inventory/keys.h"
#include "inventory/reader.h"

namespace railbed {
namespace {

using ValueKind = YamlValue::Kind;

constexpr std::size_t kMaxText = 1024;

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNothing:
      return "empty";
    case ValueKind::kText:
      return "a single value";
    case ValueKind::kList:
      return "a list";
    case ValueKind::kMapping:
      return "a mapping";
  }
  return "";
}

// Returns `, did you mean "rails"?`, or all candidates if none is similar.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string meant = did_you_mean(word, candidates);
  return meant.empty() ? fmt::format("; there are {}", fmt::join(candidates, ", ")) : meant;
}

std::optional<int> parse_mtu(std::string_view text) {
  // 1280: below it Linux turns IPv6 off (RFC 8200, 5). 65536: the MTU of the loopback, the largest one.
  const auto mtu = parse_number<int>(text);
  return mtu && *mtu >= 1280 && *mtu <= 65536 ? mtu : std::nullopt;
}

std::optional<int> parse_vlan(std::string_view text) {
  const auto id = parse_number<int>(text);  // IEEE 802.1Q keeps 0 and 4095
  return id && *id >= 1 && *id <= 4094 ? id : std::nullopt;
}

// Suites with both a checked and an encrypted session: HMAC-SHA256 or HMAC-SHA1, each with AES-CBC-128
// (IPMI 2.0, table 22-20, and its errata 7).
std::optional<int> parse_cipher(std::string_view text) {
  const auto suite = parse_number<int>(text);
  return suite && (*suite == 3 || *suite == 17) ? suite : std::nullopt;
}

std::optional<BitRate> parse_speed(std::string_view text) {
  const auto rate = parse_bit_rate(text);
  return rate && rate->gigabits() <= 100e3 ? rate : std::nullopt;
}

}  // namespace

bool ClusterReader::is(ValueKind kind, const YamlValue& value, std::string_view what, Spot key_spot) {
  if (value.kind == kind) return true;
  complaints_.add(
      value.kind == ValueKind::kNothing ? key_spot : value.spot,
      fmt::format("{} must be {}{}{}", what, kind_name(kind),
                  value.kind == ValueKind::kNothing ? ", and it is " : ", not ", kind_name(value.kind)));
  return false;
}

void ClusterReader::each_key(const YamlValue& mapping, std::string_view thing, const Visit& visit) {
  const KeyTable& table = key_table(thing);
  std::map<std::string_view, Spot> seen;
  for (std::size_t i = 0; i < mapping.keys.size(); ++i) {
    const YamlKey& key = mapping.keys[i];
    if (std::find(table.keys.begin(), table.keys.end(), key.text) == table.keys.end()) {
      complaints_.add(key.spot,
                      fmt::format("unknown key \"{}\"{}", key.text, suggestion(key.text, table.keys)));
    } else if (const auto [first, fresh] = seen.emplace(key.text, key.spot); !fresh) {
      complaints_.add(key.spot, fmt::format("\"{}\" is said twice, first on line {}", key.text,
                                            complaints_.line_of(first->second)));
    } else {
      visit(key.text, key, mapping.items[i]);
    }
  }
  complain_of_missing(mapping, thing);
}

void ClusterReader::complain_of_missing(const YamlValue& mapping, std::string_view thing) {
  const auto said = [&](std::string_view wanted) {
    // A misspelled key has been reported already, so it is not reported as missing, too.
    return std::any_of(mapping.keys.begin(), mapping.keys.end(), [&](const YamlKey& key) {
      return key.text == wanted || (wanted.size() > 3 && edit_distance(key.text.substr(0, 64), wanted) <= 2);
    });
  };
  for (const std::string_view wanted : key_table(thing).required)
    if (!said(wanted))
      complaints_.add(mapping.spot, fmt::format("this {} has no \"{}\"", thing,
                                                wanted == "railbed" ? "railbed: 1" : wanted));
}

Said<std::string> ClusterReader::text(const YamlKey& key, const YamlValue& value) {
  if (!is(ValueKind::kText, value, key)) return std::nullopt;
  const bool printable = std::none_of(value.text.begin(), value.text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!value.text.empty() && value.text.size() <= kMaxText && printable)
    return Raw<std::string>{value.text, value.spot};
  complaints_.add(value.spot,
                  fmt::format("\"{}\" must be {}", key.text,
                              value.text.empty() ? "something" : "one line of at most 1024 bytes"));
  return std::nullopt;
}

std::optional<RawPattern> ClusterReader::pattern(std::string_view key, Spot key_spot,
                                                 const YamlValue& value) {
  auto said = text({std::string(key), key_spot}, value);
  if (!said) return std::nullopt;
  RawPattern pattern{std::move(said->value), said->spot, std::nullopt};
  if (value.literal) pattern.inside = value.spot.offset + value.quote;
  return pattern;
}

Said<std::string> ClusterReader::choice(const YamlKey& key, const YamlValue& value,
                                        const std::vector<std::string_view>& words) {
  auto said = text(key, value);
  if (!said || std::find(words.begin(), words.end(), said->value) != words.end()) return said;
  complaints_.add(said->spot,
                  fmt::format("unknown {} \"{}\"{}", key.text, said->value, suggestion(said->value, words)));
  return std::nullopt;
}

bool ClusterReader::read_link(std::string_view key, const YamlKey& at, const YamlValue& value,
                              RawLink& link) {
  if (key == "fabric")
    link.fabric = word<Fabric>(at, value);
  else if (key == "topology")
    link.topology = word<Topology>(at, value);
  else if (key == "mtu")
    link.mtu = parsed(at, value, parse_mtu, "a number of bytes from 1280 to 65536, as in \"mtu: 9000\"");
  else if (key == "speed")
    link.speed = rate(at, value, parse_speed, "a rate with its unit, as in \"speed: 40 Gb/s\"");
  else if (key == "vlan")
    link.vlan = parsed(at, value, parse_vlan, "a VLAN's number from 1 to 4094");
  else if (key == "rdma_driver")
    link.rdma_driver = choice(at, value, {"rxe", "siw"});  // kernel modules of software RDMA
  else
    return false;
  return true;
}

void ClusterReader::read_ssh(const YamlKey& at, const YamlValue& value, RawCluster& cluster) {
  if (!is(ValueKind::kMapping, value, at)) return;
  each_key(value, "ssh", [&](std::string_view key, const YamlKey& key_at, const YamlValue& item) {
    const auto said = text(key_at, item);
    if (!said) return;
    if (key == "config") {
      cluster.ssh_config = said->value;
    } else if (said->value.starts_with('-') || said->value.find_first_of("@ \t") != std::string::npos) {
      complaints_.add(said->spot, fmt::format("\"{}\" is no user name", said->value));
    } else {
      cluster.ssh_user = said->value;
    }
  });
}

void ClusterReader::read_bmc(const YamlKey& at, const YamlValue& value, BmcAccess& access) {
  if (!is(ValueKind::kMapping, value, at)) return;
  each_key(value, "bmc", [&](std::string_view key, const YamlKey& key_at, const YamlValue& item) {
    if (key == "protocol") {
      access.protocol = word<BmcProtocol>(key_at, item);
    } else if (key == "cipher") {
      if (const auto cipher = parsed(key_at, item, parse_cipher, "3 or 17")) access.cipher = cipher->value;
    } else if (const auto said = text(key_at, item)) {
      (key == "user"            ? access.user
       : key == "password_file" ? access.password_file
                                : access.certificates) = said->value;
    }
  });
}

void ClusterReader::read_nodes(const YamlKey& at, const YamlValue& value, RawCluster& cluster) {
  if (!is(ValueKind::kList, value, at)) return;
  if (value.items.empty()) complaints_.add(value.spot, "a cluster has at least one node");
  for (const YamlValue& item : value.items)
    if (auto node = read_node(item))
      cluster.nodes.push_back(std::move(*node));
    else
      cluster.nodes_misread = true;
}

std::optional<RawNode> ClusterReader::read_node(const YamlValue& value) {
  RawNode node;
  if (value.kind == ValueKind::kText) {  // `- gpu[01-64]` is short for `- name: gpu[01-64]`
    auto name = pattern("name", value.spot, value);
    if (!name) return std::nullopt;
    node.name = std::move(*name);
    return node;
  }
  if (!is(ValueKind::kMapping, value, "a node", value.spot)) return std::nullopt;
  bool named = false;
  each_key(value, "node", [&](std::string_view key, const YamlKey& at, const YamlValue& item) {
    if (key == "name") {
      if (auto name = pattern(key, at.spot, item)) {
        node.name = std::move(*name);
        named = true;
      }
    } else if (key == "ssh") {
      node.ssh = pattern(key, at.spot, item);
    } else if (key == "bmc") {
      node.bmc = pattern(key, at.spot, item);
    } else if (key == "local") {
      node.local = parsed(at, item, parse_truth, "true or false");
    } else if (key == "expect") {
      node.expect = read_expect(at, item);
    } else {
      node.configure = read_configure(at, item);
    }
  });
  if (!named) return std::nullopt;
  return node;
}

std::vector<RawRail> ClusterReader::read_rails(const YamlKey& at, const YamlValue& value) {
  std::vector<RawRail> rails;
  if (!is(ValueKind::kList, value, at)) return rails;
  for (const YamlValue& item : value.items)
    if (is(ValueKind::kMapping, item, "a rail", item.spot)) rails.push_back(read_rail(item));
  return rails;
}

RawRail ClusterReader::read_rail(const YamlValue& value) {
  RawRail rail;
  rail.spot = value.spot;
  const std::size_t before = complaints_.count();
  each_key(value, "rail", [&](std::string_view key, const YamlKey& at, const YamlValue& item) {
    if (read_link(key, at, item, rail.link)) return;
    if (key == "name") {
      if (auto name = text(at, item)) rail.name = std::move(*name);
    } else if (key == "purpose") {
      rail.purpose = word<RailPurpose>(at, item);
    } else if (key == "subnet") {
      rail.subnet = parsed(at, item, Subnet::parse, "a network with its prefix, as in 10.0.0.0/24");
    } else if (key == "interface") {
      rail.interface = text(at, item);
    } else if (key == "first_address") {
      rail.first_address = parsed(at, item, IpAddress::parse, "an IP address");
    } else if (key == "ports") {
      read_ports(at, item, rail);
    } else {
      read_patterns(at, item, rail.nodes);
    }
  });
  rail.misread = complaints_.count() > before;
  return rail;
}

void ClusterReader::read_patterns(const YamlKey& at, const YamlValue& value,
                                  std::vector<RawPattern>& patterns) {
  const std::vector<YamlValue> one = {value};
  for (const YamlValue& item : value.kind == ValueKind::kList ? value.items : one)
    if (auto read = pattern(at.text, at.spot, item)) patterns.push_back(std::move(*read));
}

void ClusterReader::read_ports(const YamlKey& at, const YamlValue& value, RawRail& rail) {
  if (!is(ValueKind::kMapping, value, at)) return;
  rail.ports_spot = at.spot;
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const YamlKey& key = value.keys[i];
    if (!is(ValueKind::kMapping, value.items[i], key)) continue;
    RawPort port;
    port.nodes = {key.text, key.spot, std::nullopt};
    if (key.spot.length == key.text.size()) port.nodes.inside = key.spot.offset;
    if (key.spot.length == key.text.size() + 2) port.nodes.inside = key.spot.offset + 1;
    each_key(value.items[i], "port",
             [&](std::string_view name, const YamlKey& name_at, const YamlValue& item) {
               if (name == "interface")
                 port.interface = text(name_at, item);
               else
                 port.address = parsed(name_at, item, IpAddress::parse, "an IP address");
             });
    rail.ports.push_back(std::move(port));
  }
}

RawCluster ClusterReader::read(const YamlValue& root) {
  RawCluster cluster;
  if (!is(ValueKind::kMapping, root, "cluster.yaml", root.spot)) return cluster;
  // A file of another version is not judged by the rules of this version.
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    const YamlValue& version = root.items[i];
    if (root.keys[i].text != "railbed" || version.kind != ValueKind::kText || version.text == "1") continue;
    complaints_.add(version.spot, "this railbed reads version 1 of cluster.yaml: \"railbed: 1\"");
    return cluster;
  }
  each_key(root, "cluster", [&](std::string_view key, const YamlKey& at, const YamlValue& value) {
    if (read_link(key, at, value, cluster.link)) return;
    if (key == "railbed") {
      is(ValueKind::kText, value, at);
    } else if (key == "cluster") {
      if (auto name = text(at, value)) cluster.name = std::move(name->value);
    } else if (key == "ssh") {
      read_ssh(at, value, cluster);
    } else if (key == "bmc") {
      read_bmc(at, value, cluster.bmc);
    } else if (key == "expect") {
      cluster.expect = read_expect(at, value);
    } else if (key == "configure") {
      cluster.configure = read_configure(at, value);
    } else if (key == "nodes") {
      read_nodes(at, value, cluster);
    } else if (key == "parts") {
      cluster.parts = read_parts(at, value);
    } else if (key == "checks") {
      cluster.checks = read_checks(at, value);
    } else if (key == "storage") {
      cluster.storage = read_storage(at, value);
    } else {
      cluster.rails = read_rails(at, value);
    }
  });
  return cluster;
}

bool is_interface(std::string_view text) {
  return is_plain_word(text, 15) && text != "." && text != ".." &&
         text.find_first_of("/:") == std::string_view::npos;
}

bool is_rdma_device(std::string_view text) {
  // Names by ib_alloc_device() in the kernel's drivers/infiniband, and by PCI place in rdma-core's rdma_rename.
  static constexpr std::string_view kDrivers[] = {
      "mlx5_bond_", "mlx5_",  "mlx4_bond_", "mlx4_",  "mthca", "irdma", "bnxt_re_bond", "bnxt_re",
      "cxgb4_",     "efa_",   "erdma_",     "hfi1_",  "qib",   "hns_",  "mana_",        "ocrdma",
      "qedr",       "usnic_", "vmw_pvrdma", "ionic_", "rxe",   "siw",   "i40iw"};
  for (const std::string_view driver : kDrivers)
    if (text.starts_with(driver) && is_digits(text.substr(driver.size()))) return true;
  return (text.starts_with("rocep") || text.starts_with("roceP") || text.starts_with("roceo") ||
          text.starts_with("roces")) &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

RawCluster read_raw(const YamlValue& root, Complaints& complaints) {
  return ClusterReader(complaints).read(root);
}

}  // namespace railbed
