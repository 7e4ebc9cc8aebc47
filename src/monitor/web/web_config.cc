#include "monitor/web/web_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <vector>

#include "base/complaint.h"
#include "base/files.h"
#include "base/text.h"
#include "base/yaml.h"

namespace railbed {
namespace {

using WebWords = std::vector<std::string_view>;

constexpr std::size_t kWebConfigBytes = 1 << 20;
constexpr std::string_view kVerified = "RequireAndVerifyClientCert";
// Limit for bcrypt's cost. A higher one takes seconds of a processor for each password that is tried.
constexpr int kMostBcryptCost = 16;

// Returns the text with everything after the first colon of each line replaced by "*". Lines keep their
// length, so that an error can point at a column.
std::string without_values(std::string_view text) {
  std::string shown(text);
  bool hidden = true;  // a line without a key continues the value before it
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto end = std::min(shown.find('\n', i), shown.size());
    const auto colon = shown.find(':', i);
    for (hidden = colon >= end; i < end; ++i) {
      if (hidden && shown[i] != ' ' && shown[i] != '\r') shown[i] = '*';
      hidden = hidden || i == colon;
    }
  }
  return shown;
}

// Returns whether the text is a bcrypt hash: "$2y$10$" and 53 characters of bcrypt's own base64.
bool is_bcrypt(std::string_view text) {
  constexpr std::string_view kDigits = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  if (text.size() != 60 || text[0] != '$' || text[1] != '2' || text[3] != '$' || text[6] != '$') return false;
  return std::string_view("aby").find(text[2]) != std::string_view::npos && is_digit(text[4]) &&
         is_digit(text[5]) && text.find_first_not_of(kDigits, 7) == std::string_view::npos;
}

// Returns whether the file holds only comments and blank lines, which YAML does not accept as a document.
bool says_nothing(std::string_view text) {
  const auto all = lines(text);
  return std::all_of(all.begin(), all.end(),
                     [](std::string_view line) { return trim(line).empty() || trim(line).starts_with('#'); });
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

class WebConfigReader {
 public:
  WebConfigReader(Complaints& complaints, std::filesystem::path folder)
      : complaints_(complaints), folder_(std::move(folder)) {}

  WebConfig read(const YamlValue& root) {
    if (root.kind == YamlValue::Kind::kNothing) return {};
    const YamlKey file{"the file", root.spot};
    each_key(file, root, {"tls_server_config", "http_server_config", "basic_auth_users"},
             [&](const YamlKey& key, const YamlValue& value) {
               if (key.text == "tls_server_config")
                 read_tls(key, value);
               else if (key.text == "http_server_config")
                 read_http(key, value);
               else
                 read_users(key, value);
             });
    return std::move(config_);
  }

 private:
  using Visit = std::function<void(const YamlKey&, const YamlValue&)>;

  void complain(Spot spot, std::string text) { complaints_.add(spot, std::move(text)); }

  // Visits the keys of a mapping. Reports unknown and repeated keys. An empty `known` permits any key.
  void each_key(const YamlKey& name, const YamlValue& mapping, const WebWords& known, const Visit& visit) {
    if (mapping.kind != YamlValue::Kind::kMapping)
      return complain(name.spot, fmt::format("{} must be a mapping", name.text));
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < mapping.keys.size(); ++i) {
      const YamlKey& key = mapping.keys[i];
      if (!known.empty() && std::find(known.begin(), known.end(), key.text) == known.end())
        complain(key.spot, fmt::format("railbed does not know the key \"{}\"; there are {}",
                                       printable(key.text), fmt::join(known, ", ")));
      else if (!seen.insert(key.text).second)
        complain(key.spot, fmt::format("\"{}\" is said twice", printable(key.text)));
      else
        visit(key, mapping.items[i]);
    }
  }

  std::string text(const YamlKey& key, const YamlValue& value) {
    if (value.kind == YamlValue::Kind::kText && !value.text.empty() && is_one_line(value.text))
      return value.text;
    complain(key.spot, fmt::format("\"{}\" must be one line of text", printable(key.text)));
    return "";
  }

  std::string file(const YamlKey& key, const YamlValue& value) {
    const std::string name = text(key, value);
    return name.empty() ? "" : (folder_ / name).string();
  }

  std::string choice(const YamlKey& key, const YamlValue& value, const WebWords& words,
                     std::string_view why) {
    std::string word = text(key, value);
    if (word.empty() || std::find(words.begin(), words.end(), word) != words.end()) return word;
    complain(value.spot, fmt::format("\"{}\" must be {}{}", key.text, fmt::join(words, " or "), why));
    return "";
  }

  void read_tls(const YamlKey& name, const YamlValue& mapping) {
    bool asks_client = false;
    each_key(
        name, mapping, {"cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version"},
        [&](const YamlKey& key, const YamlValue& value) {
          if (key.text == "cert_file")
            config_.certificate = file(key, value);
          else if (key.text == "key_file")
            config_.key = file(key, value);
          else if (key.text == "client_ca_file")
            config_.client_authority = file(key, value);
          else if (key.text == "client_auth_type")
            asks_client = choice(key, value, {"NoClientCert", kVerified},
                                 ": the others let in whom nobody vouches for") == kVerified;
          else
            config_.only_tls13 = choice(key, value, {"TLS12", "TLS13"}, ": older ones are broken") == "TLS13";
        });
    if (!complaints_.empty()) return;
    if (config_.certificate.empty() || config_.key.empty())
      complain(name.spot, "TLS needs both \"cert_file\" and \"key_file\"");
    if (asks_client != !config_.client_authority.empty())
      complain(name.spot,
               fmt::format("\"client_auth_type: {}\" and \"client_ca_file\" go together", kVerified));
  }

  void read_http(const YamlKey& name, const YamlValue& mapping) {
    each_key(name, mapping, {"http2", "headers"}, [&](const YamlKey& key, const YamlValue& value) {
      if (key.text == "headers")
        read_headers(key, value);
      else  // HTTP/2 clients also support HTTP/1.1
        choice(key, value, {"true", "false"}, "");
    });
  }

  // Accepts the headers and values that the exporter toolkit accepts.
  void read_headers(const YamlKey& name, const YamlValue& mapping) {
    each_key(name, mapping,
             {"Content-Security-Policy", "Strict-Transport-Security", "X-Content-Type-Options",
              "X-Frame-Options", "X-XSS-Protection"},
             [&](const YamlKey& key, const YamlValue& value) {
               if (value.kind == YamlValue::Kind::kText && value.text.empty()) return;  // unset
               std::string said = key.text == "X-Content-Type-Options" ? choice(key, value, {"nosniff"}, "")
                                  : key.text == "X-Frame-Options"
                                      ? choice(key, value, {"deny", "sameorigin"}, "")
                                      : text(key, value);
               config_.headers[key.text] = std::move(said);
             });
  }

  void read_users(const YamlKey& name, const YamlValue& mapping) {
    each_key(name, mapping, {}, [&](const YamlKey& user, const YamlValue& value) {
      if (user.text.empty() || user.text.find(':') != std::string::npos || !is_one_line(user.text))
        return complain(user.spot, "a user's name is one line without \":\"");
      if (value.kind != YamlValue::Kind::kText || !is_bcrypt(value.text))
        return complain(user.spot, fmt::format("the password of \"{}\" must stand here as bcrypt makes it: "
                                               "htpasswd -nBC 10 {}",
                                               printable(user.text), "\"\" | tr -d ':\\n'"));
      const int cost = parse_number<int>(value.text.substr(4, 2)).value_or(0);
      if (cost < 4 || cost > kMostBcryptCost)
        return complain(user.spot, fmt::format("bcrypt's cost must be 4 to {}", kMostBcryptCost));
      config_.users[user.text] = value.text;
    });
    if (mapping.kind == YamlValue::Kind::kMapping && mapping.keys.empty())
      complain(name.spot, "\"basic_auth_users\" names nobody: leave it out where everyone may read");
  }

  Complaints& complaints_;
  std::filesystem::path folder_;
  WebConfig config_;
};

}  // namespace

Result<WebConfig> read_web_config(const std::string& path) {
  ASSIGN_OR_RETURN(auto text, read_file(path, kWebConfigBytes));
  return parse_web_config(text, path);
}

Result<WebConfig> parse_web_config(std::string_view text, const std::string& path) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::string shown = without_values(text);
  Complaints complaints(shown, path);
  if (says_nothing(text)) return WebConfig{};
  const auto document = parse_yaml(text, complaints);
  if (!document) return tl::unexpected(complaints.to_error());
  WebConfig config = WebConfigReader(complaints, std::filesystem::path(path).parent_path()).read(*document);
  if (!complaints.empty()) return tl::unexpected(complaints.to_error());
  return config;
}

}  // namespace railbed
