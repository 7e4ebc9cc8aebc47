// The CUDA driver as far as railbed calls it: our own declarations of what its public reference documents
// (cuda.h; "CUDA Driver API"). Used in a child process only. What fails is kept by name, and everything after
// it is skipped. One object serves one GPU and one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/library.h"
#include "host/process.h"

namespace railbed::cuda {

using Context = void*;
using Module = void*;
using Function = void*;
using Stream = void*;
using Event = void*;
using Graph = void*;
using GraphExec = void*;
using DevicePointer = unsigned long long;

// As libraries of the runtime API take it.
inline void* pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

inline constexpr int kOutOfMemory = 2;       // CUDA_ERROR_OUT_OF_MEMORY
inline constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

// CUdevice_attribute
inline constexpr int kMultiprocessors = 16;
inline constexpr int kMemoryClock = 36;  // kHz
inline constexpr int kMemoryBusWidth = 37;
inline constexpr int kGpuDirectRdma = 116;
inline constexpr int kDmaBuf = 124;

class Cuda {
 public:
  Cuda(const std::vector<std::string>& files, const Say& about_to);

  // Why the first call that failed did: "cuInit: CUDA_ERROR_NO_DEVICE (100)"; empty while all is well.
  const std::string& error() const { return error_; }
  // What that call answered; 0 where none was made, or none failed.
  int code() const { return code_; }
  bool opened() const { return bool(library_); }
  // The GPU at this PCI address, with a context of its own: 0 when that fails.
  bool open(const std::string& address);
  // For several GPUs in one process: the driver, the GPU of this number in PCI order with its context, and
  // that context made the calling thread's.
  bool start();
  bool use(int ordinal);
  bool enter() { return quick("cuCtxSetCurrent", context_); }
  int device() const { return device_; }
  Context context() const { return context_; }
  // Why something that is not CUDA's failed; empty: it did not. The first failure stays. False after one.
  bool note(std::string why);
  std::optional<int> attribute(int which) { return attribute(which, device_); }
  std::optional<int> attribute(int which, int device);
  // A kernel of that name in PTX text.
  Function load(const char* ptx, const char* kernel);
  void launch(Function kernel, unsigned blocks, unsigned threads, Stream stream, void** arguments);

  // False when it, or anything before it, failed. The arguments' types are the function's own.
  template <class... Args>
  bool call(const char* function, Args... arguments) {
    if (!error_.empty()) return false;
    void* address = library_.find(function);
    if (address == nullptr) {
      error_ = std::string(function) + ": not in this driver";
      return false;
    }
    about_to_(function + of_);
    return judge(function, reinterpret_cast<int (*)(Args...)>(address)(arguments...));
  }
  // As call(), where one error is as good as success.
  template <class... Args>
  bool allow(int error, const char* function, Args... arguments) {
    if (!error_.empty()) return false;
    void* address = library_.find(function);
    if (address == nullptr) return call(function, arguments...);
    const int code = reinterpret_cast<int (*)(Args...)>(address)(arguments...);
    return code == error || judge(function, code);
  }
  // As call(), without saying so first: for what is asked many times in a loop.
  template <class... Args>
  bool quick(const char* function, Args... arguments) {
    if (!error_.empty()) return false;
    void* address = library_.find(function);
    return address != nullptr && judge(function, reinterpret_cast<int (*)(Args...)>(address)(arguments...));
  }
  // To give something back, whatever has failed before: that it cannot be given back either is not noted.
  template <class... Args>
  void release(const char* function, Args... arguments) {
    if (void* address = library_.find(function)) reinterpret_cast<int (*)(Args...)>(address)(arguments...);
  }

 private:
  bool judge(const char* function, int code);

  Library library_;
  const Say& about_to_;
  std::string of_;
  std::string error_;
  int code_ = 0;
  int device_ = 0;
  Context context_ = nullptr;
};

}  // namespace railbed::cuda
