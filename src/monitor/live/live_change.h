// Computes the difference between two JSON documents of the same shape. It is small if little differs; a live
// page receives it. A change is one of
//   {"=": value}                   the value is replaced
//   {"*": {"key": change, …}}      members of an object, or elements of an array by index, change
//   {"+": [values], "-": count}    an array moves on: `count` elements leave its front, values join its end
// Applied to the first document, the change yields the second (live.js does so).
//
// The algorithm walks both documents at once. Objects with the same keys and arrays of the same size are
// compared member by member; anything else that differs is replaced as a whole. A move by one element is
// recognized only for arrays of scalars, such as samples. The cost is linear in the size of the documents
// times their depth.
#pragma once

#include <optional>

#include "base/json.h"

namespace railbed {

// Returns the change; nullopt if the documents are equal.
std::optional<json::Value> change_between(const json::Value& before, const json::Value& now);

}  // namespace railbed
