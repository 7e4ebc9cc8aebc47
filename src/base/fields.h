// A struct that names its fields once (see base/json.h) without pulling in a JSON library.
#pragma once

#include <string_view>
#include <tuple>

namespace railbed {

template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view name, Member Struct::*member) {
  return {name, member};
}

}  // namespace railbed
