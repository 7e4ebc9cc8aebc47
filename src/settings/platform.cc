#include "settings/platform.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

// IDs of os-release(5). DGX OS has "ubuntu".
constexpr std::string_view kDebianIds[] = {"debian", "ubuntu"};
constexpr std::string_view kRhelIds[] = {"rhel", "rocky", "almalinux", "centos", "ol", "fedora"};

template <std::size_t N>
bool is_one_of(const std::string_view (&ids)[N], std::string_view id) {
  return std::ranges::find(ids, id) != std::end(ids);
}

struct OsName {
  std::string id;
  std::string version;
};

OsName os_of(const Node& node, const Facts& facts) {
  if (facts.system.os.id.ok())
    return {*facts.system.os.id, facts.system.os.version.ok() ? *facts.system.os.version : ""};
  const std::string said = node.expect.os.value_or("");
  const auto space = said.find(' ');
  return {said.substr(0, space), space == std::string::npos ? "" : said.substr(space + 1)};
}

// Returns the profile that shows what manages the network: that of the default route's interface, which is
// known to work, else the first one.
const BootProfile* telling_profile(const Facts& facts) {
  if (!facts.net.at_boot.ok()) return nullptr;
  const BootProfile* any = nullptr;
  for (const BootProfile& profile : *facts.net.at_boot) {
    if (has_default_route(facts.net, profile.interface)) return &profile;
    if (any == nullptr) any = &profile;
  }
  return any;
}

bool is_netplans(const BootProfile& profile) { return profile.file.find("/netplan/") != std::string::npos; }

std::optional<NetworkKeeper> keeper_of(const BootProfile& profile) {
  if (is_netplans(profile)) return NetworkKeeper::kNetplan;
  if (profile.manager == "NetworkManager") return NetworkKeeper::kNetworkManager;
  if (profile.manager == "systemd-networkd") return NetworkKeeper::kNetworkd;
  return std::nullopt;  // ifupdown
}

bool is_active(const Facts& facts, std::string_view unit) {
  return facts.system.services.ok() &&
         std::ranges::any_of(*facts.system.services, [&](const Service& service) {
           return service.name == unit && service.active_state == "active";
         });
}

// Decides by netplan's files, else by the service that runs. A profile in /run is not netplan's own, but
// nmcli created it through the program that also renders netplan's files.
bool netplan_uses_networkmanager(const Facts& facts, const BootProfile* telling) {
  if (telling != nullptr && (is_netplans(*telling) || !telling->kept))
    return telling->manager == "NetworkManager";
  return is_active(facts, "NetworkManager") && !is_active(facts, "systemd-networkd");
}

// Returns the distribution's default; Debian's is ifupdown.
std::optional<NetworkKeeper> usual_keeper(const Platform& platform) {
  if (platform.family == OsFamily::kRhel) return NetworkKeeper::kNetworkManager;
  if (platform.os == "ubuntu") return NetworkKeeper::kNetplan;
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> systems_known() {
  std::vector<std::string_view> all(std::begin(kDebianIds), std::end(kDebianIds));
  all.insert(all.end(), std::begin(kRhelIds), std::end(kRhelIds));
  return all;
}

std::optional<int> Platform::major_version() const {
  return parse_number<int>(version.substr(0, version.find('.')));
}

Result<Platform> platform_of(const Node& node, const Facts& facts) {
  const OsName os = os_of(node, facts);
  Platform platform{.os = os.id, .version = os.version};
  if (is_one_of(kRhelIds, os.id))
    platform.family = OsFamily::kRhel;
  else if (!is_one_of(kDebianIds, os.id))
    return fail(ErrorKind::kBadInput,
                os.id.empty()
                    ? fmt::format("{}: its operating system is not known; say it in cluster.yaml, as in "
                                  "\"expect: {{os: ubuntu 24.04}}\"",
                                  node.name)
                    : fmt::format("{}: railbed does not configure \"{}\"; it knows Debian, Ubuntu and "
                                  "DGX OS, RHEL and its kin",
                                  node.name, printable(os.id)));
  const BootProfile* telling = telling_profile(facts);
  if (node.configure.network)
    platform.network = node.configure.network;
  else  // a profile that is gone after the next boot shows nothing
    platform.network = telling != nullptr && telling->kept ? keeper_of(*telling) : usual_keeper(platform);
  platform.netplan_by_networkmanager =
      platform.network == NetworkKeeper::kNetplan && netplan_uses_networkmanager(facts, telling);
  return platform;
}

}  // namespace railbed
