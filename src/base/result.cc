#include "base/result.h"

namespace railbed {

Error at_node(std::string_view node, Error error) {
  if (error.node == node) return error;
  error.text = std::string(node) + ": " + error.text;
  error.node = node;
  error.placed = false;
  return error;
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBadInput:
      return kExitUsage;
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled:
    case ErrorKind::kKilled:
      return kExitCouldNotLook;
    case ErrorKind::kInternal:
      return kExitInternal;
  }
  return kExitInternal;
}

}  // namespace railbed
