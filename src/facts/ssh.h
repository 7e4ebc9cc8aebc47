// The public side of a node's sshd, and whom the node's own ssh knows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/public_key.h"
#include "base/reading.h"

namespace railbed {

class Host;

struct HostKey {
  std::string file;         // /etc/ssh/ssh_host_ed25519_key.pub
  PublicKey key;            // the first line of it
  std::string fingerprint;  // "SHA256:…", of the key
  FIELDS(HostKey, file, key, fingerprint);
};

// A line of known_hosts, sshd(8): names, and a key that they may have.
struct KnownHost {
  std::vector<std::string> names;  // as they are written: "gpu1", "[10.0.0.1]:2222"
  PublicKey key;
  bool railbed = false;  // between the marks of railbed's block
  FIELDS(KnownHost, names, key, railbed);
};

struct Ssh {
  // Of the files that HostKey of /etc/ssh/sshd_config names, else of sshd's own three; private ones are never
  // read.
  Reading<std::vector<HostKey>> host_keys;
  // /etc/ssh/ssh_known_hosts, without hashed names and lines with a marker (@revoked, @cert-authority).
  Reading<std::vector<KnownHost>> known_hosts;
  FIELDS(Ssh, host_keys, known_hosts);
};

Ssh collect_ssh(Host& host);

// A line of known_hosts without comment; nothing of a line that the collector leaves out.
std::optional<KnownHost> parse_known_host(std::string_view line);

// The lines of a file below /etc/ssh that the collector looks at.
std::string used_ssh(std::string_view path, std::string_view text);

}  // namespace railbed
