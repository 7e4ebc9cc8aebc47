// A libcuda for fault paths only. The GPU's PCI address selects its behavior:
//   0000:01:00.0 has no fabric manager · :02: hangs · :03: returns the data unchanged
#include <unistd.h>

#include <cstdlib>
#include <cstring>

extern "C" {

int cuInit(unsigned) { return 0; }
int cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR_SYSTEM_NOT_READY", 0; }
int cuDeviceGetByPCIBusId(int* device, const char* address) { return *device = address[6] - '0', 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (device == 2)
    for (;;) pause();
  *context = nullptr;
  return device == 1 ? 802 : 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 99000, 0; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = 1 << 30, 0; }
int cuDeviceGetAttribute(int* value, int which, int) { return *value = 1, which == 124 ? 0 : 1; }
int cuModuleLoadData(void** module, const void*) { return *module = nullptr, 0; }
int cuModuleGetFunction(void** function, void*, const char*) { return *function = nullptr, 0; }
int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
  *memory = reinterpret_cast<unsigned long long>(std::malloc(bytes));
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**) {
  return 0;
}
int cuCtxSynchronize() { return 0; }
int cuMemFree_v2(unsigned long long memory) { return std::free(reinterpret_cast<void*>(memory)), 0; }

}  // extern "C"
