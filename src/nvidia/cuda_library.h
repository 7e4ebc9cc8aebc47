// The part of the CUDA driver API that railbed calls: our own declarations of what its public reference
// documents (cuda.h; "CUDA Driver API"). For use in a child process only. The first failure is kept by name,
// and all later calls are skipped. One object serves one GPU and one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "os/library.h"
#include "os/process.h"

namespace railbed::cuda {

using Context = void*;
using Module = void*;
using Function = void*;
using Stream = void*;
using Event = void*;
using Graph = void*;
using GraphExec = void*;
using DevicePointer = unsigned long long;

// A device pointer as libraries of the runtime API expect it.
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
  // Opens the first library of `files`. `about_to` receives each step before it is made and must outlive
  // this.
  Cuda(const std::vector<std::string>& files, const Say& about_to);

  // Returns the first failed call and its error: "cuInit: CUDA_ERROR_NO_DEVICE (100)"; empty if none failed.
  const std::string& error() const { return error_; }
  // Returns the CUresult of the first failed call; 0 if none failed or no call was made.
  int code() const { return code_; }
  bool opened() const { return bool(library_); }
  // Starts the driver for the GPU at this PCI address alone and retains its primary context. False on
  // failure. It and start() change the environment, which is not thread-safe: no other thread may read it meanwhile.
  bool open(const std::string& address);
  // For several GPUs in one process: start() starts the driver; use() takes the GPU of this number in PCI
  // order and its context; enter() makes that context current on the calling thread.
  bool start();
  bool use(int ordinal);
  bool enter() { return quick("cuCtxSetCurrent", context_); }
  int device() const { return device_; }
  Context context() const { return context_; }
  // Records a failure outside CUDA as the error, unless there is one already. An empty text records nothing.
  // Returns false once there is an error.
  bool note(std::string why);
  std::optional<int> attribute(int which) { return attribute(which, device_); }
  std::optional<int> attribute(int which, int device);
  // Returns the kernel of that name from PTX text.
  Function load(const char* ptx, const char* kernel);
  void launch(Function kernel, unsigned blocks, unsigned threads, Stream stream, void** arguments);

  // Calls a function of the driver by name. False if it, or any call before it, failed. The arguments must
  // have exactly the types of the function's parameters.
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
  // Like call(), but the result `error` counts as success, too.
  template <class... Args>
  bool allow(int error, const char* function, Args... arguments) {
    if (!error_.empty()) return false;
    void* address = library_.find(function);
    if (address == nullptr) return call(function, arguments...);
    const int code = reinterpret_cast<int (*)(Args...)>(address)(arguments...);
    return code == error || judge(function, code);
  }
  // Like call(), without a report of the step: for calls that a loop makes often.
  template <class... Args>
  bool quick(const char* function, Args... arguments) {
    if (!error_.empty()) return false;
    void* address = library_.find(function);
    return address != nullptr && judge(function, reinterpret_cast<int (*)(Args...)>(address)(arguments...));
  }
  // Frees a resource even after a failure. A failure to free it is ignored.
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
