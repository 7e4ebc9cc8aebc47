#include "os/errno_name.h"

#include <cerrno>
#include <cstring>

namespace railbed {
namespace {

constexpr int kLastError = 133;  // EHWPOISON, include/uapi/asm-generic/errno.h

}  // namespace

Miss miss_of(int error) {
  const char* words = strerrordesc_np(error);  // unlike strerror, thread-safe and never translated
  const std::string why = words != nullptr ? words : "error " + std::to_string(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
      return {Missing::kAbsent, why};
    case EACCES:
    case EPERM:
      return {Missing::kDenied, why};
    case EAGAIN:
    case ETIMEDOUT:
      return {Missing::kTimeout, why};
    case EILSEQ:
    case EOVERFLOW:
      return {Missing::kGarbled, why};
    default:
      return {Missing::kUnsupported, why};
  }
}

int error_of(const Miss& miss) {
  for (int error = 1; error <= kLastError; ++error)
    if (const char* words = strerrordesc_np(error); words != nullptr && miss.why == words) return error;
  return EINVAL;
}

std::string_view error_name(int error) {
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : "";
}

std::optional<int> error_by_name(std::string_view name) {
  for (int error = 1; error <= kLastError; ++error)
    if (!name.empty() && error_name(error) == name) return error;
  return std::nullopt;
}

}  // namespace railbed
