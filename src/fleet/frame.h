// Frames: how messages travel between controller and agent over a byte stream
// (docs/reference/agent-protocol.md).
//
//   offset 0  4 bytes  00 'R' 'B' 'F'   begins with NUL, which no greeting of a login shell contains
//          4  1 byte   protocol version
//          5  1 byte   kind
//          6  2 bytes  zero
//          8  4 bytes  id, big-endian: which request this belongs to
//         12  4 bytes  length of the body, big-endian
//         16           body
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed::fleet {

inline constexpr std::uint8_t kProtocolVersion = 1;
inline constexpr std::size_t kFrameHeader = 16;
inline constexpr std::size_t kMaxToController = 8 << 20;  // no answer of ours comes near it
inline constexpr std::size_t kMaxToAgent = 16 << 20;
inline constexpr std::size_t kMaxNoise = 64 << 10;

enum class FrameKind : std::uint8_t {
  kReady = 1,    // agent, once, first: it runs and speaks this version; id 0, no body
  kRequest = 2,  // controller: body is a Request
  kAnswer = 3,   // agent: body is the handler's JSON
  kError = 4,    // agent: body is an Error
  kCancel = 5,   // controller: nobody waits for request `id` any more; no body
};

struct Frame {
  FrameKind kind = FrameKind::kReady;
  std::uint32_t id = 0;
  std::string body;
  bool operator==(const Frame&) const = default;
};

std::string encode_frame(const Frame& frame);

// Takes bytes as they come, gives frames. Any bytes lead to frames or to an Error, never to more memory than
// the limits allow plus what one feed() brought.
class FrameDecoder {
 public:
  // Bytes before the first frame (motd, greetings of a .bashrc) are set aside, up to `max_noise`.
  explicit FrameDecoder(std::size_t max_body, std::size_t max_noise = 0)
      : max_body_(max_body), max_noise_(max_noise) {}

  void feed(std::string_view bytes);
  // The next whole frame, nothing when more bytes are needed. After an Error the stream is lost: it is
  // given again on each call.
  Result<std::optional<Frame>> next();
  const std::string& noise() const { return noise_; }

 private:
  Result<std::optional<Frame>> lost(std::string text);
  bool skip_noise();  // true when the buffer begins with a frame

  std::size_t max_body_;
  std::size_t max_noise_;
  std::string buffer_;
  std::size_t taken_ = 0;  // of it, by frames that were given
  std::string noise_;
  bool in_frames_ = false;
  std::optional<Error> error_;
};

// The body of a request: what to do, and when nobody will wait any longer. `params` is JSON text.
struct Request {
  std::string method;
  std::uint64_t deadline_ms = 0;
  std::string params;
  bool operator==(const Request&) const = default;
};
std::string encode_request(const Request& request);
Result<Request> decode_request(std::string_view body);

// An Error crosses with its kind, so that the exit code at the controller is the one the agent meant.
std::string encode_error(const Error& error);
Error decode_error(std::string_view body);

// Without the escape sequences that terminals obey (ECMA-48, 5.4 and 5.6); of one that is cut off nothing
// stays.
std::string without_escape_sequences(std::string_view bytes);

// Bytes from elsewhere as a message quotes them: printable(), without the escape sequences of terminals and
// without runs of spaces, and of a longer text its end, where the reason usually stands.
std::string quotable(std::string_view bytes, std::size_t limit = 300);

}  // namespace railbed::fleet
