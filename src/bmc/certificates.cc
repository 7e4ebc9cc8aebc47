#include "bmc/certificates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/public_key.h"
#include "base/text.h"
#include "bmc/freeipmi_text.h"
#include "os/process.h"

namespace railbed {

std::string https_host(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

bool is_key_pin(std::string_view text) {
  constexpr std::string_view kBefore = "sha256//";
  constexpr std::size_t kBase64 = 44;  // of 32 bytes; the last character is "="
  if (!text.starts_with(kBefore) || text.size() != kBefore.size() + kBase64 || !text.ends_with('='))
    return false;
  return std::ranges::all_of(text.substr(kBefore.size(), kBase64 - 1), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  });
}

ShownCertificate parse_certificate(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN PUBLIC KEY-----";
  constexpr std::string_view kEnd = "-----END PUBLIC KEY-----";
  ShownCertificate shown;
  const auto value = [](std::string_view line, std::string_view key) {
    return printable(trim(line.substr(key.size())).substr(0, kMaxBmcText));
  };
  std::string base64;
  bool inside = false;
  for (const auto line : lines(text)) {
    if (line == kEnd) inside = false;
    if (inside) base64 += line;
    if (line == kBegin) inside = true;
    if (line.starts_with("subject=")) shown.subject = value(line, "subject=");
    if (line.starts_with("notAfter=")) shown.until = value(line, "notAfter=");
  }
  // The lines between these two hold the key as the certificate encodes it (RFC 7468, 13), so its hash is the
  // one that libcurl compares. An ssh fingerprint is the same hash without the padding.
  constexpr std::string_view kSsh = "SHA256:";
  if (!base64.empty())
    shown.key = "sha256//" + fingerprint_of({.type = {}, .base64 = base64}).substr(kSsh.size()) + "=";
  if (!is_key_pin(shown.key)) shown.error = "its certificate is not understood";
  return shown;
}

ShownCertificate show_certificate(const std::string& node, const std::string& address,
                                  std::chrono::milliseconds silence, std::stop_token stop) {
  const auto ask = [&]() -> ShownCertificate {
    const auto greeting =
        run_program({"openssl", "s_client", "-connect", https_host(address) + ":443"}, silence, stop);
    if (!greeting.ok())
      return {.error = greeting.absent() ? "openssl is not installed on this machine"
                                         : "its BMC does not answer on port 443"};
    constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
    const std::size_t begin = greeting->output.find(kBegin);
    if (begin == std::string::npos) return {.error = "its BMC shows no certificate on port 443"};
    const auto told = run_program(
        {"openssl", "x509", "-noout", "-pubkey", "-subject", "-enddate", "-in", SecretFiles::path(0)},
        silence, stop, SecretFiles({greeting->output.substr(begin)}));
    return parse_certificate(told.ok() ? told->output : "");
  };
  ShownCertificate shown = ask();
  shown.node = node;
  return shown;
}

Result<BmcCertificates> BmcCertificates::parse(std::string_view text, std::string_view file,
                                               const Cluster& cluster) {
  BmcCertificates certificates;
  if (text.find("-----BEGIN CERTIFICATE-----") != std::string_view::npos) {
    certificates.authority_ = file;
    return certificates;
  }
  int number = 0;
  for (const auto line : lines(text)) {
    ++number;
    const auto columns = words(line);
    if (columns.empty() || columns[0].starts_with('#')) continue;
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorKind::kBadInput, fmt::format("{}:{}: {}", file, number, why));
    };
    if (columns.size() != 2 || !is_key_pin(columns[1]))
      return refuse("expected NODE sha256//KEY, as `railbed bmc certificates` prints it");
    if (find_node(cluster, columns[0]) == nullptr)
      return refuse(fmt::format("{} knows no node of that name", cluster.file));
    if (!certificates.keys_.emplace(columns[0], columns[1]).second)
      return refuse("a second key of this node");
  }
  if (certificates.keys_.empty())
    return fail(ErrorKind::kBadInput, fmt::format("{} holds no certificate and no key", file));
  return certificates;
}

CertificateTrust BmcCertificates::find(std::string_view node) const {
  const auto key = keys_.find(node);
  return {key == keys_.end() ? "" : key->second, authority_};
}

}  // namespace railbed
