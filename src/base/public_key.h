// A public key of ssh, as key files, known_hosts and authorized_keys write it: its kind and its bytes in
// base64.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace railbed {

// Of a kind that a server can have. One that was parsed is sound: its bytes name the same kind and have its
// parts (RFC 4253, 6.6), and nothing in it can end a line.
struct PublicKey {
  std::string type = {};    // "ssh-ed25519"
  std::string base64 = {};  // "AAAAC3NzaC1lZDI1NTE5…"
  std::string to_text() const { return type + " " + base64; }
  // Exactly two words.
  static std::optional<PublicKey> parse(std::string_view text);
  auto operator<=>(const PublicKey&) const = default;
};

// "SHA256:…", as ssh and `ssh-keygen -l` show it.
std::string fingerprint_of(const PublicKey& key);
// Whether the text has that form.
bool is_fingerprint(std::string_view text);

}  // namespace railbed
