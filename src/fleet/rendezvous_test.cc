#include "fleet/rendezvous.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/json.h"
#include "fleet/fleet.h"
#include "fleet/rank_door.h"
#include "fleet/rank_secret.h"

namespace railbed::fleet {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kSecret = "correct horse battery staple";

sockaddr_in loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int free_port() {
  const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

Handlers handlers() {
  Handlers some;
  some["echo"] = [](std::string_view text, std::stop_token) -> Result<std::string> {
    return std::string(text);
  };
  some["refuse"] = [](std::string_view, std::stop_token) -> Result<std::string> {
    return fail(ErrorKind::kBadInput, "not today");
  };
  some["sleep"] = [](std::string_view, std::stop_token stop) -> Result<std::string> {
    while (!stop.stop_requested()) std::this_thread::sleep_for(5ms);
    return fail(ErrorKind::kCancelled, "woken");
  };
  return some;
}

class RendezvousTest : public ::testing::Test {
 protected:
  RendezvousTest() {
    signal(SIGPIPE, SIG_IGN);
    at_.host = "127.0.0.1";
    at_.port = free_port();
    at_.secret = kSecret;
    at_.job = "417.0";
    at_.patience = 20s;
  }

  // A rank on a thread; it serves until rank 0 disconnects. Returns why it could not arrive.
  std::future<std::string> start(int rank, int ranks, Rendezvous at) {
    return std::async(std::launch::async, [this, rank, ranks, at]() -> std::string {
      auto socket =
          reach_rank_zero(at, {rank, ranks, "gpu0" + std::to_string(rank), {rank}}, stop_.get_token());
      if (!socket) return socket.error().text;
      serve(socket->get(), socket->get(), handlers());
      return "";
    });
  }
  std::future<std::string> start(int rank, int ranks) { return start(rank, ranks, at_); }
  Result<std::vector<ArrivedRank>> receive(int ranks) { return receive_ranks(at_, ranks, stop_.get_token()); }

  // An arbitrary connection, once rank 0 listens; it sends nothing by itself.
  Fd knock() const {
    const sockaddr_in address = loopback(at_.port);
    for (;;) {
      Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
      std::this_thread::sleep_for(5ms);
    }
  }
  static std::string line_from(const Fd& fd) {
    std::string line;
    char byte = 0;
    while (recv(fd.get(), &byte, 1, 0) == 1 && byte != '\n') line.push_back(byte);
    return line;
  }
  static void say(const Fd& fd, const std::string& text) {
    (void)::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }

  Rendezvous at_;
  std::stop_source stop_;
};

TEST_F(RendezvousTest, AllComeInOrderAndAnswer) {
  std::vector<std::future<std::string>> ranks;
  for (const int rank : {3, 1, 2}) ranks.push_back(start(rank, 4));
  {
    auto arrived = receive(4);
    ASSERT_TRUE(arrived) << arrived.error().text;
    ASSERT_EQ(arrived->size(), 3U);
    for (int i = 0; i < 3; ++i) {
      const ArrivedRank& rank = arrived->at(static_cast<std::size_t>(i));
      EXPECT_EQ(rank.introduction.rank, i + 1);
      EXPECT_EQ(rank.introduction.gpus, std::vector{i + 1});
      EXPECT_EQ(rank.peer->node(), "gpu0" + std::to_string(i + 1));
      EXPECT_EQ(rank.peer->call("echo", R"({"a": 1})", 20s).value(), R"({"a": 1})");
      const std::string large = '"' + std::string(3 << 20, 'x') + '"';
      EXPECT_EQ(rank.peer->call("echo", large, 20s).value(), large);
      EXPECT_THAT(rank.peer->call("refuse", "{}", 20s).error().text, HasSubstr("not today"));
    }
    // A call that takes too long is cancelled, and the next one gets its own response.
    Peer& peer = *arrived->front().peer;
    EXPECT_EQ(peer.call("sleep", "{}", 50ms).error().kind, ErrorKind::kTimeout);
    EXPECT_EQ(peer.call("echo", "2", 20s).value(), "2");
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.get(), "");
}

TEST_F(RendezvousTest, WhoeverComesFirstWaits) {
  auto early = start(1, 3);
  std::this_thread::sleep_for(200ms);
  auto zero = std::async(std::launch::async, [&] { return receive(3); });
  std::this_thread::sleep_for(200ms);
  auto late = start(2, 3);
  EXPECT_EQ(zero.get()->size(), 2U);
  EXPECT_EQ(early.get(), "");
  EXPECT_EQ(late.get(), "");
}

TEST_F(RendezvousTest, WhoNeverComesIsNamed) {
  at_.patience = 500ms;
  auto one = start(1, 5);
  auto three = start(3, 5);
  const auto arrived = receive(5);
  ASSERT_FALSE(arrived);
  EXPECT_EQ(arrived.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(arrived.error().text, HasSubstr("ranks 2, 4 did not come to 127.0.0.1 port"));
  EXPECT_EQ(one.get(), "");  // disconnected
  EXPECT_EQ(three.get(), "");
  const auto nobody = reach_rank_zero(at_, {1, 5, "gpu01", {0}}, {});
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().text, HasSubstr("no rank 0 at 127.0.0.1 port"));
}

TEST_F(RendezvousTest, WhoKnowsAnotherSecretIsRefused) {
  at_.patience = 1s;
  Rendezvous other = at_;
  other.secret = "an other secret altogether";
  auto rank = start(1, 2, other);
  const auto arrived = receive(2);
  ASSERT_FALSE(arrived);
  EXPECT_THAT(arrived.error().text, HasSubstr("a connection was refused: it knows another secret"));
  EXPECT_THAT(rank.get(), HasSubstr("refused: it knows another secret"));
}

TEST_F(RendezvousTest, ASecretIsGoodForOneJob) {
  at_.patience = 1s;
  Rendezvous other = at_;
  other.job = "417.1";
  auto rank = start(1, 2, other);
  EXPECT_FALSE(receive(2));
  EXPECT_THAT(rank.get(), HasSubstr("refused"));
}

TEST_F(RendezvousTest, LiesAreRefusedAndTheRightOneStillComes) {
  auto zero = std::async(std::launch::async, [&] { return receive(3); });
  auto one = start(1, 3);
  EXPECT_THAT(start(2, 4).get(), HasSubstr("it is one of 4 ranks, rank 0 one of 3"));
  EXPECT_THAT(start(3, 3).get(), HasSubstr("there is no rank 3"));
  EXPECT_THAT(start(0, 3).get(), HasSubstr("there is no rank 0"));
  const auto strange = reach_rank_zero(at_, {2, 3, "gpu\033[31m", {}}, {});
  ASSERT_FALSE(strange);
  EXPECT_THAT(strange.error().text, HasSubstr("no introduction"));
  // Rank 1 has either arrived already or will be refused as the second one.
  auto again = start(1, 3);
  while (one.wait_for(5ms) != std::future_status::ready && again.wait_for(5ms) != std::future_status::ready) {
  }
  EXPECT_THAT((one.wait_for(0s) == std::future_status::ready ? one : again).get(),
              HasSubstr("rank 1 is here already"));
  auto two = start(2, 3);
  EXPECT_TRUE(zero.get());
  EXPECT_EQ(two.get(), "");
}

TEST_F(RendezvousTest, NoiseAndSilenceKeepNobodyOut) {
  auto zero = std::async(std::launch::async, [&] { return receive(2); });
  std::vector<Fd> strangers;
  for (const std::string& noise :
       {std::string(), std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, 'x'), std::string("{}\n"),
        std::string("\0\0\0\n", 4), std::string(5000, '[') + "\n"}) {
    strangers.push_back(knock());
    say(strangers.back(), noise);
  }
  auto one = start(1, 2);
  EXPECT_EQ(zero.get()->size(), 1U);
  EXPECT_EQ(one.get(), "");
}

TEST_F(RendezvousTest, WhatWasHeardCannotBePlayedBack) {
  at_.patience = 2s;
  auto zero = std::async(std::launch::async, [&] { return receive(2); });
  const RankIntroduction who = {1, 2, "gpu01", {0}};
  const auto hello_for = [&](const std::string& nonce) {
    const RankHello hello{who, "00", proof_of(at_, Prover::kRank, nonce, "00", who)};
    return json::dump(json::encode(hello)) + "\n";
  };
  const Fd first = knock();
  const std::string heard = hello_for(line_from(first).substr(kGreeting.size()));
  const Fd second = knock();
  line_from(second);
  say(second, heard);
  EXPECT_THAT(line_from(second), HasSubstr("another secret"));
  say(first, heard);  // within its own session it is correct
  EXPECT_THAT(line_from(first), ::testing::StartsWith(std::string(kWelcome)));
  EXPECT_TRUE(zero.get());
}

TEST_F(RendezvousTest, RanksOfTwoVersionsAreNotMixed) {
  at_.patience = 2s;
  auto zero = std::async(std::launch::async, [&] { return receive(2); });
  const auto refused = reach_rank_zero(at_, {1, 2, "gpu01", {0}, "9.0.0"}, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("it runs railbed 9.0.0, rank 0 "));
  const auto missing = zero.get();
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().text, HasSubstr("start the same program on all nodes"));
}

// Before the handshake named the program, its greeting had another number.
TEST_F(RendezvousTest, ARankZeroOfAnotherVersionIsNoStranger) {
  const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(at_.port);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  auto rank = std::async(std::launch::async, [&] { return reach_rank_zero(at_, {1, 2, "gpu01", {0}}, {}); });
  const Fd guest(accept(listener.get(), nullptr, nullptr));
  say(guest, "railbed-ranks 1 00112233445566778899aabbccddeeff\n");
  const auto reached = rank.get();
  ASSERT_FALSE(reached);
  EXPECT_THAT(reached.error().text, HasSubstr("another version of railbed"));
}

TEST_F(RendezvousTest, ARankThatDiesIsNamed) {
  auto zero = std::async(std::launch::async, [&] { return receive(2); });
  auto socket = reach_rank_zero(at_, {1, 2, "gpu01", {0}}, {});
  ASSERT_TRUE(socket) << socket.error().text;
  auto arrived = zero.get();
  ASSERT_TRUE(arrived);
  socket->reset();
  const auto answer = arrived->front().peer->call("echo", "1", 20s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().text, "rank 1 on gpu01 has gone");
  EXPECT_EQ(answer.error().node, "gpu01");
  EXPECT_EQ(arrived->front().peer->call("echo", "1", 20s).error().text, "rank 1 on gpu01 has gone");
}

TEST_F(RendezvousTest, WhatIsNotRankZeroIsNotServed) {
  const Fd listener = [&] {
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(at_.port);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 8), 0);
    return fd;
  }();
  for (const auto& [greeting, answer] :
       {std::pair<std::string, std::string>{"SSH-2.0-OpenSSH_9.2\n", ""},
        {std::string(kGreeting) + "00\n", std::string(kWelcome) + std::string(64, '0') + "\n"},
        {std::string(kGreeting) + "00\n", "come in\n"}}) {
    auto rank = start(1, 2);
    const Fd guest(accept(listener.get(), nullptr, nullptr));
    say(guest, greeting);
    if (!answer.empty()) {
      line_from(guest);
      say(guest, answer);
    }
    EXPECT_THAT(rank.get(), HasSubstr("it is not rank 0 of this start")) << greeting;
  }
}

TEST_F(RendezvousTest, AStopEndsTheWaiting) {
  auto zero = std::async(std::launch::async, [&] { return receive(3); });
  Rendezvous elsewhere = at_;
  elsewhere.port = free_port();
  auto lost = start(1, 3, elsewhere);
  stop_.request_stop();
  EXPECT_EQ(zero.get().error().kind, ErrorKind::kCancelled);
  EXPECT_THAT(lost.get(), HasSubstr("stopped"));
}

TEST_F(RendezvousTest, ATakenPortIsSaid) {
  const Fd taken = [&] {
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(at_.port);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 1), 0);
    return fd;
  }();
  EXPECT_THAT(receive(2).error().text, HasSubstr("--rendezvous HOST:PORT takes another port"));
}

class RankSecret : public ::testing::Test {
 protected:
  RankSecret() { std::filesystem::create_directories(folder_); }
  ~RankSecret() override { std::filesystem::remove_all(folder_); }
  Result<std::string> find() const { return find_rank_secret({{"XDG_STATE_HOME", folder_}}); }
  const std::string folder_ = ::testing::TempDir() + "rank-secret-" + std::to_string(getpid());
  const std::string file_ = folder_ + "/railbed/rank-secret";
};

TEST_F(RankSecret, IsMadeOnceForItsUserAlone) {
  std::vector<std::future<Result<std::string>>> all;
  for (int i = 0; i < 8; ++i) all.push_back(std::async(std::launch::async, [&] { return find(); }));
  const auto first = find();
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(first->size(), 64U);
  for (auto& one : all) EXPECT_EQ(one.get().value(), *first);
  struct stat about = {};
  ASSERT_EQ(stat(file_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  const std::filesystem::directory_iterator files(folder_ + "/railbed");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);  // no other file is left
}

TEST_F(RankSecret, WhatOthersCanReadIsNone) {
  ASSERT_TRUE(find());
  chmod(file_.c_str(), 0644);
  EXPECT_THAT(find().error().text, HasSubstr("readable by nobody else"));
  chmod(file_.c_str(), 0600);
  std::ofstream(file_) << "short\n";
  EXPECT_THAT(find().error().text, HasSubstr("remove it"));
  unlink(file_.c_str());
  ASSERT_EQ(symlink("/etc/hostname", file_.c_str()), 0);
  EXPECT_FALSE(find());
}

TEST_F(RankSecret, TheEnvironmentComesFirst) {
  EXPECT_EQ(find_rank_secret({{"RAILBED_SECRET", kSecret}, {"XDG_STATE_HOME", folder_}}).value(), kSecret);
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_THAT(find_rank_secret({{"RAILBED_SECRET", "short"}}).error().text, HasSubstr("at least 16"));
  EXPECT_THAT(find_rank_secret({}).error().text, HasSubstr("HOME: not set"));
}

}  // namespace
}  // namespace railbed::fleet
