// Reads a machine from `.tree` text (docs/reference/tree-format.md; tree_write.cc writes it).
//
// One line is one entry. Its beginning decides its kind: "/" a file, folder or link, "- " a removal, "$ " a
// command, "@ " a call's result, "~ " a change to such a result. Longer content follows its line as a block,
// which ends at a line that is only the word after "<<"; the writer picks a word that no line of the block
// equals, so that nothing needs escaping.
//
// `base:` starts from another tree, to which the entries are applied in order, so that a fixture lists only
// its differences. The caller passes the function that reads bases: text from elsewhere gets none, and for a
// file they are .tree files by relative paths, at most four on top of each other.
//
// The text is untrusted. Every line is checked, every size limited, and operations that could take quadratic
// time (changes, each of which parses its result again) are counted.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/json_wrapped.h"
#include "base/text.h"
#include "host/tree.h"
#include "os/errno_name.h"

namespace railbed {
namespace {

constexpr std::string_view kHeader = "railbed-tree 1";
constexpr std::size_t kMaxPath = 4096;
// /sys has a dozen levels of folders. Each level costs a look at every entry below.
constexpr std::size_t kMaxFolders = 64;
// Each change parses and writes its result again, so a hostile tree could make that slow.
constexpr std::size_t kMaxPatches = 256;
constexpr std::size_t kMaxPatched = 256 << 10;
constexpr std::size_t kMaxPatchedInAll = 2 << 20;

std::optional<std::string> decode_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto byte = parse_number<std::uint8_t>(text.substr(i, 2), 16);
    if (!byte || text[i] == ' ' || text[i + 1] == ' ' || text[i + 1] == 'x') return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
  }
  return bytes;
}

// Decodes a path. Spaces and backslashes are escaped as in /proc/mounts: \040, \134.
std::optional<std::string> unescape(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      path.push_back(text[i]);
      continue;
    }
    const auto code = parse_number<std::uint8_t>(text.substr(i + 1, 3), 8);
    if (!code || *code == 0 || i + 3 >= text.size()) return std::nullopt;
    path.push_back(static_cast<char>(*code));
    i += 3;
  }
  return path;
}

bool is_normal_path(std::string_view path) {
  if (!path.starts_with('/') || path.size() < 2 || path.size() > kMaxPath) return false;
  const auto pieces = split(path.substr(1), '/');
  if (pieces.size() > kMaxFolders) return false;
  for (const auto piece : pieces)
    if (piece.empty() || piece == "." || piece == "..") return false;
  return path.find('\0') == std::string_view::npos;
}

// Returns whether a command's words or a call's name can be read back: it must not contain a mark of the
// format.
bool is_plain_name(std::string_view name) {
  return !trim(name).empty() && name.find(" ! ") == std::string_view::npos && !name.ends_with(" !") &&
         name.find("<<") == std::string_view::npos;
}

std::optional<Missing> missing_by_name(std::string_view word) {
  const auto names = enum_names(Missing{});
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == word) return static_cast<Missing>(i);
  return std::nullopt;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view name, const LoadBase& load_base)
      : lines_(split(text, '\n')), name_(name), load_base_(load_base) {}

  Result<Tree> parse() {
    if (lines_.front() != kHeader)
      return complain(fmt::format(
          "a tree file starts with the line \"{}\"; nor is this a report or an output that railbed "
          "reads (docs/how-to/from-a-sosreport.md lists them)",
          kHeader));
    bool first = true;
    for (at_ = 1; at_ < lines_.size(); ++at_) {
      const std::string_view line = lines_[at_];
      if (line.empty() || line.starts_with('#')) continue;
      RETURN_IF_ERROR(parse_line(line, first));
      first = false;
      if (tree_.size() + tree_.commands.size() + tree_.calls.size() > kMaxTreeEntries)
        return complain("too many entries");
    }
    return std::move(tree_);
  }

 private:
  tl::unexpected<Error> complain(std::string_view what) const {
    return fail(ErrorKind::kBadInput, fmt::format("{}:{}: {}", name_, at_ + 1, what));
  }

  Result<void> parse_line(std::string_view line, bool first) {
    if (line.starts_with("base: ")) return first ? parse_base(line.substr(6)) : complain("base: comes first");
    if (line.starts_with("- ")) return parse_removal(line.substr(2));
    if (line.starts_with("$ ")) return parse_command(line.substr(2));
    if (line.starts_with("@ ")) return parse_call(line.substr(2));
    if (line.starts_with("~ ")) return parse_patch(line.substr(2));
    if (line.starts_with('/')) return parse_entry(line);
    return complain("expected a path, \"- path\", \"$ command\", \"@ call\" or \"~ call\"");
  }

  Result<void> parse_base(std::string_view base) {
    if (!load_base_) return complain("base: is not allowed here");
    const std::size_t line = at_;
    auto loaded = load_base_(std::string(base));
    if (!loaded) {
      at_ = line;
      return complain("base: " + loaded.error().text);
    }
    tree_ = std::move(*loaded);
    return {};
  }

  Result<void> parse_removal(std::string_view text) {
    const auto path = unescape(text);
    if (!path || !is_normal_path(*path)) return complain("not a path that can be removed");
    tree_.remove(*path);
    return {};
  }

  // PATH/ · PATH = text · PATH = hex:… · PATH -> target · PATH ! ERRNO · PATH <<WORD
  Result<void> parse_entry(std::string_view line) {
    const auto space = line.find(' ');
    auto path = unescape(line.substr(0, space));
    const bool folder = path && path->ends_with('/');
    if (folder) path->pop_back();
    if (!path || !is_normal_path(*path)) return complain("not an absolute path without . and ..");
    if (folder != (space == std::string_view::npos))
      return complain(
          "expected \"PATH = text\", \"PATH -> target\", \"PATH ! ERRNO\", \"PATH <<END\" or \"PATH/\"");
    TreeEntry entry;
    if (!folder) {
      ASSIGN_OR_RETURN(auto parsed, parse_content(line.substr(space + 1)));
      entry = std::move(parsed);
    }
    if (auto set = tree_.set(*path, std::move(entry)); !set) return complain(set.error().text);
    return {};
  }

  Result<TreeEntry> parse_content(std::string_view text) {
    using Kind = TreeEntry::Kind;
    if (text == "=") return TreeEntry{Kind::kFile, "", 0};
    if (text.starts_with("= hex:")) {
      auto bytes = decode_hex(text.substr(6));
      if (!bytes) return complain("hex: wants an even number of hexadecimal digits");
      return TreeEntry{Kind::kFile, std::move(*bytes), 0};
    }
    if (text.starts_with("= ")) return TreeEntry{Kind::kFile, std::string(text.substr(2)) + "\n", 0};
    if (text.starts_with("-> ")) {
      auto target = unescape(text.substr(3));
      if (!target || target->empty() || target->size() > kMaxPath || target->find('\0') != std::string::npos)
        return complain("not a link target");
      return TreeEntry{Kind::kLink, std::move(*target), 0};
    }
    if (text.starts_with("! ")) {
      const auto error = error_by_name(text.substr(2));
      if (!error) return complain("not the name of an errno value, such as EINVAL");
      return TreeEntry{Kind::kFailure, "", *error};
    }
    ASSIGN_OR_RETURN(auto block, parse_block(text));
    return TreeEntry{Kind::kFile, std::move(block), 0};
  }

  // "<<WORD", then lines up to one that is just WORD.
  Result<std::string> parse_block(std::string_view text) {
    if (!text.starts_with("<<") || text.size() < 3) return complain("expected <<END and lines up to END");
    const std::string_view end = text.substr(2);
    const std::size_t begin = at_;
    std::string content;
    for (++at_; at_ < lines_.size(); ++at_) {
      if (lines_[at_] == end) return content;
      content.append(lines_[at_]).push_back('\n');
    }
    at_ = begin;
    return complain(fmt::format("no line that is just {} follows", end));
  }

  // WORDS [! N] <<WORD · WORDS ! missing: why
  Result<void> parse_command(std::string_view line) {
    const auto block_at = line.rfind(" <<");
    const std::string_view head = line.substr(0, block_at);
    const auto mark = head.rfind(" ! ");
    const std::string words(head.substr(0, mark));
    if (!is_plain_name(words)) return complain("expected a command's words");
    CommandOutput output;
    if (mark != std::string_view::npos) {
      const std::string_view why = head.substr(mark + 3);
      if (block_at == std::string_view::npos) return put_miss(tree_.commands, words, why);
      const auto code = parse_number<int>(why);
      if (!code || *code < 0 || *code > 255) return complain("expected an exit code from 0 to 255 after !");
      output.exit_code = *code;
    }
    if (block_at == std::string_view::npos) return complain("expected <<END after the command");
    ASSIGN_OR_RETURN(auto block, parse_block(line.substr(block_at + 1)));
    output.output = std::move(block);
    tree_.commands.insert_or_assign(words, Reading<CommandOutput>(std::move(output), words));
    return {};
  }

  Result<void> parse_call(std::string_view line) {
    const auto block_at = line.rfind(" <<");
    if (block_at == std::string_view::npos) {
      const auto mark = line.find(" ! ");
      if (mark == std::string_view::npos) return complain("expected <<END after the call's name");
      const std::string name(line.substr(0, mark));
      if (!is_plain_name(name)) return complain("expected a call's name");
      return put_miss(tree_.calls, name, line.substr(mark + 3));
    }
    const std::string name(line.substr(0, block_at));
    if (!is_plain_name(name)) return complain("expected a call's name");
    ASSIGN_OR_RETURN(auto block, parse_block(line.substr(block_at + 1)));
    tree_.calls.insert_or_assign(name, Reading<std::string>(std::move(block), name));
    return {};
  }

  // NAME <<WORD: a JSON merge patch (RFC 7396) to the result of the call so far.
  Result<void> parse_patch(std::string_view line) {
    const auto block_at = line.rfind(" <<");
    const auto known = tree_.calls.find(line.substr(0, block_at));
    if (block_at == std::string_view::npos) return complain("expected <<END after the call's name");
    if (known == tree_.calls.end() || !known->second.ok())
      return complain("nothing to change: no answer to it yet");
    ASSIGN_OR_RETURN(auto block, parse_block(line.substr(block_at + 1)));
    const std::size_t bytes = known->second->size() + block.size();
    patched_ += bytes;
    if (++patches_ > kMaxPatches || bytes > kMaxPatched || patched_ > kMaxPatchedInAll)
      return complain("more than 256 changes, one of more than 256 KiB, or all of more than 2 MiB");
    const auto patch = json::parse(block);
    auto answer = json::parse(*known->second);
    if (!patch || !answer) return complain(patch ? "the call's answer is not JSON" : patch.error().text);
    answer->merge_patch(*patch);
    known->second = Reading<std::string>(json::dump_wrapped(*answer), known->first);
    return {};
  }

  template <class T>
  Result<void> put_miss(std::map<std::string, Reading<T>, std::less<>>& into, const std::string& key,
                        std::string_view text) {
    const auto pair = key_value(text, ':');
    const auto missing = missing_by_name(pair ? pair->first : trim(text));
    if (!missing) return complain("expected absent, denied, unsupported, garbled or timeout after !");
    into.insert_or_assign(key, Reading<T>(Miss{*missing, pair ? std::string(pair->second) : ""}, key));
    return {};
  }

  std::vector<std::string_view> lines_;
  std::string name_;
  const LoadBase& load_base_;
  std::size_t at_ = 0;
  std::size_t patches_ = 0;
  std::size_t patched_ = 0;  // bytes of results and changes
  Tree tree_;
};

Result<Tree> read_chain(const std::filesystem::path& file, int bases_left) {
  ASSIGN_OR_RETURN(const auto text, read_file(file.string(), kMaxTreeBytes));
  return parse_tree(text, file.string(), [&](const std::string& base) -> Result<Tree> {
    const std::filesystem::path relative(base);
    if (relative.is_absolute() || relative.extension() != ".tree")
      return fail(ErrorKind::kBadInput, "expected a path relative to this file that ends in .tree");
    if (bases_left == 0)
      return fail(ErrorKind::kBadInput, fmt::format("more than {} trees on top of each other", kMaxBases));
    return read_chain(file.parent_path() / relative, bases_left - 1);
  });
}

}  // namespace

Result<Tree> parse_tree(std::string_view text, std::string_view name, const LoadBase& load_base) {
  if (text.size() > kMaxTreeBytes)
    return fail(ErrorKind::kBadInput, std::string(name) + ": larger than 64 MiB");
  return Parser(text, name, load_base).parse();
}

Result<Tree> read_tree(const std::string& file) { return read_chain(file, kMaxBases); }

}  // namespace railbed
