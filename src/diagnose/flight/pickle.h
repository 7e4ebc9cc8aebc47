// Reads a pickle as data. Of the opcodes of protocols 2 to 5 only those are known that build numbers, texts, lists,
// tuples and dictionaries. A pickle that would import, call or build anything else is refused at that opcode, so
// nothing of it ever runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace railbed::diagnose {

// A tree of values, which stand in one list and refer to each other by their index there. A pickle may use a value in
// several places, and a hostile one may even put a list into itself: follow items to a depth that is known in advance.
class PickleTree {
 public:
  using Id = std::uint32_t;
  enum class Kind { kNone, kBool, kInteger, kReal, kText, kList, kDictionary };
  struct Value {
    Kind kind = Kind::kNone;
    std::int64_t integer = 0;  // of kBool and kInteger
    double real = 0;
    std::string text = {};       // bytes as they were: show them through printable()
    std::vector<Id> items = {};  // of a list or tuple; of a dictionary key, value, key, value
  };

  Id add(Value value) {
    values_.push_back(std::move(value));
    return static_cast<Id>(values_.size() - 1);
  }
  std::size_t size() const { return values_.size(); }
  Value& at(Id id) { return values_[id]; }
  const Value& at(Id id) const { return values_[id]; }

  // Returns the value of a dictionary's key; a value of kNone if there is none, or `id` is no dictionary.
  const Value& member(const Value& dictionary, std::string_view key) const;
  // Both return a default if the value has another kind.
  static std::string text_of(const Value& value) { return value.kind == Kind::kText ? value.text : ""; }
  static std::int64_t integer_of(const Value& value, std::int64_t otherwise) {
    return value.kind == Kind::kInteger || value.kind == Kind::kBool ? value.integer : otherwise;
  }

  Id root = 0;

 private:
  std::vector<Value> values_;
};

// Returns whether bytes begin as a pickle of protocol 2 or later.
bool is_pickle(std::string_view bytes);
// Fails with kBadInput where the pickle ends early, uses an opcode that is refused, or has more than four million
// values. Text after its end is ignored.
Result<PickleTree> read_pickle(std::string_view bytes);

}  // namespace railbed::diagnose
