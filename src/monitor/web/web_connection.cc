#include "monitor/web/web_connection.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <utility>

namespace railbed {
namespace {

constexpr std::size_t kTakenAtOnce = 64 << 10;  // the part of a response that has one deadline
constexpr std::chrono::milliseconds kEndingPatience{2'000};
// Interval of checks whether a response is acknowledged.
constexpr std::chrono::milliseconds kUntakenLook{100};
// A client that reads its response needs less time, unless packets are lost.
constexpr std::chrono::milliseconds kStuck{250};
constexpr std::string_view kEventComment = ":\n\n";

// Returns a key for the clients of one origin: an IPv4 address, or an IPv6 network (/64). One client could
// use many addresses within it.
std::uint64_t origin_of(const boost::asio::ip::tcp::socket& socket) {
  WebError error;
  const auto address = socket.remote_endpoint(error).address();
  if (error) return 0;
  if (address.is_v4()) return address.to_v4().to_uint();
  const auto bytes = address.to_v6().to_bytes();
  const auto number = [&bytes](std::size_t from, std::size_t to) {
    std::uint64_t value = 0;
    for (std::size_t i = from; i < to; ++i) value = value << 8 | bytes[i];
    return value;
  };
  return address.to_v6().is_v4_mapped() ? number(12, 16) : number(0, 8);
}

// Adds the configured headers. A header of the same name in the response takes precedence.
void add_headers(WebAnswer& answer, const std::map<std::string, std::string>& configured) {
  for (const auto& [name, value] : configured)
    if (std::none_of(answer.headers.begin(), answer.headers.end(),
                     [&name = name](const auto& own) { return own.first == name; }))
      answer.headers.emplace_back(name, value);
}

}  // namespace

WebConnection::WebConnection(Service& service, boost::asio::ip::tcp::socket socket, const TlsContext& context)
    : service_(service),
      stream_(web_stream(std::move(socket), context)),
      deadline_(stream_->socket().get_executor()),
      origin_(origin_of(stream_->socket())) {}

void WebConnection::start() {
  enter(State::kGreeting, service_.options().deadlines.request);
  stream_->begin([self = shared_from_this()](const WebError& error) {
    if (error || self->state_ != State::kGreeting) return self->close();
    self->state_ = State::kReading;  // both states share one deadline
    self->known_ = !self->service_.options().config.client_authority.empty();
    self->next_request();
  });
}

void WebConnection::enter(State state, std::chrono::milliseconds patience) {
  if (state_ == State::kClosed) return;
  state_ = state;
  since_ = std::chrono::steady_clock::now();
  arm(patience);
}

void WebConnection::arm(std::chrono::milliseconds patience) {
  deadline_.expires_after(patience);
  deadline_.async_wait([self = shared_from_this()](const WebError& error) {
    // The deadline may have been set again after it expired, but before this call.
    if (!error && self->deadline_.expiry() <= std::chrono::steady_clock::now()) self->expired();
  });
}

void WebConnection::expired() {
  if (state_ == State::kReading && !came_.empty()) return refuse_unread(408);
  if (state_ == State::kEnding && untaken() > 0 &&
      std::chrono::steady_clock::now() < since_ + service_.options().deadlines.taking)
    return arm(kUntakenLook);
  if (state_ != State::kJudged && state_ != State::kWaiting) return yield();
  give_up();
}

// Work that has begun is not abandoned: its thread is busy anyway, and only this client waits for it.
bool WebConnection::give_up() {
  if (errand_ && !errand_->take()) return false;
  reply(web_refusal(503));
  return true;
}

void WebConnection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  if (errand_) errand_->take();  // work without a receiver is not started
  deadline_.cancel();
  WebError ignored;
  stream_->socket().close(ignored);
  // The data being written stays: a write may still use it before it learns that the connection is closed.
  service_.release(std::exchange(held_, 0));
  service_.forget(*this);
  service_.count_streams();
}

// Without this option, the kernel would keep unacknowledged data of a closed connection for minutes, as
// memory of this process.
void WebConnection::yield() {
  WebError ignored;
  if (untaken() > 0) stream_->socket().set_option(boost::asio::socket_base::linger(true, 0), ignored);
  close();
}

// Returns the number of bytes that the client's machine has not acknowledged; 0 if the connection is over.
std::size_t WebConnection::untaken() const {
  const int fd = stream_->socket().native_handle();
  int bytes = 0;
  if (ioctl(fd, SIOCOUTQ, &bytes) != 0 || bytes <= 0) return 0;
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool is_over =
      getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_CLOSE;
  return is_over ? 0 : static_cast<std::size_t>(bytes);
}

bool WebConnection::takes_nothing() const {
  const auto now = std::chrono::steady_clock::now();
  if (state_ == State::kStreaming) return took_ + kStuck < now && untaken() > 0;
  return state_ == State::kWriting && since_ + kStuck < now;
}

void WebConnection::next_request() {
  if (state_ == State::kClosed) return;
  const WebCut cut = cut_request(came_);
  if (cut.refused != 0) return refuse_unread(cut.refused);
  if (cut.bytes == 0) return read_more();
  question_ = parse_request(std::string_view(came_).substr(0, cut.bytes));
  came_ = came_.substr(cut.bytes);  // and releases its memory
  judge();
}

void WebConnection::read_more() {
  stream_->read(came_, kMostRequestBytes - came_.size(), [self = shared_from_this()](const WebError& error) {
    if (error) return self->leave();
    if (!self->awaits_request()) return;  // too late
    if (self->state_ == State::kIdle)
      self->enter(State::kReading, self->service_.options().deadlines.request);
    self->next_request();
  });
}

void WebConnection::judge() {
  if (question_.refused != 0) return refuse(question_.refused);
  if (service_.is_local() && question_.host && !names_loopback(*question_.host)) return refuse(403);
  WebUsers& users = service_.users();
  if (users.everyone()) return answer();
  if (!question_.credentials) return reply(web_refusal(401));
  known_ = users.remembers(*question_.credentials);
  if (known_) return answer();
  enter(State::kJudged, service_.options().deadlines.making);
  errand_ = service_.verify(*this, *question_.credentials);
  if (!errand_) reply(web_refusal(503));
}

void WebConnection::verified(bool good) {
  if (state_ != State::kJudged) return;
  known_ = good;
  if (!good) return reply(web_refusal(401));
  service_.users().remember(*question_.credentials);
  answer();
}

void WebConnection::answer() {
  if (const WebFrame last = service_.last_event(question_.request.path)) return begin_stream(last);
  enter(State::kWaiting, service_.options().deadlines.making);
  errand_ = service_.make(*this, question_.request);
  if (!errand_) reply(web_refusal(503));
}

void WebConnection::deliver(WebAnswer answer) {
  if (state_ == State::kWaiting) reply(std::move(answer));
}

void WebConnection::refuse(int status) {
  question_.keep_alive = false;
  reply(web_refusal(status));
}

void WebConnection::refuse_unread(int status) {
  question_ = {};
  refuse(status);
}

std::string WebConnection::whole_text(WebAnswer answer) const {
  add_headers(answer, service_.options().config.headers);
  std::string text = answer_head(answer, question_.keep_alive, answer.body.size());
  return question_.only_head ? text : text + answer.body;
}

void WebConnection::reply(WebAnswer answer) {
  if (state_ == State::kClosed) return;
  errand_.reset();
  std::string text = whole_text(std::move(answer));
  if (!service_.hold(text.size())) {
    text = whole_text(web_refusal(503));
    if (!service_.hold(text.size())) return close();
  }
  going_ = std::move(text);
  gone_ = 0;
  held_ = going_.size();
  enter(State::kWriting, service_.options().deadlines.taking);
  write_more();
}

void WebConnection::write_more() {
  const std::size_t bytes = std::min(kTakenAtOnce, going_.size() - gone_);
  stream_->write(boost::asio::buffer(going_.data() + gone_, bytes),
                 [self = shared_from_this(), bytes](const WebError& error) {
                   if (error || self->state_ != State::kWriting) return self->close();
                   self->gone_ += bytes;
                   self->since_ = std::chrono::steady_clock::now();
                   if (self->gone_ == self->going_.size()) return self->written();
                   self->arm(self->service_.options().deadlines.taking);
                   self->write_more();
                 });
}

void WebConnection::written() {
  if (state_ == State::kClosed) return;
  service_.release(std::exchange(held_, 0));
  std::string().swap(going_);  // an assignment would keep the memory
  if (!std::exchange(question_, {}).keep_alive) return end();
  const WebDeadlines& deadlines = service_.options().deadlines;
  // The next request may have arrived together with this one.
  if (came_.empty())
    enter(State::kIdle, deadlines.idle);
  else
    enter(State::kReading, deadlines.request);
  next_request();
}

void WebConnection::begin_stream(const WebFrame& last) {
  WebAnswer head;
  head.type = "text/event-stream";
  question_.keep_alive = false;
  if (question_.only_head) return reply(std::move(head));
  if (!service_.make_room_for_stream()) return reply(web_refusal(503));
  add_headers(head, service_.options().config.headers);
  enter(State::kStreaming, service_.options().deadlines.taking);
  service_.count_streams();
  took_ = since_;
  send_now(std::make_shared<const std::string>(answer_head(head, false, std::nullopt)));
  send(last);
  watch_for_end();
}

void WebConnection::send(const WebFrame& frame) {
  if (state_ != State::kStreaming) return;
  if (untaken() == 0) took_ = std::chrono::steady_clock::now();
  if (sending_)
    next_ = frame;
  else
    send_now(frame);
}

void WebConnection::send_comment() {
  static const WebFrame kComment = std::make_shared<const std::string>(kEventComment);
  if (!sending_) send(kComment);
}

void WebConnection::send_now(const WebFrame& frame) {
  sending_ = frame;
  arm(service_.options().deadlines.taking);
  stream_->write(boost::asio::buffer(*frame), [self = shared_from_this(), frame](const WebError& error) {
    if (error || self->state_ == State::kClosed) return self->close();
    self->sending_.reset();
    self->deadline_.expires_at(std::chrono::steady_clock::time_point::max());
    if (self->next_) self->send_now(std::exchange(self->next_, nullptr));
  });
}

// A client of a stream sends nothing more. Reading detects that it closes the connection.
void WebConnection::watch_for_end() {
  stream_->read(came_, kMostRequestBytes, [self = shared_from_this()](const WebError& error) {
    if (error || self->state_ == State::kClosed) return self->yield();
    self->came_.clear();
    self->watch_for_end();
  });
}

// A client that sends nothing more may still read an earlier response.
void WebConnection::leave() {
  if (awaits_request() && untaken() > 0) return end();
  close();
}

// Closes only after the client has closed its side. If the connection were closed while the client still
// sends, the kernel would send a reset, and the client's kernel would discard the response that it has not
// read yet.
void WebConnection::end() {
  enter(State::kEnding, kEndingPatience);
  stream_->end([self = shared_from_this()](const WebError&) {
    if (self->state_ == State::kClosed) return;
    WebError ignored;
    self->stream_->socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
    self->discard();
  });
}

void WebConnection::discard() {
  stream_->socket().async_wait(boost::asio::ip::tcp::socket::wait_read,
                               [self = shared_from_this()](WebError error) {
                                 std::array<char, 4096> room;
                                 if (!error)
                                   self->stream_->socket().read_some(boost::asio::buffer(room), error);
                                 if (error == boost::asio::error::eof && self->untaken() > 0)
                                   return self->arm(kUntakenLook);
                                 if (error && error != boost::asio::error::would_block) return self->close();
                                 self->discard();
                               });
}

}  // namespace railbed
