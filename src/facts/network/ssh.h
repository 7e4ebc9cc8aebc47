// The public host keys of a node's sshd, and the known hosts of its ssh client.
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
  PublicKey key;            // from the file's first line
  std::string fingerprint;  // "SHA256:…" of the key
  FIELDS(HostKey, file, key, fingerprint);
};

// A line of known_hosts, sshd(8): names, and a key that is valid for them.
struct KnownHost {
  std::vector<std::string> names;  // as written: "gpu1", "[10.0.0.1]:2222"
  PublicKey key;
  bool railbed = false;  // the line is inside railbed's marked block
  FIELDS(KnownHost, names, key, railbed);
};

struct Ssh {
  // The keys of the files that HostKey of /etc/ssh/sshd_config names, else of sshd's three default files.
  // Only public key files are read, never private ones.
  Reading<std::vector<HostKey>> host_keys;
  // /etc/ssh/ssh_known_hosts, without hashed names and lines with a marker (@revoked, @cert-authority).
  Reading<std::vector<KnownHost>> known_hosts;
  FIELDS(Ssh, host_keys, known_hosts);
};

Ssh collect_ssh(Host& host);

// Parses a line of known_hosts without its comment; nullopt for a line that the collector leaves out.
std::optional<KnownHost> parse_known_host(std::string_view line);

// Returns the lines of a file below /etc/ssh that the collector reads.
std::string used_ssh(std::string_view path, std::string_view text);

}  // namespace railbed
