#include "monitor/web/web_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

namespace railbed {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t kReadAtOnce = 8 << 10;

// The condition of the socket for which the next attempt has to wait; nullopt if the operation is done or
// failed.
using Wait = std::optional<tcp::socket::wait_type>;

class SocketStream : public WebStream {
 public:
  explicit SocketStream(tcp::socket socket) : socket_(std::move(socket)) {
    WebError ignored;
    socket_.non_blocking(true, ignored);
  }
  tcp::socket& socket() override { return socket_; }

 protected:
  using Try = std::function<Wait(WebError&)>;

  // Repeats `attempt` whenever the socket is ready, until it succeeds or fails; then calls `done`.
  void pursue(Try attempt, Done done) {
    boost::asio::post(socket_.get_executor(),
                      [this, attempt = std::move(attempt), done = std::move(done)] { go_on(attempt, done); });
  }

  tcp::socket socket_;

 private:
  // The captures of `done` keep this stream alive.
  void go_on(const Try& attempt, const Done& done) {
    WebError error;
    const Wait wait = attempt(error);
    if (!wait) return done(error);
    socket_.async_wait(*wait, [this, attempt, done](const WebError& failed) {
      if (failed) return done(failed);
      go_on(attempt, done);
    });
  }
};

class PlainStream : public SocketStream {
 public:
  using SocketStream::SocketStream;

  void begin(Done done) override {
    pursue([](WebError&) { return Wait(); }, std::move(done));
  }
  void read(std::string& into, std::size_t most, Done done) override {
    pursue(
        [this, &into, most](WebError& error) -> Wait {
          std::array<char, kReadAtOnce> room;
          const std::size_t got =
              socket_.read_some(boost::asio::buffer(room.data(), std::min(most, room.size())), error);
          if (waits(error)) return tcp::socket::wait_read;
          into.append(room.data(), got);
          return std::nullopt;
        },
        std::move(done));
  }
  void write(boost::asio::const_buffer all, Done done) override {
    pursue(
        [this, rest = all](WebError& error) mutable -> Wait {
          while (rest.size() > 0 && !error) rest += socket_.write_some(rest, error);
          return waits(error) ? Wait(tcp::socket::wait_write) : std::nullopt;
        },
        std::move(done));
  }
  void end(Done done) override { begin(std::move(done)); }

 private:
  static bool waits(WebError& error) {
    if (error != boost::asio::error::would_block) return false;
    error.clear();
    return true;
  }
};

// Lets OpenSSL read and write the socket. Its own socket BIO would end the program if the client has gone
// (SIGPIPE), and would continue to use the number of a closed file after another connection has received it.
int read_socket(BIO* bio, char* into, int most) {
  auto& socket = *static_cast<tcp::socket*>(BIO_get_data(bio));
  WebError error;
  BIO_clear_retry_flags(bio);
  const std::size_t got = socket.read_some(boost::asio::buffer(into, static_cast<std::size_t>(most)), error);
  if (!error) return static_cast<int>(got);
  if (error == boost::asio::error::would_block) BIO_set_retry_read(bio);
  return error == boost::asio::error::eof ? 0 : -1;
}
int write_socket(BIO* bio, const char* from, int bytes) {
  auto& socket = *static_cast<tcp::socket*>(BIO_get_data(bio));
  WebError error;
  BIO_clear_retry_flags(bio);
  const std::size_t gone =
      socket.write_some(boost::asio::buffer(from, static_cast<std::size_t>(bytes)), error);
  if (!error) return static_cast<int>(gone);
  if (error == boost::asio::error::would_block) BIO_set_retry_write(bio);
  return -1;
}
long control_socket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO* socket_bio(tcp::socket& socket) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "railbed's socket");
    if (made == nullptr) return made;
    BIO_meth_set_read(made, read_socket);
    BIO_meth_set_write(made, write_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  BIO* bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio != nullptr) BIO_set_data(bio, &socket);
  return bio;
}

class TlsStream : public SocketStream {
 public:
  TlsStream(tcp::socket socket, const TlsContext& context)
      : SocketStream(std::move(socket)), tls_(SSL_new(context->native_handle()), SSL_free) {
    BIO* const bio = tls_ ? socket_bio(socket_) : nullptr;
    if (bio == nullptr) {  // out of memory
      tls_.reset();
      return;
    }
    SSL_set_bio(tls_.get(), bio, bio);
    SSL_set_accept_state(tls_.get());
  }

  void begin(Done done) override {
    if (!tls_) return pursue([](WebError& error) { return failed(error); }, std::move(done));
    pursue([this](WebError& error) { return judged(SSL_do_handshake(tls_.get()), error); }, std::move(done));
  }
  void read(std::string& into, std::size_t most, Done done) override {
    pursue(
        [this, &into, most](WebError& error) -> Wait {
          std::array<char, kReadAtOnce> room;
          const int got = SSL_read(tls_.get(), room.data(), static_cast<int>(std::min(most, room.size())));
          if (got > 0) into.append(room.data(), static_cast<std::size_t>(got));
          return judged(got, error);
        },
        std::move(done));
  }
  void write(boost::asio::const_buffer all, Done done) override {
    pursue(
        [this, rest = all](WebError& error) mutable -> Wait {
          while (rest.size() > 0) {
            const int gone = SSL_write(tls_.get(), rest.data(), static_cast<int>(rest.size()));
            if (gone <= 0) return judged(gone, error);
            rest += static_cast<std::size_t>(gone);
          }
          return std::nullopt;
        },
        std::move(done));
  }
  void end(Done done) override {
    pursue(
        [this](WebError& error) -> Wait {
          const int said = SSL_shutdown(tls_.get());
          // 0: the client has not closed its side yet
          return said >= 0 ? std::nullopt : judged(said, error);
        },
        std::move(done));
  }

 private:
  static Wait failed(WebError& error) {
    error = boost::asio::error::connection_aborted;
    return std::nullopt;
  }
  Wait judged(int result, WebError& error) const {
    const int why = SSL_get_error(tls_.get(), result);
    ERR_clear_error();  // otherwise the next call, of any connection, would see it
    if (why == SSL_ERROR_NONE) return std::nullopt;
    if (why == SSL_ERROR_WANT_READ) return tcp::socket::wait_read;
    if (why == SSL_ERROR_WANT_WRITE) return tcp::socket::wait_write;
    if (why != SSL_ERROR_ZERO_RETURN) return failed(error);
    error = boost::asio::error::eof;
    return std::nullopt;
  }

  // Holds a reference to its context, which may therefore be renewed meanwhile.
  std::unique_ptr<SSL, void (*)(SSL*)> tls_;
};

}  // namespace

std::unique_ptr<WebStream> web_stream(tcp::socket socket, const TlsContext& context) {
  if (!context) return std::make_unique<PlainStream>(std::move(socket));
  return std::make_unique<TlsStream>(std::move(socket), context);
}

}  // namespace railbed
