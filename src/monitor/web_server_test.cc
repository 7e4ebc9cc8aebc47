#include "monitor/web_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

#include "base/base64.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/testing/temporary_folder.h"
#include "base/text.h"
#include "monitor/web_request.h"

namespace railbed {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// bcrypt hash of "secret" with the lowest cost.
constexpr const char* kSecretHash = "$2b$04$hk/LQf/SVqdeMZxr8sa.8OiwjxKCmhzOuYZ4dIS0pSiYAnRr4KING";

// A client: bytes over TCP, or TLS on request. Deadlines are far longer than anything takes.
class WebClient {
 public:
  explicit WebClient(const std::string& address, int receive_buffer = 0, const char* from = "127.0.0.1") {
    socket_ = Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_buffer > 0)
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval patience{60, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    inet_pton(AF_INET, from, &name.sin_addr);
    bind(socket_.get(), reinterpret_cast<sockaddr*>(&name), sizeof name);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(parse_number<std::uint16_t>(address.substr(address.rfind(':') + 1)).value_or(0));
    connected_ = connect(socket_.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
  }
  WebClient(WebClient&&) = default;
  ~WebClient() {
    if (tls_ != nullptr) SSL_free(tls_);
    if (context_ != nullptr) SSL_CTX_free(context_);
  }

  // The CA that it trusts, and its own identity (a file with certificate and key).
  bool begin_tls(const std::string& trusted, const std::string& own = "",
                 const std::function<void(SSL*)>& prepare = {}) {
    signal(SIGPIPE, SIG_IGN);  // OpenSSL also writes after the service has disconnected
    context_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_load_verify_locations(context_, trusted.c_str(), nullptr);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    if (!own.empty()) {
      SSL_CTX_use_certificate_chain_file(context_, (own + ".crt").c_str());
      SSL_CTX_use_PrivateKey_file(context_, (own + ".key").c_str(), SSL_FILETYPE_PEM);
    }
    tls_ = SSL_new(context_);
    SSL_set_fd(tls_, socket_.get());
    if (prepare) prepare(tls_);
    return SSL_connect(tls_) == 1;
  }
  SSL* tls() { return tls_; }
  void say_nothing_more() { shutdown(socket_.get(), SHUT_WR); }

  bool connected() const { return connected_; }
  bool say(std::string_view text) {
    if (tls_ != nullptr) return SSL_write(tls_, text.data(), static_cast<int>(text.size())) > 0;
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  bool get(const std::string& path, const std::string& headers = "") {
    return say("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }

  // Returns false if no more data follows.
  bool hear_more() {
    char buffer[65536];
    const auto got = tls_ != nullptr ? SSL_read(tls_, buffer, sizeof buffer)
                                     : recv(socket_.get(), buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    heard_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }
  bool hear_until(std::string_view end) {
    std::size_t from = 0;
    while (heard_.find(end, from) == std::string::npos) {
      from = heard_.size() - std::min(heard_.size(), end.size());
      if (!hear_more()) return false;
    }
    return true;
  }
  std::string hear_all() {
    while (hear_more()) continue;
    return std::exchange(heard_, "");
  }
  // Returns one response with its body.
  std::string hear_answer(bool with_body = true) {
    if (!hear_until("\r\n\r\n")) return "";
    std::size_t end = heard_.find("\r\n\r\n") + 4;
    const auto at = heard_.find("Content-Length: ");
    if (with_body && at != std::string::npos)
      end += parse_number<std::size_t>(heard_.substr(at + 16, heard_.find('\r', at) - at - 16)).value_or(0);
    while (heard_.size() < end)
      if (!hear_more()) return "";
    std::string answer = heard_.substr(0, end);
    heard_.erase(0, end);
    return answer;
  }

 private:
  Fd socket_;
  bool connected_ = false;
  std::string heard_;
  SSL_CTX* context_ = nullptr;
  SSL* tls_ = nullptr;
};

// A service that runs until the end of the test.
class RunningService {
 public:
  explicit RunningService(WebOptions options = {}, WebHandler handler = echo) {
    auto opened = WebServer::open(std::move(options), std::move(handler));
    if (!opened) {
      ADD_FAILURE() << opened.error().text;
      std::abort();
    }
    server_ = std::move(*opened);
    server_->publish("/events", "first");
    thread_ = std::jthread([this](std::stop_token stop) { server_->run(std::move(stop)); });
  }

  static WebAnswer echo(const WebRequest& request) {
    return {.body = request.path + "|" + request.query + "\n"};
  }
  WebServer& operator*() { return *server_; }
  WebClient reader(int receive_buffer = 0, const char* from = "127.0.0.1") {
    return WebClient(server_->address(), receive_buffer, from);
  }
  std::string get(const std::string& path, const std::string& headers = "") {
    WebClient client = reader();
    client.get(path, headers);
    return client.hear_answer();
  }
  void stop() {
    thread_.request_stop();
    thread_.join();
  }

 private:
  std::unique_ptr<WebServer> server_;
  std::jthread thread_;
};

std::string basic(const std::string& credentials) {
  return "Authorization: Basic " + base64_encoded(credentials) + "\r\n";
}

TEST(WebServer, AnswersAReaderOneRequestAfterAnother) {
  RunningService service;
  WebClient reader = service.reader();
  for (const char* path : {"/metrics", "/metrics", "/a%20b?c=%20d"}) ASSERT_TRUE(reader.get(path));
  EXPECT_THAT(
      reader.hear_answer(),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Connection: keep-alive\r\n"),
            HasSubstr("X-Content-Type-Options: nosniff\r\n"),
            HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"), HasSubstr("\r\n\r\n/metrics|\n")));
  EXPECT_THAT(reader.hear_answer(), HasSubstr("\r\n\r\n/metrics|\n"));
  EXPECT_THAT(reader.hear_answer(), HasSubstr("\r\n\r\n/a b|c=%20d\n"));
  ASSERT_TRUE(reader.say("HEAD /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(reader.hear_all(), AllOf(HasSubstr("Content-Length: 4\r\n"), HasSubstr("Connection: close\r\n"),
                                       testing::EndsWith("\r\n\r\n")));
}

TEST(WebServer, SpeaksWithReadersOfHttp10) {
  RunningService service;
  WebClient reader = service.reader();
  ASSERT_TRUE(reader.say("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_THAT(reader.hear_answer(), HasSubstr("Connection: keep-alive\r\n"));
  ASSERT_TRUE(reader.say("GET /x HTTP/1.0\r\n\r\n"));
  EXPECT_THAT(reader.hear_all(), AllOf(HasSubstr("Connection: close\r\n"), HasSubstr("/x|\n")));
}

TEST(WebServer, RefusesWhatIsNoRequestOfOurs) {
  RunningService service;
  const std::string host = "Host: localhost\r\n";
  const std::string many(kMostRequestBytes, 'x');
  for (const auto& [text, answer] : {
           std::pair<std::string, std::string>{"hello\r\n", "400"},
           {"\x16\x03\x01\x02", "400"},
           {"GET / HTTP/1.1\n\n", "400"},
           {"GET / HTTP/1.1\r\n\r\n", "400"},
           {"GET / HTTP/1.1\r\n" + host + host + "\r\n", "400"},
           {"GET / HTTP/2.0\r\n" + host + "\r\n", "400"},
           {"GET http://localhost/ HTTP/1.1\r\n" + host + "\r\n", "400"},
           {"GET /%zz HTTP/1.1\r\n" + host + "\r\n", "400"},
           {"GET /%00 HTTP/1.1\r\n" + host + "\r\n", "400"},
           {"GET / HTTP/1.1\r\n" + host + "a b: c\r\n\r\n", "400"},
           {"POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello", "405"},
           {"OPTIONS * HTTP/1.1\r\n" + host + "\r\n", "405"},
           {"GET / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello", "413"},
           {"GET / HTTP/1.1\r\n" + host + "Content-Length: 99999999999\r\n\r\nhello", "413"},
           {"GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "413"},
           {"GET /" + many, "414"},
           {"GET / HTTP/1.1\r\nHost: " + many, "431"},
           {"GET / HTTP/1.1\r\nHost: " + many + "\r\n\r\n", "431"},
       }) {
    WebClient reader = service.reader();
    ASSERT_TRUE(reader.say(text));
    EXPECT_THAT(reader.hear_all(), StartsWith("HTTP/1.1 " + answer + " ")) << text.substr(0, 64);
  }
  EXPECT_THAT(service.get("/x"), HasSubstr("/x|"));
  WebClient reader = service.reader();
  ASSERT_TRUE(reader.say("GET /x HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n"));
  EXPECT_THAT(reader.hear_answer(), StartsWith("HTTP/1.1 200 "));
}

TEST(WebServer, OnLoopbackAnswersOnlyByThatName) {
  RunningService service;
  for (const char* name : {"localhost", "LocalHost:9885", "127.0.0.1:1", "[::1]", "[::1]:9885"}) {
    WebClient reader = service.reader();
    ASSERT_TRUE(reader.say(std::string("GET /x HTTP/1.1\r\nHost: ") + name + "\r\n\r\n"));
    EXPECT_THAT(reader.hear_answer(), StartsWith("HTTP/1.1 200 ")) << name;
  }
  for (const char* name :
       {"evil.example", "localhost.evil.example:9885", "[::2]", "127.0.0.1.evil.example", ""}) {
    WebClient reader = service.reader();
    ASSERT_TRUE(reader.say(std::string("GET /events HTTP/1.1\r\nHost: ") + name + "\r\n\r\n"));
    EXPECT_THAT(reader.hear_all(), AllOf(StartsWith("HTTP/1.1 403 "), Not(HasSubstr("first")))) << name;
  }
}

TEST(WebServer, KnowsWhatIsLoopback) {
  for (const char* listen : {"127.0.0.1:1", "localhost:9885", "[::1]:9885", "127.9.0.1:0"})
    EXPECT_TRUE(is_loopback(listen)) << listen;
  for (const char* listen :
       {":9885", "0.0.0.0:1", "[::]:1", "10.0.0.1:9885", "127.0.0.1", "::1:80", "x:1", ""})
    EXPECT_FALSE(is_loopback(listen)) << listen;
}

TEST(WebServer, SaysWhereItCannotListen) {
  RunningService service;
  const std::string taken = (*service).address().substr(std::string("http://").size());
  const auto second = WebServer::open({.listen = taken}, RunningService::echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text, HasSubstr("cannot listen on " + taken));
  EXPECT_EQ(WebServer::open({.listen = "somewhere"}, RunningService::echo).error().kind,
            ErrorKind::kBadInput);
}

TEST(WebServer, ListensOnAllAddresses) {
  RunningService service({.listen = ":0"});
  WebClient reader = service.reader();
  ASSERT_TRUE(reader.say("GET /x HTTP/1.1\r\nHost: node1.example\r\n\r\n"));
  EXPECT_THAT(reader.hear_answer(), StartsWith("HTTP/1.1 200 "));
}

TEST(WebServer, AddsHeadersThatCannotBecomeOthers) {
  RunningService service(
      {.config = {.headers = {{"X-Frame-Options", "deny"}, {"X-A", "configured"}}}}, [](const WebRequest&) {
        return WebAnswer{
            .type = "text/html", .body = "", .headers = {{"X-A", "page"}, {"X-B", "b\r\nSet-Cookie: c"}}};
      });
  EXPECT_THAT(service.get("/"), AllOf(HasSubstr("X-Frame-Options: deny\r\n"), HasSubstr("X-A: page\r\n"),
                                      Not(HasSubstr("configured")), HasSubstr("X-B: b  Set-Cookie: c\r\n")));
}

TEST(WebServer, EndsARequestThatTrickles) {
  RunningService service({.deadlines = {.request = 500ms}});
  WebClient reader = service.reader();
  ASSERT_TRUE(reader.say("GET / HTTP/1.1\r\nHost: "));
  const auto trickle = std::async(std::launch::async, [&reader] {
    while (reader.say("x")) std::this_thread::sleep_for(20ms);
  });
  EXPECT_THAT(reader.hear_all(), StartsWith("HTTP/1.1 408 "));
  WebClient silent = service.reader();
  EXPECT_EQ(silent.hear_all(), "");
}

TEST(WebServer, HangsUpOnAnIdleReader) {
  RunningService service({.deadlines = {.idle = 100ms}});
  WebClient reader = service.reader();
  reader.get("/x");
  EXPECT_THAT(reader.hear_all(), HasSubstr("/x|"));
}

TEST(WebServer, SendsALargeAnswerWholeToWhoTakesIt) {
  const std::string body(8 << 20, 'm');
  RunningService service({.deadlines = {.taking = 2s}}, [&](const WebRequest& request) {
    return request.path == "/large" ? WebAnswer{.body = body} : WebAnswer{};
  });
  WebClient slow = service.reader(4096);  // reads nothing at first
  ASSERT_TRUE(slow.get("/large"));
  const std::string whole = service.get("/large");
  EXPECT_EQ(whole.size(), body.size() + whole.find("\r\n\r\n") + 4);
  std::this_thread::sleep_for(5s);
  EXPECT_LT(slow.hear_all().size(), body.size());
  EXPECT_THAT(service.get("/"), StartsWith("HTTP/1.1 200 "));
}

TEST(WebServer, KeepsABoundedAmountOfAnswersThatNobodyTakes) {
  const std::string body(16 << 20, 'm');
  RunningService service({}, [&](const WebRequest& request) {
    return request.path == "/large" ? WebAnswer{.body = body} : WebAnswer{};
  });
  std::vector<WebClient> greedy;
  for (int i = 0; i < 8; ++i) {
    greedy.push_back(service.reader(4096));
    ASSERT_TRUE(greedy.back().get("/large"));
    ASSERT_TRUE(greedy.back().hear_more());  // its response has arrived
  }
  std::string answer;  // there is room for it once the others are seen to read nothing
  for (int i = 0; i < 600 && answer.size() < body.size(); ++i) {
    std::this_thread::sleep_for(100ms);
    answer = service.get("/large");
  }
  EXPECT_GT(answer.size(), body.size());
  EXPECT_LT(greedy.front().hear_all().size(), body.size());
}

TEST(WebServer, AnswersAScrapeBesideAThousandThatSayNothing) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 4096) GTEST_SKIP() << "this process may not open 4096 files";
  {
    RunningService service;
    std::vector<WebClient> silent;
    for (int i = 0; i < 1000; ++i) {
      silent.push_back(service.reader());
      ASSERT_TRUE(silent.back().connected());
      if (i % 2 == 0) silent.back().say("GET /");
    }
    EXPECT_THAT(service.get("/x"), HasSubstr("/x|"));
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(WebServer, ThatIsFullLetsTheLongestSilentOneGo) {
  RunningService service({.most_readers = 4});
  std::vector<WebClient> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(service.reader());
    EXPECT_THAT(service.get("/x"), HasSubstr("/x|"));
  }
  EXPECT_EQ(silent.front().hear_all(), "");
}

TEST(WebServer, ThatIsFullLetsStrangersGoBeforeWhoIsKnown) {
  RunningService service({.config = {.users = {{"alice", kSecretHash}}}, .most_readers = 4});
  WebClient known = service.reader();
  known.get("/x", basic("alice:secret"));
  EXPECT_THAT(known.hear_answer(), HasSubstr("/x|"));
  std::vector<WebClient> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(service.reader());
    strangers.back().get("/x");
    EXPECT_THAT(strangers.back().hear_answer(), StartsWith("HTTP/1.1 401 "));
  }
  known.get("/x", basic("alice:secret"));
  EXPECT_THAT(known.hear_answer(), HasSubstr("/x|"));
}

TEST(WebServer, ThatIsFullLetsThoseGoFromWhereMostCome) {
  RunningService service({.most_readers = 32});
  WebClient other = service.reader(0, "127.0.0.2");
  other.say("GET /x HTTP/1.1\r\n");
  std::vector<WebClient> crowd;
  for (int i = 0; i < 90; ++i) {
    crowd.push_back(service.reader());
    crowd.back().get("/x");
    EXPECT_THAT(crowd.back().hear_answer(), HasSubstr("/x|"));
  }
  other.say("Host: localhost\r\n\r\n");
  EXPECT_THAT(other.hear_answer(), HasSubstr("/x|"));
}

// All connections wait for responses that never come.
TEST(WebServer, LetsAnotherInWhileOneAddressAsksForMoreThanCanBeMade) {
  std::promise<void> free;
  const std::shared_future<void> freed = free.get_future().share();
  std::atomic<int> begun = 0;
  RunningService service({.most_readers = 32}, [&](const WebRequest& request) {
    if (request.path == "/hang") ++begun, freed.wait();
    return WebAnswer{.body = "made"};
  });
  std::vector<WebClient> greedy;
  for (int i = 0; i < 32; ++i) {
    greedy.push_back(service.reader());
    greedy.back().get("/hang");
  }
  while (begun < 3) std::this_thread::sleep_for(1ms);
  WebClient other = service.reader(0, "127.0.0.2");
  other.get("/x");
  WebClient late = service.reader();  // is rejected; waiting for it would be in vain
  late.get("/x");
  std::thread later([&] {
    std::this_thread::sleep_for(500ms);
    free.set_value();
  });
  EXPECT_THAT(other.hear_answer(), HasSubstr("made"));
  later.join();
}

TEST(WebServer, GivesWhoSaysNothingMoreItsWholeAnswer) {
  const std::string body(200'000, 'm');
  RunningService service({}, [&](const WebRequest&) { return WebAnswer{.body = body}; });
  for (const char* connection : {"close", "keep-alive"}) {
    WebClient reader = service.reader(4096);
    reader.get("/x", std::string("Connection: ") + connection + "\r\n");
    reader.say_nothing_more();
    std::this_thread::sleep_for(100ms);
    EXPECT_THAT(reader.hear_all(), testing::EndsWith(body)) << connection;
  }
}

TEST(WebServer, LivesOnWhereNoFileIsLeftToOpen) {
  RunningService service;
  std::vector<WebClient> readers;
  const std::string address = (*service).address();
  EXPECT_THAT(service.get("/x"), HasSubstr("/x|"));
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit tight = before;
  tight.rlim_cur = 0;
  for (int room = 8; room > 0; ++tight.rlim_cur)
    if (fcntl(static_cast<int>(tight.rlim_cur), F_GETFD) < 0) --room;
  setrlimit(RLIMIT_NOFILE, &tight);
  for (int i = 0; i < 5; ++i) readers.emplace_back(address);  // so that three more can be accepted
  readers.back().get("/x");
  const std::string answer = readers.back().hear_answer();
  setrlimit(RLIMIT_NOFILE, &before);  // the check of the response may need files itself
  EXPECT_THAT(answer, HasSubstr("/x|"));
  EXPECT_THAT(service.get("/x"), HasSubstr("/x|"));
}

TEST(WebServer, OutlivesAHandlerThatThrowsOrHangs) {
  std::promise<void> free;
  const std::shared_future<void> freed = free.get_future().share();
  std::atomic<int> begun = 0;
  RunningService service({.deadlines = {.making = 3s}}, [&](const WebRequest& request) {
    if (request.path == "/throw") throw std::runtime_error("no");
    if (request.path == "/hang") ++begun, freed.wait();
    return WebAnswer{.body = "made"};
  });
  EXPECT_THAT(service.get("/throw"), StartsWith("HTTP/1.1 500 "));
  std::vector<WebClient> hanging;
  for (int i = 0; i < 3; ++i) {
    hanging.push_back(service.reader());
    hanging.back().get("/hang");
    while (begun == i) std::this_thread::sleep_for(1ms);
    if (i == 2) break;
    EXPECT_THAT(service.get("/x"), HasSubstr("made"));
  }
  EXPECT_THAT(service.get("/x"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 10\r\n")));
  free.set_value();
  for (WebClient& reader : hanging) EXPECT_THAT(reader.hear_answer(), HasSubstr("made"));
  EXPECT_THAT(service.get("/x"), HasSubstr("made"));
}

TEST(WebServer, StopsWithEveryReaderHungUpOn) {
  RunningService service;
  WebClient idle = service.reader();
  WebClient stream = service.reader();
  stream.get("/events");
  ASSERT_TRUE(stream.hear_until("data: first\n\n"));
  idle.get("/x");
  EXPECT_THAT(idle.hear_answer(), HasSubstr("/x|"));
  service.stop();
  EXPECT_EQ(idle.hear_all(), "");
  EXPECT_THAT(stream.hear_all(), HasSubstr("data: first"));
}

TEST(WebServer, StreamsEventsTheLastOneFirst) {
  RunningService service({.most_streams = 1, .comment_every = 50ms});
  WebClient stream = service.reader();
  stream.get("/events");
  ASSERT_TRUE(stream.hear_until("data: first\n\n"));
  (*service).publish("/events", "second\nline\r\nthird");
  ASSERT_TRUE(stream.hear_until("data: second\ndata: line\ndata: third\n\n"));
  ASSERT_TRUE(stream.hear_until(":\n\n:\n\n"));
  WebClient head = service.reader();
  head.say("HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(head.hear_all(), HasSubstr("text/event-stream\r\n"));
}

// All streams are alive: none is rejected, and each is served until enough others have come.
TEST(WebServer, LetsTheLongestServedReaderOfEventsGo) {
  RunningService service({.most_streams = 2});
  std::vector<WebClient> readers;
  for (int i = 0; i < 5; ++i) {
    readers.push_back(service.reader());
    readers.back().get("/events");
    ASSERT_TRUE(readers.back().hear_until("data: first\n\n")) << i;
  }
  (*service).publish("/events", "second");
  for (std::size_t i = 0; i < readers.size(); ++i)
    EXPECT_EQ(readers[i].hear_until("data: second\n\n"), i >= 3) << i;
}

TEST(WebServer, LetsReadersOfEventsGoWhoTakeNone) {
  RunningService service({.most_streams = 4});
  WebClient good = service.reader();  // has been served for the longest
  good.get("/events");
  ASSERT_TRUE(good.hear_until("data: first\n\n"));
  std::vector<WebClient> silent;
  for (int i = 0; i < 3; ++i) {
    silent.push_back(service.reader(4096));
    silent.back().get("/events");
    ASSERT_TRUE(silent.back().hear_until("data: first\n\n"));
  }
  const auto publish = [&](const std::string& name) {
    (*service).publish("/events", std::string(1 << 20, 'x') + name);
    EXPECT_TRUE(good.hear_until(name + "\n\n"));
  };
  publish("second");
  std::vector<WebClient> others;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(500ms);
    publish("third" + std::to_string(i));
    others.push_back(service.reader());
    others.back().get("/events");
    EXPECT_TRUE(others.back().hear_until("third" + std::to_string(i) + "\n\n"));
  }
  publish("last");
  for (WebClient& client : silent) EXPECT_FALSE(client.hear_until("last\n\n"));
}

TEST(WebServer, GivesAStuckReaderOfEventsTheLastOne) {
  constexpr int kMessages = 100;
  RunningService service;
  WebClient good = service.reader();
  WebClient stuck = service.reader(4096);
  for (WebClient* reader : {&good, &stuck}) reader->get("/events");
  ASSERT_TRUE(good.hear_until("data: first\n\n"));
  ASSERT_TRUE(stuck.hear_more());
  for (int i = 1; i <= kMessages; ++i)
    (*service).publish("/events", std::string(1 << 20, 'x') + "-" + std::to_string(i) + ".");
  const std::string last = "x-" + std::to_string(kMessages) + ".\n\n";
  ASSERT_TRUE(good.hear_until(last));
  EXPECT_TRUE(stuck.hear_until(last));
  service.stop();
  EXPECT_LT(stuck.hear_all().size(), std::size_t{kMessages / 2} << 20);
}

TEST(WebServer, LetsInWhoKnowsThePassword) {
  RunningService service({.config = {.users = {{"alice", kSecretHash}}}});
  for (const std::string& headers :
       {std::string(), basic("alice:wrong"), basic("bob:secret"), basic("alice:"), basic("alice"),
        basic(":secret"), basic(std::string("alice:secret\0x", 14)),
        std::string("Authorization: Bearer secret\r\n"), std::string("Authorization: Basic !\r\n"),
        basic("alice:secret") + basic("alice:secret")})
    for (const char* path : {"/x", "/events"})
      EXPECT_THAT(service.get(path, headers),
                  AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Basic realm="),
                        Not(HasSubstr("/x|")), Not(HasSubstr("first"))))
          << headers;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(service.get("/x", basic("alice:secret")), HasSubstr("/x|"));
  EXPECT_THAT(service.get("/x", basic("alice:secret ")), StartsWith("HTTP/1.1 401 "));
  WebClient stream = service.reader();
  stream.get("/events", basic("alice:secret"));
  EXPECT_TRUE(stream.hear_until("data: first\n\n"));
}

TEST(WebServer, KeepsNoScrapeWaitingWhilePasswordsAreGuessed) {
  // "secret" with the cost that htpasswd's manual recommends.
  RunningService service(
      {.config = {.users = {{"alice", "$2b$10$IjlYkt60G9W9YmApj/F8JeKjS6UuZ0UC2QGHEIcgtusckt2WGBvO2"}}}});
  EXPECT_THAT(service.get("/x", basic("alice:secret")), HasSubstr("/x|"));
  std::vector<WebClient> guessing;
  for (int i = 0; i < 100; ++i) {
    guessing.push_back(service.reader());
    guessing.back().get("/x", basic("alice:" + std::to_string(i)));
  }
  EXPECT_THAT(service.get("/x", basic("alice:secret")), HasSubstr("/x|"));
  for (std::size_t i : {std::size_t{0}, guessing.size() - 1})
    EXPECT_THAT(guessing[i].hear_answer(),
                testing::AnyOf(StartsWith("HTTP/1.1 401 "), StartsWith("HTTP/1.1 503 ")));
}

TEST(WebServer, LetsANewPersonInWhileOneAddressGuesses) {
  RunningService service(
      {.config = {.users = {{"alice", "$2b$10$IjlYkt60G9W9YmApj/F8JeKjS6UuZ0UC2QGHEIcgtusckt2WGBvO2"}}}});
  std::vector<WebClient> guessing;
  for (int i = 0; i < 100; ++i) {
    guessing.push_back(service.reader());
    guessing.back().get("/x", basic("alice:" + std::to_string(i)));
  }
  EXPECT_THAT(guessing.back().hear_answer(), StartsWith("HTTP/1.1 503 "));  // the queue is full
  WebClient person = service.reader(0, "127.0.0.2");
  person.get("/x", basic("alice:secret"));
  EXPECT_THAT(person.hear_answer(), HasSubstr("/x|"));
}

// A folder with certificates that the openssl program creates.
class WebServerTls : public testing::Test {
 protected:
  void SetUp() override {
    make("node");
    options_.config = {.certificate = folder_ + "/node.crt", .key = folder_ + "/node.key"};
  }

  // A self-signed certificate, which is its own CA.
  void make(const std::string& name) const {
    const std::string path = folder_ + "/" + name;
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" +
        name + " -keyout '" + path + ".key' -out '" + path + ".crt' 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  std::string crt(const std::string& name) const { return folder_ + "/" + name + ".crt"; }
  void replace(const std::string& from, const std::string& with) const {
    for (const char* end : {".key", ".crt"})
      std::filesystem::rename(folder_ + "/" + with + end, folder_ + "/" + from + end);
  }

  TemporaryFolder temporary_;
  std::string folder_ = temporary_.path();
  WebOptions options_;
};

TEST_F(WebServerTls, SpeaksWithWhoTrustsItsCertificate) {
  options_.config.users = {{"alice", kSecretHash}};
  RunningService service(options_);
  EXPECT_THAT((*service).address(), StartsWith("https://127.0.0.1:"));
  WebClient reader = service.reader();
  ASSERT_TRUE(reader.begin_tls(crt("node")));
  ASSERT_TRUE(reader.get("/x"));
  EXPECT_THAT(reader.hear_answer(), StartsWith("HTTP/1.1 401 "));
  ASSERT_TRUE(reader.get("/x", basic("alice:secret")));
  EXPECT_THAT(reader.hear_answer(), HasSubstr("/x|"));
  ASSERT_TRUE(reader.get("/events", basic("alice:secret")));
  ASSERT_TRUE(reader.hear_until("data: first\n\n"));
  (*service).publish("/events", "second");
  EXPECT_TRUE(reader.hear_until("data: second\n\n"));
  WebClient plain = service.reader();
  plain.get("/x");
  EXPECT_THAT(plain.hear_all(), Not(HasSubstr("/x|")));
}

TEST_F(WebServerTls, BoundsHandshakesThatDoNotEnd) {
  options_.most_greeting = 4;
  RunningService service(options_);
  WebClient idle = service.reader();
  ASSERT_TRUE(idle.begin_tls(crt("node")));
  std::vector<WebClient> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(service.reader());
    if (i % 2 == 0) silent.back().say("\x16\x03\x01\x02");  // the start of a ClientHello
    WebClient reader = service.reader();
    ASSERT_TRUE(reader.begin_tls(crt("node"))) << i;
    reader.get("/x");
    EXPECT_THAT(reader.hear_answer(), HasSubstr("/x|"));
  }
  for (std::size_t i = 0; i + 4 < silent.size(); ++i) EXPECT_EQ(silent[i].hear_all(), "") << i;
  idle.get("/x");  // has been idle for longer, but is permitted to
  EXPECT_THAT(idle.hear_answer(), HasSubstr("/x|"));
}

TEST_F(WebServerTls, SendsWhatIsLargeWhole) {
  const std::string body(8 << 20, 'm');
  RunningService service(options_, [&](const WebRequest&) { return WebAnswer{.body = body}; });
  WebClient reader = service.reader(4096);
  ASSERT_TRUE(reader.begin_tls(crt("node")));
  ASSERT_TRUE(reader.get("/x"));
  EXPECT_THAT(reader.hear_answer(), testing::EndsWith(body));
  WebClient stream = service.reader(4096);
  ASSERT_TRUE(stream.begin_tls(crt("node")));
  ASSERT_TRUE(stream.get("/events"));
  ASSERT_TRUE(stream.hear_until("data: first\n\n"));
  (*service).publish("/events", body);
  ASSERT_TRUE(stream.say(std::string(30'000, 'x')));  // which the service ignores
  EXPECT_TRUE(stream.hear_until("data: " + body + "\n\n"));
}

TEST_F(WebServerTls, KeepsNoSessionsOfReadersWithoutTickets) {
  RunningService service(options_);
  for (const bool has_ticket : {true, false}) {
    SSL_SESSION* session = nullptr;
    const auto prepare = [&](SSL* tls) {
      SSL_set_max_proto_version(tls, TLS1_2_VERSION);
      if (!has_ticket) SSL_set_options(tls, SSL_OP_NO_TICKET);
      if (session != nullptr) SSL_set_session(tls, session);
    };
    WebClient first = service.reader();
    ASSERT_TRUE(first.begin_tls(crt("node"), "", prepare));
    session = SSL_get1_session(first.tls());
    WebClient second = service.reader();
    ASSERT_TRUE(second.begin_tls(crt("node"), "", prepare));
    EXPECT_EQ(SSL_session_reused(second.tls()) == 1, has_ticket);
    SSL_SESSION_free(session);
  }
}

TEST_F(WebServerTls, UsesARenewedCertificateAndKeepsTheOldOneForABrokenOne) {
  std::atomic<int> notes = 0;
  std::string said;
  options_.note = [&](std::string_view text) {
    said = text;
    ++notes;
  };
  RunningService service(options_);
  make("next");
  make("third");
  std::filesystem::copy_file(crt("node"), folder_ + "/old.pem");
  std::filesystem::copy_file(crt("next"), folder_ + "/new.pem");
  const auto serves = [&](const std::string& trusted) {
    WebClient reader = service.reader();
    return reader.begin_tls(folder_ + trusted) && reader.get("/x") && !reader.hear_answer().empty();
  };
  EXPECT_TRUE(serves("/old.pem"));
  replace("node", "next");
  EXPECT_TRUE(serves("/new.pem"));
  EXPECT_FALSE(serves("/old.pem"));
  std::filesystem::rename(folder_ + "/third.crt", crt("node"));  // its key has not arrived yet
  EXPECT_TRUE(serves("/new.pem"));
  EXPECT_TRUE(serves("/new.pem"));
  EXPECT_EQ(notes, 1);
  service.stop();
  EXPECT_THAT(said, HasSubstr("node.key: this is not the key of "));
}

TEST_F(WebServerTls, AsksReadersForTheirCertificates) {
  make("friend");
  make("stranger");
  options_.config.client_authority = crt("friend");
  RunningService service(options_);
  WebClient known = service.reader();
  ASSERT_TRUE(known.begin_tls(crt("node"), folder_ + "/friend"));
  known.get("/x");
  EXPECT_THAT(known.hear_answer(), HasSubstr("/x|"));
  for (const std::string& own : {std::string(), folder_ + "/stranger"}) {
    WebClient other = service.reader();
    // With TLS 1.3, the refusal comes after the client's part of the handshake.
    other.begin_tls(crt("node"), own);
    other.get("/x");
    EXPECT_EQ(other.hear_all(), "");
  }
}

TEST_F(WebServerTls, SaysWhatIsWrongWithItsFiles) {
  const auto problem = [&] {
    const auto opened = WebServer::open(options_, RunningService::echo);
    return opened ? "" : opened.error().text;
  };
  EXPECT_EQ(problem(), "");
  chmod((folder_ + "/node.key").c_str(), 0644);
  EXPECT_THAT(problem(), HasSubstr("chmod o-rwx '" + folder_ + "/node.key'"));
  chmod((folder_ + "/node.key").c_str(), 0640);
  EXPECT_EQ(problem(), "");
  make("other");
  options_.config.key = folder_ + "/other.key";
  EXPECT_THAT(problem(), HasSubstr("is not the key of"));
  const std::string locked = folder_ + "/locked.key";
  ASSERT_EQ(std::system(("openssl ec -aes256 -passout pass:word -in '" + folder_ + "/node.key' -out '" +
                         locked + "' 2>/dev/null")
                            .c_str()),
            0);
  options_.config.key = locked;
  EXPECT_THAT(problem(), HasSubstr("without a passphrase"));
  options_.config.key = folder_ + "/missing.key";
  EXPECT_THAT(problem(), HasSubstr("missing.key"));
  options_.config.key = folder_ + "/node.key";
  options_.config.certificate = folder_ + "/node.key";
  EXPECT_THAT(problem(), HasSubstr("no certificate in PEM"));
}

}  // namespace
}  // namespace railbed
