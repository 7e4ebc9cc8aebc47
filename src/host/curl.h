// HTTP through libcurl, opened when it is first needed: what holds for every question that railbed asks of a
// web service, whoever it is. Redirections are not followed, proxies and .netrc not used, TLS is 1.2 at
// least, an answer has a size and a time, and what waits for it can be stopped.
#pragma once

#define CURL_DISABLE_DEPRECATION  // CURLOPT_PROTOCOLS: its successor is younger than Ubuntu 22.04
#include <curl/curl.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// The functions of libcurl that are used. Debian's package of the library that OpenSSL carries, and the one
// that GnuTLS carries, have the same.
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
  std::string error;  // why it cannot be used; empty: it can

  Curl();
};
const Curl& curl();

// The body of an answer, as far as there is room for it: a longer one ends the transfer.
struct HttpBody {
  std::size_t most = 0;
  std::string text = {};
};

// A connection and its options. What could not be set as it must be is remembered, and nothing is asked then.
class HttpHandle {
 public:
  HttpHandle() = default;
  HttpHandle(const HttpHandle&) = delete;
  HttpHandle& operator=(const HttpHandle&) = delete;
  ~HttpHandle() { end(); }

  explicit operator bool() const { return handle_ != nullptr && sound_; }
  CURL* get() const { return handle_; }

  // `protocols`: CURLPROTO_HTTPS, or with CURLPROTO_HTTP. `stop` must live as long as this.
  bool begin(long protocols, std::chrono::milliseconds connect, const std::stop_token& stop);
  void end();
  template <class Value>
  void set(CURLoption option, Value value) {
    sound_ = curl().set(handle_, option, value) == CURLE_OK && sound_;
  }
  // One question with these headers. `body` and the headers are lent until it is answered.
  CURLcode perform(const std::string& url, const std::vector<std::string>& headers, HttpBody& body,
                   std::chrono::milliseconds most);
  int status() const;  // of the latest answer

 private:
  CURL* handle_ = nullptr;
  bool sound_ = false;
};

}  // namespace railbed
