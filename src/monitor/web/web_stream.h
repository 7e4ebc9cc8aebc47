// The byte stream between a client and the web service: plain TCP, or TLS. Everything happens on the
// service's thread. A stream that waits for its client holds no buffer for the expected bytes: OpenSSL reads
// and writes the socket itself once the socket is ready (docs/decisions/0013).
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "monitor/web/web_tls.h"

namespace railbed {

using WebError = boost::system::error_code;

// The buffers that are passed in must stay valid until `done` is called. `done` must also keep the stream
// alive.
class WebStream {
 public:
  // Called later, never during the call to which it was passed.
  using Done = std::function<void(const WebError&)>;

  virtual ~WebStream() = default;
  virtual void begin(Done done) = 0;  // TLS: performs the handshake
  // Appends the bytes that have arrived, at most `most`.
  virtual void read(std::string& into, std::size_t most, Done done) = 0;
  // Writes all bytes.
  virtual void write(boost::asio::const_buffer all, Done done) = 0;
  virtual void end(Done done) = 0;  // signals the client that no more data follows
  virtual boost::asio::ip::tcp::socket& socket() = 0;
};

// Returns a TLS stream with this context; without a context, a plain one.
std::unique_ptr<WebStream> web_stream(boost::asio::ip::tcp::socket socket, const TlsContext& context);

}  // namespace railbed
