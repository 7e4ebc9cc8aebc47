// Trust in certificates, for BMCs that are reached over HTTPS. A BMC leaves the factory with a self-signed
// one, so the system's authorities know few of them. Instead a file names each BMC's key, which a person
// compared once, or the authority that a site signs its BMCs' certificates with.
#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/reading.h"
#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

// The basis of trust in one BMC. Both empty: the system's authorities, and the certificate must name the
// address.
struct CertificateTrust {
  std::string key = {};        // "sha256//BASE64" of the public key; if set, it alone decides
  std::string authority = {};  // a file of certificates in PEM; replaces the system's authorities
};

// The trusted keys of a fleet's BMCs, or their common authority.
class BmcCertificates {
 public:
  // Parses a file of certificates in PEM, or lines NODE sha256//BASE64. Errors name the line.
  static Result<BmcCertificates> parse(std::string_view text, std::string_view file, const Cluster& cluster);
  // Returns the trust for `node`; the system's if the file has neither a key for it nor an authority.
  CertificateTrust find(std::string_view node) const;

 private:
  std::map<std::string, std::string, std::less<>> keys_;  // by node
  std::string authority_;                                 // the file
};

// The certificate that a BMC presents to every client. It proves nothing until a person compares it.
struct ShownCertificate {
  std::string node = {};
  std::string error = {};    // why there is none; empty if the BMC presented one
  std::string key = {};      // "sha256//BASE64"
  std::string subject = {};  // the name in it
  std::string until = {};    // "Jun  1 12:00:00 2030 GMT"
  bool expected = false;     // its key is the trusted one
  bool changed = false;      // another key is trusted
  FIELDS(ShownCertificate, node, error, key, subject, until, expected, changed);
};
// Fetches the certificate at port 443 with the program openssl. Failures are in `error`. `silence` limits
// each of the two runs of openssl.
ShownCertificate show_certificate(const std::string& node, const std::string& address,
                                  std::chrono::milliseconds silence, std::stop_token stop);
// Parses the output of `openssl x509 -noout -pubkey -subject -enddate`; sets `error` if it has no key.
ShownCertificate parse_certificate(std::string_view text);

// Returns the BMC's address as a URL and openssl need it: an IPv6 address in brackets.
std::string https_host(const std::string& address);

// True for "sha256//" and 32 bytes in base64.
bool is_key_pin(std::string_view text);

}  // namespace railbed
