#include "os/door.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <vector>

#include "os/socket.h"

namespace railbed {
namespace {

const IpAddress kLoopback = *IpAddress::parse("127.0.0.1");

TEST(Door, LetsTheNextOneInWhereNoFileIsLeftToOpen) {
  const Fd listener = listening_socket(socket_address(kLoopback, 0), kBacklog);
  int greeted = 0;
  Door door(listener.get(), {100,
                             [&](Guest&) {
                               ++greeted;
                               return true;
                             },
                             [](Guest&) { return true; }});
  std::vector<Fd> guests;
  for (int i = 0; i < 4; ++i) {
    guests.push_back(stream_socket(AF_INET));
    ASSERT_TRUE(begin_connecting(guests.back().get(), socket_address(kLoopback, port_of(listener.get()))));
  }
  for (int i = 0; i < 3; ++i) door.serve_slice();
  EXPECT_EQ(greeted, 3);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit tight = before;
  tight.rlim_cur = 0;
  while (fcntl(static_cast<int>(tight.rlim_cur), F_GETFD) >= 0) ++tight.rlim_cur;  // the first free one
  setrlimit(RLIMIT_NOFILE, &tight);
  for (int i = 0; i < 2; ++i) door.serve_slice();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(greeted, 4);
}

}  // namespace
}  // namespace railbed
