#include "nccl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace railbed::nccl {
namespace {
constexpr std::size_t kMostElsewhere = 4096;
}  // namespace

Settings::Settings(const Nccl& nccl) : all_(by_precedence(nccl)) {
  const auto add = [&](const Reading<std::vector<NcclVariable>>& variables) {
    if (!variables.ok()) return;
    for (const NcclVariable& variable : *variables)
      if (elsewhere_.size() < kMostElsewhere) elsewhere_.push_back(&variable);
  };
  if (nccl.root_file.from() != nccl.user_file.from()) add(nccl.root_file);
  for (const NcclService& service : nccl.services) add(service.variables);
}

const NcclVariable* Settings::find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &NcclVariable::name);
  return found == all_.end() ? nullptr : *found;
}

std::string Settings::value(std::string_view name) const {
  const NcclVariable* const found = find(name);
  return found == nullptr ? "" : found->value;
}

std::optional<long long> Settings::number(std::string_view name) const {
  const std::string text = value(name);
  if (text.empty()) return std::nullopt;
  return std::strtoll(text.c_str(), nullptr, 0);
}

bool for_everybody(const NcclVariable& variable) { return variable.from != "environment"; }

bool in_own_file(const Nccl& nccl, const NcclVariable& variable) {
  const std::string_view path = std::string_view(variable.from).substr(0, variable.from.rfind(':'));
  return path.ends_with("nccl.conf") || path == nccl.user_file.from();
}

std::optional<Version> installed_version(const Nccl& nccl) {
  return nccl.library.ok() ? Version::parse(nccl.library->version) : std::nullopt;
}

NameList NameList::parse(std::string_view text) {
  NameList list;
  if (text.starts_with('^')) {
    list.exclude = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    list.exact = true;
    text.remove_prefix(1);
  }
  for (const std::string_view piece : split(text, ',')) {
    const auto fields = split(piece, ':');
    if (fields.front().empty()) continue;
    const auto port = fields.size() > 1 ? parse_number<int>(fields[1]) : std::nullopt;
    list.entries.push_back({std::string(fields.front()), port.value_or(-1)});
  }
  return list;
}

bool NameList::matches(const Entry& entry, std::string_view name, int port) const {
  if (exact ? name != entry.name : !name.starts_with(entry.name)) return false;
  return port == -1 || entry.port == -1 || port == entry.port;
}

bool NameList::lists(std::string_view name, int port) const {
  return std::ranges::any_of(entries, [&](const Entry& entry) { return matches(entry, name, port); });
}

bool NameList::selects(std::string_view name, int port) const {
  return (entries.empty() || lists(name, port)) != exclude;
}

namespace {

const Gid* gid_at(const RdmaPort& port, int index) {
  if (!port.gids.ok()) return nullptr;
  const auto found = std::ranges::find(*port.gids, index, &Gid::index);
  return found == port.gids->end() ? nullptr : &*found;
}

int roce_version(const Gid* gid) {
  const std::string type = gid == nullptr ? "" : gid->type.value_or("");
  return type.starts_with("RoCE v2") ? 2 : type.empty() ? 0 : 1;
}

bool usable(const Gid* gid) {
  return gid != nullptr && gid->gid.ok() && !gid->gid->is_zero() && !gid->gid->is_link_local();
}

// Returns whether the address is in the range; true if the range cannot be parsed. Host bits of the range may
// be set: NCCL masks them.
bool in_range(const IpAddress& address, std::string_view range) {
  const auto pair = key_value(range, '/');
  if (!pair) return true;
  const auto base = IpAddress::parse(pair->first);
  const auto prefix = parse_number<int>(pair->second);
  if (!base || !prefix) return true;
  const auto subnet = Subnet::of(*base, *prefix);
  return !subnet || subnet->contains(address);
}

}  // namespace

// NCCL starts with entry 0 and walks through the table. A later entry replaces the current one if it is of
// the wanted family, which the current one is not, and in range; or if it is usable, of the wanted family, in
// range and of the wanted RoCE version, and the current one has another version or is unusable. With the
// usual tables the result is the first entry that has all of these properties.
GidChoice choose_gid(const RdmaPort& port, const Settings& settings, bool before_2_21) {
  GidChoice choice;
  const auto pinned = settings.number("NCCL_IB_GID_INDEX");
  if ((pinned && *pinned >= 0) || before_2_21) {
    choice.pinned = pinned.has_value();
    choice.index = static_cast<int>(pinned.value_or(0));
    choice.gid = gid_at(port, choice.index);
    choice.why = choice.pinned ? "pinned by NCCL_IB_GID_INDEX" : "before 2.21 NCCL takes entry 0";
    choice.matched = usable(choice.gid);
    return choice;
  }
  const bool v6 = settings.value("NCCL_IB_ADDR_FAMILY") == "AF_INET6";
  const int version = static_cast<int>(settings.number("NCCL_IB_ROCE_VERSION_NUM").value_or(2));
  const std::string range = settings.value("NCCL_IB_ADDR_RANGE");
  const auto fits = [&](const Gid* gid) {
    return usable(gid) && gid->gid->is_v4() != v6 && in_range(*gid->gid, range);
  };
  const Gid* now = gid_at(port, 0);
  if (port.gids.ok()) {
    for (const Gid& candidate : *port.gids) {
      if (candidate.index == 0 || !candidate.gid.ok()) continue;
      const bool family_changes =
          now == nullptr || !now->gid.ok() || now->gid->is_v4() != candidate.gid->is_v4();
      const bool better = family_changes && candidate.gid->is_v4() != v6 && in_range(*candidate.gid, range);
      const bool other_version = roce_version(now) != roce_version(&candidate) || !usable(now);
      if (better || (fits(&candidate) && other_version && roce_version(&candidate) == version))
        now = &candidate;
    }
  }
  choice.gid = now;
  choice.index = now == nullptr ? 0 : now->index;
  choice.matched = fits(now) && roce_version(now) == version;
  const std::string wanted =
      fmt::format("{} over RoCE v{}{}", v6 ? "IPv6" : "IPv4", version, range.empty() ? "" : " in " + range);
  choice.why = choice.matched ? wanted : "no entry is " + wanted + ": peers may not reach it";
  return choice;
}

}  // namespace railbed::nccl
