#include "base/public_key.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

// Made by ssh-keygen, with the fingerprints that `ssh-keygen -l` prints of them.
constexpr std::string_view kEd25519Key =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGISr1lYjKwKPdG7ZFYCmhP2VezYkcSrC+s1IBJTHmK";
constexpr std::string_view kEcdsaKey =
    "ecdsa-sha2-nistp256 "
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBNNdeftD63UYq+oYVkKI/TGPMCME5oh/"
    "ci7fwUEydwjUIZ+qgwvrnCKjfVLajSz/fLb4uWFphZ9OUFyYa96puYI=";

TEST(PublicKey, HasTheFingerprintThatSshShows) {
  const auto ed25519 = PublicKey::parse(kEd25519Key);
  ASSERT_TRUE(ed25519);
  EXPECT_EQ(ed25519->to_text(), kEd25519Key);
  EXPECT_EQ(fingerprint_of(*ed25519), "SHA256:nXpINRNvn/vc6CtAc4XmEvrz9h0e0UlUa+0nX4I9y7s");
  const auto ecdsa = PublicKey::parse(kEcdsaKey);
  ASSERT_TRUE(ecdsa);
  EXPECT_EQ(fingerprint_of(*ecdsa), "SHA256:Pbwd5pOo34B8N+3rX8bcRVvsvCs41/vTrw3vMvnLlQY");
  EXPECT_TRUE(is_fingerprint(fingerprint_of(*ecdsa)));
}

TEST(PublicKey, OfAnythingElseIsNone) {
  const std::string good(kEd25519Key);
  for (const std::string& text : {
           std::string(),
           std::string("ssh-ed25519"),
           good + " comment",
           good + "=",
           good.substr(0, good.size() - 1),
           good.substr(0, good.size() - 4),                                // cut off
           good + "AAAA",                                                  // trailing bytes
           good.substr(0, good.size() - 1) + "\n",                         //
           "ssh-rsa" + good.substr(good.find(' ')),                        // type differs from the bytes
           "ssh-dss" + good.substr(good.find(' ')),                        // unsupported type
           std::string(kEcdsaKey.substr(0, kEcdsaKey.size() - 2)) + "J=",  // bits beyond the last byte
           "ssh-ed25519 " + std::string(9000, 'A'),
       })
    EXPECT_FALSE(PublicKey::parse(text)) << text;
}

TEST(PublicKey, AFingerprintIsItsMarkAndDigits) {
  EXPECT_FALSE(is_fingerprint("MD5:nXpINRNvn/vc6CtAc4XmEvrz9h0e0UlUa+0nX4I9y7s"));
  EXPECT_FALSE(is_fingerprint("SHA256:nXpI"));
  EXPECT_FALSE(is_fingerprint("SHA256:nXpINRNvn/vc6CtAc4XmEvrz9h0e0UlUa+0nX4I9y7="));
}

}  // namespace
}  // namespace railbed
