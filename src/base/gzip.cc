#include "base/gzip.h"

#include <zlib.h>

#include <algorithm>

namespace railbed {
namespace {

constexpr std::size_t kUsualRatio = 6;  // for text; with a better ratio the buffer grows
constexpr std::size_t kLeastRoom = 4096;

// Inflates until `bytes` has `room` bytes or the input ends. Returns inflate()'s status.
int inflate_into(z_stream& stream, std::string& bytes, std::size_t room) {
  const std::size_t had = bytes.size();
  bytes.resize(room);
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + had);
  stream.avail_out = static_cast<uInt>(room - had);
  const int ended = inflate(&stream, Z_NO_FLUSH);
  bytes.resize(room - stream.avail_out);
  return ended;
}

}  // namespace

std::optional<std::string> gunzip(std::string_view packed, std::size_t most) {
  z_stream stream = {};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return std::nullopt;  // 16: a gzip header (zlib.h)
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string bytes;
  // One byte more than allowed: only a stream that is too long fills it.
  std::size_t room = std::min(most + 1, std::max(kLeastRoom, packed.size() * kUsualRatio));
  int ended = inflate_into(stream, bytes, room);
  while (ended == Z_OK && bytes.size() == room && room <= most) {
    room = std::min(most + 1, room * 2);
    ended = inflate_into(stream, bytes, room);
  }
  inflateEnd(&stream);
  if (ended != Z_STREAM_END || bytes.size() > most) return std::nullopt;
  return bytes;
}

}  // namespace railbed
