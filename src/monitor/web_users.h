// Who may read, by name and password (HTTP's basic authentication).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "monitor/web_request.h"

namespace railbed {

// bcrypt is meant to be slow: 50 to 300 ms of a processor. So a pair that was right is remembered, as a
// keyed hash, and a scrape pays for it once.
class WebUsers {
 public:
  explicit WebUsers(std::map<std::string, std::string> users);

  bool everyone() const { return users_.empty(); }
  bool remembers(const WebCredentials& given) const;
  void remember(const WebCredentials& given);
  // Slow, and as slow for a name that nobody has. From any thread.
  bool verify(const WebCredentials& given) const;

 private:
  std::string digest(const WebCredentials& given) const;

  std::map<std::string, std::string> users_;
  std::string salt_;
  std::deque<std::string> good_;  // digests, the newest first
};

}  // namespace railbed
