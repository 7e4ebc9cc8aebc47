#include "fleet/packed_agent.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "base/gzip.h"
#include "base/text.h"
#include "fleet/hashed_file.h"

namespace railbed::fleet {
namespace {

constexpr std::string_view kSection = "railbed.agent";
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kLongestLine = kHashDigits + sizeof " 1073741824 1073741824 1073741824";
constexpr std::size_t kMostNames = 64 << 10;

// Returns a structure of elf(5) at this offset; nullopt if the file is too short.
template <class Part>
std::optional<Part> part_at(const ReadAt& read, std::uint64_t offset) {
  const std::string bytes = read(offset, sizeof(Part));
  Part part = {};
  if (bytes.size() != sizeof part) return std::nullopt;
  std::memcpy(&part, bytes.data(), sizeof part);
  return part;
}

std::optional<Elf64_Shdr> section_at(const ReadAt& read, const Elf64_Ehdr& file, std::size_t index) {
  if (index >= file.e_shnum || file.e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  return part_at<Elf64_Shdr>(read, file.e_shoff + index * sizeof(Elf64_Shdr));
}

std::optional<Elf64_Shdr> named_section(const ReadAt& read) {
  const auto file = part_at<Elf64_Ehdr>(read, 0);
  if (!file || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 || file->e_ident[EI_CLASS] != ELFCLASS64 ||
      file->e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;
  const auto names = section_at(read, *file, file->e_shstrndx);
  if (!names) return std::nullopt;
  const std::string text = read(names->sh_offset, std::min<std::uint64_t>(names->sh_size, kMostNames));
  for (std::size_t i = 0; i < file->e_shnum; ++i) {
    const auto section = section_at(read, *file, i);
    if (!section) return std::nullopt;
    if (section->sh_name < text.size() && std::string_view(text.c_str() + section->sh_name) == kSection)
      return section;
  }
  return std::nullopt;
}

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<std::size_t> a_size(std::string_view text) {
  const auto size = parse_number<std::size_t>(text);
  return size && *size <= kMaxProgram ? size : std::nullopt;
}

std::string read_at(int fd, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t got = 0;
  while (got < count) {
    const ssize_t more = pread(fd, bytes.data() + got, count - got, static_cast<off_t>(offset + got));
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

Fd opened(const std::string& path) { return Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

}  // namespace

std::optional<PackedAgent> find_packed_agent(const ReadAt& read) {
  const auto section = named_section(read);
  if (!section || section->sh_size > kMaxProgram) return std::nullopt;
  const std::string text = read(section->sh_offset, std::min<std::uint64_t>(section->sh_size, kLongestLine));
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  const auto parts = words(std::string_view(text).substr(0, end));
  if (parts.size() != 4 || !is_hash(parts[0])) return std::nullopt;
  const auto size = a_size(parts[1]);
  const auto gzip = a_size(parts[2]);
  const auto zstd = a_size(parts[3]);
  if (!size || !gzip || !zstd || end + 1 + *gzip + *zstd != section->sh_size) return std::nullopt;
  const std::uint64_t streams = section->sh_offset + end + 1;
  return PackedAgent{std::string(parts[0]), *size, {streams, *gzip}, {streams + *gzip, *zstd}};
}

std::optional<PackedAgent> packed_agent_of(const std::string& path) {
  const Fd file = opened(path);
  if (!file) return std::nullopt;
  return find_packed_agent(
      [&](std::uint64_t offset, std::size_t count) { return read_at(file.get(), offset, count); });
}

std::string read_packed(const std::string& path, const PackedAgent::Stream& stream) {
  const Fd file = opened(path);
  std::string bytes = file ? read_at(file.get(), stream.offset, stream.bytes) : "";
  return bytes.size() == stream.bytes ? bytes : "";
}

std::string unpacked_agent(const std::string& path, const PackedAgent& agent) {
  auto bytes = gunzip(read_packed(path, agent.gzip), agent.size);
  return bytes && bytes->size() == agent.size ? std::move(*bytes) : "";
}

}  // namespace railbed::fleet
