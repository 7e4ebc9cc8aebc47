// The opcodes are those of Python's pickletools. PyTorch's own writer (torch/csrc/jit/serialization/pickler.cpp, used
// without tags of types) needs about half of them; the others are what Python's pickle module writes for such data.
#include "diagnose/flight/pickle.h"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <unordered_map>

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostValues = 4'000'000;

enum class Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kEmptyList = ']',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyTuple = ')',
  kEmptyDict = '}',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kMemoize = 0x94,
  kFrame = 0x95,
};

class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  Result<PickleTree> read() {
    using enum Opcode;
    while (at_ < bytes_.size()) {
      opcode_at_ = at_;
      const auto opcode = static_cast<Opcode>(bytes_[at_++]);
      if (opcode == kStop) {
        if (stack_.empty()) return wrong("it ends without a value");
        tree_.root = stack_.back();
        return std::move(tree_);
      }
      if (!step(opcode))
        return wrong(why_.empty()
                         ? fmt::format("opcode 0x{:02x} is not data, and railbed runs no code of a file",
                                       static_cast<unsigned>(opcode))
                         : why_);
      if (tree_.size() > kMostValues || stack_.size() > kMostValues) return wrong("it has too many values");
    }
    return wrong("it is cut off");
  }

 private:
  using Kind = PickleTree::Kind;
  using Id = PickleTree::Id;

  tl::unexpected<Error> wrong(const std::string& why) const {
    return fail(ErrorKind::kBadInput, fmt::format("not a readable pickle: {} (at byte {})", why, opcode_at_));
  }
  bool refuse(std::string_view why) {
    why_ = why;
    return false;
  }

  bool push(PickleTree::Value value) {
    stack_.push_back(tree_.add(std::move(value)));
    return true;
  }
  bool push_integer(std::optional<std::int64_t> number, Kind kind = Kind::kInteger) {
    return number ? push({.kind = kind, .integer = *number}) : refuse("it is cut off");
  }

  // Returns the next bytes as an unsigned number, the least significant first; nullopt at the end.
  std::optional<std::uint64_t> number(std::size_t size) {
    if (bytes_.size() - at_ < size) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    at_ += size;
    return value;
  }

  // A number of any length; railbed keeps those of at most eight bytes.
  bool push_long() {
    const auto size = number(1);
    if (!size || bytes_.size() - at_ < *size) return refuse("it is cut off");
    if (*size > 8) return refuse("a number has more than 64 bits");
    if (*size == 0) return push_integer(0);
    const std::uint64_t value = *number(*size);
    const std::uint64_t sign = std::uint64_t{1} << (8 * *size - 1);
    return push_integer(std::bit_cast<std::int64_t>((value ^ sign) - sign));
  }

  bool push_real() {
    const auto value = number(8);
    if (!value) return refuse("it is cut off");
    std::uint64_t swapped = 0;
    for (int i = 0; i < 8; ++i) swapped |= (*value >> (8 * i) & 0xff) << (56 - 8 * i);
    return push({.kind = Kind::kReal, .real = std::bit_cast<double>(swapped)});
  }

  bool push_text(std::size_t length_bytes) {
    const auto length = number(length_bytes);
    if (!length || bytes_.size() - at_ < *length) return refuse("it is cut off");
    const auto text = bytes_.substr(at_, *length);
    at_ += *length;
    return push({.kind = Kind::kText, .text = std::string(text)});
  }

  // Moves the topmost values into a new tuple.
  bool push_tuple(std::size_t from) {
    PickleTree::Value tuple{.kind = Kind::kList};
    tuple.items.assign(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return push(std::move(tuple));
  }

  // Appends the values from `from` on to the container below them.
  bool append(std::size_t from, Kind kind) {
    if (from == 0 || from > stack_.size()) return refuse("a list or dictionary is missing");
    PickleTree::Value& container = tree_.at(stack_[from - 1]);
    const std::size_t count = stack_.size() - from;
    if (container.kind != kind || (kind == Kind::kDictionary && count % 2 != 0))
      return refuse("a list or dictionary is missing");
    held_ += count;
    if (held_ > kMostValues) return refuse("it has too many values");
    container.items.insert(container.items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from),
                           stack_.end());
    stack_.resize(from);
    return true;
  }

  std::optional<std::size_t> take_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return std::nullopt;
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  bool put(std::optional<std::uint64_t> key) {
    if (!key || stack_.empty() || memo_.size() > kMostValues) return refuse("it is cut off");
    memo_[*key] = stack_.back();
    return true;
  }
  bool get(std::optional<std::uint64_t> key) {
    const auto found = key ? memo_.find(*key) : memo_.end();
    if (found == memo_.end()) return refuse("it uses a value that it did not define");
    stack_.push_back(found->second);
    return true;
  }

  bool pop(std::size_t to) {
    if (to > stack_.size()) return refuse("it takes more values than there are");
    stack_.resize(to);
    return true;
  }

  bool step(Opcode opcode) {
    using enum Opcode;
    switch (opcode) {
      case kProto:
        return number(1).has_value() || refuse("it is cut off");
      case kFrame:
        return number(8).has_value() || refuse("it is cut off");
      case kNone:
        return push({});
      case kNewTrue:
      case kNewFalse:
        return push_integer(opcode == kNewTrue, Kind::kBool);
      case kBinInt1:
        return push_integer(number(1));
      case kBinInt2:
        return push_integer(number(2));
      case kBinInt: {
        const auto value = number(4);
        if (!value) return refuse("it is cut off");
        return push_integer(std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(*value)));
      }
      case kLong1:
        return push_long();
      case kBinFloat:
        return push_real();
      case kShortBinString:
      case kShortBinUnicode:
        return push_text(1);
      case kBinString:
      case kBinUnicode:
        return push_text(4);
      case kBinUnicode8:
        return push_text(8);
      case kEmptyList:
      case kEmptyTuple:
        return push({.kind = Kind::kList});
      case kEmptyDict:
        return push({.kind = Kind::kDictionary});
      case kMark:
        marks_.push_back(stack_.size());
        return marks_.size() <= kMostValues || refuse("it has too many values");
      default:
        return step_on_stack(opcode);
    }
  }

  bool step_on_stack(Opcode opcode) {
    using enum Opcode;
    switch (opcode) {
      case kPop:
        return stack_.empty() ? refuse("it takes more values than there are") : pop(stack_.size() - 1);
      case kDup:
        if (stack_.empty()) return refuse("it takes more values than there are");
        stack_.push_back(stack_.back());
        return true;
      case kTuple1:
      case kTuple2:
      case kTuple3: {
        const std::size_t count = static_cast<std::size_t>(opcode) - static_cast<std::size_t>(kTuple1) + 1;
        return stack_.size() < count ? refuse("it takes more values than there are")
                                     : push_tuple(stack_.size() - count);
      }
      case kAppend:
        return stack_.size() < 2 ? refuse("a list or dictionary is missing")
                                 : append(stack_.size() - 1, Kind::kList);
      case kSetItem:
        return stack_.size() < 3 ? refuse("a list or dictionary is missing")
                                 : append(stack_.size() - 2, Kind::kDictionary);
      case kPopMark:
      case kTuple:
      case kAppends:
      case kSetItems: {
        const auto mark = take_mark();
        if (!mark) return refuse("a mark is missing");
        if (opcode == kPopMark) return pop(*mark);
        if (opcode == kTuple) return push_tuple(*mark);
        return append(*mark, opcode == kAppends ? Kind::kList : Kind::kDictionary);
      }
      case kBinPut:
        return put(number(1));
      case kLongBinPut:
        return put(number(4));
      case kMemoize:
        return put(memo_.size());
      case kBinGet:
        return get(number(1));
      case kLongBinGet:
        return get(number(4));
      default:
        return false;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0, opcode_at_ = 0;
  std::string why_;
  PickleTree tree_;
  std::size_t held_ = 0;  // items of all containers
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Id> memo_;
};

}  // namespace

const PickleTree::Value& PickleTree::member(const Value& dictionary, std::string_view key) const {
  static const Value kAbsent;
  if (dictionary.kind != Kind::kDictionary) return kAbsent;
  for (std::size_t i = 0; i + 1 < dictionary.items.size(); i += 2)
    if (const Value& name = at(dictionary.items[i]); name.kind == Kind::kText && name.text == key)
      return at(dictionary.items[i + 1]);
  return kAbsent;
}

bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

Result<PickleTree> read_pickle(std::string_view bytes) { return PickleReader(bytes).read(); }

}  // namespace railbed::diagnose
