#include "os/door.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>

namespace railbed {
namespace {

constexpr auto kGuestPatience = std::chrono::seconds(2);
constexpr std::size_t kMostGuests = 256;
constexpr auto kNoFilePause = std::chrono::milliseconds(100);

}  // namespace

void Door::serve_slice(std::chrono::milliseconds slice) {
  std::vector<pollfd> waiting{{listener_, POLLIN, 0}};
  for (const Guest& guest : guests_) waiting.push_back({guest.socket.get(), POLLIN, 0});
  if (poll(waiting.data(), waiting.size(), static_cast<int>(slice.count())) < 0) return;
  for (std::size_t i = guests_.size(); i-- > 0;)
    if (!still_welcome(guests_[i], waiting[i + 1].revents != 0))
      guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
  if (waiting[0].revents != 0) open();
}

void Door::open() {
  Guest guest{Fd(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)), "", "",
              std::chrono::steady_clock::now()};
  if (!guest.socket && (errno == EMFILE || errno == ENFILE)) return give_up_a_file();
  if (!guest.socket || !keeper_.greet(guest)) return;
  if (guests_.size() >= kMostGuests) guests_.erase(guests_.begin());
  guests_.push_back(std::move(guest));
}

// Makes a descriptor free. The new connection stays in the queue. If there is nothing to close, pauses,
// because the listener would be readable again at once.
void Door::give_up_a_file() {
  if (guests_.empty())
    std::this_thread::sleep_for(kNoFilePause);
  else
    guests_.erase(guests_.begin());
}

bool Door::still_welcome(Guest& guest, bool readable) {
  if (!readable) return std::chrono::steady_clock::now() - guest.since < kGuestPatience;
  std::string text(keeper_.longest - guest.said.size(), '\0');
  const ssize_t got = recv(guest.socket.get(), text.data(), text.size(), 0);
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
  guest.said.append(text, 0, static_cast<std::size_t>(got));
  return keeper_.hear(guest);
}

}  // namespace railbed
