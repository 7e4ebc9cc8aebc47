#include "monitor/web/web_tls.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/wipe.h"

namespace railbed {
namespace {

namespace ssl = boost::asio::ssl;

constexpr std::size_t kPemBytes = 1 << 20;

tl::unexpected<Error> unusable(const std::string& path, std::string_view why) {
  return fail(ErrorKind::kBadInput, fmt::format("{}: {}", path, why));
}

// Returns OpenSSL's text for its last failure.
std::string tls_reason(const boost::system::error_code& error) {
  const char* reason = ERR_reason_error_string(static_cast<unsigned>(error.value()));
  ERR_clear_error();
  return reason != nullptr ? reason : error.message();
}

// Returns a text that changes if a file is written or replaced, even through a link that leads elsewhere.
std::string stamp_of(const WebConfig& config) {
  std::string stamp;
  for (const std::string& path : {config.certificate, config.key, config.client_authority}) {
    struct stat status = {};
    if (path.empty() || stat(path.c_str(), &status) != 0)
      stamp += "- ";
    else
      stamp += fmt::format("{}:{}:{}:{}.{}:{}.{} ", status.st_dev, status.st_ino, status.st_size,
                           status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                           status.st_ctim.tv_nsec);
  }
  return stamp;
}

Result<void> keeps_to_itself(const std::string& key) {
  struct stat status = {};
  if (stat(key.c_str(), &status) != 0) return unusable(key, std::strerror(errno));
  if ((status.st_mode & S_IROTH) != 0)
    return unusable(key, "everyone on this machine can read this key: " +
                             command("chmod o-rwx {}", ShellQuoted{key}).text());
  return {};
}

Result<void> use_certificate(ssl::context& context, const std::string& path) {
  ASSIGN_OR_RETURN(auto text, read_file(path, kPemBytes));
  boost::system::error_code error;
  context.use_certificate_chain(boost::asio::buffer(text), error);
  if (error) return unusable(path, "no certificate in PEM: " + tls_reason(error));
  return {};
}

Result<void> use_key(ssl::context& context, const std::string& path) {
  if (auto kept = keeps_to_itself(path); !kept) return kept;
  ASSIGN_OR_RETURN(auto text, read_file(path, kPemBytes));
  boost::system::error_code error;
  // Without a callback, OpenSSL would prompt for a passphrase on the terminal.
  context.set_password_callback([](std::size_t, auto) { return std::string(); }, error);
  context.use_private_key(boost::asio::buffer(text), ssl::context::pem, error);
  wipe(text);
  if (error) return unusable(path, "no key in PEM without a passphrase: " + tls_reason(error));
  return {};
}

Result<void> use_authority(ssl::context& context, const std::string& path) {
  ASSIGN_OR_RETURN(auto text, read_file(path, kPemBytes));
  boost::system::error_code error;
  context.add_certificate_authority(boost::asio::buffer(text), error);
  if (error) return unusable(path, "no certificates in PEM: " + tls_reason(error));
  context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  return {};
}

Result<TlsContext> tls_context(const WebConfig& config) {
  // Do not load openssl.cnf. It is made for the machine's OpenSSL; a provider or an engine in it would load
  // libraries that do not fit the OpenSSL in this program.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  ERR_clear_error();
  TlsContext context;
  try {  // Asio offers no way without exceptions
    context = std::make_shared<ssl::context>(ssl::context::tls_server);
  } catch (const std::exception& problem) {
    return fail(ErrorKind::kInternal, fmt::format("TLS: {}", problem.what()));
  }
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, config.only_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(native,
                      SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(
      native, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Clients resume a session with the ticket that they keep. Without this, OpenSSL would keep up to 20,480
  // sessions here.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  constexpr unsigned char kSession[] = "railbed";  // a session can be resumed only at this service
  SSL_CTX_set_session_id_context(native, kSession, sizeof kSession - 1);
  RETURN_IF_ERROR(use_key(*context, config.key));
  RETURN_IF_ERROR(use_certificate(*context, config.certificate));
  if (SSL_CTX_check_private_key(native) != 1) {
    ERR_clear_error();
    return unusable(config.key, fmt::format("this is not the key of {}", config.certificate));
  }
  if (config.client_authority.empty()) return context;
  RETURN_IF_ERROR(use_authority(*context, config.client_authority));
  return context;
}

}  // namespace

Result<WebTls> WebTls::open(const WebConfig& config) {
  WebTls tls(config);
  tls.stamp_ = stamp_of(config);
  ASSIGN_OR_RETURN(auto context, tls_context(config));
  tls.context_ = std::move(context);
  return tls;
}

TlsContext WebTls::context(const std::function<void(std::string_view)>& note) {
  std::string stamp = stamp_of(config_);
  if (stamp == stamp_) return context_;
  stamp_ = std::move(stamp);
  if (auto fresh = tls_context(config_))
    context_ = std::move(*fresh);
  else if (note)
    note(fresh.error().text + "; the certificate from before stays in use");
  return context_;
}

}  // namespace railbed
