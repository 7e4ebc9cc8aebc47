#include "base/result.h"

namespace railbed {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBadInput:
      return kExitUsage;
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled:
      return kExitCouldNotLook;
    case ErrorKind::kInternal:
      return kExitInternal;
  }
  return kExitInternal;
}

}  // namespace railbed
