#include "nvidia/nvml_library.h"

#include <fmt/format.h>

#include <array>

namespace railbed::nvml {
namespace {

// nvmlReturn_t from 1 on.
constexpr std::string_view kErrors[] = {"UNINITIALIZED",
                                        "INVALID_ARGUMENT",
                                        "NOT_SUPPORTED",
                                        "NO_PERMISSION",
                                        "ALREADY_INITIALIZED",
                                        "NOT_FOUND",
                                        "INSUFFICIENT_SIZE",
                                        "INSUFFICIENT_POWER",
                                        "DRIVER_NOT_LOADED",
                                        "TIMEOUT",
                                        "IRQ_ISSUE",
                                        "LIBRARY_NOT_FOUND",
                                        "FUNCTION_NOT_FOUND",
                                        "CORRUPTED_INFOROM",
                                        "GPU_IS_LOST",
                                        "RESET_REQUIRED",
                                        "OPERATING_SYSTEM",
                                        "LIB_RM_VERSION_MISMATCH",
                                        "IN_USE",
                                        "MEMORY",
                                        "NO_DATA",
                                        "VGPU_ECC_NOT_SUPPORTED",
                                        "INSUFFICIENT_RESOURCES",
                                        "FREQ_NOT_SUPPORTED",
                                        "ARGUMENT_VERSION_MISMATCH",
                                        "DEPRECATED",
                                        "NOT_READY",
                                        "GPU_NOT_FOUND",
                                        "INVALID_STATE",
                                        "RESET_TYPE_NOT_SUPPORTED"};

// Converts by NVML's value types: nvmlValueType_t.
std::uint64_t value_of(const FieldValue& field) {
  constexpr int kDouble = 0, kUnsignedInt = 1, kSignedInt = 5, kUnsignedShort = 6;
  switch (field.type) {
    case kDouble:
      return field.value.real > 0 && field.value.real < 1e18 ? static_cast<std::uint64_t>(field.value.real)
                                                             : 0;
    case kUnsignedInt:
      return is_blank(field.value.u32) ? std::numeric_limits<std::uint64_t>::max() : field.value.u32;
    case kSignedInt:
      return field.value.i32 < 0 ? std::numeric_limits<std::uint64_t>::max()
                                 : static_cast<std::uint64_t>(field.value.i32);
    case kUnsignedShort:
      return field.value.u16;
    default:
      return field.value.u64;
  }
}

}  // namespace

std::string error_name(int code) {
  if (code == kSuccess) return "NVML_SUCCESS";
  const auto index = static_cast<std::size_t>(code) - 1;
  return fmt::format("NVML_ERROR_{} ({})", index < std::size(kErrors) ? kErrors[index] : "UNKNOWN", code);
}

Miss miss_of(int code) {
  constexpr int kNoPermission = 4, kNotFound = 6, kTimedOut = 10, kNoData = 21, kVgpuEcc = 22,
                kDeprecated = 26, kNotReady = 27;
  switch (code) {
    case kNotSupported:
    case kNoData:
    case kVgpuEcc:
    case kVersionMismatch:
    case kDeprecated:
    case kNotReady:
      return {Missing::kUnsupported, error_name(code)};
    case kFunctionNotFound:
      return {Missing::kUnsupported, "the driver's NVML is too old to have this function"};
    case kNoPermission:
      return {Missing::kDenied, error_name(code)};
    case kNotFound:
      return {Missing::kAbsent, error_name(code)};
    case kTimedOut:
      return {Missing::kTimeout, error_name(code)};
    default:
      return {Missing::kGarbled, error_name(code)};
  }
}

Reading<std::string> Nvml::text(const char* function, Device device) {
  std::array<char, 128> buffer{};
  const int code = call(function, device, buffer.data(), static_cast<unsigned>(buffer.size() - 1));
  return judged(code, std::string(buffer.data()), function);
}

Reading<std::string> Nvml::text(const char* function) {
  std::array<char, 128> buffer{};
  const int code = call(function, buffer.data(), static_cast<unsigned>(buffer.size() - 1));
  return judged(code, std::string(buffer.data()), function);
}

Reading<std::uint64_t> Nvml::field(Device device, unsigned id, const char* name, unsigned scope) {
  FieldValue value{};
  value.id = id;
  value.scope = scope;
  int code = call("nvmlDeviceGetFieldValues", device, 1, &value);
  if (code == kSuccess) code = value.code;
  return judged(code, code == kSuccess ? value_of(value) : 0, name);
}

}  // namespace railbed::nvml
