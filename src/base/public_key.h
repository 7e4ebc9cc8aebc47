// SSH public keys in the form of key files, known_hosts and authorized_keys: a type and the key's bytes in
// base64.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace railbed {

// A key of a type that an SSH server can have. A parsed key is sound: its bytes name the same type and hold
// all its parts (RFC 4253, 6.6), and its text cannot end a line.
struct PublicKey {
  std::string type = {};    // "ssh-ed25519"
  std::string base64 = {};  // "AAAAC3NzaC1lZDI1NTE5…"
  std::string to_text() const { return type + " " + base64; }
  // Parses exactly two words, the type and the base64 text; nullopt if the key is not sound.
  static std::optional<PublicKey> parse(std::string_view text);
  auto operator<=>(const PublicKey&) const = default;
};

// Returns "SHA256:…" in the form that ssh and `ssh-keygen -l` show.
std::string fingerprint_of(const PublicKey& key);
// Returns whether `text` has the form of such a fingerprint.
bool is_fingerprint(std::string_view text);

}  // namespace railbed
