// Tests the fault paths of the calls to NVIDIA's libraries, with fake libraries (testing/).
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/json.h"
#include "nvidia/calls.h"
#include "nvidia/gpu_answers.h"

namespace railbed {
namespace {

// The deadline is long for calls that return; a call that hangs gets a deadline of its own.
const NvidiaLibraries kFakes{{RAILBED_FAKE_NVML}, {RAILBED_FAKE_CUDA}, std::chrono::seconds(60)};
const NvidiaLibraries kImpatient{{RAILBED_FAKE_NVML}, {RAILBED_FAKE_CUDA}, std::chrono::milliseconds(500)};

template <class Answer>
Answer parsed(const Reading<std::string>& answer) {
  EXPECT_TRUE(answer) << answer.miss().why;
  if (!answer) return {};
  auto value = json::read<Answer>(*answer);
  EXPECT_TRUE(value) << value.error().text << *answer;
  return value ? *value : Answer{};
}

TEST(Nvml, AnswersForTheNode) {
  const auto system = parsed<NvmlSystem>(call_nvml("nvml", kFakes));
  EXPECT_EQ(system.library, RAILBED_FAKE_NVML);
  EXPECT_EQ(system.driver_version.value_or(""), "999.1");
  EXPECT_EQ(system.cuda_version.value_or(0), 99000);
  EXPECT_EQ(system.gpus.value_or(0), 2);
}

TEST(Nvml, AnswersForOneGpu) {
  const auto gpu = parsed<NvmlGpu>(call_nvml("nvml 0000:01:00.0", kFakes));
  EXPECT_EQ(gpu.name.value_or(""), "Fake 9000");
  EXPECT_FALSE(gpu.inforom_valid.value_or(true));
  EXPECT_TRUE(gpu.persistence.value_or(false));
  EXPECT_EQ(gpu.persistence.from(), "nvmlDeviceGetPersistenceMode");
  EXPECT_EQ(gpu.compute_mode.value_or(""), "unknown (9)");
  EXPECT_TRUE(gpu.mig.value_or(false));
  EXPECT_EQ(gpu.mig_devices.value_or({}), (std::vector<std::string>{"1g.10gb", "3g.40gb"}));
  EXPECT_TRUE(gpu.ecc.value_or(false));
  EXPECT_FALSE(gpu.ecc_pending.value_or(true));
  EXPECT_EQ(gpu.ecc_volatile_uncorrectable.value_or(0), 3U);
  EXPECT_DOUBLE_EQ(gpu.power.value_or(0), 123.456);
  ASSERT_EQ(gpu.nvlinks.value_or({}).size(), 2U);
  EXPECT_TRUE(gpu.nvlinks->at("00").active);
  EXPECT_FALSE(gpu.nvlinks->at("01").active);
}

TEST(Nvml, WhatAnOldDriverLacksIsUnsupportedNotZero) {
  const auto gpu = parsed<NvmlGpu>(call_nvml("nvml 0000:01:00.0", kFakes));
  ASSERT_FALSE(gpu.remap_pending.ok());
  EXPECT_EQ(gpu.remap_pending.miss().missing, Missing::kUnsupported);
  EXPECT_NE(gpu.remap_pending.miss().why.find("too old"), std::string::npos);
  EXPECT_EQ(gpu.remap_pending.from(), "nvmlDeviceGetRemappedRows");
}

TEST(Nvml, BlanksAndRefusalsAreUnsupported) {
  for (const char* name : {"nvml 0000:03:00.0", "nvml 0000:04:00.0"}) {
    const auto gpu = parsed<NvmlGpu>(call_nvml(name, kFakes));
    ASSERT_FALSE(gpu.power.ok()) << name;
    EXPECT_EQ(gpu.power.miss().missing, Missing::kUnsupported);
    ASSERT_FALSE(gpu.ecc_volatile_uncorrectable.ok()) << name;
    EXPECT_EQ(gpu.ecc_volatile_uncorrectable.miss().missing, Missing::kUnsupported);
  }
}

TEST(Nvml, NamesTheFunctionAndTheGpuThatHung) {
  const auto answer = call_nvml("nvml 0000:02:00.0", kImpatient);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.miss().missing, Missing::kTimeout);
  EXPECT_EQ(answer.miss().why, "nvmlDeviceGetEccMode of GPU 0000:02:00.0");
}

TEST(Nvml, NamesTheFunctionThatEndedTheProcess) {
  const auto answer = call_nvml("nvml 0000:05:00.0", kFakes);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.miss().missing, Missing::kGarbled);
  EXPECT_NE(answer.miss().why.find("(7) in nvmlDeviceGetEccMode of GPU 0000:05:00.0"), std::string::npos)
      << answer.miss().why;
}

TEST(Nvml, MeasuresWhatTheGpusDo) {
  const auto gpus = parsed<GpuActivities>(call_nvml("nvml activity", kFakes));
  ASSERT_EQ(gpus.size(), 2U);
  const GpuActivity& one = gpus.at("0000:01:00.0");
  EXPECT_DOUBLE_EQ(one.tensor.value_or(0), .125);
  EXPECT_FALSE(one.sm.ok()) << "250 % is no share";
  ASSERT_FALSE(one.fp64.ok());
  EXPECT_EQ(one.fp64.miss().missing, Missing::kUnsupported);
  // Two million bytes within a tenth of a second, or longer on a busy machine.
  EXPECT_GT(one.pcie_sent.value_or(0), 0);
  EXPECT_LT(one.pcie_sent.value_or(1e9), 2e7);
  EXPECT_EQ(one.pcie_sent.from(), "NVML_FI_DEV_PCIE_COUNT_TX_BYTES");
  EXPECT_DOUBLE_EQ(one.nvlink_sent.value_or(0), 12.5 * 1024 * 1024) << "GPM's, for there is no counter";
  const GpuActivity& other = gpus.at("0000:04:00.0");
  ASSERT_FALSE(other.tensor.ok());
  EXPECT_EQ(other.tensor.miss().why, "this GPU has no GPM");
  EXPECT_FALSE(other.pcie_sent.ok());
}

TEST(Nvml, SaysForHowLongReasonsHeldTheClocksBack) {
  using Times = std::map<std::string, std::map<std::string, std::uint64_t>>;
  const auto held = parsed<Times>(call_nvml("nvml held-back", kFakes));
  ASSERT_EQ(held.size(), 1U) << "a GPU that counts none is not there";
  EXPECT_EQ(held.at("0000:01:00.0"), (std::map<std::string, std::uint64_t>{{"power brake", 2000000}}));
}

TEST(Nvml, ALostGpuIsAMissWithNvmlsWord) {
  const auto answer = call_nvml("nvml 0000:09:00.0", kFakes);
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.miss().why.find("NVML_ERROR_GPU_IS_LOST (15)"), std::string::npos) << answer.miss().why;
}

TEST(Nvml, SaysWhenThereIsNoLibrary) {
  NvidiaLibraries none = kFakes;
  none.nvml = {"/none/libnvidia-ml.so.1"};
  EXPECT_EQ(call_nvml("nvml", none).miss().missing, Missing::kUnsupported);
}

TEST(Cuda, KeepsTheErrorsName) {
  const auto answer = parsed<CudaAnswer>(call_cuda("cuda 0000:01:00.0", kFakes));
  EXPECT_EQ(answer.error, "cuDevicePrimaryCtxRetain: CUDA_ERROR_SYSTEM_NOT_READY (802)");
}

TEST(Cuda, NamesTheFunctionAndTheGpuThatHung) {
  const auto answer = call_cuda("cuda 0000:02:00.0", kImpatient);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.miss().missing, Missing::kTimeout);
  EXPECT_EQ(answer.miss().why, "cuDevicePrimaryCtxRetain of GPU 0000:02:00.0");
}

// The fake copies but does not compute: the comparison must detect it.
TEST(Cuda, SeesDataThatIsNotWhatItShouldBe) {
  const auto answer = parsed<CudaAnswer>(call_cuda("cuda 0000:03:00.0", kFakes));
  EXPECT_EQ(answer.error, "");
  EXPECT_GT(answer.wrong_words, 1'000'000U);
  EXPECT_EQ(answer.memory, 1U << 30);
  EXPECT_EQ(answer.dma_buf, std::optional(true));
  EXPECT_EQ(answer.gpudirect_rdma, std::nullopt) << "a driver that does not know an attribute says nothing";
}

TEST(GpuLoad, SaysWhenThereIsNoNvml) {
  NvidiaLibraries none = kFakes;
  none.nvml = {"/none/libnvidia-ml.so.1"};
  EXPECT_EQ(call_gpu_load(1, none).miss().missing, Missing::kUnsupported);
}

}  // namespace
}  // namespace railbed
