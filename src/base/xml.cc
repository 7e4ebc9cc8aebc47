#include "base/xml.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kXmlBlank = " \t\r\n";

// Returns the position of the '>' that ends a tag, which is not within quotes; npos if there is none.
std::size_t end_of_tag(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> XmlTag::attribute(std::string_view wanted) const {
  std::string_view rest = attributes;
  while (true) {
    const auto start = rest.find_first_not_of(kXmlBlank);
    if (start == rest.npos) return std::nullopt;
    rest.remove_prefix(start);
    const auto equals = rest.find('=');
    if (equals == rest.npos) return std::nullopt;
    const std::string_view key = trim(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    const auto quote = rest.find_first_not_of(kXmlBlank);
    if (quote == rest.npos || (rest[quote] != '"' && rest[quote] != '\'')) return std::nullopt;
    const auto end = rest.find(rest[quote], quote + 1);
    if (end == rest.npos) return std::nullopt;
    if (key == wanted) return rest.substr(quote + 1, end - quote - 1);
    rest.remove_prefix(end + 1);
  }
}

std::optional<XmlTag> XmlReader::next() {
  constexpr std::string_view kComment = "!--", kCommentEnd = "-->";
  std::string_view before;
  while (true) {
    const auto less = rest_.find('<');
    if (less == rest_.npos) return std::nullopt;
    if (before.empty()) before = rest_.substr(0, less);
    rest_.remove_prefix(less + 1);
    const bool comment = rest_.starts_with(kComment);
    const auto end = comment ? rest_.find(kCommentEnd) : end_of_tag(rest_);
    if (end == rest_.npos) {
      cut_ = true;
      return std::nullopt;
    }
    std::string_view body = rest_.substr(0, end);
    rest_.remove_prefix(end + (comment ? kCommentEnd.size() : 1));
    if (comment || body.starts_with('!') || body.starts_with('?')) continue;
    XmlTag tag{.before = before};
    if (body.starts_with('/')) {
      tag.kind = XmlTag::Kind::kClose;
      body.remove_prefix(1);
    } else if (body.ends_with('/')) {
      tag.kind = XmlTag::Kind::kAlone;
      body.remove_suffix(1);
    }
    tag.name = body.substr(0, body.find_first_of(kXmlBlank));
    tag.attributes = body.substr(tag.name.size());
    return tag;
  }
}

std::string xml_plain(std::string_view text) {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}};
  std::string plain;
  while (!text.empty()) {
    const auto entity =
        std::ranges::find_if(kEntities, [&](const auto& one) { return text.starts_with(one.first); });
    const bool found = entity != std::end(kEntities);
    plain += found ? entity->second : text[0];
    text.remove_prefix(found ? entity->first.size() : 1);
  }
  return plain;
}

}  // namespace railbed
