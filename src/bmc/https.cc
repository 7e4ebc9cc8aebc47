#include "bmc/https.h"

#define CURL_DISABLE_DEPRECATION  // CURLOPT_PROTOCOLS: its successor is younger than Ubuntu 22.04
#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/wipe.h"
#include "host/library.h"

namespace railbed {
namespace {

constexpr std::size_t kMostBody = 4 << 20;  // a log of a thousand entries has about 1 MiB
constexpr std::size_t kMostEtag = 256;
// Redfish answers from the BMC's own slow processor: some take ten seconds for a page of sensors.
constexpr int kSilencesPerAnswer = 5;

// The functions of libcurl that are used here. Debian's package of the library that OpenSSL carries, and the
// one that GnuTLS carries, have the same.
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
  std::string error;

  Curl() {
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
};
const Curl& curl() {
  static const Curl library;
  return library;
}

std::size_t take_body(char* text, std::size_t, std::size_t size, void* context) {
  auto& answer = *static_cast<HttpAnswer*>(context);
  if (answer.body.size() + size > kMostBody) return 0;
  answer.body.append(text, size);
  return size;
}

std::size_t take_header(char* text, std::size_t, std::size_t size, void* context) {
  const std::string_view line(text, size);
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos && lower(line.substr(0, colon)) == "etag") {
    const auto etag = trim(line.substr(colon + 1));
    const bool sound = std::ranges::all_of(etag, [](char c) { return c >= ' ' && c < 0x7F; });
    if (sound && etag.size() <= kMostEtag) static_cast<HttpAnswer*>(context)->etag = etag;
  }
  return size;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(context)->stop_requested() ? 1 : 0;
}

Miss why_unanswered(CURLcode code, const CertificateTrust& trust) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return {Missing::kAbsent, "nobody knows the host name of its BMC"};
    case CURLE_COULDNT_CONNECT:
      return {Missing::kTimeout, "its BMC does not answer on port 443"};
    case CURLE_OPERATION_TIMEDOUT:
      return {Missing::kTimeout, "its BMC does not answer"};
    case CURLE_ABORTED_BY_CALLBACK:
      return {Missing::kTimeout, "stopped"};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {Missing::kGarbled,
              trust.authority.empty()
                  ? "its BMC's certificate is not signed by anybody whom this machine trusts, or is for "
                    "another name: `railbed bmc certificates` shows its key"
                  : fmt::format("its BMC's certificate is not signed by {}, or is for another name",
                                trust.authority)};
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return {Missing::kGarbled,
              "its BMC's certificate has another key than the one that is known: it was renewed, or somebody "
              "answers in its place"};
    case CURLE_SSL_CACERT_BADFILE:
      return {Missing::kGarbled, fmt::format("{} holds no certificates that can be read", trust.authority)};
    case CURLE_WRITE_ERROR:
    case CURLE_FILESIZE_EXCEEDED:
      return {Missing::kGarbled, fmt::format("its BMC answers more than {} MiB", kMostBody >> 20)};
    default:
      return {Missing::kGarbled, fmt::format("its BMC broke off ({})", curl().words(code))};
  }
}

std::string_view word_of(HttpMethod method) {
  switch (method) {
    case HttpMethod::kGet:
      return "GET";
    case HttpMethod::kPost:
      return "POST";
    case HttpMethod::kPatch:
      return "PATCH";
  }
  return "GET";
}

}  // namespace

struct HttpsClient::Session {
  CURL* handle = nullptr;
  std::string address;
  BmcLogin login;
  CertificateTrust trust;
  BmcOptions options;

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    end();
    wipe(login.password);
  }

  void end() {
    if (handle != nullptr) curl().cleanup(handle);
    handle = nullptr;
  }
  // The whole of it, or nothing is asked: a certificate that could not be checked is not trusted.
  bool begin() {
    if (handle != nullptr) return true;
    handle = curl().init();
    if (handle != nullptr && !prepare()) end();
    return handle != nullptr;
  }

 private:
  bool prepare() const {
    bool sound = true;
    const auto set = [&](CURLoption option, auto value) {
      sound = curl().set(handle, option, value) == CURLE_OK && sound;
    };
    set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS));
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &on_progress);
    set(CURLOPT_XFERINFODATA, &options.stop);
    set(CURLOPT_WRITEFUNCTION, &take_body);
    set(CURLOPT_HEADERFUNCTION, &take_header);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.silence.count()));
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_USERNAME, login.user.c_str());
    set(CURLOPT_PASSWORD, login.password.c_str());
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    // A key that a person compared says more than any authority; then name and chain say nothing more.
    const bool by_authority = trust.key.empty();
    set(CURLOPT_SSL_VERIFYPEER, by_authority ? 1L : 0L);
    set(CURLOPT_SSL_VERIFYHOST, by_authority ? 2L : 0L);
    if (!by_authority) set(CURLOPT_PINNEDPUBLICKEY, trust.key.c_str());
    if (by_authority && !trust.authority.empty()) {
      set(CURLOPT_CAINFO, trust.authority.c_str());
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    return sound;
  }
};

HttpsClient::HttpsClient(const BmcTarget& target, const BmcOptions& options)
    : session_(std::make_unique<Session>()) {
  session_->address = https_host(target.address);
  session_->login = target.login;
  session_->trust = target.trust;
  session_->options = options;
}
HttpsClient::HttpsClient(HttpsClient&&) noexcept = default;
HttpsClient& HttpsClient::operator=(HttpsClient&&) noexcept = default;
HttpsClient::~HttpsClient() = default;

void HttpsClient::set_password(const std::string& password) {
  wipe(session_->login.password);
  session_->login.password = password;
  session_->end();  // libcurl has a copy of the old one
}

Reading<HttpAnswer> HttpsClient::ask(HttpMethod method, std::string_view path, const std::string& body,
                                     const std::string& etag, std::chrono::steady_clock::time_point until) {
  Session& session = *session_;
  const std::string url = fmt::format("https://{}{}", session.address, path);
  const std::string from = fmt::format("{} {}", word_of(method), url);
  const auto miss = [&](Missing missing, std::string why) {
    return Reading<HttpAnswer>(Miss{missing, std::move(why)}, from);
  };
  if (!curl().error.empty()) return miss(Missing::kAbsent, curl().error);
  if (!session.begin())
    return miss(Missing::kUnsupported, "this machine's libcurl cannot check certificates as they must be");

  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
  const milliseconds most = std::min<milliseconds>(left, session.options.silence * kSilencesPerAnswer);
  if (most.count() <= 0) return miss(Missing::kTimeout, "its BMC answers too slowly");

  HttpAnswer answer;
  curl_slist* headers = nullptr;
  for (const std::string& line :
       {std::string("Accept: application/json"), std::string("OData-Version: 4.0"), std::string("Expect:"),
        std::string("Content-Type: application/json"), etag.empty() ? std::string() : "If-Match: " + etag})
    if (!line.empty()) headers = curl().append(headers, line.c_str());
  const std::string word(word_of(method));
  const auto set = [&](CURLoption option, auto value) { (void)curl().set(session.handle, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_WRITEDATA, &answer);
  set(CURLOPT_HEADERDATA, &answer);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(most.count()));
  if (method == HttpMethod::kGet) {
    set(CURLOPT_HTTPGET, 1L);
    set(CURLOPT_CUSTOMREQUEST, static_cast<const char*>(nullptr));
  } else {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    set(CURLOPT_POSTFIELDS, body.c_str());
    set(CURLOPT_CUSTOMREQUEST, word.c_str());
  }
  const CURLcode code = curl().perform(session.handle);
  curl().free_all(headers);
  if (code != CURLE_OK) return {why_unanswered(code, session.trust), from};
  long status = 0;
  (void)curl().info(session.handle, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return {std::move(answer), from};
}

}  // namespace railbed
