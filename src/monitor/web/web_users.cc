#include "monitor/web/web_users.h"

#include <crypt.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"

// libcrypt's salt generators are unused here, but the linker cannot leave them out. They need this function
// of glibc 2.36. With a definition of our own, the program also runs with an older glibc
// (docs/decisions/0002).
extern "C" __attribute__((visibility("hidden"))) void arc4random_buf(void* into, std::size_t bytes) noexcept {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t got = getrandom(at, bytes, 0);
    if (got <= 0) std::abort();
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

namespace railbed {
namespace {

constexpr std::size_t kMostRemembered = 16;

bool is_password(const std::string& password, const std::string& hash) {
  const auto room = std::make_unique<crypt_data>();
  const char* made = crypt_rn(password.c_str(), hash.c_str(), room.get(), sizeof *room);
  return made != nullptr && same_secret(made, hash);
}

}  // namespace

WebUsers::WebUsers(std::map<std::string, std::string> users)
    : users_(std::move(users)), salt_(random_hex(32)) {}

// Returns the keyed hash of a pair. The length of the name makes the text unique.
std::string WebUsers::digest(const WebCredentials& given) const {
  return hmac_sha256_hex(salt_, std::to_string(given.user.size()) + ":" + given.user + given.password);
}

bool WebUsers::remembers(const WebCredentials& given) const {
  const std::string own = digest(given);
  bool found = false;
  for (const std::string& good : good_) found |= same_secret(own, good);
  return found;
}

void WebUsers::remember(const WebCredentials& given) {
  if (remembers(given)) return;
  good_.push_front(digest(given));
  if (good_.size() > kMostRemembered) good_.pop_back();
}

bool WebUsers::verify(const WebCredentials& given) const {
  // crypt(3) stops reading at a zero byte, so it would accept any password that only begins with the right
  // one.
  if (users_.empty() || given.password.find('\0') != std::string::npos) return false;
  const auto known = users_.find(given.user);
  if (known != users_.end()) return is_password(given.password, known->second);
  // An unknown name costs the same time as a user. It is always the same user for the same name, so that the
  // time does not reveal which names exist.
  const std::string pick = hmac_sha256_hex(salt_, given.user).substr(0, 8);
  const auto one = std::next(
      users_.begin(), static_cast<long>(parse_number<std::uint32_t>(pick, 16).value_or(0) % users_.size()));
  static_cast<void>(is_password(given.password, one->second));
  return false;
}

}  // namespace railbed
