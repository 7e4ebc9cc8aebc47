// Authenticates clients by name and password (HTTP basic authentication).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "monitor/web/web_request.h"

namespace railbed {

// bcrypt is slow by design: 50 to 300 ms of a processor. Therefore the last pairs that were correct are
// remembered as keyed hashes, and a client that scrapes pays only once. Only verify() is thread-safe.
class WebUsers {
 public:
  explicit WebUsers(std::map<std::string, std::string> users);

  // Returns whether no password is needed.
  bool everyone() const { return users_.empty(); }
  // Returns whether this pair was correct recently.
  bool remembers(const WebCredentials& given) const;
  void remember(const WebCredentials& given);
  // Returns whether the pair is correct. Slow, and equally slow for an unknown name. Thread-safe.
  bool verify(const WebCredentials& given) const;

 private:
  std::string digest(const WebCredentials& given) const;

  std::map<std::string, std::string> users_;
  std::string salt_;
  std::deque<std::string> good_;  // digests, the newest first
};

}  // namespace railbed
