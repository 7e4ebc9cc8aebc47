#include "monitor/web/web_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kBcrypt = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";

std::string complaint_of(std::string_view text) {
  const auto config = parse_web_config(text, "/etc/railbed/web.yml");
  return config ? "" : config.error().text;
}

TEST(WebConfig, IsReadWithFilesBesideIt) {
  const auto config = parse_web_config(R"(tls_server_config:
  cert_file: node.crt
  key_file: /secret/node.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  min_version: TLS13
http_server_config:
  http2: true
  headers:
    Strict-Transport-Security: max-age=31536000
    X-Frame-Options: deny
    X-XSS-Protection: ""
basic_auth_users:
  prometheus: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG
  "2": "$2b$04$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"
)",
                                       "/etc/railbed/web.yml");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->certificate, "/etc/railbed/node.crt");
  EXPECT_EQ(config->key, "/secret/node.key");
  EXPECT_EQ(config->client_authority, "/etc/railbed/ca.crt");
  EXPECT_TRUE(config->only_tls13);
  EXPECT_EQ(config->users.size(), 2U);
  EXPECT_EQ(config->users.at("prometheus"), kBcrypt);
  EXPECT_EQ(config->headers.size(), 2U);
  EXPECT_EQ(config->headers.at("X-Frame-Options"), "deny");
}

TEST(WebConfig, OfAnEmptyFileProtectsNothing) {
  for (const char* text : {"", "\n", "# nothing yet\n", "{}\n"}) {
    const auto config = parse_web_config(text, "web.yml");
    ASSERT_TRUE(config) << text << config.error().text;
    EXPECT_TRUE(config->certificate.empty() && config->users.empty()) << text;
  }
}

TEST(WebConfig, NamesTheLineOfAKeyThatItDoesNotKnow) {
  EXPECT_THAT(
      complaint_of("tls_server_config:\n  cert_file: a\n  key_file: b\n  cipher_suites: [x]\n"),
      AllOf(HasSubstr("/etc/railbed/web.yml:4:3: "), HasSubstr("\"cipher_suites\"; there are cert_file")));
  EXPECT_THAT(complaint_of("rate_limit:\n  burst: 1\n"), HasSubstr("web.yml:1:1: "));
  EXPECT_THAT(complaint_of("http_server_config:\n  headers:\n    Server: me\n"), HasSubstr("web.yml:3:5: "));
}

TEST(WebConfig, RefusesWhatWouldProtectLessThanItSays) {
  for (
      const char* text :
      {"- 1\n", "text\n", "tls_server_config:\n", "tls_server_config: {}\n",
       "tls_server_config:\n  cert_file: a\n", "tls_server_config: {cert_file: a, key_file: ''}\n",
       "tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequestClientCert, client_ca_file: c}\n",
       "tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAndVerifyClientCert}\n",
       "tls_server_config: {cert_file: a, key_file: b, client_ca_file: c}\n",
       "tls_server_config: {cert_file: a, key_file: b, min_version: TLS11}\n",
       "tls_server_config: {cert_file: a, key_file: b, key_file: c}\n", "basic_auth_users:\n",
       "basic_auth_users: {}\n", "basic_auth_users: {a: [b]}\n", "basic_auth_users: {'a:b': c}\n",
       "http_server_config: {http2: perhaps}\n", "http_server_config: {headers: {X-Frame-Options: allow}}\n",
       "basic_auth_users:\n  a: $2y$31$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG\n",
       "basic_auth_users:\n  a: $1$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG\n"})
    EXPECT_THAT(complaint_of(text), HasSubstr("web.yml:")) << text;
}

TEST(WebConfig, ShowsNoPasswordThatSomebodyWroteInPlace) {
  EXPECT_THAT(complaint_of("basic_auth_users:\n  alice: hunter2\n"),
              AllOf(HasSubstr("web.yml:2:3: the password of \"alice\""), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(complaint_of("basic_auth_users:\n  alice: >\n    hunter2\n"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(complaint_of("basic_auth_users:\n  alice: \"hunter2\n"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(complaint_of("basic_auth_users: {alice: hunter2[12]}\n"),
              AllOf(HasSubstr("a range needs quotes"), Not(HasSubstr("hunter2"))));
}

TEST(WebConfig, ThatIsNotThereIsAnError) { EXPECT_FALSE(read_web_config("/nonexistent/web.yml")); }

}  // namespace
}  // namespace railbed
