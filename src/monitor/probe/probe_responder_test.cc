// Both ends of probes on loopback, and clients without the secret.
#include "monitor/probe/probe_responder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "fleet/frame.h"
#include "host/open.h"
#include "os/socket.h"
#include "os/wait.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kSecret = "sixteen letters, and more";

int free_port() {
  const Fd fd = listening_socket(socket_address(*IpAddress::parse("127.0.0.1"), 0), 1);
  return port_of(fd.get());
}

ProbePlan plan_of(const std::string& node) {
  ProbeRail rail{.name = "rail0", .interface = "lo", .counted = "lo"};
  rail.own = node == "n0" ? 0 : 1;
  rail.others = {{"n0", "lo", *IpAddress::parse("127.0.0.1")}, {"n1", "lo", *IpAddress::parse("127.0.0.1")}};
  rail.address = rail.others[rail.own].address;
  return {node, {rail}};
}

Reading<CommandOutput> slurm_says(const std::string& state) {
  CommandOutput said;
  said.output = "NodeName=n1\n   State=" + state + " ThreadsPerCore=1\n";
  return {said, "scontrol"};
}
RunProgram no_slurm() {
  return [](const auto&, auto) {
    return Reading<CommandOutput>(Miss{Missing::kAbsent, "No such file"}, "scontrol");
  };
}

class Responder {
 public:
  explicit Responder(RunProgram slurm = no_slurm(), std::string secret = kSecret)
      : port(free_port()),
        responder({plan_of("n1"), std::move(secret), port}, host,
                  std::make_shared<JobGate>("n1", false, std::move(slurm)), [](std::string_view) {}) {
    while (!connected()) std::this_thread::sleep_for(milliseconds(10));
  }
  Fd connected() const {
    Fd fd = stream_socket(AF_INET);
    const SocketAddress to = socket_address(*IpAddress::parse("127.0.0.1"), port);
    const bool began = begin_connecting(fd.get(), to);
    const bool there =
        began &&
        wait_writable(fd.get(), std::chrono::steady_clock::now() + seconds(5), {}) == Waited::kReady &&
        connect_error(fd.get()) == 0;
    return there ? std::move(fd) : Fd();
  }
  PeerProbe probed(const std::string& secret = kSecret) const {
    return Prober({plan_of("n0"), secret, port}, host).round(0, {}).at(0);
  }

  const std::shared_ptr<Host> host = open_this_machine();
  const int port;
  ProbeResponder responder;
};

// Returns the bytes that arrive until the other end closes, or until `patience` is over.
std::string all_that_comes(int fd, seconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::string text;
  char bytes[4096];
  while (wait_readable(fd, until, {}) == Waited::kReady) {
    const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
    if (count <= 0) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  return text;
}

TEST(ProbeResponder, AnswersWhoKnowsTheSecret) {
  const Responder there;
  const PeerProbe probe = there.probed();
  EXPECT_EQ(probe.tcp.reason, ProbeReason::kNone) << probe.tcp.why;
  EXPECT_EQ(probe.tcp.sent, kProbePings);
  EXPECT_EQ(probe.tcp.answered, kProbePings);
  EXPECT_EQ(probe.tcp.round_trips.size(), kProbePings - 1);
  EXPECT_FALSE(probe.rdma);
  EXPECT_EQ(there.responder.service().visits, 1U);
}

TEST(ProbeResponder, TurnsAwayWhoDoesNot) {
  const Responder there;
  const PeerProbe probe = there.probed("another secret, as long");
  EXPECT_EQ(probe.tcp.reason, ProbeReason::kRefused);
  EXPECT_EQ(probe.tcp.sent, 0U);
  EXPECT_EQ(there.responder.service().visits, 0U);
  EXPECT_EQ(there.responder.service().turned_away, 1U);
}

TEST(ProbeResponder, WantsToBeLeftAloneWhileAJobIsHere) {
  const Responder there([](const auto&, auto) { return slurm_says("MIXED"); });
  const PeerProbe probe = there.probed();
  EXPECT_EQ(probe.skipped, "job");
  EXPECT_EQ(probe.tcp.sent, 0U);
}

TEST(ProbeResponder, GarbageEndsTheConnectionAndNothingElse) {
  const Responder there;
  for (const std::string& said : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(10000, 'x'),
                                  std::string("{\"introduction\": {}, \"nonce\": 3}\n"),
                                  std::string(300, '[') + "\n", std::string("\0\xff\n", 3)}) {
    const Fd fd = there.connected();
    ASSERT_TRUE(fd);
    EXPECT_GT(::send(fd.get(), said.data(), said.size(), MSG_NOSIGNAL), 0);
    const std::string heard = all_that_comes(fd.get(), seconds(20));
    EXPECT_TRUE(heard.starts_with("railbed-peers 1 ")) << heard;
    EXPECT_EQ(heard.find("proof"), std::string::npos);
  }
  EXPECT_EQ(there.probed().tcp.answered, kProbePings);
}

TEST(ProbeResponder, AThousandSilentOnesDoNotKeepAFriendOut) {
  const Responder there;
  std::vector<Fd> silent;
  for (int i = 0; i < 1000; ++i)
    if (Fd fd = there.connected()) silent.push_back(std::move(fd));
  EXPECT_GT(silent.size(), 900U);
  const PeerProbe probe = there.probed();
  EXPECT_EQ(probe.tcp.answered, kProbePings) << probe.tcp.why;
}

// A client with the secret that then sends arbitrary bytes.
TEST(ProbeResponder, AFriendGoneMadGetsNoMoreThanItsVisit) {
  const Responder there;
  const auto enter = [&] {
    auto knocked = fleet::knock(there.connected(), {kSecret, std::string(kProbePurpose)},
                                {"n0", "n1", "rail0"}, std::chrono::steady_clock::now() + seconds(20), {});
    EXPECT_TRUE(knocked && knocked->refusal.empty());
    return std::move(knocked->socket);
  };
  const Fd garbage = enter();
  EXPECT_GT(::send(garbage.get(), "no frame at all, and long enough", 32, MSG_NOSIGNAL), 0);
  EXPECT_EQ(all_that_comes(garbage.get(), seconds(20)), "");
  const Fd huge = enter();
  const std::string header("\0RBF\1\2\0\0\0\0\0\1\x7f\xff\xff\xff", 16);
  EXPECT_GT(::send(huge.get(), header.data(), header.size(), MSG_NOSIGNAL), 0);
  EXPECT_EQ(all_that_comes(huge.get(), seconds(20)), "");
  for (const char* method : {"bench.rdma.ping", "facts", "bench.rdma.open", "probe.echo"}) {
    const Fd early = enter();
    const std::string asked =
        fleet::encode_frame({fleet::FrameKind::kRequest, 1, fleet::encode_request({method, 1000, "{}"})});
    EXPECT_GT(::send(early.get(), asked.data(), asked.size(), MSG_NOSIGNAL), 0);
    shutdown(early.get(), SHUT_WR);
    EXPECT_NE(all_that_comes(early.get(), seconds(20)).find("does not answer that"), std::string::npos);
  }
}

TEST(ProbeResponder, IsNoDoorOfAnotherNodeOrRail) {
  const Responder there;
  for (const fleet::PeerIntroduction& who :
       {fleet::PeerIntroduction{"n0", "n2", "rail0"}, {"n0", "n1", "rail1"}, {"n7", "n1", "rail0"}}) {
    const auto knocked = fleet::knock(there.connected(), {kSecret, std::string(kProbePurpose)}, who,
                                      std::chrono::steady_clock::now() + seconds(20), {});
    ASSERT_TRUE(knocked) << knocked.error().text;
    EXPECT_FALSE(knocked->refusal.empty());
  }
}

TEST(Prober, ANobodyOrAStrangerAtTheOtherEndIsNamed) {
  const std::shared_ptr<Host> host = open_this_machine();
  const PeerProbe nobody = Prober({plan_of("n0"), kSecret, free_port()}, host).round(0, {}).at(0);
  EXPECT_EQ(nobody.tcp.reason, ProbeReason::kUnreachable) << nobody.tcp.why;
  for (const char* says : {"SSH-2.0-OpenSSH_9.2\r\n", "railbed-peers 1 00\nproof 00\n", ""}) {
    const Fd door = listening_socket(socket_address(*IpAddress::parse("127.0.0.1"), 0), 4);
    std::jthread stranger([&] {
      wait_readable(door.get(), std::chrono::steady_clock::now() + seconds(20), {});
      const Fd guest(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
      (void)::send(guest.get(), says, std::string_view(says).size(), MSG_NOSIGNAL);
      char bytes[4096];
      (void)recv(guest.get(), bytes, sizeof bytes, 0);
    });
    const PeerProbe probe = Prober({plan_of("n0"), kSecret, port_of(door.get())}, host).round(0, {}).at(0);
    EXPECT_EQ(probe.tcp.reason, ProbeReason::kStranger) << probe.tcp.why;
  }
}

TEST(JobGate, IsShutByAJobAndBySilence) {
  const auto gate = [](RunProgram run, bool beside = false) {
    return JobGate("n1", beside, std::move(run)).ask(seconds(0)).reason;
  };
  EXPECT_EQ(gate(no_slurm()), "");
  for (const char* state : {"ALLOCATED", "MIXED+DRAIN", "IDLE+COMPLETING", "COMPLETING"})
    EXPECT_EQ(gate([&](const auto&, auto) { return slurm_says(state); }), "job") << state;
  EXPECT_EQ(gate([](const auto&, auto) { return slurm_says("IDLE+DRAIN"); }), "");
  EXPECT_EQ(gate([](const auto&, auto) { return slurm_says("ALLOCATED"); }, true), "");
  EXPECT_EQ(gate([](const auto&, auto) {
              return Reading<CommandOutput>(Miss{Missing::kTimeout, "no answer"}, "scontrol");
            }),
            "slurm-silent");
  EXPECT_EQ(gate([](const auto&, auto) {
              CommandOutput said;
              said.exit_code = 1;
              said.error_output = "slurm_load_node error: Unable to contact slurm controller";
              return Reading<CommandOutput>(said, "scontrol");
            }),
            "slurm-silent");
}

}  // namespace
}  // namespace railbed
