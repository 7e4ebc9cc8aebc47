#include "os/curl.h"

#include <string.h>

#include "os/library.h"

namespace railbed {
namespace {

std::size_t take_body(char* text, std::size_t, std::size_t size, void* context) {
  auto& body = *static_cast<HttpBody*>(context);
  if (body.text.size() + size > body.most) return 0;
  body.text.append(text, size);
  return size;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(context)->stop_requested() ? 1 : 0;
}

}  // namespace

Curl::Curl() {
  const Library library({"libcurl.so.4", "libcurl-gnutls.so.4"});
  if (!library) {
    error = "libcurl is not installed on this machine (Debian, Ubuntu: libcurl4, RHEL: libcurl)";
    return;
  }
  library.bind(global_init, "curl_global_init", error);
  library.bind(init, "curl_easy_init", error);
  library.bind(set, "curl_easy_setopt", error);
  library.bind(perform, "curl_easy_perform", error);
  library.bind(info, "curl_easy_getinfo", error);
  library.bind(cleanup, "curl_easy_cleanup", error);
  library.bind(words, "curl_easy_strerror", error);
  library.bind(append, "curl_slist_append", error);
  library.bind(free_all, "curl_slist_free_all", error);
  if (error.empty() && global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) error = "libcurl does not start";
}

const Curl& curl() {
  static const Curl library;
  return library;
}

void HttpHandle::end() {
  if (handle_ != nullptr) curl().cleanup(handle_);
  handle_ = nullptr;
}

bool HttpHandle::begin(long protocols, std::chrono::milliseconds connect, const std::stop_token& stop) {
  end();
  handle_ = curl().init();
  sound_ = handle_ != nullptr;
  if (handle_ == nullptr) return false;
  set(CURLOPT_PROTOCOLS, protocols);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, &stop);
  set(CURLOPT_WRITEFUNCTION, &take_body);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect.count()));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  return sound_;
}

CURLcode HttpHandle::perform(const std::string& url, const std::vector<std::string>& headers, HttpBody& body,
                             std::chrono::milliseconds most) {
  curl_slist* list = nullptr;
  for (const std::string& line : headers) list = curl().append(list, line.c_str());
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_HTTPHEADER, list);
  set(CURLOPT_WRITEDATA, &body);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(most.count()));
  // An option that libcurl refused may be the one that verifies the peer.
  const CURLcode code = sound_ ? curl().perform(handle_) : CURLE_FAILED_INIT;
  // A header may hold a secret.
  for (curl_slist* one = list; one != nullptr; one = one->next)
    explicit_bzero(one->data, std::string_view(one->data).size());
  curl().free_all(list);
  return code;
}

int HttpHandle::status() const {
  long status = 0;
  (void)curl().info(handle_, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

}  // namespace railbed
