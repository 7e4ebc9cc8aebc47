#include "monitor/web/web_server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/host_port.h"
#include "base/ip.h"
#include "base/text.h"
#include "monitor/web/web_connection.h"
#include "monitor/web/web_tls.h"
#include "os/socket.h"

namespace railbed {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t kPageThreads = 3;
constexpr std::size_t kPasswordThreads = 1;  // so that guessing passwords does not take the whole machine
constexpr std::size_t kMostWaitingPasswords = 32;
constexpr std::size_t kMostUntakenBytes = 64 << 20;  // limit for all unsent responses
constexpr std::size_t kFilesOfOthers = 128;          // files that the process opens for other purposes
// Socket buffers; the kernel doubles the values for its own bookkeeping. A request is small, and the part of
// a response that is buffered ahead of its client is memory of this process, too.
constexpr int kReceiveBuffer = 16 << 10;
constexpr int kSendBuffer = 64 << 10;
constexpr std::size_t kFew = 16;  // unit of counting connections of one origin; fewer are no crowd
constexpr std::chrono::milliseconds kAcceptPause{100};

// A parsed listening address.
struct WebPlace {
  IpAddress address;
  int port = 0;
  bool all = false;  // no address was given
};

std::optional<WebPlace> parse_web_place(std::string_view listen) {
  const auto colon = listen.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_number<int>(listen.substr(colon + 1));
  std::string_view name = listen.substr(0, colon);
  if (!port || *port < 0 || *port > 65535) return std::nullopt;
  if (name.empty()) return WebPlace{*IpAddress::parse("::"), *port, true};
  const bool bracketed = name.starts_with('[') && name.ends_with(']');
  if (bracketed) name = name.substr(1, name.size() - 2);
  const auto address = IpAddress::parse(name == "localhost" ? "127.0.0.1" : name);
  if (!address || bracketed == address->is_v4()) return std::nullopt;
  return WebPlace{*address, *port, false};
}

// Returns the limit for connections. The process could not accept more than it may open files.
std::size_t readers_that_fit(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const std::size_t files = limit.rlim_cur;
  return std::min(wanted, files > 2 * kFilesOfOthers ? files - kFilesOfOthers : files / 2);
}

WebAnswer made_by(const WebHandler& handler, const WebRequest& request) {
  try {
    return handler(request);
  } catch (...) {  // the client learns that it failed, but not why
    return web_refusal(500);
  }
}

class WebService final : public WebServer, public WebConnection::Service {
 public:
  WebService(WebOptions options, WebHandler handler, bool local, std::optional<WebTls> tls)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        local_(local),
        tls_(std::move(tls)),
        users_(options_.config.users),
        most_readers_(readers_that_fit(options_.most_readers)),
        most_streams_(std::clamp<std::size_t>(most_readers_ / 2, 1, options_.most_streams)),
        loop_(1),
        acceptor_(loop_),
        pause_(loop_),
        comments_(loop_) {}

  ~WebService() override { hang_up(); }

  Result<void> take_over(Fd listener, int family, std::string shown) {
    WebError error;
    acceptor_.assign(family == AF_INET ? tcp::v4() : tcp::v6(), listener.get(), error);
    if (error) return fail(ErrorKind::kUnavailable, "cannot listen: " + error.message());
    static_cast<void>(listener.release());
    // Accepted sockets inherit these options.
    acceptor_.set_option(boost::asio::socket_base::receive_buffer_size(kReceiveBuffer), error);
    acceptor_.set_option(boost::asio::socket_base::send_buffer_size(kSendBuffer), error);
    address_ = (tls_ ? "https://" : "http://") + std::move(shown);
    return {};
  }

  std::string address() const override { return address_; }

  void run(std::stop_token stop) override {
    pages_.emplace(kPageThreads);
    passwords_.emplace(kPasswordThreads);
    boost::asio::post(loop_, [this] {
      accept();
      comment_later();
    });
    const std::stop_callback on_stop(stop, [this] {
      boost::asio::post(loop_, [this] {
        hang_up();
        loop_.stop();
      });
    });
    while (!loop_.stopped()) run_loop();
    pages_.reset();
    passwords_.reset();
  }

  void publish(std::string_view path, std::string message) override {
    auto frame = std::make_shared<const std::string>(event_text(message));
    boost::asio::post(loop_, [this, path = std::string(path), frame = std::move(frame)] {
      latest_[path] = frame;
      for (const auto& connection : connections_)
        if (connection->reads_events() && connection->path() == path) connection->send(frame);
    });
  }

  const WebOptions& options() const override { return options_; }
  bool is_local() const override { return local_; }
  WebUsers& users() override { return users_; }

  std::shared_ptr<WebErrand> verify(WebConnection& asks, const WebCredentials& given) override {
    // A client from an origin with few connections does not wait behind a crowd that guesses passwords.
    const auto crowded = first_to_yield([this, &asks](const WebConnection& connection) {
      return connection.awaits_verdict() && crowd_of(connection) > crowd_of(asks);
    });
    if (passwords_->waiting() >= kMostWaitingPasswords && !(crowded && crowded->give_up())) return nullptr;
    const auto work = [this, asks = asks.weak_from_this(), given] {
      const bool good = users_.verify(given);
      boost::asio::post(loop_, [this, asks, good] {
        passwords_->delivered();
        if (const auto connection = asks.lock()) connection->verified(good);
      });
    };
    return passwords_->add(work, crowded != nullptr);
  }

  std::shared_ptr<WebErrand> make(WebConnection& asks, const WebRequest& request) override {
    return pages_->add([this, asks = asks.weak_from_this(), request] {
      auto answer = std::make_shared<WebAnswer>(made_by(handler_, request));
      boost::asio::post(loop_, [this, asks, answer = std::move(answer)] {
        pages_->delivered();
        if (const auto connection = asks.lock()) connection->deliver(std::move(*answer));
      });
    });
  }

  WebFrame last_event(const std::string& path) const override {
    const auto found = latest_.find(path);
    return found == latest_.end() ? nullptr : found->second;
  }

  bool make_room_for_stream() override {
    return streams_ < most_streams_ ||
           make_room([](const WebConnection& connection) { return connection.reads_events(); });
  }

  void count_streams() override {
    const auto streams = std::count_if(connections_.begin(), connections_.end(),
                                       [](const auto& connection) { return connection->reads_events(); });
    streams_ = static_cast<std::size_t>(streams);
  }

  std::size_t event_readers() const override { return streams_; }

  bool hold(std::size_t bytes) override {
    while (untaken_bytes_ + bytes > kMostUntakenBytes) {
      const auto is_stuck = [](const WebConnection& connection) {
        return connection.is_writing() && connection.takes_nothing();
      };
      if (!make_room(is_stuck)) return false;
    }
    untaken_bytes_ += bytes;
    return true;
  }
  void release(std::size_t bytes) override { untaken_bytes_ -= bytes; }

  void forget(WebConnection& closed) override {
    if (connections_.erase(closed.shared_from_this()) == 0) return;
    const auto origin = origins_.find(closed.origin());
    if (--origin->second == 0) origins_.erase(origin);
  }

 private:
  // Asio reports errors as codes. Only a lack of memory throws, and it costs one connection.
  void run_loop() {
    try {
      loop_.run();
    } catch (const std::exception& problem) {
      if (options_.note) options_.note(fmt::format("the web service goes on after: {}", problem.what()));
    }
  }

  void accept() {
    acceptor_.async_accept([this](const WebError& error, tcp::socket socket) {
      if (error == boost::asio::error::operation_aborted) return;
      if (!error || error == boost::asio::error::connection_aborted) accept();
      if (!error) return admit(std::move(socket));
      if (error == boost::asio::error::connection_aborted) return;
      // Most likely no file descriptor is free. Close one connection, and pause, because an immediate retry
      // would fail in a loop.
      static_cast<void>(make_room(may_go));
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](const WebError& stopped) {
        if (!stopped) accept();
      });
    });
  }

  // Admits a new connection. If a limit is reached, it replaces another one or is rejected.
  void admit(tcp::socket socket) {
    WebError ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const auto connection = std::make_shared<WebConnection>(*this, std::move(socket),
                                                            tls_ ? tls_->context(options_.note) : nullptr);
    if (connections_.size() >= most_readers_ && !make_place_for(*connection)) return;
    const auto is_greeting = [](const WebConnection& connection) { return connection.is_greeting(); };
    const auto greeting = std::count_if(connections_.begin(), connections_.end(),
                                        [&](const auto& one) { return is_greeting(*one); });
    if (static_cast<std::size_t>(greeting) >= options_.most_greeting && !make_room(is_greeting)) return;
    connections_.insert(connection);
    ++origins_[connection->origin()];
    connection->start();
  }

  bool make_place_for(const WebConnection& newcomer) {
    const std::size_t crowd = crowd_of(newcomer);
    // A crowd has itself to blame if its requests wait, so they may be closed as well.
    const auto yields = first_to_yield([&](const WebConnection& connection) {
      return may_go(connection) || (connection.awaits_answer() && crowd_of(connection) > crowd);
    });
    // An origin with more than half of all connections may not displace one of a smaller origin.
    if (!yields || (count_of(newcomer) > most_readers_ / 2 && crowd_of(*yields) < crowd)) return false;
    yields->yield();
    return true;
  }
  static bool may_go(const WebConnection& connection) {
    return connection.can_go() || (connection.is_writing() && connection.takes_nothing());
  }
  // Returns the number of connections of the same origin.
  std::size_t count_of(const WebConnection& connection) const {
    const auto origin = origins_.find(connection.origin());
    return origin == origins_.end() ? 0 : origin->second;
  }
  std::size_t crowd_of(const WebConnection& connection) const { return count_of(connection) / kFew; }

  // Returns the connection to close first among those that `wanted` accepts; null if none. The order: streams
  // whose clients accept nothing; unauthenticated clients; clients of the origin with most connections;
  // clients that have been idle, stuck or served for the longest time.
  template <class Wanted>
  std::shared_ptr<WebConnection> first_to_yield(const Wanted& wanted) const {
    const auto rank = [this](const WebConnection& connection) {
      return std::tuple(!(connection.reads_events() && connection.takes_nothing()), connection.is_known(),
                        most_readers_ - std::min(crowd_of(connection), most_readers_), connection.since());
    };
    std::shared_ptr<WebConnection> found;
    for (const auto& connection : connections_)
      if (wanted(*connection) && (!found || rank(*connection) < rank(*found))) found = connection;
    return found;
  }

  template <class Wanted>
  bool make_room(const Wanted& wanted) {
    const auto yields = first_to_yield(wanted);
    if (yields) yields->yield();
    return yields != nullptr;
  }

  void comment_later() {
    comments_.expires_after(options_.comment_every);
    comments_.async_wait([this](const WebError& stopped) {
      if (stopped) return;
      for (const auto& connection : connections_)
        if (connection->reads_events()) connection->send_comment();
      comment_later();
    });
  }

  void hang_up() {
    WebError ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    comments_.cancel();
    while (!connections_.empty()) (*connections_.begin())->close();
  }

  const WebOptions options_;
  const WebHandler handler_;
  const bool local_;
  std::optional<WebTls> tls_;
  WebUsers users_;
  const std::size_t most_readers_;
  const std::size_t most_streams_;
  std::string address_;
  boost::asio::io_context loop_;
  tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer comments_;
  std::set<std::shared_ptr<WebConnection>> connections_;
  std::unordered_map<std::uint64_t, std::size_t> origins_;  // origin → number of its connections
  std::map<std::string, WebFrame> latest_;                  // the last event of each stream
  std::size_t untaken_bytes_ = 0;
  std::atomic<std::size_t> streams_ = 0;
  std::optional<WebWorkers> pages_;
  std::optional<WebWorkers> passwords_;
};

}  // namespace

Result<void> check_listen(std::string_view listen) {
  if (parse_web_place(listen)) return {};
  return fail(ErrorKind::kBadInput,
              fmt::format("\"{}\" is no address to listen at: write 127.0.0.1:9885, [::1]:9885, or :9885 for "
                          "every address of this machine",
                          printable(listen)));
}

bool is_loopback(std::string_view listen) {
  const auto place = parse_web_place(listen);
  return place && place->address.is_loopback();
}

Result<std::unique_ptr<WebServer>> WebServer::open(WebOptions options, WebHandler handler) {
  RETURN_IF_ERROR(check_listen(options.listen));
  const auto place = parse_web_place(options.listen);
  std::optional<WebTls> tls;
  if (!options.config.certificate.empty()) {
    ASSIGN_OR_RETURN(auto opened, WebTls::open(options.config));
    tls = std::move(opened);
  }
  IpAddress address = place->address;
  Fd listener = listening_socket(socket_address(address, place->port), kBacklog);
  if (!listener && place->all && errno == EAFNOSUPPORT) {  // a kernel without IPv6
    address = *IpAddress::parse("0.0.0.0");
    listener = listening_socket(socket_address(address, place->port), kBacklog);
  }
  if (!listener)
    return fail(ErrorKind::kUnavailable,
                fmt::format("cannot listen on {}: {}", host_and_port(address.to_text(), place->port),
                            std::strerror(errno)));
  std::string shown = host_and_port(address.to_text(), port_of(listener.get()));
  auto service = std::make_unique<WebService>(std::move(options), std::move(handler), address.is_loopback(),
                                              std::move(tls));
  if (auto taken =
          service->take_over(std::move(listener), address.is_v4() ? AF_INET : AF_INET6, std::move(shown));
      !taken)
    return fail(taken.error());
  return {std::move(service)};
}

}  // namespace railbed
