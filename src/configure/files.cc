#include "configure/files.h"

namespace railbed {
namespace {

constexpr std::string_view kBlockBegin = "# railbed begin: written from cluster.yaml\n";
constexpr std::string_view kBlockEnd = "# railbed end\n";

// Offsets of the lines between the marks, and of all with the marks.
struct BlockPlace {
  std::size_t outer = 0;
  std::size_t inner = 0;
  std::size_t inner_end = 0;
  std::size_t outer_end = 0;
};

// Both marks at the beginning of a line, in that order. A first mark without a second one is nobody's block:
// to guess its end would be to delete somebody's lines.
std::optional<BlockPlace> find_block(std::string_view content) {
  std::size_t begin = content.find(kBlockBegin);
  while (begin != std::string_view::npos && begin != 0 && content[begin - 1] != '\n')
    begin = content.find(kBlockBegin, begin + 1);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t inner = begin + kBlockBegin.size();
  std::size_t end = content.find(kBlockEnd, inner);
  while (end != std::string_view::npos && content[end - 1] != '\n') end = content.find(kBlockEnd, end + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return BlockPlace{begin, inner, end, end + kBlockEnd.size()};
}

}  // namespace

std::string with_block(std::string_view content, std::string_view block) {
  std::string marked;
  if (!block.empty()) marked = std::string(kBlockBegin) + std::string(block) + std::string(kBlockEnd);
  if (const auto place = find_block(content))
    return std::string(content.substr(0, place->outer)) + marked +
           std::string(content.substr(place->outer_end));
  std::string text(content);
  if (!text.empty() && text.back() != '\n' && !marked.empty()) text += '\n';
  return text + marked;
}

std::optional<std::string> block_in(std::string_view content) {
  const auto place = find_block(content);
  if (!place) return std::nullopt;
  return std::string(content.substr(place->inner, place->inner_end - place->inner));
}

std::string content_after(const DesiredFile& file, const std::optional<std::string>& now) {
  return file.block ? with_block(now.value_or(""), file.content) : file.content;
}

}  // namespace railbed
