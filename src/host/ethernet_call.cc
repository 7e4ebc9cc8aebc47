// An Ethernet port's link modes and global pause by ioctl, its priorities by DCB netlink.
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <span>

#include "base/json.h"
#include "host/device_calls.h"
#include "host/ethtool.h"
#include "host/link_modes.h"
#include "os/errno_name.h"
#include "os/netlink.h"

namespace railbed {
namespace {

constexpr std::uint8_t kSelectDscp = 5;  // IEEE_8021QAZ_APP_SEL_DSCP

void ask_pause(const std::string& interface, EthernetAnswer& answer) {
  const Fd fd = ethtool_socket();
  ethtool_pauseparam pause = {};
  pause.cmd = ETHTOOL_GPAUSEPARAM;
  if (!fd || !ethtool(fd, interface, &pause)) {
    answer.pause_error = miss_of(errno).why;
    return;
  }
  answer.pause_receive = pause.rx_pause != 0;
  answer.pause_transmit = pause.tx_pause != 0;
}

// The result of ETHTOOL_GLINKSETTINGS. Three masks follow its struct: supported, advertised, by the peer.
struct LinkSettings {
  int words = 0;  // of each mask; negative: the kernel expects a request for that many
  bool autonegotiates = false;
  std::array<std::uint32_t, std::size_t{3}* SCHAR_MAX> masks = {};

  int fastest(std::size_t which) const {
    const auto size = static_cast<std::size_t>(words);
    return fastest_link_mode(std::span(masks).subspan(which * size, size));
  }
};

bool ask_settings(const std::string& interface, int words, LinkSettings& settings) {
  constexpr std::size_t kHead = sizeof(ethtool_link_settings);
  alignas(ethtool_link_settings) char buffer[kHead + sizeof settings.masks] = {};
  auto* head = reinterpret_cast<ethtool_link_settings*>(buffer);
  head->cmd = ETHTOOL_GLINKSETTINGS;
  head->link_mode_masks_nwords = static_cast<std::int8_t>(words);
  const Fd fd = ethtool_socket();
  if (!fd || !ethtool(fd, interface, buffer)) return false;
  settings.words = head->link_mode_masks_nwords;
  settings.autonegotiates = head->autoneg == AUTONEG_ENABLE;
  std::memcpy(settings.masks.data(), buffer + kHead, sizeof settings.masks);
  return true;
}

// A request with no words returns the size of the masks as a negative number. The second request uses that
// size.
void ask_modes(const std::string& interface, EthernetAnswer& answer) {
  LinkSettings settings;
  const bool answered =
      ask_settings(interface, 0, settings) && ask_settings(interface, -settings.words, settings);
  if (!answered) return void(answer.modes_error = miss_of(errno).why);
  if (settings.words <= 0) return void(answer.modes_error = "the kernel states no link modes");
  answer.autonegotiates = settings.autonegotiates;
  answer.supported_mbps = settings.fastest(0);
  answer.advertised_mbps = settings.fastest(1);
  answer.peer_mbps = settings.fastest(2);
}

void take_application(std::string_view payload, EthernetAnswer& answer) {
  dcb_app app = {};
  if (payload.size() < sizeof app) return;
  std::memcpy(&app, payload.data(), sizeof app);
  if (app.selector == kSelectDscp && app.protocol < 64)
    answer.dscp.insert_or_assign(std::to_string(app.protocol), app.priority);
}

void take_ieee(std::string_view run, EthernetAnswer& answer) {
  each_attribute(run, [&](int type, std::string_view payload) {
    if (type == DCB_ATTR_IEEE_PFC && payload.size() >= 2) {
      answer.pfc_capability = static_cast<std::uint8_t>(payload[0]);  // struct ieee_pfc: pfc_cap, pfc_en, …
      for (int priority = 0; priority < 8; ++priority)
        if ((static_cast<std::uint8_t>(payload[1]) >> priority & 1) != 0)
          answer.pfc_priorities.push_back(priority);
    }
    if (type == DCB_ATTR_IEEE_APP_TABLE)
      each_attribute(payload, [&](int kind, std::string_view one) {
        if (kind == DCB_ATTR_IEEE_APP) take_application(one, answer);
      });
  });
}

struct Request {
  nlmsghdr head;
  dcbmsg dcb;
  nlattr name_head;
  char name[IFNAMSIZ];
};

// Stores the kernel's reply to DCB_CMD_IEEE_GET in `reply`. Returns false with errno set on failure.
bool exchange(const std::string& interface, std::string& reply) {
  const Fd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const timeval second = {1, 0};
  if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second) != 0) return false;
  Request request = {};
  if (interface.size() >= sizeof request.name) return errno = ENODEV, false;
  request.head = {sizeof request, RTM_GETDCB, NLM_F_REQUEST, 1, 0};
  request.dcb.cmd = DCB_CMD_IEEE_GET;
  request.name_head = {sizeof request.name_head + sizeof request.name, DCB_ATTR_IFNAME};
  std::memcpy(request.name, interface.data(), interface.size());
  if (send(fd.get(), &request, sizeof request, 0) < 0) return false;
  std::array<char, 65536> buffer;
  const ssize_t got = recv(fd.get(), buffer.data(), buffer.size(), 0);
  if (got < 0) return false;
  nlmsghdr head = {};
  if (static_cast<std::size_t>(got) < sizeof head) return errno = EPROTO, false;
  std::memcpy(&head, buffer.data(), sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error = {};
    if (static_cast<std::size_t>(got) >= NLMSG_HDRLEN + sizeof error)
      std::memcpy(&error, buffer.data() + NLMSG_HDRLEN, sizeof error);
    return errno = error.error != 0 ? -error.error : EPROTO, false;
  }
  constexpr std::size_t kStart = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(dcbmsg));
  if (static_cast<std::size_t>(got) < kStart) return errno = EPROTO, false;
  reply.assign(buffer.data() + kStart, static_cast<std::size_t>(got) - kStart);
  return true;
}

void ask_dcb(const std::string& interface, EthernetAnswer& answer) {
  std::string reply;
  if (!exchange(interface, reply)) {
    answer.dcb_error = miss_of(errno).why;
    return;
  }
  each_attribute(reply, [&](int type, std::string_view payload) {
    if (type == DCB_ATTR_IEEE) take_ieee(payload, answer);
  });
}

}  // namespace

Reading<std::string> call_ethernet(const std::string& interface) {
  EthernetAnswer answer;
  ask_modes(interface, answer);
  ask_pause(interface, answer);
  ask_dcb(interface, answer);
  return {json::dump(json::encode(answer)), "ethernet " + interface};
}

}  // namespace railbed
