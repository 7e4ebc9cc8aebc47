#include "bench/tcp/tcp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "base/random.h"
#include "bench/tcp/block.h"
#include "os/socket.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const IpAddress kTcpLoopback = *IpAddress::parse("127.0.0.1");

TcpDoor open_door() {
  auto listener = listen_on(kTcpLoopback, kBacklog);
  EXPECT_TRUE(listener);
  return {std::move(*listener), random_hex(kTokenHex / 2)};
}

TcpTarget target_of(const TcpDoor& door) {
  return {kTcpLoopback, kTcpLoopback, door.listener.port, door.token, "vm2"};
}

TcpPlan tcp_plan(int streams = 2) { return {streams, 64 << 10, 0.05, 0.4, 42}; }

// Runs the listening engine in a thread while the test's body runs.
template <class Engine>
auto beside(Engine engine, const TcpDoor& door, const TcpPlan& plan, std::stop_token stop, auto body) {
  decltype(engine(door, plan, "vm1", stop)) result;
  std::jthread other([&] { result = engine(door, plan, "vm1", stop); });
  body();
  other.join();
  return result;
}

TEST(TcpThroughput, DeliversCheckedDataOverEveryStream) {
  const TcpDoor door = open_door();
  TcpSent sent;
  const TcpReceived received =
      beside(tcp_receive, door, tcp_plan(), {}, [&] { sent = tcp_send(target_of(door), tcp_plan(), {}); });
  EXPECT_FALSE(sent.failure);
  EXPECT_FALSE(received.failure);
  EXPECT_FALSE(received.intervals.empty());
  EXPECT_GT(received.bytes, 1u << 20);
  EXPECT_GT(received.checked_bytes, 0u);
  EXPECT_LT(received.checked_bytes, received.bytes);  // a sampled fraction, and said so
  EXPECT_EQ(received.wrong_bytes, 0u);
  EXPECT_GT(sent.packets, 0u);
  EXPECT_GT(sent.mtu, 1000);
  EXPECT_GT(sent.cpu_seconds, 0);
  EXPECT_GT(received.cpu_seconds, 0);
}

TEST(TcpThroughput, NobodyListeningIsAConnectFailure) {
  TcpTarget target;
  {
    const TcpDoor door = open_door();
    target = target_of(door);
  }
  const TcpSent sent = tcp_send(target, tcp_plan(), {});
  ASSERT_TRUE(sent.failure);
  EXPECT_EQ(sent.failure->stage, "connect");
  EXPECT_THAT(sent.failure->cause, HasSubstr("vm2"));
  EXPECT_THAT(sent.failure->cause, HasSubstr("refused"));
}

TEST(TcpThroughput, ForeignSourceAddressIsNamed) {
  const TcpDoor door = open_door();
  TcpTarget target = target_of(door);
  target.from = *IpAddress::parse("192.0.2.1");
  const TcpSent sent = tcp_send(target, tcp_plan(), {});
  ASSERT_TRUE(sent.failure);
  EXPECT_THAT(sent.failure->cause, HasSubstr("192.0.2.1"));
}

TEST(TcpThroughput, WrongTokenIsClosedAndTheRightOneStillServed) {
  const TcpDoor door = open_door();
  TcpSent sent;
  bool closed = false;
  const TcpReceived received = beside(tcp_receive, door, tcp_plan(1), {}, [&] {
    const auto intruder = connect_stream(kTcpLoopback, kTcpLoopback, door.listener.port,
                                         std::string(kTokenHex, '0'), 0, milliseconds(1000), {});
    ASSERT_TRUE(intruder);
    std::byte byte{};
    closed = receive_all(intruder->get(), {&byte, 1}, milliseconds(3000), {}) == Break::kClosed;
    sent = tcp_send(target_of(door), tcp_plan(1), {});
  });
  EXPECT_TRUE(closed);
  EXPECT_FALSE(sent.failure);
  EXPECT_FALSE(received.failure);
}

TEST(TcpThroughput, SilentAndChattyStrangersHoldNobodyUp) {
  const TcpDoor door = open_door();
  TcpSent sent;
  const TcpReceived received = beside(tcp_receive, door, tcp_plan(1), {}, [&] {
    std::vector<Socket> strangers;
    for (int i = 0; i < 8; ++i) {
      auto stranger = connect_stream(kTcpLoopback, kTcpLoopback, door.listener.port,
                                     i % 2 == 0 ? "" : "GET / HTTP/1.1", 0, milliseconds(1000), {});
      if (stranger) strangers.push_back(std::move(*stranger));
    }
    sent = tcp_send(target_of(door), tcp_plan(1), {});
  });
  EXPECT_FALSE(sent.failure);
  EXPECT_FALSE(received.failure);
}

TEST(TcpThroughput, ACrowdOfSilentStrangersKeepsNobodyOut) {
  const TcpDoor door = open_door();
  std::vector<Socket> strangers;
  TcpSent sent;
  const TcpReceived received = beside(tcp_receive, door, tcp_plan(1), {}, [&] {
    for (int i = 0; i < 400; ++i) {
      auto stranger =
          connect_stream(kTcpLoopback, kTcpLoopback, door.listener.port, "", 0, milliseconds(1000), {});
      if (stranger) strangers.push_back(std::move(*stranger));
    }
    sent = tcp_send(target_of(door), tcp_plan(1), {});
  });
  EXPECT_FALSE(sent.failure);
  EXPECT_FALSE(received.failure);
}

TEST(TcpThroughput, NumberOutsideTheStreamsIsNotAdmitted) {
  const TcpDoor door = open_door();
  const auto stray =
      connect_stream(kTcpLoopback, kTcpLoopback, door.listener.port, door.token, 7, milliseconds(1000), {});
  ASSERT_TRUE(stray);
  const auto streams = accept_streams(door.listener, door.token, 1, milliseconds(300), {});
  ASSERT_FALSE(streams);
  EXPECT_THAT(streams.error().text, HasSubstr("0 of 1"));
}

TEST(TcpThroughput, SenderThatDiesInMidRunIsNamed) {
  const TcpDoor door = open_door();
  const TcpReceived received = beside(tcp_receive, door, {1, 4096, 0, 30, 42}, {}, [&] {
    const auto socket =
        connect_stream(kTcpLoopback, kTcpLoopback, door.listener.port, door.token, 0, milliseconds(1000), {});
    ASSERT_TRUE(socket);
    Blocks blocks(4096, 42, 0);
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(send_all(socket->get(), blocks.next(false), milliseconds(1000), {}), Break::kNone);
  });
  ASSERT_TRUE(received.failure);
  EXPECT_EQ(received.failure->stage, "run");
  EXPECT_THAT(received.failure->cause, HasSubstr("vm1 closed the connection before the end"));
  EXPECT_EQ(received.wrong_bytes, 0u);
}

TEST(TcpThroughput, ReceiverThatDiesInMidRunIsNamed) {
  const TcpDoor door = open_door();
  TcpSent sent;
  std::jthread sender([&] { sent = tcp_send(target_of(door), {2, 4096, 0, 30, 42}, {}); });
  {
    auto streams = accept_streams(door.listener, door.token, 2, milliseconds(2000), {});
    EXPECT_TRUE(streams);
  }
  sender.join();
  ASSERT_TRUE(sent.failure);
  EXPECT_THAT(sent.failure->cause, HasSubstr("vm2 closed the connection before the end"));
}

TEST(TcpThroughput, ReceiverThatStopsReadingIsNamed) {
  const TcpDoor door = open_door();
  TcpSent sent;
  std::jthread sender([&] { sent = tcp_send(target_of(door), {1, 4096, 0, 60, 42}, {}); });
  const auto streams = accept_streams(door.listener, door.token, 1, milliseconds(2000), {});
  ASSERT_TRUE(streams);
  sender.join();
  ASSERT_TRUE(sent.failure);
  EXPECT_THAT(sent.failure->cause, HasSubstr("vm2 stopped reading"));
}

// The receiver acts like a path of 1 Mb/s: bytes are acknowledged all the time, but the sender's buffer does
// not empty.
TEST(TcpThroughput, ReceiverThatReadsSlowlyIsNotCalledStopped) {
  const TcpDoor door = open_door();
  TcpSent sent;
  std::jthread sender([&] { sent = tcp_send(target_of(door), {1, 1 << 20, 0, 0.2, 42}, {}); });
  const auto streams = accept_streams(door.listener, door.token, 1, milliseconds(2000), {});
  ASSERT_TRUE(streams);
  // A full window opens again once half of the buffer was read. With this buffer that takes a second; with
  // the kernel's largest it would take longer.
  const int buffer = 64 << 10;
  ASSERT_EQ(setsockopt(streams->front().get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer), 0);
  std::jthread reader([&](const std::stop_token& stop) {
    std::vector<char> some(32 << 10);
    while (!stop.stop_requested() && recv(streams->front().get(), some.data(), some.size(), 0) != 0)
      std::this_thread::sleep_for(milliseconds(250));
  });
  sender.join();
  ASSERT_TRUE(sent.failure);
  EXPECT_THAT(sent.failure->cause, HasSubstr("the path to vm2 is too slow for this measurement"));
}

TEST(TcpThroughput, StopEndsBothSides) {
  const TcpDoor door = open_door();
  std::stop_source stop;
  TcpSent sent;
  const TcpPlan plan{2, 4096, 0, 600, 42};
  const TcpReceived received = beside(tcp_receive, door, plan, stop.get_token(), [&] {
    std::jthread later([&] {
      std::this_thread::sleep_for(milliseconds(300));
      stop.request_stop();
    });
    sent = tcp_send(target_of(door), plan, stop.get_token());
  });
  ASSERT_TRUE(sent.failure);
  ASSERT_TRUE(received.failure);
  EXPECT_THAT(received.failure->cause, testing::AnyOf(HasSubstr("stopped on request"), HasSubstr("closed")));
}

// A proxy between the engines that damages the data: byte number `first`, then every `every`th byte.
class Damager {
 public:
  Damager(int to_port, std::uint64_t first, std::uint64_t every) : first_(first), every_(every) {
    auto listener = listen_on(kTcpLoopback, 1);
    EXPECT_TRUE(listener);
    listener_ = std::move(*listener);
    thread_ = std::jthread([this, to_port](const std::stop_token& stop) { relay(to_port, stop); });
  }
  int port() const { return listener_.port; }

 private:
  void relay(int to_port, const std::stop_token& stop) {
    pollfd waiting{listener_.socket.get(), POLLIN, 0};
    while (poll(&waiting, 1, 50) == 0)
      if (stop.stop_requested()) return;
    const Socket in(accept(listener_.socket.get(), nullptr, nullptr));
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    getsockname(in.get(), reinterpret_cast<sockaddr*>(&address), &size);
    const Socket out(socket(AF_INET, SOCK_STREAM, 0));
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    v4->sin_port = htons(static_cast<std::uint16_t>(to_port));
    if (connect(out.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return;
    const std::jthread back([&] { copy_back(out.get(), in.get()); });
    std::vector<char> buffer(32 << 10);
    std::uint64_t passed = 0;
    while (true) {
      const ssize_t got = recv(in.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(got); ++i, ++passed)
        if (passed >= first_ && (passed - first_) % every_ == 0)
          buffer[i] = static_cast<char>(buffer[i] ^ 0x10);
      for (ssize_t sent = 0; sent < got;) {
        const ssize_t n =
            send(out.get(), buffer.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
        if (n <= 0) return;
        sent += n;
      }
    }
    shutdown(out.get(), SHUT_WR);
  }
  static void copy_back(int from, int to) {
    char buffer[4096];
    for (ssize_t got = recv(from, buffer, sizeof buffer, 0); got > 0;
         got = recv(from, buffer, sizeof buffer, 0))
      if (send(to, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) break;
    shutdown(to, SHUT_RDWR);
  }

  std::uint64_t first_;
  std::uint64_t every_;
  Listener listener_;
  std::jthread thread_;
};

TEST(TcpThroughput, DamagedDataIsCaught) {
  const TcpDoor door = open_door();
  Damager damager(door.listener.port, 100'000, 10'007);
  TcpTarget target = target_of(door);
  target.port = damager.port();
  const TcpReceived received =
      beside(tcp_receive, door, tcp_plan(1), {}, [&] { (void)tcp_send(target, tcp_plan(1), {}); });
  EXPECT_GT(received.wrong_bytes, 0u);
  ASSERT_TRUE(received.failure);
  EXPECT_EQ(received.failure->stage, "verify");
  EXPECT_THAT(received.failure->cause, HasSubstr("differ from what vm1 sent"));
}

TEST(TcpLatency, MeasuresCheckedRoundTrips) {
  const TcpDoor door = open_door();
  TcpPinged pinged;
  const TcpPlan plan{1, 8, 0.02, 0.2, 42};
  const TcpEchoed echoed =
      beside(tcp_echo, door, plan, {}, [&] { pinged = tcp_ping(target_of(door), plan, {}); });
  EXPECT_FALSE(pinged.failure);
  EXPECT_FALSE(echoed.failure);
  EXPECT_GT(pinged.summary.samples, 0u);
  EXPECT_EQ(pinged.checked_bytes, pinged.summary.samples * 8);
  EXPECT_GT(echoed.messages, pinged.summary.samples);  // the warm-up's too
  EXPECT_LE(pinged.summary.minimum, pinged.summary.median);
  EXPECT_LE(pinged.summary.p9999, pinged.summary.maximum);
}

TEST(TcpLatency, DamagedRepliesAreCaught) {
  const TcpDoor door = open_door();
  Damager damager(door.listener.port, 200, 64);
  TcpTarget target = target_of(door);
  target.port = damager.port();
  const TcpPlan plan{1, 8, 0, 0.2, 42};
  TcpPinged pinged;
  (void)beside(tcp_echo, door, plan, {}, [&] { pinged = tcp_ping(target, plan, {}); });
  EXPECT_GT(pinged.wrong_bytes, 0u);
  ASSERT_TRUE(pinged.failure);
  EXPECT_EQ(pinged.failure->stage, "verify");
}

TEST(TcpLatency, PeerThatDiesIsNamed) {
  const TcpDoor door = open_door();
  TcpPinged pinged;
  std::jthread pinger([&] { pinged = tcp_ping(target_of(door), {1, 8, 0, 30, 42}, {}); });
  {
    auto streams = accept_streams(door.listener, door.token, 1, milliseconds(2000), {});
    EXPECT_TRUE(streams);
  }
  pinger.join();
  ASSERT_TRUE(pinged.failure);
  EXPECT_THAT(pinged.failure->cause, HasSubstr("vm2 closed the connection"));
}

TEST(TcpPlan, RefusesWhatWouldNotEnd) {
  EXPECT_TRUE(check_plan(tcp_plan(), 64));
  EXPECT_FALSE(check_plan({0, 4096, 0, 1, 0}, 64));
  EXPECT_FALSE(check_plan({65, 4096, 0, 1, 0}, 64));
  EXPECT_FALSE(check_plan({1, 63, 0, 1, 0}, 64));
  EXPECT_FALSE(check_plan({1, 1u << 30, 0, 1, 0}, 64));
  EXPECT_FALSE(check_plan({1, 4096, 0, 0, 0}, 64));
  EXPECT_FALSE(check_plan({1, 4096, 0, 1e9, 0}, 64));
  EXPECT_FALSE(check_plan({1, 4096, std::nan(""), 1, 0}, 64));
}

TEST(Blocks, LostAndRepeatedBlocksAreSeen) {
  Blocks sender(4096, 1, 0);
  const auto bytes_of = [&] {
    std::vector<std::byte> block;
    for (const iovec& part : sender.next(false)) {
      const auto* start = static_cast<const std::byte*>(part.iov_base);
      block.insert(block.end(), start, start + part.iov_len);
    }
    return block;
  };
  const auto first = bytes_of();
  const auto second = bytes_of();
  Blocks in_order(4096, 1, 0);
  EXPECT_EQ(in_order.check(first).wrong, 0u);
  EXPECT_GT(in_order.check(first).wrong, 0u);
  Blocks skipping(4096, 1, 0);
  EXPECT_GT(skipping.check(second).wrong, 0u);
  Blocks other_stream(4096, 1, 1);
  EXPECT_GT(other_stream.check(first).wrong, 0u);
}

}  // namespace
}  // namespace railbed
