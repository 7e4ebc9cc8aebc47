#include "bmc/certificates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {

bool is_key_pin(std::string_view text) {
  constexpr std::string_view kBefore = "sha256//";
  constexpr std::size_t kBase64 = 44;  // of 32 bytes, the last sign is "="
  if (!text.starts_with(kBefore) || text.size() != kBefore.size() + kBase64 || !text.ends_with('='))
    return false;
  return std::ranges::all_of(text.substr(kBefore.size(), kBase64 - 1), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  });
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
