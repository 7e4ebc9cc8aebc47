#include "monitor/web/web_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>

#include "base/base64.h"
#include "base/ip.h"
#include "base/text.h"

namespace railbed {
namespace {

namespace http = boost::beast::http;
using RequestHead = http::request_parser<http::empty_body>;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Decodes the percent signs of a path. Returns nullopt if an escape is invalid, or if the path holds control
// characters, which no path of this service has.
std::optional<std::string> decoded_path(std::string_view raw) {
  std::string path;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (c == '%') {
      const std::string_view digits = raw.substr(i + 1, 2);
      if (digits.size() != 2 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
        return std::nullopt;
      c = static_cast<char>(*parse_number<int>(digits, 16));
      i += 2;
    }
    if (is_control(c)) return std::nullopt;
    path.push_back(c);
  }
  return path;
}

std::optional<WebCredentials> credentials_of(std::string_view header) {
  constexpr std::string_view kBasic = "basic ";
  if (lower(header.substr(0, kBasic.size())) != kBasic) return std::nullopt;
  const auto text = base64_decoded(trim(header.substr(kBasic.size())));
  if (!text) return std::nullopt;
  const auto colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return WebCredentials{text->substr(0, colon), text->substr(colon + 1)};
}

// Returns the HTTP status of the refusal; 0 if the request is accepted.
int refusal_of(const boost::system::error_code& error, const RequestHead& head) {
  const auto method = head.get().method();
  if (error && error != http::error::need_more && error != http::error::body_limit)
    return error == http::error::header_limit ? 431 : 400;
  if (error == http::error::need_more || (!error && !head.is_header_done())) return 400;
  if (method != http::verb::get && method != http::verb::head) return 405;
  const bool has_body = error == http::error::body_limit || head.content_length().value_or(0) > 0 ||
                        head.get().find(http::field::transfer_encoding) != head.get().end();
  if (has_body) return 413;
  const auto hosts = head.get().count(http::field::host);
  return hosts > 1 || (hosts == 0 && head.get().version() >= 11) ? 400 : 0;
}

std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64] = {};
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return text;
}

// Replaces control characters, so that a value of a page or of the configuration cannot start another header.
std::string header_value(std::string_view text) {
  std::string value(text);
  std::replace_if(value.begin(), value.end(), is_control, ' ');
  return value;
}

}  // namespace

WebCut cut_request(std::string_view came) {
  std::size_t begin = 0;  // empty lines before a request are ignored (RFC 9112, 2.2)
  while (came.substr(begin, 2) == "\r\n") begin += 2;
  const std::string_view request = came.substr(begin);
  const auto end = request.find("\r\n\r\n");
  const auto line = request.substr(0, request.find('\n'));
  if (!request.empty() && request[0] != '\r' && (request[0] < 'A' || request[0] > 'Z')) return {0, 400};
  if (line.size() < request.size() && line.find(" HTTP/1.") == std::string_view::npos) return {0, 400};
  // HTTP requires a carriage return at the end of each line.
  if (line.size() < request.size() && !line.ends_with('\r')) return {0, 400};
  if (end != std::string_view::npos && begin + end + 4 <= kMostRequestBytes) return {begin + end + 4, 0};
  if (came.size() < kMostRequestBytes) return {};
  return {0, line.size() == request.size() ? 414 : 431};
}

WebQuestion parse_request(std::string_view head) {
  WebQuestion question;
  while (head.starts_with("\r\n")) head.remove_prefix(2);
  RequestHead parser;
  parser.header_limit(kMostRequestBytes);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  question.refused = refusal_of(error, parser);
  if (question.refused != 0) return question;
  const auto& message = parser.get();
  const std::string target(message.target());
  const auto mark = target.find('?');
  auto path = decoded_path(std::string_view(target).substr(0, mark));
  if (!path || !path->starts_with('/')) {
    question.refused = 400;
    return question;
  }
  question.request.path = *std::move(path);
  if (mark != std::string::npos) question.request.query = target.substr(mark + 1);
  question.only_head = message.method() == http::verb::head;
  question.keep_alive = message.keep_alive();
  if (const auto host = message.find(http::field::host); host != message.end())
    question.host = std::string(host->value());
  if (message.count(http::field::authorization) == 1)
    question.credentials = credentials_of(std::string(message[http::field::authorization]));
  return question;
}

bool names_loopback(std::string_view host) {
  if (host.starts_with('[')) {
    const auto close = host.find(']');
    return close != std::string_view::npos && (close + 1 == host.size() || host[close + 1] == ':') &&
           host.substr(1, close - 1) == "::1";
  }
  const std::string name = lower(host.substr(0, host.find(':')));
  return name == "localhost" || name == "127.0.0.1";
}

WebAnswer web_refusal(int status) {
  WebAnswer answer;
  answer.status = status;
  answer.body =
      fmt::format("{} {}\n", status, std::string(http::obsolete_reason(static_cast<http::status>(status))));
  if (status == 401) answer.headers = {{"WWW-Authenticate", "Basic realm=\"railbed\", charset=\"UTF-8\""}};
  if (status == 403)
    answer.body = "403 this service is for this machine alone: name it 127.0.0.1, [::1] or localhost\n";
  if (status == 405) answer.headers = {{"Allow", "GET, HEAD"}};
  if (status == 503) answer.headers = {{"Retry-After", "10"}};
  return answer;
}

std::string answer_head(const WebAnswer& answer, bool keep_alive, std::optional<std::size_t> length) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\nCache-Control: no-store\r\nConnection: {}\r\n",
      answer.status, std::string(http::obsolete_reason(static_cast<http::status>(answer.status))),
      http_date(), header_value(answer.type), keep_alive ? "keep-alive" : "close");
  if (length) head += fmt::format("Content-Length: {}\r\n", *length);
  bool sniffed = true;
  for (const auto& [name, value] : answer.headers) {
    head += fmt::format("{}: {}\r\n", header_value(name), header_value(value));
    if (lower(name) == "x-content-type-options") sniffed = false;
  }
  if (sniffed) head += "X-Content-Type-Options: nosniff\r\n";
  return head + "\r\n";
}

std::string event_text(std::string_view message) {
  std::string text = "data: ";
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message[i] == '\r' && message.substr(i + 1, 1) == "\n") continue;
    if (message[i] == '\r' || message[i] == '\n')
      text += "\ndata: ";
    else
      text.push_back(message[i]);
  }
  return text + "\n\n";
}

}  // namespace railbed
