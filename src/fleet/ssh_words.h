// What OpenSSH's programs say of host keys, as data. All of it is untrusted: names come from anybody's
// configuration, keys from whoever answers at a node's address.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/public_key.h"
#include "base/result.h"

namespace railbed::fleet {

// How ssh would reach a destination: `ssh -G`.
struct SshWay {
  std::string host;                       // it connects to
  int port = 22;                          //
  std::string alias;                      // HostKeyAlias; empty: none
  std::string proxy;                      // what leads there: "ProxyJump gate"; empty: it connects by itself
  std::vector<std::string> user_files;    // of known_hosts; new keys go into the first
  std::vector<std::string> global_files;  // likewise, of all users
  bool hashed = false;                    // HashKnownHosts: names are not to be read there
  bool unchecked = false;                 // StrictHostKeyChecking is off
  // How known_hosts calls it (sshd(8)): "gpu1", "[gpu1]:2222".
  std::string known_name() const;
};
// An error where it names no host that could be asked.
Result<SshWay> parse_ssh_way(std::string_view text);

// The keys that `ssh-keyscan` printed of one host, a kind once; lines of comment are passed over. Anything
// else, and another host's line, is an error: nobody knows what it means.
Result<std::vector<PublicKey>> parse_scan(std::string_view text, const SshWay& way);

// A line that `ssh-keygen -F` found.
struct FoundKey {
  PublicKey key;
  bool revoked = false;  // @revoked: never to be accepted
};
// Certificates' authorities and keys of kinds that railbed does not know are left out.
std::vector<FoundKey> parse_found(std::string_view text);

}  // namespace railbed::fleet
