// Who logs in at which BMC. Passwords come from a file that only its owner can read, from the environment or
// from a person; they stay in memory, and programs get them through SecretFiles (host/child.h).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

struct BmcLogin {
  std::string user;
  std::string password;
};

// What IPMI 2.0 can hold (22.27, 22.30).
inline constexpr std::size_t kMaxBmcUser = 16;
inline constexpr std::size_t kMaxBmcPassword = 20;

class BmcLogins {
 public:
  BmcLogins() = default;
  BmcLogins(BmcLogins&&) = default;
  BmcLogins& operator=(BmcLogins&&) = default;
  ~BmcLogins();

  // One login for all nodes.
  static Result<BmcLogins> of_all(const Cluster& cluster, const std::string& user,
                                  const std::string& password);
  // A file of logins: one password for all, or lines NODES USER PASSWORD. A complaint names file and line,
  // and never says what stands there.
  static Result<BmcLogins> parse(std::string_view text, std::string_view file, const Cluster& cluster);
  // Null: nobody said how to log in there.
  const BmcLogin* find(std::string_view node) const;

 private:
  std::map<std::string, BmcLogin, std::less<>> logins_;  // by node
};

// The text of a file of secrets. An error where anybody but its owner, who is this user or root, can read it.
Result<std::string> read_secret_file(const std::string& path);

}  // namespace railbed
