// Finds interfaces that reach each other without a router, by datagrams with secret tokens to all nodes of a link
// (ff02::1, RFC 4291). They need only the link-local addresses that the kernel makes, and no privilege. A receiver
// has the digests of the tokens, so that a token that it receives is proof: no other sender has it. A neighbor
// that forwards a datagram is part of the link, like a switch.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"

namespace railbed {

inline constexpr int kLinkTokenPort = 51737;  // UDP
inline constexpr std::size_t kLinkTokenBytes = 16;

// An own interface, and the token that goes out there: 2 × kLinkTokenBytes hexadecimal digits.
struct LinkToken {
  std::string interface;
  std::string token;
};

// The datagrams of one interface.
struct LinkTokensHeard {
  int sent = 0;
  std::string error;              // why the last datagram could not be sent; empty if it was
  std::set<std::string> digests;  // of tokens that arrived from other interfaces
  std::set<IpAddress> own;        // link-local addresses of the interface itself
  std::set<IpAddress> answered;   // link-local addresses that replied to a ping, at most 64
  int foreign = 0;                // datagrams that no known token is in
};

// Returns the digest by which a receiver knows a token.
std::string link_token_digest(std::string_view token);

// Sends the tokens of `own`, and pings, every 200 ms for `duration`, and receives others'. `known` holds the
// digests of all tokens that count. Returns an entry for each interface of `own`. Fails only if no socket can
// be had.
struct LinkTokensResult {
  std::string error;  // no datagram could be received at all
  std::map<std::string, LinkTokensHeard> interfaces;
};
LinkTokensResult exchange_link_tokens(const std::vector<LinkToken>& own, const std::set<std::string>& known,
                                      std::chrono::milliseconds duration, const std::stop_token& stop);

}  // namespace railbed
