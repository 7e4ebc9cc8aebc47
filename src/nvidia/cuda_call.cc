// Tests whether CUDA works on one GPU: nvidia-smi may look fine while no program can start. The test fills an
// array of a million words on the host, copies it to the GPU, runs a kernel that triples each word and adds
// one, copies it back and compares.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/json.h"
#include "base/json_wrapped.h"
#include "nvidia/calls.h"
#include "nvidia/cuda_library.h"
#include "nvidia/gpu_answers.h"

namespace railbed {
namespace {

constexpr std::string_view kCall = "cuda ";
constexpr std::size_t kWords = 1 << 20;

// words[i] = words[i] * 3 + 1. PTX that every GPU since Maxwell compiles.
constexpr const char* kTrialPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry triple(.param .u64 words)
{
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [words];
  cvta.to.global.u64 %d1, %d1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %d2, %r4, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r5, [%d3];
  mad.lo.u32 %r5, %r5, 3, 1;
  st.global.u32 [%d3], %r5;
  ret;
}
)";

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Runs the test and returns the number of wrong words; 0 if a call failed.
std::uint64_t count_wrong(cuda::Cuda& cuda) {
  constexpr std::size_t kBytes = kWords * sizeof(std::uint32_t);
  constexpr unsigned kThreads = 256;
  std::vector<std::uint32_t> words(kWords);
  for (std::size_t i = 0; i < kWords; ++i) words[i] = static_cast<std::uint32_t>(i * 2654435761U);
  cuda::DevicePointer memory = 0;
  const cuda::Function kernel = cuda.load(kTrialPtx, "triple");
  cuda.call("cuMemAlloc_v2", &memory, kBytes);
  cuda.call("cuMemcpyHtoD_v2", memory, static_cast<const void*>(words.data()), kBytes);
  void* arguments[] = {&memory};
  cuda.launch(kernel, kWords / kThreads, kThreads, nullptr, arguments);
  cuda.call("cuCtxSynchronize");
  cuda.call("cuMemcpyDtoH_v2", static_cast<void*>(words.data()), memory, kBytes);
  cuda.call("cuMemFree_v2", memory);
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < kWords && cuda.error().empty(); ++i)
    wrong += words[i] != static_cast<std::uint32_t>(i * 2654435761U) * 3 + 1 ? 1 : 0;
  return wrong;
}

std::optional<bool> as_flag(std::optional<int> attribute) {
  if (!attribute) return std::nullopt;
  return *attribute != 0;
}

std::string smoke(cuda::Cuda& cuda, const std::string& address) {
  const auto begin = std::chrono::steady_clock::now();
  CudaAnswer answer;
  if (cuda.open(address)) {
    answer.init_ms = since(begin);
    std::size_t bytes = 0;
    cuda.call("cuDriverGetVersion", &answer.version);
    cuda.call("cuDeviceTotalMem_v2", &bytes, cuda.device());
    answer.memory = bytes;
    answer.dma_buf = as_flag(cuda.attribute(cuda::kDmaBuf));
    answer.gpudirect_rdma = as_flag(cuda.attribute(cuda::kGpuDirectRdma));
    answer.wrong_words = count_wrong(cuda);
  }
  answer.error = cuda.error();
  answer.total_ms = since(begin);
  return json::dump_wrapped(json::encode(answer));
}

}  // namespace

Reading<std::string> call_cuda(std::string_view name, const NvidiaLibraries& from) {
  return ask_in_child(
      name,
      [&](const Say& about_to) {
        about_to("opening " + from.cuda.front());
        cuda::Cuda cuda(from.cuda, about_to);
        return smoke(cuda, std::string(name.substr(kCall.size())));
      },
      from.deadline);
}

}  // namespace railbed
