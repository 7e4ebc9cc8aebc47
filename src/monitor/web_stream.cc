#include "monitor/web_stream.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace railbed {
namespace {

using boost::asio::ip::tcp;

class PlainStream : public WebStream {
 public:
  explicit PlainStream(tcp::socket socket) : socket_(std::move(socket)) {}

  void begin(Done done) override {
    boost::asio::post(socket_.get_executor(), [done] { done({}); });
  }
  void read(boost::asio::mutable_buffer into, Moved moved) override {
    socket_.async_read_some(into, std::move(moved));
  }
  void write(boost::asio::const_buffer all, Moved moved) override {
    boost::asio::async_write(socket_, all, std::move(moved));
  }
  void end(Done done) override { begin(std::move(done)); }
  tcp::socket& socket() override { return socket_; }

 private:
  tcp::socket socket_;
};

class TlsStream : public WebStream {
 public:
  TlsStream(tcp::socket socket, const TlsContext& context)
      : context_(context), stream_(std::move(socket), *context) {}

  void begin(Done done) override {
    stream_.async_handshake(boost::asio::ssl::stream_base::server, std::move(done));
  }
  void read(boost::asio::mutable_buffer into, Moved moved) override {
    stream_.async_read_some(into, std::move(moved));
  }
  void write(boost::asio::const_buffer all, Moved moved) override {
    boost::asio::async_write(stream_, all, std::move(moved));
  }
  void end(Done done) override { stream_.async_shutdown(std::move(done)); }
  tcp::socket& socket() override { return stream_.next_layer(); }

 private:
  TlsContext context_;  // outlives its renewal
  boost::asio::ssl::stream<tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<WebStream> web_stream(tcp::socket socket, const TlsContext& context) {
  if (!context) return std::make_unique<PlainStream>(std::move(socket));
  return std::make_unique<TlsStream>(std::move(socket), context);
}

}  // namespace railbed
