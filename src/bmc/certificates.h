// Which certificates are trusted when a BMC is spoken with over HTTPS. A BMC leaves the factory with one that
// nobody signed, so the system's authorities know few of them: a file names each BMC's key, which a person
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

// Both empty: the system's authorities, and the address has to stand in the certificate.
struct CertificateTrust {
  std::string key = {};        // "sha256//BASE64" of the public key; it alone counts
  std::string authority = {};  // a file of certificates in PEM, instead of the system's
};

class BmcCertificates {
 public:
  // A file of certificates in PEM, or lines NODE sha256//BASE64. Complaints name the line.
  static Result<BmcCertificates> parse(std::string_view text, std::string_view file, const Cluster& cluster);
  CertificateTrust find(std::string_view node) const;

 private:
  std::map<std::string, std::string, std::less<>> keys_;  // by node
  std::string authority_;                                 // the file
};

// What a BMC shows to whoever asks, which proves nothing: a person compares it.
struct ShownCertificate {
  std::string node = {};
  std::string error = {};    // why there is none; empty: it showed one
  std::string key = {};      // "sha256//BASE64"
  std::string subject = {};  // whom it names
  std::string until = {};    // "Jun  1 12:00:00 2030 GMT"
  bool expected = false;     // the key is the one that is trusted already
  bool changed = false;      // another one is
  FIELDS(ShownCertificate, node, error, key, subject, until, expected, changed);
};
// By the program openssl, on port 443.
ShownCertificate show_certificate(const std::string& node, const std::string& address,
                                  std::chrono::milliseconds silence, std::stop_token stop);
// What `openssl x509 -noout -pubkey -subject -enddate` prints.
ShownCertificate parse_certificate(std::string_view text);

// The BMC's address as a URL and openssl write it: one of IPv6 stands in brackets.
std::string https_host(const std::string& address);

// "sha256//" and 32 bytes in base64.
bool is_key_pin(std::string_view text);

}  // namespace railbed
