#include "bmc/certificates.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

constexpr const char* kKey = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

Cluster cluster() {
  Cluster made;
  made.file = "cluster.yaml";
  for (const char* name : {"a", "b"}) made.nodes.emplace_back().name = name;
  return made;
}

TEST(BmcCertificates, KeysByNodeOrAnAuthority) {
  const auto keys = BmcCertificates::parse(std::string("# compared\n\na ") + kKey + "\n", "keys", cluster());
  ASSERT_TRUE(keys) << keys.error().text;
  EXPECT_EQ(keys->find("a").key, kKey);
  EXPECT_EQ(keys->find("b").key, "");
  EXPECT_EQ(keys->find("b").authority, "");
  const auto authority = BmcCertificates::parse("-----BEGIN CERTIFICATE-----\nx\n", "ca.pem", cluster());
  ASSERT_TRUE(authority);
  EXPECT_EQ(authority->find("a").authority, "ca.pem");
}

TEST(BmcCertificates, ComplainsOfLines) {
  for (const std::string& text :
       {std::string("a sha256//short=\n"), std::string("a\n"), std::string("c ") + kKey, std::string()})
    EXPECT_FALSE(BmcCertificates::parse(text, "keys", cluster())) << text;
  EXPECT_FALSE(is_key_pin("sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSu;U="));
}

TEST(BmcCertificates, WhatOpensslPrints) {
  const ShownCertificate shown = parse_certificate(
      "subject=CN = bmc\x1b\n"
      "-----BEGIN PUBLIC KEY-----\n"
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\n"
      "-----END PUBLIC KEY-----\nnotAfter=Jun  1 12:00:00 2030 GMT\n");
  EXPECT_EQ(shown.error, "");
  EXPECT_TRUE(is_key_pin(shown.key));
  EXPECT_EQ(shown.until, "Jun  1 12:00:00 2030 GMT");
  EXPECT_EQ(shown.subject.find('\x1b'), std::string::npos);
  EXPECT_FALSE(parse_certificate("").error.empty());
}

}  // namespace
}  // namespace railbed
