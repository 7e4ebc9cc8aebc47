// Finds frames in a stream that starts with arbitrary text.
//
// The first output of ssh is noise: messages of the day, the output of a .bashrc, and the lines of the
// bootstrap script. All of it is text, which holds no NUL byte, while a frame starts with one. So the decoder
// collects bytes as noise until the four bytes of the magic are in the buffer. They may arrive in pieces, so
// bytes at the end of the buffer that could start the magic stay there. The noise can be read, because it
// shows why no agent started. Noise beyond its limit is an error.
//
// After the first frame there is no noise. The next frame starts where the last one ended. Any other bytes
// there mean that the stream is lost, because the start of the next frame cannot be known. The length in the
// header is checked against the limit before the body arrives, so that a hostile length costs no memory.
#include "fleet/frame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/bounded.h"
#include "base/json.h"
#include "base/text.h"

namespace railbed::fleet {
namespace {

constexpr std::string_view kMagic("\0RBF", 4);

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t get_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

// Names of the kinds in frames, in the order of ErrorKind.
constexpr std::array<std::string_view, 6> kErrorKinds = {"bad-input", "unavailable", "timeout",
                                                         "cancelled", "internal",    "killed"};

constexpr std::size_t kRoomKept = 16 << 10;
constexpr std::size_t kMaxErrorText = 1000;  // several lines of railbed's own; a node may send megabytes

}  // namespace

std::string encode_frame(const Frame& frame) {
  std::string out;
  out.reserve(kFrameHeader + frame.body.size());
  out.append(kMagic);
  out.push_back(static_cast<char>(kProtocolVersion));
  out.push_back(static_cast<char>(frame.kind));
  out.append(2, '\0');
  put_u32(out, frame.id);
  put_u32(out, static_cast<std::uint32_t>(frame.body.size()));
  out.append(frame.body);
  return out;
}

Result<std::optional<Frame>> FrameDecoder::lost(std::string text) {
  error_ = Error{ErrorKind::kBadInput, std::move(text)};
  buffer_.clear();
  return fail(*error_);
}

void FrameDecoder::feed(std::string_view bytes) {
  // Removes all used bytes at once, because a chunk may hold thousands of small frames.
  buffer_.erase(0, std::exchange(taken_, 0));
  // Releases the memory of a large response, because there may be thousands of decoders.
  if (buffer_.empty() && buffer_.capacity() > kRoomKept) std::string().swap(buffer_);
  buffer_.append(bytes);
}

bool FrameDecoder::skip_noise() {
  if (in_frames_) return true;
  const std::size_t at = buffer_.find(kMagic);
  // The magic may be cut by the end of the bytes received so far.
  std::size_t keep = kMagic.size() - 1;
  while (keep > 0 && !buffer_.ends_with(kMagic.substr(0, keep))) --keep;
  const std::size_t noise = at != std::string::npos ? at : buffer_.size() - keep;
  noise_.append(buffer_, 0, std::min(noise, max_noise_ + 1 - noise_.size()));
  buffer_.erase(0, noise);
  in_frames_ = at != std::string::npos && noise_.size() <= max_noise_;
  return in_frames_;
}

Result<std::optional<Frame>> FrameDecoder::next() {
  if (error_) return fail(*error_);
  if (!skip_noise()) {
    if (noise_.size() > max_noise_) return lost(fmt::format("not a frame: \"{}\"", quotable(noise_)));
    return std::nullopt;
  }
  const std::string_view bytes = std::string_view(buffer_).substr(taken_);
  if (!bytes.starts_with(kMagic.substr(0, bytes.size())))
    return lost(fmt::format("between frames came \"{}\"", quotable(bytes.substr(0, 300))));
  if (bytes.size() < kFrameHeader) return std::nullopt;
  if (const auto version = static_cast<std::uint8_t>(bytes[4]); version != kProtocolVersion)
    return lost(
        fmt::format("the other end speaks protocol {}, this railbed speaks {}", version, kProtocolVersion));
  const auto kind = static_cast<std::uint8_t>(bytes[5]);
  if (kind < 1 || kind > 5 || bytes[6] != 0 || bytes[7] != 0)
    return lost(fmt::format("a frame of unknown kind {}", kind));
  const std::size_t length = get_u32(bytes, 12);
  if (length > max_body_)
    return lost(fmt::format("a frame of {} bytes, more than the limit of {}", length, max_body_));
  if (bytes.size() < kFrameHeader + length) return std::nullopt;
  taken_ += kFrameHeader + length;
  return Frame{static_cast<FrameKind>(kind), get_u32(bytes, 8),
               std::string(bytes.substr(kFrameHeader, length))};
}

std::string encode_request(const Request& request) {
  json::Value head;
  head["method"] = request.method;
  head["deadline_ms"] = request.deadline_ms;
  // The params follow unchanged: a document of megabytes is not parsed only to be transmitted.
  return json::dump(head) + "\n" + request.params;
}

Result<Request> decode_request(std::string_view body) {
  const std::size_t end = body.find('\n');
  if (end == std::string_view::npos) return fail(ErrorKind::kBadInput, "a request without a first line");
  auto head = json::parse(body.substr(0, end));
  if (!head) return fail(std::move(head.error()), "request");
  const auto method = head->is_object() ? head->find("method") : head->end();
  const auto deadline = head->is_object() ? head->find("deadline_ms") : head->end();
  if (method == head->end() || !method->is_string() || deadline == head->end() ||
      !deadline->is_number_unsigned())
    return fail(ErrorKind::kBadInput, "a request without method or deadline_ms");
  return Request{method->get<std::string>(), deadline->get<std::uint64_t>(),
                 std::string(body.substr(end + 1))};
}

std::string encode_error(const Error& error) {
  json::Value value;
  value["kind"] = kErrorKinds[static_cast<std::size_t>(error.kind)];
  value["text"] = error.text;
  return json::dump(value);
}

Error decode_error(std::string_view body) {
  const auto value = json::parse(body);
  const auto text_of = [&](const char* key) {
    const auto found = value && value->is_object() ? value->find(key) : json::Value::const_iterator{};
    return value && value->is_object() && found != value->end() && found->is_string()
               ? found->get<std::string>()
               : std::string();
  };
  const std::string kind = text_of("kind");
  const auto found = std::find(kErrorKinds.begin(), kErrorKinds.end(), kind);
  if (found == kErrorKinds.end())
    return Error{ErrorKind::kBadInput, "an error that could not be understood: " + quotable(body)};
  return Error{static_cast<ErrorKind>(found - kErrorKinds.begin()),
               printable_lines(cut_to(text_of("text"), kMaxErrorText))};
}

std::string without_escape_sequences(std::string_view bytes) {
  std::string plain;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '\x1b') {
      plain.push_back(bytes[i]);
    } else if (i + 1 < bytes.size() && bytes[i + 1] == '[') {
      // CSI: up to a letter
      for (i += 2; i < bytes.size() && (bytes[i] < '@' || bytes[i] > '~');) ++i;
    } else if (i + 1 < bytes.size() && bytes[i + 1] == ']') {
      // OSC, such as a window's title: up to BEL or ESC \, and never beyond the line
      const auto end = std::min(bytes.find_first_of("\a\x1b\n", i + 2), bytes.size());
      const bool whole = bytes.substr(end, 2) == "\x1b\\";
      i = whole ? end + 1 : bytes.substr(end, 1) == "\a" ? end : end - 1;
    }
  }
  return plain;
}

std::string quotable(std::string_view bytes, std::size_t limit) {
  const std::string plain = without_escape_sequences(bytes);
  std::string out = printable(fmt::format("{}", fmt::join(words(plain), " ")), "?");
  if (out.size() <= limit) return out;
  std::size_t begin = out.size() - limit + 3;
  while (begin < out.size() && (static_cast<unsigned char>(out[begin]) & 0xC0) == 0x80) ++begin;
  return "..." + out.substr(begin);
}

}  // namespace railbed::fleet
