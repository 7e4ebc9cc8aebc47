// Logins for BMCs. Passwords come from a file that only its owner can read, from the environment or from a
// person. They stay in memory, and programs get them through SecretFiles (os/child.h).
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

// The limits of IPMI 2.0 (22.27, 22.30).
inline constexpr std::size_t kMaxBmcUser = 16;
inline constexpr std::size_t kMaxBmcPassword = 20;

// The login for each node. The destructor overwrites the passwords.
class BmcLogins {
 public:
  BmcLogins() = default;
  BmcLogins(BmcLogins&&) = default;
  BmcLogins& operator=(BmcLogins&&) = default;
  ~BmcLogins();

  // Uses one login for all nodes. Fails if the user is empty or a value exceeds IPMI's limits.
  static Result<BmcLogins> of_all(const Cluster& cluster, const std::string& user,
                                  const std::string& password);
  // Parses a file of logins: one password for all nodes, or lines NODES USER PASSWORD. An error names file
  // and line but never quotes a login.
  static Result<BmcLogins> parse(std::string_view text, std::string_view file, const Cluster& cluster);
  // Returns the login for a node; null if there is none. The pointer is valid as long as this object.
  const BmcLogin* find(std::string_view node) const;

 private:
  std::map<std::string, BmcLogin, std::less<>> logins_;  // by node
};

// Returns the text of a file of secrets. Fails if other users can access the file, or if its owner is neither
// this user nor root.
Result<std::string> read_secret_file(const std::string& path);

}  // namespace railbed
