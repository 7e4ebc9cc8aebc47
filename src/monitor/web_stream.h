// The bytes between a reader and the web service: over TCP as they are, or within TLS. All of it happens on
// the service's one thread.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>

#include "monitor/web_tls.h"

namespace railbed {

using WebError = boost::system::error_code;

class WebStream {
 public:
  using Done = std::function<void(const WebError&)>;
  using Moved = std::function<void(const WebError&, std::size_t)>;

  virtual ~WebStream() = default;
  virtual void begin(Done done) = 0;                                     // TLS: the handshake
  virtual void read(boost::asio::mutable_buffer into, Moved moved) = 0;  // what has come
  virtual void write(boost::asio::const_buffer all, Moved moved) = 0;
  virtual void end(Done done) = 0;  // says that nothing more comes from here
  virtual boost::asio::ip::tcp::socket& socket() = 0;
};

// Without a context: over TCP as they are.
std::unique_ptr<WebStream> web_stream(boost::asio::ip::tcp::socket socket, const TlsContext& context);

}  // namespace railbed
