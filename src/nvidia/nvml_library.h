// The part of NVML that railbed calls: our own declarations of what its public reference documents (nvml.h of
// driver 580; "NVML API Reference Guide"). For use in a child process only: any call may hang in a broken
// driver.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/reading.h"
#include "os/library.h"
#include "os/process.h"

namespace railbed::nvml {

using Device = void*;  // nvmlDevice_t is a pointer to a private struct of NVML

// nvmlReturn_t
inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 3;
inline constexpr int kFunctionNotFound = 13;
inline constexpr int kVersionMismatch = 25;

// nvmlPciInfo_t
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

// nvmlMemory_t, nvmlMemory_v2_t
struct MemoryV1 {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40);

struct Bar1Memory {  // nvmlBAR1Memory_t
  unsigned long long total, free, used;
};

struct Utilisation {  // nvmlUtilization_t
  unsigned gpu, memory;
};

struct ProcessInfo {  // nvmlProcessInfo_v2_t, also used by nvmlDeviceGetComputeRunningProcesses_v3
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct SramStatus {  // nvmlEccSramErrorStatus_v1_t
  unsigned version;
  unsigned long long aggregate_parity, aggregate_secded, aggregate_corrected;
  unsigned long long volatile_parity, volatile_secded, volatile_corrected;
  unsigned long long l2, sm, pcie, microcontroller, other;
  unsigned threshold_exceeded;
};
static_assert(sizeof(SramStatus) == 104);

struct MarginTemperature {  // nvmlMarginTemperature_v1_t
  unsigned version;
  int margin;
};

struct Histogram {  // nvmlRowRemapperHistogramValues_t
  unsigned max, high, partial, low, none;
};

struct FieldValue {  // nvmlFieldValue_t; value is a union, `type` selects the member
  unsigned id, scope;
  long long timestamp, latency;
  int type, code;
  union {
    double real;
    unsigned u32;
    unsigned long long u64;
    int i32;
    unsigned short u16;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

struct FabricV1 {  // nvmlGpuFabricInfo_t
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
};
struct FabricV3 {  // nvmlGpuFabricInfo_v3_t; version 2 ends before `health`
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health_mask;
  unsigned char health;
};
static_assert(sizeof(FabricV3) == 40);

// NVML_STRUCT_VERSION
template <class Struct>
constexpr unsigned version_of(unsigned number, std::size_t size = sizeof(Struct)) {
  return static_cast<unsigned>(size) | number << 24;
}

// "NVML_ERROR_GPU_IS_LOST (15)"
std::string error_name(int code);
Miss miss_of(int code);

// Returns whether `value` means "no value": NVML_VALUE_NOT_AVAILABLE (-1), or one of DCGM's blanks
// (dcgm_structs.h), which tools above NVML pass on: 0x7ffffff0 to 0x7ffffff3 and their 64-bit counterparts.
template <std::integral T>
constexpr bool is_blank(T value) {
  constexpr T kFirst = static_cast<T>(sizeof(T) == 8 ? 0x7ffffffffffffff0 : 0x7ffffff0);
  return (std::is_unsigned_v<T> && value == std::numeric_limits<T>::max()) ||
         (value >= kFirst && value <= kFirst + 3);
}

// NVML, and the step that it is about to take. `about_to` must outlive it.
class Nvml {
 public:
  Nvml(const std::vector<std::string>& files, const Say& about_to) : library_(files), about_to_(about_to) {}

  const Library& library() const { return library_; }
  // Sets the GPU that all further calls are about, so that a timeout names it.
  void now(std::string_view gpu) { of_ = " of GPU " + std::string(gpu); }

  // Calls a function of NVML by name and returns its nvmlReturn_t. The arguments must have exactly the types
  // of the function's parameters.
  template <class... Args>
  int call(const char* function, Args... arguments) {
    void* address = library_.find(function);
    if (address == nullptr) return kFunctionNotFound;
    about_to_(function + of_);
    return reinterpret_cast<int (*)(Args...)>(address)(arguments...);
  }

  // Returns the value that a function stores through its last argument.
  template <class Raw, class... Args>
  Reading<Raw> get(const char* function, Args... arguments) {
    Raw value{};
    const int code = call(function, arguments..., &value);  // before the value is looked at
    return judged(code, value, function);
  }
  // The same, converted to another number type; garbled if it does not fit.
  template <class To, class Raw, class... Args>
  Reading<To> number(const char* function, Args... arguments) {
    return get<Raw>(function, arguments...).parsed([](Raw value) -> std::optional<To> {
      if (!std::in_range<To>(value)) return std::nullopt;
      return static_cast<To>(value);
    });
  }
  // The same for nvmlEnableState_t and other yes-or-no values.
  template <class... Args>
  Reading<bool> flag(const char* function, Args... arguments) {
    return get<unsigned>(function, arguments...).parsed([](unsigned value) {
      return std::optional<bool>(value != 0);
    });
  }
  // For functions that fill a buffer of a given size.
  Reading<std::string> text(const char* function, Device device);
  Reading<std::string> text(const char* function);
  // Returns one value of nvmlDeviceGetFieldValues. For NVLink fields `scope` is the link's number.
  Reading<std::uint64_t> field(Device device, unsigned id, const char* name, unsigned scope = 0);

  // Makes a Reading of a function's return code and value. A blank number is kUnsupported.
  template <class Raw>
  static Reading<Raw> judged(int code, Raw value, std::string_view function) {
    if (code != kSuccess) return {miss_of(code), std::string(function)};
    if constexpr (std::integral<Raw> && !std::is_same_v<Raw, bool>)
      if (is_blank(value)) return {Miss{Missing::kUnsupported, "not available"}, std::string(function)};
    return {std::move(value), std::string(function)};
  }

 private:
  Library library_;
  const Say& about_to_;
  std::string of_;
};

}  // namespace railbed::nvml
