// Finds NCCL's version in the library's text. The library is never loaded, because it may be any user's.
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "host/process_text.h"

namespace railbed {
namespace {

constexpr std::string_view kMark = "NCCL version ";
constexpr std::uint64_t kMostScanned = 64 << 20;
constexpr std::size_t kPiece = 1 << 20;

bool read_at(int file, std::uint64_t at, void* into, std::size_t size) {
  return at < (1ULL << 62) && pread(file, into, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

struct FileRange {
  std::uint64_t at = 0;
  std::uint64_t size = 0;
};

// Returns the section .rodata of a 64-bit file (elf(5)); empty for any other file.
FileRange read_only_data(int file) {
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) return {};
  if (header.e_shnum == 0 || header.e_shnum > 512 || header.e_shstrndx >= header.e_shnum) return {};
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read_at(file, header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return {};
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  for (const Elf64_Shdr& section : sections) {
    char name[9] = {};  // ".rodata" and its end
    const bool named =
        section.sh_name < names.sh_size && read_at(file, names.sh_offset + section.sh_name, name, 8);
    if (named && std::strcmp(name, ".rodata") == 0) return {section.sh_offset, section.sh_size};
  }
  return {};
}

// Parses "2.28.9+cuda13.0", up to the first character that no version holds.
NcclText parse_mark(std::string_view text) {
  const auto end = std::ranges::find_if_not(
      text, [](char c) { return is_digit(c) || c == '.' || c == '+' || (c >= 'a' && c <= 'z'); });
  const std::string_view whole(text.begin(), end);
  const auto plus = std::min(whole.find('+'), whole.size());
  if (whole.empty() || !is_digit(whole.front()) || whole.size() > 40) return {};
  return {std::string(whole.substr(0, plus)), std::string(whole.substr(std::min(plus + 1, whole.size())))};
}

}  // namespace

NcclText nccl_text_in(int file) {
  const FileRange range = read_only_data(file);
  std::string piece(kPiece, '\0');
  constexpr std::size_t kOverlap = 64;  // the mark and a version
  for (std::uint64_t done = 0; done < std::min(range.size, kMostScanned); done += kPiece - kOverlap) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, range.size - done));
    const ssize_t got = pread(file, piece.data(), want, static_cast<off_t>(range.at + done));
    if (got <= 0) return {};
    const std::string_view text(piece.data(), static_cast<std::size_t>(got));
    for (auto at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + 1))
      if (NcclText found = parse_mark(text.substr(at + kMark.size())); !found.version.empty()) return found;
  }
  return {};
}

}  // namespace railbed
