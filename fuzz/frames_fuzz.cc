// Whatever an agent, a shell or a stranger sends: frames or an Error, never a crash, never unbounded memory.
//
// Rooms: fleet
#include <cstdint>

#include "fleet/bootstrap.h"
#include "fleet/diagnose.h"
#include "fleet/frame.h"
#include "fuzz/require.h"

using namespace railbed;
using namespace railbed::fleet;

namespace {

constexpr std::size_t kMaxBody = 4096;
constexpr std::size_t kMaxNoiseHere = 512;

void read_body(const Frame& frame) {
  if (const auto request = decode_request(frame.body)) {
    const auto again = decode_request(encode_request(*request));
    require(again.has_value() && again->deadline_ms == request->deadline_ms &&
            again->params == request->params);
  }
  (void)decode_error(frame.body);
}

}  // namespace

// The first byte says in pieces of what size the rest arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  const std::string_view bytes = as_text(data + 1, size - 1);
  FrameDecoder decoder(kMaxBody, kMaxNoiseHere);
  bool lost = false;
  for (std::size_t at = 0; at < bytes.size() && !lost; at += piece) {
    decoder.feed(bytes.substr(at, piece));
    auto next = decoder.next();
    for (; next && *next; next = decoder.next()) {
      require((*next)->body.size() <= kMaxBody);
      FrameDecoder again(kMaxBody);
      again.feed(encode_frame(**next));
      const auto same = again.next();
      require(same && *same && **same == **next);
      read_body(**next);
    }
    lost = !next;
    require(decoder.noise().size() <= kMaxNoiseHere + 1);
  }
  for (const char c : quotable(bytes)) require(static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
  if (const auto line = bootstrap_line(bytes, "1")) (void)diagnose({"n", "d", false}, *line, "x86_64");
  (void)diagnose({"n", "d", false}, {"at work", bytes, bytes, 1, {}});
  read_body({FrameKind::kAnswer, 0, std::string(bytes)});
  return 0;
}
