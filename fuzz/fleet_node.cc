// The hostile node of fleet_fuzz.cc: an agent that answers what a file says. Built without sanitizers, for it
// is started for each input. The file: a byte, odd when the node says that it is ready; then pieces, each
// with a byte for its kind and two for its length, in this order:
//   0  said as it is
//   1  the body of an answer to the next request, which is waited for
//   2  the body of an error, likewise
//   3  the next request is heard and not answered
//   …  said to stderr
// It lives a third of a second at most.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string input() {
  std::string text;
  const char* path = std::getenv("RAILBED_FUZZ_INPUT");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "rb");
  if (file == nullptr) return text;
  char bytes[4096];
  for (std::size_t count; (count = std::fread(bytes, 1, sizeof bytes, file)) > 0;) text.append(bytes, count);
  std::fclose(file);
  return text;
}

bool say(int to, const std::string& bytes) {
  return bytes.empty() || write(to, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

bool hear(void* bytes, std::size_t size) {
  auto* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = read(STDIN_FILENO, at, size);
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

constexpr std::size_t kHeader = 16;  // fleet/frame.h

std::string frame(char kind, const std::string& id, const std::string& body) {
  const std::size_t size = body.size();
  return std::string("\0RBF\1", 5) + kind + std::string(2, '\0') + id + '\0' + static_cast<char>(size >> 16) +
         static_cast<char>(size >> 8) + static_cast<char>(size) + body;
}

// The id of the frame that comes next; empty at the end.
std::string next_id() {
  unsigned char header[kHeader];
  if (!hear(header, sizeof header)) return "";
  std::string body((std::size_t{header[13]} << 16) + (std::size_t{header[14]} << 8) + header[15], '\0');
  if (!hear(body.data(), body.size())) return "";
  return {reinterpret_cast<char*>(header) + 8, 4};
}

}  // namespace

int main() {
  ualarm(300'000, 0);
  const std::string text = input();
  if (text.empty()) return 1;
  if (text[0] % 2 != 0 && !say(STDOUT_FILENO, frame(1, std::string(4, '\0'), ""))) return 1;
  std::size_t at = 1;
  while (at + 3 <= text.size()) {
    const auto byte = [&](std::size_t offset) { return static_cast<unsigned char>(text[at + offset]); };
    const std::string piece = text.substr(at + 3, std::size_t{byte(1)} * 256 + byte(2));
    const int kind = byte(0);
    at += 3 + piece.size();
    std::string said = piece;
    if (kind >= 1 && kind <= 3) {
      const std::string id = next_id();
      if (id.empty()) return 0;
      said = kind == 3 ? "" : frame(static_cast<char>(kind + 2), id, piece);
    }
    if (!say(kind > 3 ? STDERR_FILENO : STDOUT_FILENO, said)) return 1;
  }
}
