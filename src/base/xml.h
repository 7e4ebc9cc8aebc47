// Reads the tags of an XML file one by one, as far as files of tools need it: elements, attributes, text and comments.
// No declarations of entities, no name spaces. The views point into the text that is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

struct XmlTag {
  enum class Kind { kOpen, kClose, kAlone };  // <a>, </a>, <a/>
  Kind kind = Kind::kOpen;
  std::string_view name = {};
  std::string_view attributes = {};  // as written
  std::string_view before = {};      // the text between the tag before and this one, as written

  // Returns the value of an attribute, as written; nullopt if the tag has none of this name.
  std::optional<std::string_view> attribute(std::string_view name) const;
};

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) {}
  // Returns the next tag. Comments, declarations and instructions are passed over. Nullopt at the end, and at a tag
  // that does not end.
  std::optional<XmlTag> next();
  // Returns true if the text ended within a tag or a comment.
  bool is_cut() const { return cut_; }

 private:
  std::string_view rest_;
  bool cut_ = false;
};

// Returns a text or a value with the five predefined entities replaced.
std::string xml_plain(std::string_view text);

}  // namespace railbed
