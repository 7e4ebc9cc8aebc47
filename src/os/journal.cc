#include "os/journal.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace railbed {
namespace {

// Fields of railbed have one or a few lines; a longer one is an attempt to fill the journal.
constexpr std::size_t kLongestField = 8 << 10;
constexpr std::size_t kShortestCut = 64;

// Cuts a value to at most `most` bytes at the beginning of a UTF-8 character.
void cut(std::string& value, std::size_t most) {
  if (value.size() <= most) return;
  while (most > 0 && (static_cast<unsigned char>(value[most]) & 0xc0) == 0x80) --most;
  value.resize(most);
}

}  // namespace

std::string journal_entry(const std::vector<JournalField>& fields) {
  std::string entry;
  for (const JournalField& field : fields) {
    if (field.value.find('\n') == std::string::npos) {
      entry += field.name + '=' + field.value + '\n';
      continue;
    }
    entry += field.name + '\n';
    const std::uint64_t size = field.value.size();
    for (int i = 0; i < 8; ++i) entry += static_cast<char>(size >> (8 * i) & 0xff);  // little endian
    entry += field.value + '\n';
  }
  return entry;
}

Result<void> SystemJournal::send(std::vector<JournalField> fields) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path_.size() >= sizeof name.sun_path)
    return fail(ErrorKind::kBadInput, fmt::format("{}: too long for a socket's name", path_));
  path_.copy(name.sun_path, sizeof name.sun_path - 1);
  if (!socket_) socket_ = Fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (std::size_t most = kLongestField; most >= kShortestCut; most /= 2) {
    for (JournalField& field : fields) cut(field.value, most);
    const std::string entry = journal_entry(fields);
    // The address is given each time: journald may have been restarted since.
    const ssize_t sent = sendto(socket_.get(), entry.data(), entry.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&name), sizeof name);
    if (sent >= 0) return {};
    if (errno != EMSGSIZE && errno != ENOBUFS) break;
  }
  return fail(ErrorKind::kUnavailable, fmt::format("journald at {}: {}", path_, std::strerror(errno)));
}

}  // namespace railbed
