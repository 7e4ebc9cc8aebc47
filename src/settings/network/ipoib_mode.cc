// IPoIB's mode and MTU, within what the adapter supports. The network section's files keep them
// (render_network); this section checks whether they are as desired, and notes what else a larger MTU
// requires.
#include <fmt/format.h>

#include <algorithm>

#include "settings/network/ipoib.h"
#include "settings/render.h"

namespace railbed {

// ConnectX-4 and later have no connected mode: enhanced IPoIB is datagram only (hardware/nic.cc).
std::optional<IpoibWish> ipoib_of(const RailEnd& end, const Cluster& cluster) {
  if (end.rail == nullptr || !end.infiniband() || end.address() == nullptr) return std::nullopt;
  const bool connects = has_connected_ipoib(end, cluster).value_or(true);
  const auto& mtu = end.rail->mtu;
  if (!mtu) return IpoibWish{.mode = connects ? std::nullopt : std::optional<std::string>("datagram")};
  if (*mtu > kLargestDatagram && connects)
    return IpoibWish{.mode = "connected", .mtu = std::min(*mtu, kLargestConnected)};
  return IpoibWish{.mode = "datagram", .mtu = std::min(*mtu, kLargestDatagram)};
}

namespace {

// Datagram is the kernel's default.
Need in_mode(const RailEnd& end, const std::string& mode) {
  Need need{.what = fmt::format("{} is in {} mode", end.name, mode)};
  if (end.interface == nullptr || !end.interface->ipoib_mode.ok()) return need;
  need.now = *end.interface->ipoib_mode == mode;
  if (*need.now && mode == "datagram") need.at_boot = true;
  if (!*need.now) need.found = *end.interface->ipoib_mode;
  return need;
}

// Unlike verify's mtu_at_boot(): without a file, IPoIB gets its partition's MTU, which is not known here.
std::optional<bool> mtu_by_files(const Facts& facts, const std::string& interface, int mtu) {
  for (const BootProfile& profile : items(facts.net.at_boot))
    if (profile.interface == interface && profile.certain && profile.mtu != 0)
      return profile.kept && profile.mtu == mtu;
  return std::nullopt;
}

Need has_ipoib_mtu(const Target& target, const RailEnd& end, int mtu) {
  Need need{.what = fmt::format("{} has MTU {}", end.name, mtu),
            .at_boot = mtu_by_files(target.facts(), end.name, mtu)};
  if (need.at_boot == false) need.found = "a file says another MTU for the next boot";
  if (end.interface == nullptr || !end.interface->mtu.ok()) return need;
  need.now = *end.interface->mtu == mtu;
  if (!*need.now) need.found = fmt::format("MTU {}", *end.interface->mtu);
  return need;
}

std::string mode_key(const Platform& platform, const std::string& mode) {
  if (platform.network == NetworkKeeper::kNetplan) return "infiniband-mode: " + mode;
  if (platform.network == NetworkKeeper::kNetworkManager)
    return "transport-mode=" + mode + " of [infiniband]";
  return "Mode=" + mode + " of [IPoIB]";
}

void add_ipoib_notes(const Target& target, const RailEnd& end, const IpoibWish& wish, Setting& setting) {
  if (wish.mtu && *wish.mtu < *end.rail->mtu)
    setting.notes.push_back(fmt::format(
        "cluster.yaml asks for MTU {}. {} has no connected mode: {} is the most that its datagrams carry.",
        *end.rail->mtu, end.model == nullptr ? "The adapter" : end.model->name, *wish.mtu));
  if (wish.mode == "connected") {
    setting.notes.push_back(
        fmt::format("The network's own file keeps the mode: {}.", mode_key(target.platform, *wish.mode)));
    if (!has_connected_ipoib(end, target.cluster()))
      setting.notes.push_back(fmt::format(
          "Which adapter this is, is unknown here. ConnectX-4 and later have no connected mode: write mtu: {} for them.",
          kLargestDatagram));
  } else if (wish.mtu && *wish.mtu > kGroupMtu)
    setting.notes.push_back(
        "The subnet manager's partition has to be as large (mtu=5): railbed writes that where "
        "expect.subnet_manager is said; a managed switch has its own setting. Then IPoIB has to start anew on "
        "every node.");
}

}  // namespace

void render_ipoib(const Target& target, std::vector<Setting>& settings) {
  for (const RailEnd& end : target.view.ends) {
    const auto wish = ipoib_of(end, target.cluster());
    if (!wish || (!wish->mode && !wish->mtu)) continue;
    Setting setting{.section = Section::kIpoib,
                    .name = "ipoib/mode",
                    .subjects = {end.name},
                    .title = fmt::format("IPoIB of {}", end.name),
                    .reason = wish->mode == "connected"
                                  ? "an MTU above 4092 needs connected mode, which ends with ConnectX-3"
                                  : "guides for older adapters ask for connected mode and MTU 65520, which "
                                    "ConnectX-4 and later do not have",
                    .risk = Risk::kTraffic};
    if (wish->mode) setting.needs.push_back(in_mode(end, *wish->mode));
    if (wish->mtu) setting.needs.push_back(has_ipoib_mtu(target, end, *wish->mtu));
    add_ipoib_notes(target, end, *wish, setting);
    settings.push_back(std::move(setting));
  }
}

}  // namespace railbed
