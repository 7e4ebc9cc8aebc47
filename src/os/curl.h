// HTTP through libcurl, which is opened on first use. The rules for all requests of railbed to web services
// are here: redirections are not followed, proxies and .netrc are not used, TLS is at least 1.2, a response
// is limited in size and time, and a waiting transfer can be stopped.
#pragma once

#define CURL_DISABLE_DEPRECATION  // CURLOPT_PROTOCOLS: its successor is younger than Ubuntu 22.04
#include <curl/curl.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// The functions of libcurl that are used. Debian packages the library with OpenSSL and with GnuTLS; both have
// them.
struct Curl {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) info = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_easy_strerror) words = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_all = nullptr;
  std::string error;  // why libcurl cannot be used; empty if it can

  Curl();
};
const Curl& curl();

// The body of a response. A body of more than `most` bytes ends the transfer with an error.
struct HttpBody {
  std::size_t most = 0;
  std::string text = {};
};

// A connection and its options. If an option could not be set, the handle tests false and must not be used.
class HttpHandle {
 public:
  HttpHandle() = default;
  HttpHandle(const HttpHandle&) = delete;
  HttpHandle& operator=(const HttpHandle&) = delete;
  ~HttpHandle() { end(); }

  explicit operator bool() const { return handle_ != nullptr && sound_; }
  CURL* get() const { return handle_; }

  // Makes a new handle with the rules above. `protocols` is CURLPROTO_HTTPS, or that with CURLPROTO_HTTP.
  // `stop` must outlive this object.
  bool begin(long protocols, std::chrono::milliseconds connect, const std::stop_token& stop);
  void end();
  template <class Value>
  void set(CURLoption option, Value value) {
    sound_ = curl().set(handle_, option, value) == CURLE_OK && sound_;
  }
  // Makes one request with these headers within `most`; CURLE_FAILED_INIT if an option could not be set. `body` and the headers are used until it returns; the
  // copies of the headers are wiped, because one of them may hold a secret.
  CURLcode perform(const std::string& url, const std::vector<std::string>& headers, HttpBody& body,
                   std::chrono::milliseconds most);
  int status() const;  // HTTP status of the latest response

 private:
  CURL* handle_ = nullptr;
  bool sound_ = false;
};

}  // namespace railbed
