#include <algorithm>

#include "base/json.h"
#include "facts/collectors.h"
#include "facts/readings.h"
#include "host/device_calls.h"

namespace railbed {
namespace {

// hosts(5): an address and names; what follows # is a comment.
std::vector<HostsEntry> parse_hosts(std::string_view text) {
  std::vector<HostsEntry> entries;
  for (const auto line : lines(text)) {
    const auto columns = words(line.substr(0, line.find('#')));
    if (columns.size() < 2) continue;
    const auto address = IpAddress::parse(columns.front());
    if (!address) continue;
    HostsEntry entry{*address, {}};
    for (std::size_t i = 1; i < columns.size(); ++i) entry.names.emplace_back(columns[i]);
    entries.push_back(std::move(entry));
  }
  return entries;
}

const json::Value* member(const json::Value& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

bool is_text(const json::Value* value, std::string_view text) {
  return value != nullptr && value->is_string() && value->get_ref<const std::string&>() == text;
}

// A rule of nftables' JSON (libnftables-json(5)): what it compares, and how it ends.
struct NftRule {
  bool compares = false;
  bool refuses = false;  // drop or reject
  std::vector<std::string> interfaces;
  std::vector<Subnet> sources;
};

void take_interface(const json::Value& right, NftRule& rule) {
  if (right.is_string()) rule.interfaces.push_back(right.get<std::string>());
  if (const auto* set = member(right, "set"); set != nullptr && set->is_array())
    for (const auto& one : *set)
      if (one.is_string()) rule.interfaces.push_back(one.get<std::string>());
}

void take_source(const json::Value& right, NftRule& rule) {
  std::string text = right.is_string() ? right.get<std::string>() + "/32" : "";
  if (const auto* prefix = member(right, "prefix"))
    if (const auto* address = member(*prefix, "addr"), *length = member(*prefix, "len");
        address != nullptr && address->is_string() && length != nullptr && length->is_number_unsigned())
      text = address->get<std::string>() + "/" + std::to_string(length->get<std::uint64_t>());
  if (const auto subnet = Subnet::parse(text)) rule.sources.push_back(*subnet);
}

void take_match(const json::Value& match, NftRule& rule) {
  rule.compares = true;
  const auto *left = member(match, "left"), *right = member(match, "right");
  if (left == nullptr || right == nullptr || is_text(member(match, "op"), "!=")) return;
  if (const auto* meta = member(*left, "meta");
      meta != nullptr && (is_text(member(*meta, "key"), "iifname") || is_text(member(*meta, "key"), "iif")))
    take_interface(*right, rule);
  if (const auto* payload = member(*left, "payload");
      payload != nullptr && is_text(member(*payload, "field"), "saddr"))
    take_source(*right, rule);
}

NftRule read_rule(const json::Value& value) {
  NftRule rule;
  const auto* expressions = member(value, "expr");
  if (expressions == nullptr || !expressions->is_array()) return rule;
  for (const auto& one : *expressions) {
    if (const auto* match = member(one, "match")) take_match(*match, rule);
    if (member(one, "drop") != nullptr || member(one, "reject") != nullptr) rule.refuses = true;
    // What iptables-nft cannot say in nftables' own words may compare anything.
    if (member(one, "xt") != nullptr) rule.compares = true;
  }
  return rule;
}

std::optional<Firewall> parse_ruleset(const std::string& text) {
  const auto document = json::parse(text);
  const auto* items = document ? member(*document, "nftables") : nullptr;
  if (items == nullptr || !items->is_array()) return std::nullopt;
  Firewall firewall;
  std::vector<std::string> inputs;  // "family table chain" of chains that see what comes in
  const auto name = [](const json::Value& value, const char* chain) {
    std::string full;
    for (const char* key : {"family", "table", chain})
      if (const auto* part = member(value, key); part != nullptr && part->is_string())
        full += part->get<std::string>() + " ";
    return full;
  };
  for (const auto& item : *items) {
    if (const auto* chain = member(item, "chain");
        chain != nullptr && is_text(member(*chain, "hook"), "input")) {
      inputs.push_back(name(*chain, "name"));
      firewall.drops = firewall.drops || is_text(member(*chain, "policy"), "drop");
    }
    const auto* value = member(item, "rule");
    if (value == nullptr) continue;
    const NftRule rule = read_rule(*value);
    const bool input = std::ranges::find(inputs, name(*value, "chain")) != inputs.end();
    if (rule.refuses && !rule.compares && input) firewall.drops = true;
    if (rule.refuses) continue;
    firewall.interfaces.insert(firewall.interfaces.end(), rule.interfaces.begin(), rule.interfaces.end());
    firewall.sources.insert(firewall.sources.end(), rule.sources.begin(), rule.sources.end());
  }
  return firewall;
}

}  // namespace

Reading<std::vector<HostsEntry>> collect_hosts(Host& host) {
  return host.read("/etc/hosts").parsed([](const std::string& text) {
    return std::optional(parse_hosts(text));
  });
}

Reading<Firewall> collect_firewall(Host& host) {
  const auto output = host.run({"nft", "-j", "list", "ruleset"});
  if (!output) return {output.miss(), output.from()};
  if (output->exit_code != 0) return {Miss{Missing::kDenied, "only root may list the rules"}, output.from()};
  return Reading<std::string>(output->output, output.from()).parsed(parse_ruleset);
}

Reading<std::vector<StuckProcess>> collect_stuck(Host& host) {
  return host.call("stuck").parsed([](const std::string& text) -> std::optional<std::vector<StuckProcess>> {
    const auto answers = json::read<std::vector<StuckAnswer>>(text);
    if (!answers) return std::nullopt;
    std::vector<StuckProcess> stuck;
    for (const auto& one : *answers) stuck.push_back({one.pid, one.name, one.waits});
    return stuck;
  });
}

}  // namespace railbed
