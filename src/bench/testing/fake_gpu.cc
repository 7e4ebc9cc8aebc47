// A fake of CUDA's driver, cuBLAS, cuBLASLt, NCCL and a little of NVML in one library, for machines that have none of them. Memory is the
// heap, a stream runs its work at once, and ranks are threads of one process, or of several that share a file
// in the folder RAILBED_FAKE_FOLDER (not for send and receive). Products are not computed, but their matrices
// must be in allocated memory. RAILBED_FAKE_FAULT chooses a fault: wrong (one element of each all_reduce),
// hang, refuse (both in ncclCommInitRank), die (in the first operation), full (no memory is free),
// no-dma-buf, copy (from GPU to host). Of a burn-in: burn-result (each 100th product of GPU 1 has a wrong bit),
// burn-always (all products of GPU 1, the same one), burn-memory (a bit of what is written to GPU 1), burn-die (GPU 2
// after some products), burn-hang (likewise), burn-brake (GPU 1 is held back), burn-xid (GPU 1 reports one), burn-busy.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int kGpus = 3;

bool fault(const char* name) {
  const char* wanted = std::getenv("RAILBED_FAKE_FAULT");
  return wanted != nullptr && std::strcmp(wanted, name) == 0;
}

std::mutex memory_mutex;
std::map<unsigned long long, std::size_t> memory;  // allocated

bool is_allocated(const void* start, std::size_t bytes) {
  const auto address = reinterpret_cast<unsigned long long>(start);
  const std::lock_guard lock(memory_mutex);
  auto next = memory.upper_bound(address);
  return next != memory.begin() && address + bytes <= std::prev(next)->first + std::prev(next)->second;
}

// Returns whether `count` matrices are in allocated memory. Each begins `stride` elements after the one
// before. `type` is a cudaDataType_t.
bool holds(const void* start, int type, int lead, int columns, long long stride, int count) {
  const std::size_t width = type == 0 ? 4 : 2;
  const auto last = static_cast<std::size_t>(stride) * static_cast<std::size_t>(count - 1);
  return is_allocated(start,
                      (last + static_cast<std::size_t>(lead) * static_cast<std::size_t>(columns)) * width);
}

struct Stream {
  bool capturing = false;
  std::vector<std::function<void()>> recorded;
  void give(std::function<void()> work) {
    if (capturing)
      recorded.push_back(std::move(work));
    else
      work();
  }
};
struct Event {
  double ns = 0;
};
using Graph = std::vector<std::function<void()>>;

double now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::uint32_t number(std::uint32_t seed, std::uint32_t modulus, std::uint32_t rank, std::uint64_t index) {
  std::uint32_t x = static_cast<std::uint32_t>(index) * 0x9E3779B1U +
                    static_cast<std::uint32_t>(index >> 32) * 0x85EBCA77U + seed + rank * 0xC2B2AE3DU;
  x ^= x >> 15;
  x *= 0x2C1B3C6DU;
  x ^= x >> 12;
  return static_cast<std::uint32_t>((std::uint64_t{x} * modulus) >> 32);
}

// DataType of results/collective.h: int8, float16, bfloat16, int32, float32, int64, float64
constexpr std::size_t kWidths[] = {1, 2, 2, 4, 4, 8, 8};

std::uint64_t bits_of(std::uint32_t type, std::uint32_t value) {
  std::uint64_t bits = value;
  const auto real = static_cast<float>(value);
  const auto wide = static_cast<double>(value);
  if (type == 2 || type == 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, &real, 4);
    bits = type == 2 ? word >> 16 : word;
  }
  if (type == 6) std::memcpy(&bits, &wide, 8);
  return bits;
}

void pattern(void** arguments) {
  const auto word64 = [&](int i) { return *static_cast<std::uint64_t*>(arguments[i]); };
  const auto word32 = [&](int i) { return *static_cast<std::uint32_t*>(arguments[i]); };
  auto* const memory = reinterpret_cast<char*>(word64(0));
  auto* const wrong = reinterpret_cast<std::uint64_t*>(word64(9));
  const std::size_t width = kWidths[word32(2)];
  for (std::uint64_t i = 0; i < word64(1); ++i) {
    std::uint32_t sum = 0;
    if (word32(6) == 0)
      sum =
          number(word32(3), word32(4), static_cast<std::uint32_t>(i / word64(8)), word64(7) + i % word64(8));
    for (std::uint32_t rank = 0; rank < word32(6); ++rank)
      sum += number(word32(3), word32(4), word32(5) + rank, word64(7) + i);
    const std::uint64_t bits = bits_of(word32(2), sum);
    if (wrong == nullptr)
      std::memcpy(memory + i * width, &bits, width);
    else if (std::memcmp(memory + i * width, &bits, width) != 0)
      ++*wrong;
  }
}

// Only one GPU is opened by address in a process, by those that need to know which.
int opened_by_address = -1;
bool is_gpu(int device) { return opened_by_address == device; }

std::uint64_t burn_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = index * 0x9E3779B97F4A7C15U + seed;
  x ^= x >> 32;
  x *= 0xBF58476D1CE4E5B9U;
  return x ^ x >> 29;
}
void burn_found(std::uint64_t* found, std::uint64_t index, std::uint64_t bits) {
  ++found[0];
  found[1] = std::min(found[1], index);
  found[2] |= bits;
}
void burn_words(void** arguments) {
  const auto word = [&](int i) { return *static_cast<std::uint64_t*>(arguments[i]); };
  auto* const memory = reinterpret_cast<std::uint64_t*>(word(0));
  auto* const found = reinterpret_cast<std::uint64_t*>(word(5));
  const std::uint64_t count = word(1) * 2;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t expected = (burn_word(word(2), i) & word(3)) ^ word(4);
    if (found == nullptr)
      memory[i] = expected;
    else if (memory[i] != expected)
      burn_found(found, i, memory[i] ^ expected);
  }
  if (found == nullptr && count >= 1 << 17 && fault("burn-memory") && is_gpu(1)) memory[5] ^= 8;
}
void burn_compare(void** arguments) {
  const auto word = [&](int i) { return *static_cast<std::uint64_t*>(arguments[i]); };
  const std::size_t width = std::size_t{1} << *static_cast<std::uint32_t*>(arguments[3]);
  const auto* const a = reinterpret_cast<const char*>(word(0));
  const auto* const b = reinterpret_cast<const char*>(word(1));
  auto* const found = reinterpret_cast<std::uint64_t*>(word(4));
  for (std::uint64_t i = 0; i < word(2) * 16 / width; ++i) {
    std::uint64_t x = 0, y = 0;
    std::memcpy(&x, a + i * width, width);
    std::memcpy(&y, b + i * width, width);
    if (x != y) burn_found(found, i, (x ^ y) << (i * width % 8 * 8));
  }
}
void burn_digest(void** arguments) {
  const auto word = [&](int i) { return *static_cast<std::uint64_t*>(arguments[i]); };
  const auto* const a = reinterpret_cast<const std::uint64_t*>(word(0));
  for (std::uint64_t i = 0; i < word(1) * 2; ++i)
    *reinterpret_cast<std::uint64_t*>(word(2)) +=
        burn_word(a[i], 0) + burn_word(a[i] ^ i * 0x9E3779B97F4A7C15U, 1);
}

struct Layout {
  int type;
  std::uint64_t rows;
};

struct Part {
  const void* send = nullptr;
  struct Send {
    int peer;
    const void* from;
  };
  std::vector<Send> sends;
};

constexpr std::size_t kSlot = 256 << 20;  // of a file with holes
// The memory that ranks of several processes share. It begins as zeros.
struct Hall {
  std::atomic<std::size_t> here;
  std::atomic<unsigned> round;
  void meet(std::size_t ranks) {
    const unsigned mine = round.load();
    if (here.fetch_add(1) + 1 == ranks) {
      here.store(0);
      round.fetch_add(1);
    }
    while (round.load() == mine) usleep(20);
  }
  char* slot(std::size_t rank) { return reinterpret_cast<char*>(this) + 4096 + rank * kSlot; }
};

Hall* hall_of(const std::string& name, int ranks) {
  const char* folder = std::getenv("RAILBED_FAKE_FOLDER");
  if (folder == nullptr) return nullptr;
  const int file = open((std::string(folder) + "/" + name.c_str()).c_str(), O_RDWR | O_CREAT, 0600);
  const std::size_t size = 4096 + static_cast<std::size_t>(ranks) * kSlot;
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) std::abort();
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return static_cast<Hall*>(memory);
}

struct Group {
  Group(int ranks, Hall* shared) : parts(static_cast<std::size_t>(ranks)), hall(shared) {}
  std::vector<Part> parts;
  Hall* hall;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t here = 0;
  unsigned round = 0;
  void show(std::size_t rank, const void* data, std::size_t size) {
    parts[rank].send = data;
    if (hall == nullptr) return;
    if (size > kSlot) std::abort();
    std::memcpy(hall->slot(rank), data, size);
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].send = hall->slot(i);
  }
  void meet() {
    if (hall != nullptr) return hall->meet(parts.size());
    std::unique_lock lock(mutex);
    const unsigned mine = round;
    if (++here == parts.size()) {
      here = 0;
      ++round;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return round != mine; });
  }
};
struct Communicator {
  int rank;
  std::shared_ptr<Group> group;
};
std::mutex groups_mutex;
std::map<std::string, std::shared_ptr<Group>> groups;

struct UniqueId {
  char bytes[128];
};

// ncclDataType_t → width
std::size_t width_of(int type) {
  return std::map<int, std::size_t>{{0, 1}, {6, 2}, {9, 2}, {2, 4}, {7, 4}, {4, 8}, {8, 8}}.at(type);
}

template <class T>
void add(char* into, const char* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    a = static_cast<T>(a + b);
    std::memcpy(into + i * sizeof(T), &a, sizeof(T));
  }
}

std::vector<char> sum_of(const Group& group, std::size_t offset, std::size_t count, int type) {
  std::vector<char> sum(count * width_of(type), 0);
  for (const Part& part : group.parts) {
    const char* from = static_cast<const char*>(part.send) + offset * width_of(type);
    if (type == 7) add<float>(sum.data(), from, count);
    if (type == 2) add<std::int32_t>(sum.data(), from, count);
  }
  return sum;
}

// Every rank publishes its input, then computes `result` from all inputs, and then writes it.
int collective(Communicator* comm, Stream* stream, const void* send, std::size_t sent, void* receive,
               std::function<std::vector<char>(const Group&)> result) {
  if (fault("die")) std::abort();
  stream->give([=] {
    if (fault("slow")) usleep(5'000);
    comm->group->show(static_cast<std::size_t>(comm->rank), send, sent);
    comm->group->meet();
    const std::vector<char> data = result(*comm->group);
    comm->group->meet();
    if (!data.empty()) std::memcpy(receive, data.data(), data.size());
    comm->group->meet();
  });
  return 0;
}

std::vector<char> bytes(const void* from, std::size_t count) {
  const auto* data = static_cast<const char*>(from);
  return {data, data + count};
}

struct Pending {
  Communicator* comm = nullptr;
  Stream* stream = nullptr;
  std::size_t bytes = 0;
  std::vector<Part::Send> sends;
  std::vector<std::pair<int, void*>> receives;
};
thread_local Pending pending;

void exchange(const Pending& work) {
  Group& group = *work.comm->group;
  group.parts[static_cast<std::size_t>(work.comm->rank)].sends = work.sends;
  group.meet();
  std::vector<std::vector<char>> arrived;
  for (const auto& [peer, to] : work.receives)
    for (const Part::Send& send : group.parts[static_cast<std::size_t>(peer)].sends)
      if (send.peer == work.comm->rank) arrived.push_back(bytes(send.from, work.bytes));
  group.meet();
  for (std::size_t i = 0; i < arrived.size(); ++i)
    std::memcpy(work.receives[i].second, arrived[i].data(), arrived[i].size());
  group.meet();
}

}  // namespace

int contexts[kGpus];  // their addresses are the contexts

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 12080, 0; }
int cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR_FAKE", 0; }
int cuDeviceGetCount(int* count) { return *count = kGpus, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char* name, int size, int) {
  return std::snprintf(name, static_cast<std::size_t>(size), "Fake 9000"), 0;
}
int cuDeviceGetPCIBusId(char* address, int size, int device) {
  return std::snprintf(address, static_cast<std::size_t>(size), "0000:%02X:00.0", device + 0x1a), 0;
}
int cuDeviceGetByPCIBusId(int* device, const char* address) {
  unsigned bus = 0;
  if (std::sscanf(address, "0000:%x:00.0", &bus) != 1 || bus < 0x1a || bus >= 0x1a + kGpus) return 101;
  return opened_by_address = *device = static_cast<int>(bus) - 0x1a, 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  *value = which == 36                  ? 1'000'000
           : which == 37                ? 1024
           : which == 75                ? 9
           : which == 18 || which == 76 ? 0
                                        : 1;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = &contexts[device], 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuCtxEnablePeerAccess(void*, unsigned) { return 704; }
int cuDeviceCanAccessPeer(int* can, int, int) { return *can = fault("no-peers") ? 0 : 1, 0; }
// Equal ranks and native atomics, as over NVSwitch; or none of these atomics, as over PCI Express.
int cuDeviceGetP2PAttribute(int* value, int which, int, int) {
  return *value = which == 3 && fault("over-pcie") ? 0 : 1, 0;
}
int cuModuleLoadData(void** module, const void*) { return *module = nullptr, 0; }
int cuModuleGetFunction(void** function, void*, const char* name) {
  using Kernel = void (*)(void**);
  const std::map<std::string, Kernel> kernels{{"pattern", pattern},
                                              {"burn_words", burn_words},
                                              {"burn_compare", burn_compare},
                                              {"burn_digest", burn_digest}};
  const auto found = kernels.find(name);
  return *function = found == kernels.end() ? nullptr : reinterpret_cast<void*>(found->second), 0;
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t size) {
  *address = reinterpret_cast<unsigned long long>(std::malloc(size));
  const std::lock_guard lock(memory_mutex);
  memory[*address] = size;
  return 0;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *total = std::size_t{16} << 30;
  *free = fault("full") ? 1 << 20 : *total;
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  const std::lock_guard lock(memory_mutex);
  memory.erase(address);
  return std::free(reinterpret_cast<void*>(address)), 0;
}
int cuMemHostRegister_v2(void*, std::size_t, unsigned) { return 0; }
int cuMemHostUnregister(void*) { return 0; }
int cuPointerSetAttribute(const void*, int, unsigned long long) { return 0; }
// Returns a file, but not one that an adapter could use.
int cuMemGetHandleForAddressRange(void* handle, unsigned long long, std::size_t, int, unsigned long long) {
  if (fault("no-dma-buf")) return 801;
  *static_cast<int*>(handle) = memfd_create("fake", MFD_CLOEXEC);
  return 0;
}
int cuMemHostAlloc(void** memory, std::size_t size, unsigned) { return *memory = std::malloc(size), 0; }
int cuMemFreeHost(void* memory) { return std::free(memory), 0; }
int cuMemsetD8Async(unsigned long long to, unsigned char value, std::size_t size, void*) {
  return std::memset(reinterpret_cast<void*>(to), value, size), 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t size, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, size), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t size, void*) {
  if (fault("copy")) return 719;
  return std::memcpy(to, reinterpret_cast<void*>(from), size), 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t size) {
  return std::memcpy(reinterpret_cast<void*>(to), from, size), 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t size) {
  return std::memcpy(to, reinterpret_cast<void*>(from), size), 0;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t size, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), size), 0;
}
int cuMemcpyPeerAsync(unsigned long long to, void* to_context, unsigned long long from, void*,
                      std::size_t size, void*) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), size);
  if (fault("wrong")) ++*reinterpret_cast<char*>(to);
  if (fault("copy-to-2") && to_context == &contexts[2]) *reinterpret_cast<char*>(to) ^= 2;
  return fault("copy-dies") ? 719 : 0;
}
int cuStreamCreate(void** stream, unsigned) { return *stream = new Stream, 0; }
int cuStreamDestroy_v2(void* stream) { return delete static_cast<Stream*>(stream), 0; }
int cuStreamSynchronize(void*) { return 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cuEventCreate(void** event, unsigned) { return *event = new Event, 0; }
int cuEventRecord(void* event, void*) { return static_cast<Event*>(event)->ns = now(), 0; }
int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  *milliseconds = static_cast<float>((static_cast<Event*>(to)->ns - static_cast<Event*>(from)->ns) / 1e6);
  return 0;
}
int cuLaunchKernel(void* kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                   void** arguments, void**) {
  return reinterpret_cast<void (*)(void**)>(kernel)(arguments), 0;
}
int cuStreamBeginCapture_v2(void* stream, int) { return static_cast<Stream*>(stream)->capturing = true, 0; }
int cuStreamEndCapture(void* stream, void** graph) {
  auto* one = static_cast<Stream*>(stream);
  one->capturing = false;
  *graph = new Graph(std::move(one->recorded));
  one->recorded.clear();
  return 0;
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) { return *exec = graph, 0; }
int cuGraphLaunch(void* exec, void*) {
  for (const auto& work : *static_cast<Graph*>(exec)) work();
  return 0;
}
int cuGraphExecDestroy(void*) { return 0; }
int cuGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), 0; }

int cublasCreate_v2(void** handle) { return *handle = nullptr, 0; }
int cublasSetStream_v2(void*, void*) { return 0; }
int cublasGetProperty(int which, int* value) { return *value = which == 0 ? 12 : which, 0; }
const char* cublasGetStatusName(int) { return "CUBLAS_STATUS_FAKE"; }
int cublasGemmStridedBatchedEx(void*, int of_a, int of_b, int m, int n, int k, const void*, const void* a,
                               int type_a, int lda, long long stride_a, const void* b, int type_b, int ldb,
                               long long stride_b, const void*, void* c, int type_c, int ldc,
                               long long stride_c, int count, int, int) {
  const bool sound = lda >= (of_a != 0 ? k : m) && ldb >= (of_b != 0 ? n : k) && ldc >= m &&
                     holds(a, type_a, lda, of_a != 0 ? m : k, stride_a, count) &&
                     holds(b, type_b, ldb, of_b != 0 ? k : n, stride_b, count) &&
                     holds(c, type_c, ldc, n, stride_c, count);
  return sound ? 0 : 7;
}
int cublasGemmEx(void* handle, int of_a, int of_b, int m, int n, int k, const void* alpha, const void* a,
                 int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c,
                 int type_c, int ldc, int compute, int algorithm) {
  return cublasGemmStridedBatchedEx(handle, of_a, of_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0,
                                    beta, c, type_c, ldc, 0, 1, compute, algorithm);
}

int cublasLtCreate(void** handle) { return *handle = nullptr, 0; }
std::size_t cublasLtGetVersion() { return 120805; }
int cublasLtMatmulDescCreate(void** description, int, int) { return *description = nullptr, 0; }
int cublasLtMatmulDescSetAttribute(void*, int, const void*, std::size_t) { return 0; }
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t, std::int64_t) {
  return *layout = new Layout{type, rows}, 0;
}
int cublasLtMatmulPreferenceCreate(void** preference) { return *preference = nullptr, 0; }
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, std::size_t) { return 0; }
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*, int* found) {
  return *found = 1, 0;
}
// Does not compute: the result follows from the first numbers of the factors. Takes a millisecond.
int cublasLtMatmul(void*, void*, const void*, const void* a, void*, const void* b, void*, const void*,
                   const void*, void*, void* d, void* layout, const void*, void*, std::size_t, void*) {
  static int count = 0;
  ++count;
  const auto* result = static_cast<const Layout*>(layout);
  const std::size_t bytes = result->rows * result->rows * (result->type == 1 ? 8 : 2);
  if (!is_allocated(d, bytes) || !is_allocated(a, result->rows) || !is_allocated(b, result->rows)) return 7;
  if (count > 40 && is_gpu(2) && fault("burn-die")) std::abort();
  if (count > 40 && is_gpu(2) && fault("burn-hang"))
    for (;;) pause();
  std::uint64_t seeds[2];
  std::memcpy(&seeds[0], a, 8);
  std::memcpy(&seeds[1], b, 8);
  auto* words = static_cast<std::uint64_t*>(d);
  for (std::size_t i = 0; i < bytes / 8; ++i) words[i] = burn_word(seeds[0] ^ seeds[1], i);
  if (is_gpu(1) && (fault("burn-always") || (fault("burn-result") && count % 100 == 0))) words[7] ^= 4;
  return usleep(1000), 0;
}

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, int** gpu) {
  static int gpus[kGpus] = {0, 1, 2};
  unsigned bus = 0;
  if (std::sscanf(address, "0000:%x:00.0", &bus) != 1 || bus < 0x1a || bus >= 0x1a + kGpus) return 6;
  return *gpu = &gpus[bus - 0x1a], 0;
}
int nvmlDeviceGetPowerUsage(int*, unsigned* milliwatts) { return *milliwatts = 650'000, 0; }
int nvmlDeviceGetEnforcedPowerLimit(int*, unsigned* milliwatts) { return *milliwatts = 700'000, 0; }
int nvmlDeviceGetClockInfo(int*, int, unsigned* clock) { return *clock = 1755, 0; }
int nvmlDeviceGetMaxClockInfo(int*, int, unsigned* clock) { return *clock = 1980, 0; }
int nvmlDeviceGetTemperature(int* gpu, int, unsigned* celsius) {
  return *celsius = 60 + static_cast<unsigned>(*gpu), 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(int* gpu, unsigned long long* reasons) {
  return *reasons = 0x4 | (fault("burn-brake") && *gpu == 1 ? 0x80 : 0), 0;
}
int nvmlDeviceGetTotalEccErrors(int*, int, int, unsigned long long* count) { return *count = 3, 0; }
int nvmlDeviceGetTotalEnergyConsumption(int*, unsigned long long* millijoules) {
  return *millijoules = static_cast<unsigned long long>(now() / 1e9 * 650'000), 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(int*, unsigned* count, unsigned* processes) {
  *count = fault("burn-busy") ? 1 : 0;
  return *processes = 4711, 0;
}
int nvmlEventSetCreate(int*** events) { return *events = new int*(nullptr), 0; }
int nvmlDeviceRegisterEvents(int* gpu, unsigned long long, int** events) { return *events = gpu, 0; }
int nvmlEventSetWait_v2(int** events, unsigned long long* event, unsigned) {
  if (!fault("burn-xid") || *events == nullptr || **events != 1) return 10;
  *events = nullptr;
  event[1] = 8;
  event[2] = 79;
  return 0;
}

int ncclGetVersion(int* version) { return *version = 29901, 0; }
const char* ncclGetErrorString(int) { return "fake system error"; }
int ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "nccl-%d-%.0f", getpid(), now());
  return 0;
}
int ncclCommInitRank(void** communicator, int ranks, UniqueId id, int rank) {
  for (const char* name : {"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_NET"})
    if (const char* value = std::getenv(name))
      std::printf("fake:1:%d [%d] NCCL INFO %s set by environment to %s\n", rank + 2, rank, name, value);
  std::printf("fake:1:%d [%d] NCCL INFO Using network Socket\n", rank + 2, rank);
  std::fflush(stdout);
  if (fault("hang") && rank == 1)
    for (;;) pause();
  if (fault("refuse")) return 2;
  const std::lock_guard lock(groups_mutex);
  auto& group = groups[id.bytes];
  if (!group) group = std::make_shared<Group>(ranks, hall_of(id.bytes, ranks));
  *communicator = new Communicator{rank, group};
  return 0;
}
int ncclCommDestroy(void*) { return 0; }
int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int, void* communicator,
                  void* stream) {
  auto* comm = static_cast<Communicator*>(communicator);
  const std::size_t sent = count * width_of(type);
  return collective(comm, static_cast<Stream*>(stream), send, sent, receive, [=](const Group& group) {
    auto sum = sum_of(group, 0, count, type);
    if (fault("wrong") && comm->rank == 1) ++sum[0];
    return sum;
  });
}
int ncclReduce(const void* send, void* receive, std::size_t count, int type, int, int root,
               void* communicator, void* stream) {
  auto* comm = static_cast<Communicator*>(communicator);
  const std::size_t sent = count * width_of(type);
  return collective(comm, static_cast<Stream*>(stream), send, sent, receive, [=](const Group& group) {
    return comm->rank == root ? sum_of(group, 0, count, type) : std::vector<char>();
  });
}
int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int, void* communicator,
                      void* stream) {
  auto* comm = static_cast<Communicator*>(communicator);
  const std::size_t sent = count * comm->group->parts.size() * width_of(type);
  return collective(comm, static_cast<Stream*>(stream), send, sent, receive, [=](const Group& group) {
    return sum_of(group, static_cast<std::size_t>(comm->rank) * count, count, type);
  });
}
int ncclAllGather(const void* send, void* receive, std::size_t count, int type, void* communicator,
                  void* stream) {
  return collective(static_cast<Communicator*>(communicator), static_cast<Stream*>(stream), send,
                    count * width_of(type), receive, [=](const Group& group) {
                      std::vector<char> all;
                      for (const Part& part : group.parts) {
                        const auto one = bytes(part.send, count * width_of(type));
                        all.insert(all.end(), one.begin(), one.end());
                      }
                      return all;
                    });
}
int ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root, void* communicator,
                  void* stream) {
  return collective(static_cast<Communicator*>(communicator), static_cast<Stream*>(stream), send,
                    count * width_of(type), receive, [=](const Group& group) {
                      return bytes(group.parts[static_cast<std::size_t>(root)].send, count * width_of(type));
                    });
}
int ncclGroupStart() { return pending = {}, 0; }
int ncclSend(const void* from, std::size_t count, int type, int peer, void* communicator, void* stream) {
  pending.comm = static_cast<Communicator*>(communicator);
  pending.stream = static_cast<Stream*>(stream);
  pending.bytes = count * width_of(type);
  pending.sends.push_back({peer, from});
  return 0;
}
int ncclRecv(void* to, std::size_t count, int type, int peer, void* communicator, void* stream) {
  pending.comm = static_cast<Communicator*>(communicator);
  pending.stream = static_cast<Stream*>(stream);
  pending.bytes = count * width_of(type);
  pending.receives.emplace_back(peer, to);
  return 0;
}
int ncclGroupEnd() {
  const Pending work = pending;
  work.stream->give([work] { exchange(work); });
  return 0;
}

}  // extern "C"
