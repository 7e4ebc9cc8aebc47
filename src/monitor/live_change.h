// What differs between two JSON documents of the same shape, small where little does: what a live page is
// told. A change is one of
//   {"=": value}                   another value stands there
//   {"*": {"key": change, …}}      of an object its members, of an array its elements by number
//   {"+": [values], "-": count}    an array moved on: so many left at its beginning, these came at its end
// Whoever applies it to the first document has the second (the page's script does).
#pragma once

#include <optional>

#include "base/json.h"

namespace railbed {

std::optional<json::Value> change_between(const json::Value& before,
                                          const json::Value& now);  // nothing: none

}  // namespace railbed
