// The only file that includes yaml-cpp. Its exceptions become complaints here.
#include "base/yaml.h"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::size_t kMostYamlLevels = 16;
constexpr std::size_t kMostYamlValues = 300'000;
constexpr std::string_view kNoAliases =
    "anchors and aliases are not used here: say what nodes share once, at the top level, and use ranges";

std::size_t offset_of(const YAML::Mark& mark) {
  return mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos);
}

// Builds the tree from yaml-cpp's events. `open_` is the stack of unfinished lists and mappings; a finished
// value is added to the innermost one, in a mapping alternately as a key and as the value for it. A handler
// cannot stop the parser, so after the first exceeded limit it records one complaint and ignores all further
// events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, Complaints& complaints) : text_(text), complaints_(complaints) {}

  YamlValue& root() { return root_; }
  bool refused() const { return refused_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    add({.kind = YamlValue::Kind::kNothing, .spot = {nothing_at(offset_of(mark)), 1}});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse({offset_of(mark), word_length(offset_of(mark))}, std::string(kNoAliases));
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    refuse({offset_of(mark), name.size() + 1}, std::string(kNoAliases));
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& text) override {
    add(scalar(offset_of(mark), text));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(YamlValue::Kind::kList, mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(YamlValue::Kind::kMapping, mark);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlValue value;
    std::optional<YamlKey> key;  // for a mapping: a key whose value is still to come
  };

  void refuse(Spot spot, std::string why) {
    if (!refused_) complaints_.add(spot, std::move(why));
    refused_ = true;
  }

  // yaml-cpp reports a missing item at the beginning of the next one. The dash before it is a better place.
  std::size_t nothing_at(std::size_t offset) const {
    if (open_.empty() || open_.back().value.kind != YamlValue::Kind::kList) return offset;
    const auto dash = offset == 0 ? std::string_view::npos : text_.rfind('-', offset - 1);
    return dash == std::string_view::npos ? offset : dash;
  }

  std::size_t word_length(std::size_t offset) const {
    const auto end = std::min(text_.find_first_of(" \t\r\n,]}:", offset), text_.size());
    return std::max<std::size_t>(end > offset ? end - offset : 0, 1);
  }

  // Records where the value is in the file as it was typed, so that a caret can point into it.
  YamlValue scalar(std::size_t offset, const std::string& text) const {
    YamlValue value{.kind = YamlValue::Kind::kText, .spot = {offset, 1}, .text = text};
    if (offset >= text_.size()) return value;
    value.quote = text_[offset] == '"' || text_[offset] == '\'' ? 1 : 0;
    value.literal = text_.substr(offset + value.quote, text.size()) == text;
    value.spot.length = value.literal ? text.size() + 2 * value.quote : word_length(offset);
    return value;
  }

  void open(YamlValue::Kind kind, const YAML::Mark& mark) {
    if (skipping_ > 0 || open_.size() >= kMostYamlLevels) {
      ++skipping_;
      refuse({offset_of(mark), 1}, "nested deeper than any cluster needs");
      return;
    }
    const std::size_t offset = offset_of(mark);
    open_.push_back({{.kind = kind, .spot = {offset, word_length(offset)}}, std::nullopt});
  }

  void close() {
    if (skipping_ > 0) {
      --skipping_;
      return;
    }
    YamlValue value = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(value));
  }

  void add(YamlValue value) {
    if (skipping_ > 0 || refused_) return;
    if (++values_ > kMostYamlValues) return refuse(value.spot, "more values than any cluster needs");
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& top = open_.back();
    if (top.value.kind == YamlValue::Kind::kMapping && !top.key) {
      if (value.kind != YamlValue::Kind::kText) return refuse(value.spot, "a key must be a word");
      top.key = YamlKey{std::move(value.text), value.spot};
      return;
    }
    if (top.key) top.value.keys.push_back(*std::exchange(top.key, std::nullopt));
    top.value.items.push_back(std::move(value));
  }

  std::string_view text_;
  Complaints& complaints_;
  YamlValue root_;
  std::vector<Open> open_;
  std::size_t skipping_ = 0;
  std::size_t values_ = 0;
  bool refused_ = false;
};

// Rejects bytes that no text editor writes: yaml-cpp would shift the position of everything after them.
bool is_plain_text(std::string_view text, Complaints& complaints) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = first_code_point(text.substr(i)).bytes;
    if (length == 0 || (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f) {
      complaints.add({i, 1}, "this is not UTF-8 text");
      return false;
    }
    i += length;
  }
  return true;
}

// Limits open brackets, because yaml-cpp keeps a token for each. Brackets within quotes are counted, too; no
// real file has more than the limit.
bool nests_too_deep(std::string_view text, Complaints& complaints) {
  constexpr std::size_t kMaxOpen = 64;
  std::size_t open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++open;
    if ((text[i] == ']' || text[i] == '}') && open > 0) --open;
    if (open <= kMaxOpen) continue;
    complaints.add({i, 1}, "nested deeper than any cluster needs");
    return true;
  }
  return false;
}

// Returns the offset of the first tab that indents a line, up to the line at `end`.
std::optional<std::size_t> tab_in_indent(std::string_view text, std::size_t end) {
  std::size_t begin = 0;
  while (begin <= end && begin < text.size()) {
    const auto first = text.find_first_not_of(' ', begin);
    if (first != std::string_view::npos && text[first] == '\t') return first;
    const auto newline = text.find('\n', begin);
    if (newline == std::string_view::npos) break;
    begin = newline + 1;
  }
  return std::nullopt;
}

// Finds a range without quotes, `{name: gpu[01-64]}`, near `near`: YAML parses its bracket as a list.
std::optional<Spot> unquoted_range(std::string_view text, std::size_t near) {
  const auto newline = near == 0 ? std::string_view::npos : text.rfind('\n', near - 1);
  std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const std::string_view line = text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
  for (auto at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
    const auto close = line.find(']', at);
    const auto word = line.find_last_of(" {,:[\"'", at == 0 ? 0 : at - 1);
    const std::size_t start = word == std::string_view::npos ? 0 : word + 1;
    if (close == std::string_view::npos || start >= at || line.find_first_of("{[") >= start) continue;
    const auto inside = line.substr(at + 1, close - at - 1);
    if (inside.empty() || inside.find_first_not_of("0123456789,-") != std::string_view::npos) continue;
    if (word != std::string_view::npos && (line[word] == '"' || line[word] == '\'')) continue;
    const auto end = std::min(line.find_first_of(" ,}]", close + 1), line.size());
    return Spot{begin + start, end - start};
  }
  return std::nullopt;
}

// Returns a more helpful wording of yaml-cpp's message.
std::string syntax_message(const std::string& message) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"bad file", "nested deeper than any cluster needs"},  // its DepthGuard, after 500 levels
      {"end of sequence flow not found", "a \"]\" is missing before this"},
      {"end of map flow not found", "a \"}\" is missing before this"},
      {"end of sequence not found", "this is not indented like the items before it"},
      {"end of map not found", "this is not indented like the keys before it"},
      {"illegal map value", "a \":\" cannot stand here: check the indentation, or quote text that holds one"},
      {"illegal block entry", "a \"-\" cannot stand here: check the indentation"},
      {"the referenced anchor is not defined", kNoAliases},
  };
  for (const auto& [theirs, ours] : kWords)
    if (message == theirs) return std::string(ours);
  return "this is not YAML: " + printable(message, "?");  // it may name a byte of the text
}

void complain_of_syntax(std::string_view text, std::size_t offset, const std::string& message,
                        Complaints& complaints) {
  offset = std::min(offset, text.size());
  if (const auto tab = tab_in_indent(text, offset))
    return complaints.add({*tab, 1}, "a tab in the indentation: YAML wants spaces");
  if (const auto range = unquoted_range(text, offset))
    return complaints.add(*range, "inside { } or [ ] a range needs quotes: " + complaints.quoted(*range));
  complaints.add({offset, 1}, syntax_message(message));
}

}  // namespace

std::optional<YamlValue> parse_yaml(std::string_view text, Complaints& complaints) {
  if (text.size() > kMaxFileBytes) {
    complaints.add({0, 1}, "the file is larger than 4 MiB");
    return std::nullopt;
  }
  if (!is_plain_text(text, complaints) || nests_too_deep(text, complaints)) return std::nullopt;
  TreeBuilder builder(text, complaints);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      complaints.add({0, 1}, "the file is empty");
      return std::nullopt;
    }
    if (builder.refused()) return std::nullopt;
    YamlValue root = std::move(builder.root());
    if (parser.HandleNextDocument(builder)) {
      complaints.add(builder.root().spot, "a second document: a file describes one cluster");
      return std::nullopt;
    }
    return root;
  } catch (const YAML::Exception& problem) {
    if (!builder.refused()) complain_of_syntax(text, offset_of(problem.mark), problem.msg, complaints);
  } catch (const std::exception& problem) {
    complaints.add({0, 1}, std::string("this is not YAML: ") + problem.what());
  }
  return std::nullopt;
}

std::string yaml_quoted(std::string_view text) {
  YAML::Emitter emitter;
  emitter << YAML::DoubleQuoted << std::string(text);
  return emitter.c_str();
}

std::string yaml_comment(std::string_view text) {
  YAML::Emitter emitter;
  emitter.SetPreCommentIndent(0);
  emitter << YAML::Comment(printable(text));
  return emitter.c_str();
}

}  // namespace railbed
