#include "nvidia/cuda_library.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"

namespace railbed::cuda {
namespace {

// Returns the UUID in the driver's own file about this GPU, "GPU UUID: GPU-…"; empty without such a file.
std::string uuid_of(const std::string& address) {
  const Fd file(
      open(fmt::format("/proc/driver/nvidia/gpus/{}/information", address).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t got = file ? read(file.get(), text.data(), text.size()) : 0;
  const std::string_view all(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto begin = all.find("GPU-");
  if (begin == std::string_view::npos) return "";
  return std::string(all.substr(begin, all.find_first_of(" \t\n", begin) - begin));
}

}  // namespace

Cuda::Cuda(const std::vector<std::string>& files, const Say& about_to)
    : library_(files), about_to_(about_to) {
  if (!library_) error_ = library_.error();
}

bool Cuda::judge(const char* function, int code) {
  if (code == 0) return true;
  const char* name = nullptr;
  if (void* address = library_.find("cuGetErrorName"); address != nullptr)
    reinterpret_cast<int (*)(int, const char**)>(address)(code, &name);
  code_ = code;
  error_ = fmt::format("{}: {} ({})", function, name != nullptr ? name : "CUDA_ERROR", code);
  return false;
}

bool Cuda::open(const std::string& address) {
  of_ = " of GPU " + address;
  // Starts this GPU alone, whatever the user hides from their own programs, and keeps compiled kernels off
  // the disk.
  if (const std::string uuid = uuid_of(address); !uuid.empty())
    setenv("CUDA_VISIBLE_DEVICES", uuid.c_str(), 1);
  else
    unsetenv("CUDA_VISIBLE_DEVICES");
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  return call("cuInit", 0U) && call("cuDeviceGetByPCIBusId", &device_, address.c_str()) &&
         call("cuDevicePrimaryCtxRetain", &context_, device_) && call("cuCtxSetCurrent", context_);
}

bool Cuda::start() {
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  return call("cuInit", 0U);
}

bool Cuda::use(int ordinal) {
  of_ = fmt::format(" of GPU {}", ordinal);
  return call("cuDeviceGet", &device_, ordinal) && call("cuDevicePrimaryCtxRetain", &context_, device_) &&
         call("cuCtxSetCurrent", context_);
}

bool Cuda::note(std::string why) {
  if (error_.empty()) error_ = std::move(why);
  return error_.empty();
}

std::optional<int> Cuda::attribute(int which, int device) {
  void* address = library_.find("cuDeviceGetAttribute");
  int value = 0;
  if (address == nullptr || !error_.empty()) return std::nullopt;
  // A driver that does not know the attribute is not an error.
  if (reinterpret_cast<int (*)(int*, int, int)>(address)(&value, which, device) != 0) return std::nullopt;
  return value;
}

Function Cuda::load(const char* ptx, const char* kernel) {
  Module module = nullptr;
  Function function = nullptr;
  call("cuModuleLoadData", &module, static_cast<const void*>(ptx)) &&
      call("cuModuleGetFunction", &function, module, kernel);
  return function;
}

void Cuda::launch(Function kernel, unsigned blocks, unsigned threads, Stream stream, void** arguments) {
  quick("cuLaunchKernel", kernel, blocks, 1U, 1U, threads, 1U, 1U, 0U, stream, arguments,
        static_cast<void**>(nullptr));
}

}  // namespace railbed::cuda
