// Selection of a BMC's protocol. If cluster.yaml names none, two probes run at once, without a login: IPMI's
// Get Channel Authentication Capabilities (IPMI 2.0, 22.13), to which every BMC responds before a session,
// and a TCP connection to the HTTPS port. IPMI wins as soon as its response arrives. A BMC that accepts the
// connection but sends no IPMI response for a while uses Redfish.
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "bmc/bmc.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAgain{500};          // packets may be lost, so the request is repeated
constexpr milliseconds kHeadStart{1000};     // for IPMI before Redfish is chosen
constexpr std::size_t kShortestAnswer = 21;  // an RMCP header, a session header and an IPMI message

// RMCP header (13.1.3), session header of IPMI 1.5 without authentication, and the message to the BMC: for
// this channel, with administrator privilege, requesting the data of IPMI 2.0.
constexpr std::array<unsigned char, 23> kAsk = {0x06, 0x00, 0xff, 0x07, 0x00, 0x00, 0x00, 0x00,
                                                0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x20, 0x18,
                                                0xc8, 0x81, 0x00, 0x38, 0x8e, 0x04, 0xb5};

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// Returns a socket that is connecting to the address; an invalid one if there is no way to reach it.
Fd begin(const std::string& address, const char* port, int type) {
  addrinfo wish = {};
  wish.ai_socktype = type;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), port, &wish, &found) != 0) return Fd();
  const Addresses addresses(found);
  Fd fd(socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return Fd();
  if (connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) return Fd();
  return fd;
}

// Reads one packet. True if it is an RMCP message of class IPMI and long enough for a response.
bool is_answer(int fd) {
  std::array<unsigned char, 256> packet = {};
  const ssize_t size = recv(fd, packet.data(), packet.size(), 0);
  return size >= static_cast<ssize_t>(kShortestAnswer) && packet[0] == 0x06 && packet[3] == 0x07;
}

bool is_connected(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// Returns how long to wait for IPMI before Redfish is chosen. Without a trusted certificate Redfish would
// only fail, so a slow BMC gets the whole `silence` for its IPMI response.
milliseconds head_start(const CertificateTrust& trust, const BmcOptions& options) {
  const bool trusts = !trust.key.empty() || !trust.authority.empty();
  return trusts ? std::min(kHeadStart, options.silence) : options.silence;
}

// Probes the BMC; none if it responds to neither protocol.
std::optional<BmcProtocol> find_protocol(const BmcTarget& target, const BmcOptions& options) {
  const std::string& address = target.address;
  const Fd ipmi = begin(address, "623", SOCK_DGRAM);
  Fd https = begin(address, "443", SOCK_STREAM);
  if (!ipmi && !https) return BmcProtocol::kIpmi;  // FreeIPMI reports what is wrong with the address
  const auto began = steady_clock::now();
  bool connected = false;
  auto send_at = began;
  while (!options.stop.stop_requested()) {
    const auto now = steady_clock::now();
    if (connected && now - began >= head_start(target.trust, options)) return BmcProtocol::kRedfish;
    if (now - began >= options.silence) return std::nullopt;
    if (ipmi.get() >= 0 && now >= send_at) {
      (void)send(ipmi.get(), kAsk.data(), kAsk.size(), MSG_NOSIGNAL);
      send_at = now + kAgain;
    }
    std::array<pollfd, 2> waiting = {pollfd{ipmi.get(), POLLIN, 0},
                                     pollfd{connected ? -1 : https.get(), POLLOUT, 0}};
    (void)poll(waiting.data(), waiting.size(), 100);
    if (waiting[0].revents != 0 && is_answer(ipmi.get())) return BmcProtocol::kIpmi;
    if (waiting[1].revents != 0) {
      connected = is_connected(https.get());
      if (!connected) https = Fd();
    }
  }
  return std::nullopt;
}

}  // namespace

Result<void> Bmc::insert_media(const std::string&) {
  return fail(ErrorKind::kUnavailable,
              "its BMC is spoken with by a protocol that knows no virtual media: Redfish does");
}
Result<void> Bmc::eject_media() { return insert_media({}); }

Result<std::unique_ptr<Bmc>> open_bmc(BmcTarget target, BmcOptions options) {
  if (!target.access.protocol) target.access.protocol = find_protocol(target, options);
  if (!target.access.protocol) return fail(ErrorKind::kTimeout, "its BMC does not answer");
  switch (*target.access.protocol) {
    case BmcProtocol::kIpmi:
      return open_ipmi(std::move(target), std::move(options));
    case BmcProtocol::kRedfish:
      return open_redfish(std::move(target), std::move(options));
    case BmcProtocol::kSmash:
      return open_smash(std::move(target), std::move(options));
  }
  return fail(ErrorKind::kInternal, "a protocol that nobody wrote");
}

}  // namespace railbed
