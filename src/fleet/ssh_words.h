// Parses what OpenSSH's programs print about host keys. All of it is untrusted: names come from any
// configuration, keys from whatever responds at a node's address.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/public_key.h"
#include "base/result.h"

namespace railbed::fleet {

// The way in which ssh would reach a destination: `ssh -G`.
struct SshWay {
  std::string host;                       // the host that it connects to
  int port = 22;                          // of that host
  std::string alias;                      // HostKeyAlias; empty if none
  std::string proxy;                      // "ProxyJump gate"; empty if it connects directly
  std::vector<std::string> user_files;    // known_hosts files of the user; new keys go into the first
  std::vector<std::string> global_files;  // known_hosts files of all users
  bool hashed = false;                    // HashKnownHosts: names in them are hashed
  bool unchecked = false;                 // StrictHostKeyChecking is off
  // Returns its name in known_hosts (sshd(8)): "gpu1", "[gpu1]:2222".
  std::string known_name() const;
};
// Parses the output of `ssh -G`. Fails if it names no valid host.
Result<SshWay> parse_ssh_way(std::string_view text);

// Returns the keys of one host that `ssh-keyscan` printed, one of each kind. Skips comments. Fails for any
// other line, including a line of another host, because its meaning is unknown.
Result<std::vector<PublicKey>> parse_scan(std::string_view text, const SshWay& way);

// A line that `ssh-keygen -F` found.
struct FoundKey {
  PublicKey key;
  bool revoked = false;  // @revoked: must never be accepted
};
// Returns the keys. Leaves out certificate authorities and keys of unknown kinds.
std::vector<FoundKey> parse_found(std::string_view text);

}  // namespace railbed::fleet
