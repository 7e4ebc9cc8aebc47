#include "bmc/https.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/wipe.h"
#include "os/curl.h"

namespace railbed {
namespace {

constexpr std::size_t kMostBody = 4 << 20;  // a log of a thousand entries has about 1 MiB
constexpr std::size_t kMostHeader = 512;
// A Redfish service runs on the BMC's own slow processor: some take ten seconds for a page of sensors.
constexpr int kSilencesPerAnswer = 5;

// Keeps the headers of HttpAnswer. A value with control characters or of unusual length is dropped.
std::size_t take_header(char* text, std::size_t, std::size_t size, void* context) {
  const std::string_view line(text, size);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  const std::string name = lower(line.substr(0, colon));
  const std::string value(trim(line.substr(colon + 1)));
  const bool sound = std::ranges::all_of(value, [](char c) { return c >= ' ' && c < 0x7F; });
  if (!sound || value.size() > kMostHeader) return size;
  HttpAnswer& answer = *static_cast<HttpAnswer*>(context);
  if (name == "etag") answer.etag = value;
  if (name == "location") answer.location = value;
  if (name == "x-auth-token") answer.token = value;
  if (name == "www-authenticate") answer.offers_basic |= lower(value).find("basic") != std::string::npos;
  // The other form of Retry-After, a date, is not read: the caller then waits as long as it likes.
  if (const auto seconds = name == "retry-after" ? parse_number<int>(value) : std::nullopt;
      seconds && *seconds >= 0)
    answer.retry_after = std::chrono::seconds(*seconds);
  return size;
}

Miss why_unanswered(CURLcode code, const CertificateTrust& trust) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return {Missing::kAbsent, "the host name of its BMC cannot be resolved"};
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
    case HttpMethod::kDelete:
      return "DELETE";
  }
  return "GET";
}

}  // namespace

struct HttpsClient::Session {
  std::string address;
  BmcLogin login;
  std::string token;  // of a session; empty: user and password
  CertificateTrust trust;
  BmcOptions options;
  HttpHandle handle;  // the last member, so it is destroyed before the strings that it borrows

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    wipe(login.password);
    wipe(token);
  }

  // Prepares the handle. False unless every option took effect; nothing is sent then, because a certificate
  // that could not be checked is not trusted.
  bool begin() {
    if (handle) return true;
    if (handle.begin(CURLPROTO_HTTPS, options.silence, options.stop)) prepare();
    if (!handle) handle.end();
    return static_cast<bool>(handle);
  }

 private:
  void prepare() {
    handle.set(CURLOPT_HEADERFUNCTION, &take_header);
    if (token.empty()) {
      handle.set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      handle.set(CURLOPT_USERNAME, login.user.c_str());
      handle.set(CURLOPT_PASSWORD, login.password.c_str());
    }
    // A key that a person compared is better evidence than any authority; name and chain add nothing to it.
    if (!trust.key.empty()) {
      handle.set(CURLOPT_SSL_VERIFYPEER, 0L);
      handle.set(CURLOPT_SSL_VERIFYHOST, 0L);
      handle.set(CURLOPT_PINNEDPUBLICKEY, trust.key.c_str());
    } else if (!trust.authority.empty()) {
      handle.set(CURLOPT_CAINFO, trust.authority.c_str());
      handle.set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
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
  session_->handle.end();  // libcurl has a copy of the old one
}

void HttpsClient::use_token(const std::string& token) {
  wipe(session_->token);
  session_->token = token;
  session_->handle.end();
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
  HttpBody received{kMostBody};
  std::vector<std::string> headers = {"Accept: application/json", "OData-Version: 4.0",
                                      "Expect:", "Content-Type: application/json"};
  if (!etag.empty()) headers.push_back("If-Match: " + etag);
  if (!session.token.empty()) headers.push_back("X-Auth-Token: " + session.token);
  const std::string word(word_of(method));
  const auto set = [&](CURLoption option, auto value) {
    (void)curl().set(session.handle.get(), option, value);
  };
  set(CURLOPT_HEADERDATA, &answer);
  if (method == HttpMethod::kGet) {
    set(CURLOPT_HTTPGET, 1L);
    set(CURLOPT_CUSTOMREQUEST, static_cast<const char*>(nullptr));
  } else {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    set(CURLOPT_POSTFIELDS, body.c_str());
    set(CURLOPT_CUSTOMREQUEST, word.c_str());
  }
  const CURLcode code = session.handle.perform(url, headers, received, most);
  if (code != CURLE_OK) return {why_unanswered(code, session.trust), from};
  answer.body = std::move(received.text);
  answer.status = session.handle.status();
  return {std::move(answer), from};
}

}  // namespace railbed
