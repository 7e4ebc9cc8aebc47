// The bytes between a reader and the web service: over TCP as they are, or within TLS. All of it happens on
// the service's one thread. What waits for a reader holds no room for the bytes that may come: OpenSSL reads
// and writes the socket itself, when it is ready (docs/decisions/0013).
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "monitor/web_tls.h"

namespace railbed {

using WebError = boost::system::error_code;

class WebStream {
 public:
  // Called later, never within the call that it is given to.
  using Done = std::function<void(const WebError&)>;

  virtual ~WebStream() = default;
  virtual void begin(Done done) = 0;  // TLS: the handshake
  // Appends what has come, which is `most` bytes at most.
  virtual void read(std::string& into, std::size_t most, Done done) = 0;
  virtual void write(boost::asio::const_buffer all, Done done) = 0;
  virtual void end(Done done) = 0;  // tells the reader that nothing more comes
  virtual boost::asio::ip::tcp::socket& socket() = 0;
};

// Without a context: over TCP as they are.
std::unique_ptr<WebStream> web_stream(boost::asio::ip::tcp::socket socket, const TlsContext& context);

}  // namespace railbed
