#include "base/public_key.h"

#include <algorithm>
#include <cstdint>

#include "base/base64.h"
#include "base/sha256.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr std::size_t kLongestBase64 = 8192;  // RSA with 16384 bits, the longest that ssh makes, has 2800
constexpr std::string_view kFingerprintMark = "SHA256:";
constexpr std::size_t kFingerprintDigits = 43;  // 256 bits

// The number of parts in a key's bytes, its type included: RFC 4253 (RSA), 5656 (ECDSA), 8709 (Ed25519),
// OpenSSH's PROTOCOL.u2f (keys in hardware). DSA is left out; OpenSSH has not made such keys since 2015.
struct KeyKind {
  std::string_view type;
  int parts;
};
constexpr KeyKind kKeyKinds[] = {
    {"ssh-ed25519", 2},
    {"ecdsa-sha2-nistp256", 3},
    {"ecdsa-sha2-nistp384", 3},
    {"ecdsa-sha2-nistp521", 3},
    {"ssh-rsa", 3},
    {"sk-ssh-ed25519@openssh.com", 3},
    {"sk-ecdsa-sha2-nistp256@openssh.com", 4},
};

std::optional<std::string> decoded(std::string_view text) {
  if (text.empty() || text.size() > kLongestBase64) return std::nullopt;
  return base64_decoded(text);
}

// Removes the next part from `bytes` and returns it. A part is a big-endian length of four bytes and then
// that many bytes; nullopt if `bytes` holds no complete part.
std::optional<std::string_view> take_part(std::string_view& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  std::uint32_t size = 0;
  for (int i = 0; i < 4; ++i)
    size = size << 8 | static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(i)]);
  bytes.remove_prefix(4);
  if (size > bytes.size()) return std::nullopt;
  const std::string_view part = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return part;
}

bool has_parts(std::string_view bytes, const KeyKind& kind) {
  if (take_part(bytes) != kind.type) return false;
  for (int i = 1; i < kind.parts; ++i) {
    const auto part = take_part(bytes);
    if (!part || part->empty()) return false;
    if (kind.type == "ssh-ed25519" && part->size() != 32) return false;
  }
  return bytes.empty();
}

}  // namespace

std::optional<PublicKey> PublicKey::parse(std::string_view text) {
  const auto columns = words(text);
  if (columns.size() != 2) return std::nullopt;
  const auto* const kind = std::find_if(std::begin(kKeyKinds), std::end(kKeyKinds),
                                        [&](const KeyKind& kind) { return kind.type == columns[0]; });
  if (kind == std::end(kKeyKinds)) return std::nullopt;
  const auto bytes = decoded(columns[1]);
  if (!bytes || !has_parts(*bytes, *kind)) return std::nullopt;
  return PublicKey{std::string(columns[0]), std::string(columns[1])};
}

std::string fingerprint_of(const PublicKey& key) {
  const std::string hex = sha256_hex(decoded(key.base64).value_or(""));
  std::string digest;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    digest.push_back(static_cast<char>(parse_number<int>(hex.substr(i, 2), 16).value_or(0)));
  return std::string(kFingerprintMark) + base64_encoded(digest).substr(0, kFingerprintDigits);
}

bool is_fingerprint(std::string_view text) {
  if (!text.starts_with(kFingerprintMark)) return false;
  text.remove_prefix(kFingerprintMark.size());
  return text.size() == kFingerprintDigits && text.find_first_not_of(kBase64) == std::string_view::npos;
}

}  // namespace railbed
