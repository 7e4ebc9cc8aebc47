// A server in this process plays RAS, with the answers of tests/ras/.
#include "campaign/look/ras.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/files.h"
#include "base/ip.h"
#include "os/socket.h"
#include "os/wait.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using RasTestClock = std::chrono::steady_clock;

std::string ras_answer_of(const std::string& file) {
  const auto bytes = read_file(RAILBED_SOURCE_DIR "/tests/ras/" + file);
  EXPECT_TRUE(bytes) << file;
  return bytes.value_or("");
}

// A busy machine has time for an answer that comes; the test does not wait long for one that does not.
constexpr RasLimits kPatientLimits{
    .greeting = milliseconds(20000), .answer = milliseconds(20000), .bytes = 1 << 20, .tries = 3};
constexpr RasLimits kShortLimits{
    .greeting = milliseconds(200), .answer = milliseconds(400), .bytes = 1 << 20, .tries = 3};

// Serves one connection after the other, each by `serve`, which gets the number of the connection and its socket.
class FakeRas {
 public:
  using Serve = std::function<void(int number, int fd)>;
  explicit FakeRas(Serve serve)
      : listener_(listening_socket(socket_address(*IpAddress::parse("127.0.0.1"), 0), 8)),
        port_(port_of(listener_.get())),
        thread_([this, serve = std::move(serve)](const std::stop_token& stop) {
          for (int number = 0; !stop.stop_requested();) {
            if (wait_readable(listener_.get(), RasTestClock::now() + milliseconds(50), stop) !=
                Waited::kReady)
              continue;
            Fd guest(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!guest) continue;
            const timeval patience{20, 0};  // so that no test hangs
            setsockopt(guest.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            setsockopt(guest.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
            serve(number++, guest.get());
          }
        }) {}
  RasAddress address() const { return {"127.0.0.1", port_}; }

 private:
  Fd listener_;
  int port_ = 0;
  std::jthread thread_;  // last: it ends before the members that it uses
};

bool says(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::string hears_line(int fd) {
  std::string line;
  for (char one = 0; recv(fd, &one, 1, 0) == 1 && one != '\n';) line += one;
  return line;
}

void waits_for_end(int fd) {
  std::array<char, 256> rest;
  while (recv(fd, rest.data(), rest.size(), 0) > 0) {
  }
}

// Serves a client as a RAS thread does (NCCL, src/ras/client_support.cc).
void plays_ras(int fd, bool knows_json, const std::string& text, const std::string& json) {
  bool as_json = false;
  for (;;) {
    const std::string line = hears_line(fd);
    if (line.empty()) return;
    if (line.starts_with("CLIENT PROTOCOL "))
      says(fd, "SERVER PROTOCOL 2\n");
    else if (knows_json && line == "SET FORMAT json")
      as_json = says(fd, "OK\n");
    else if (line == "VERBOSE STATUS") {
      says(fd, as_json ? json : text);
      return;
    } else {
      says(fd, "ERROR: Unknown command " + line + "\n");
    }
  }
}

Result<diagnose::RasAnswer> asked(const FakeRas& ras, const RasLimits& limits = kPatientLimits) {
  return ask_ras(ras.address(), limits, {});
}

TEST(Ras, ReadsAddressesAsNcclWritesThem) {
  EXPECT_EQ(RasAddress::parse("node4"), (RasAddress{"node4", 28028}));
  EXPECT_EQ(RasAddress::parse("node4:29"), (RasAddress{"node4", 29}));
  EXPECT_EQ(RasAddress::parse("::1"), (RasAddress{"::1", 28028}));
  EXPECT_EQ(RasAddress::parse("[::1]:29"), (RasAddress{"::1", 29}));
  EXPECT_EQ(RasAddress::parse("[::1]:29")->to_text(), "[::1]:29");
  for (const std::string_view wrong :
       {"", ":29", "node4:", "node4:0", "node4:65536", "node4:x", "[::1", "[::1]29", "a b"})
    EXPECT_FALSE(RasAddress::parse(wrong)) << wrong;
}

TEST(Ras, AsksForJsonAndTakesTextFromOlderOnes) {
  const std::string text = ras_answer_of("lag-2.26.txt");
  const std::string json = ras_answer_of("lag-2.29.json");
  const FakeRas newer([&](int, int fd) { plays_ras(fd, true, text, json); });
  const auto from_newer = asked(newer);
  ASSERT_TRUE(from_newer) << from_newer.error().text;
  EXPECT_EQ(from_newer->version, "2.29.7");
  const FakeRas older([&](int, int fd) { plays_ras(fd, false, text, json); });
  const auto from_older = asked(older);
  ASSERT_TRUE(from_older) << from_older.error().text;
  EXPECT_EQ(from_older->version, "2.26.5");
}

TEST(Ras, TakesTextIfJsonIsTooLong) {
  const std::string text = ras_answer_of("lag-2.26.txt");
  const auto large = [&](const std::string& version) {
    const std::string head = "{\n  \"nccl_version\": \"" + version + "\",\n";
    return [=](int, int fd) { plays_ras(fd, true, text, head + std::string(kPatientLimits.bytes + 1, ' ')); };
  };
  const FakeRas sound(large("2.29.2"));
  const auto answer = asked(sound);
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_FALSE(answer->names_all);
  // The text of older ones may crash the job.
  for (const std::string version : {"2.28.9", "x"}) {
    const FakeRas unsound(large(version));
    const auto refused = asked(unsound);
    ASSERT_FALSE(refused) << version;
    EXPECT_NE(refused.error().text.find("longer than"), std::string::npos) << refused.error().text;
  }
}

TEST(Ras, GoesOnToTheNextProcessIfOneIsStopped) {
  const std::string text = ras_answer_of("lag-2.26.txt");
  const FakeRas mixed([&](int number, int fd) {
    if (number < 2) return waits_for_end(fd);
    plays_ras(fd, false, text, "");
  });
  EXPECT_TRUE(asked(mixed, {.greeting = milliseconds(1000), .answer = milliseconds(20000), .tries = 8}));
}

TEST(Ras, EndsWithASilentOne) {
  const auto began = RasTestClock::now();
  const FakeRas silent([](int, int fd) { waits_for_end(fd); });
  const auto answer = asked(silent, kShortLimits);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kTimeout);
  EXPECT_NE(answer.error().text.find("3 connections were accepted and none was answered"), std::string::npos);
  EXPECT_LT(RasTestClock::now() - began, std::chrono::seconds(20));
}

TEST(Ras, EndsWithOneThatGreetsAndFallsSilent) {
  const FakeRas tired([](int, int fd) {
    hears_line(fd);
    says(fd, "SERVER PROTOCOL 2\n");
    waits_for_end(fd);
  });
  const auto answer = asked(tired, kShortLimits);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kTimeout);
}

TEST(Ras, EndsWithOneThatSendsEndlessly) {
  // In the greeting, and in the answer: fast, and drop by drop.
  const FakeRas greeting([](int, int fd) {
    while (says(fd, std::string(4096, 'x'))) {
    }
  });
  ASSERT_FALSE(asked(greeting));
  EXPECT_EQ(asked(greeting).error().kind, ErrorKind::kBadInput);
  const auto endless = [](milliseconds pause, std::size_t size) {
    return [=](int, int fd) {
      hears_line(fd);
      says(fd, "SERVER PROTOCOL 2\n");
      hears_line(fd);
      says(fd, "ERROR: Unknown command SET FORMAT json\n");
      hears_line(fd);
      while (says(fd, std::string(size, 'x'))) std::this_thread::sleep_for(pause);
    };
  };
  const FakeRas fast(endless(milliseconds(0), 65536));
  const auto flood = asked(fast);
  ASSERT_FALSE(flood);
  EXPECT_NE(flood.error().text.find("longer than 1048576 bytes"), std::string::npos) << flood.error().text;
  const FakeRas slow(endless(milliseconds(5), 1));
  const auto drops = asked(slow, {.greeting = milliseconds(20000), .answer = milliseconds(400)});
  ASSERT_FALSE(drops);
  EXPECT_EQ(drops.error().kind, ErrorKind::kTimeout);
}

TEST(Ras, RefusesWhatClosesEarlyAndWhatIsNoRas) {
  const std::string text = ras_answer_of("lag-2.26.txt");
  const FakeRas closing([](int, int) {});
  EXPECT_FALSE(asked(closing));
  const FakeRas cut([&](int, int fd) { plays_ras(fd, false, text.substr(0, text.size() / 2), ""); });
  const auto half = asked(cut);
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().text.find("ends early"), std::string::npos) << half.error().text;
  const FakeRas other([](int, int fd) {
    says(fd, "SSH-2.0-\x1b[31mOpenSSH\n");
    waits_for_end(fd);
  });
  const auto ssh = asked(other);
  ASSERT_FALSE(ssh);
  EXPECT_NE(ssh.error().text.find("this is not RAS"), std::string::npos);
  EXPECT_EQ(ssh.error().text.find('\x1b'), std::string::npos);
}

TEST(Ras, SaysWhatWasTriedIfNothingListens) {
  int port = 0;
  {
    const Fd gone = listening_socket(socket_address(*IpAddress::parse("127.0.0.1"), 0), 1);
    port = port_of(gone.get());
  }
  const auto look = look_at_ras({{"127.0.0.1", port}, {"::1", port}}, milliseconds(1), kPatientLimits, {});
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(look.error().text.find("127.0.0.1:" + std::to_string(port)), std::string::npos);
  EXPECT_NE(look.error().text.find("[::1]:" + std::to_string(port)), std::string::npos);
}

TEST(Ras, ASecondAnswerIsOfTheSameJob) {
  const std::string json = ras_answer_of("lag-2.29.json");
  std::string foreign = json;
  foreign.replace(foreign.find("0x9c3b8e117f20a5d"), 17, "0x111111111111111");
  const FakeRas shared([&](int number, int fd) { plays_ras(fd, true, "", number == 1 ? foreign : json); });
  const auto look = look_at_ras({shared.address()}, milliseconds(1), kPatientLimits, {});
  ASSERT_TRUE(look) << look.error().text;
  EXPECT_EQ(look->pair.second.communicators.at(0).id, "09c3b8e117f20a5d");
  EXPECT_EQ(diagnose::judge_ras(look->pair).severity, nccl::Severity::kError);
  const FakeRas others([&](int number, int fd) { plays_ras(fd, true, "", number == 0 ? json : foreign); });
  EXPECT_FALSE(look_at_ras({others.address()}, milliseconds(1), kPatientLimits, {}));
}

TEST(Ras, AStopEndsEveryWait) {
  const FakeRas silent([](int, int fd) { waits_for_end(fd); });
  std::stop_source stop;
  stop.request_stop();
  const auto answer = ask_ras(silent.address(), kShortLimits, stop.get_token());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kCancelled);
}

}  // namespace
}  // namespace railbed
