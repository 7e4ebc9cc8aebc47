// The format of frames: messages between controller and agent over a byte stream
// (docs/reference/agent-protocol.md).
//
//   offset 0  4 bytes  00 'R' 'B' 'F'   starts with NUL, which no greeting of a login shell contains
//          4  1 byte   protocol version
//          5  1 byte   kind
//          6  2 bytes  zero
//          8  4 bytes  id of the request, big-endian
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
inline constexpr std::size_t kMaxToController = 8 << 20;  // limit for responses, far beyond their usual size
inline constexpr std::size_t kMaxToAgent = 16 << 20;
inline constexpr std::size_t kMaxNoise = 64 << 10;

enum class FrameKind : std::uint8_t {
  kReady = 1,    // from the agent, once, first: it runs and uses this version; id 0, no body
  kRequest = 2,  // from the controller: the body is a Request
  kAnswer = 3,   // from the agent: the body is the handler's JSON
  kError = 4,    // from the agent: the body is an Error
  kCancel = 5,   // from the controller: the caller of request `id` has stopped waiting; no body
};

struct Frame {
  FrameKind kind = FrameKind::kReady;
  std::uint32_t id = 0;
  std::string body;
  bool operator==(const Frame&) const = default;
};

// Returns the bytes of a frame.
std::string encode_frame(const Frame& frame);

// Splits a stream of bytes into frames. Any input leads to frames or to an Error. Memory is bounded by the
// limits plus the bytes of one feed().
class FrameDecoder {
 public:
  // Collects bytes before the first frame (motd, output of a .bashrc) as noise, up to `max_noise`.
  explicit FrameDecoder(std::size_t max_body, std::size_t max_noise = 0)
      : max_body_(max_body), max_noise_(max_noise) {}

  void feed(std::string_view bytes);
  // Returns the next complete frame; nullopt if more bytes are needed. After an Error the stream is lost, and
  // each call returns the same Error.
  Result<std::optional<Frame>> next();
  const std::string& noise() const { return noise_; }

 private:
  Result<std::optional<Frame>> lost(std::string text);
  bool skip_noise();  // returns whether the buffer starts with a frame

  std::size_t max_body_;
  std::size_t max_noise_;
  std::string buffer_;
  std::size_t taken_ = 0;  // bytes of the buffer that returned frames have used
  std::string noise_;
  bool in_frames_ = false;
  std::optional<Error> error_;
};

// The body of a request: a method, the time in ms after which the caller stops waiting, and parameters as
// JSON text.
struct Request {
  std::string method;
  std::uint64_t deadline_ms = 0;
  std::string params;
  bool operator==(const Request&) const = default;
};
std::string encode_request(const Request& request);
Result<Request> decode_request(std::string_view body);

// An Error is transmitted with its kind, so that the exit code of the controller is the one that the agent
// meant.
std::string encode_error(const Error& error);
Error decode_error(std::string_view body);

// Removes the escape sequences that terminals interpret (ECMA-48, 5.4 and 5.6). A sequence that is cut off is
// removed completely.
std::string without_escape_sequences(std::string_view bytes);

// Returns untrusted bytes for use in a message: printable(), without the escape sequences of terminals and
// without runs of spaces. A longer text is cut to its end, where the reason usually is.
std::string quotable(std::string_view bytes, std::size_t limit = 300);

}  // namespace railbed::fleet
