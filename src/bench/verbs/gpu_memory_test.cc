#include "bench/verbs/gpu_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace railbed {
namespace {

using ::testing::HasSubstr;

class GpuMemoryTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("RAILBED_FAKE_FAULT");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_CACHE_DISABLE");
  }
  Result<std::unique_ptr<GpuMemory>> allocate(const std::string& gpu = "0000:1b:00.0") {
    return GpuMemory::allocate({RAILBED_FAKE_GPU}, gpu, image_);
  }
  std::vector<std::byte> image_ = std::vector<std::byte>(1 << 16, std::byte{7});
};

TEST_F(GpuMemoryTest, PartsGoIntoTheGpuAndComeBack) {
  const auto memory = allocate();
  ASSERT_TRUE(memory) << memory.error().text;
  const auto part = std::span(image_).subspan(4096, 100);
  (*memory)->store(part);
  ASSERT_TRUE((*memory)->wait_stored());
  std::ranges::fill(image_, std::byte{1});
  (*memory)->bring(part);
  ASSERT_TRUE((*memory)->wait_brought());
  EXPECT_EQ(std::ranges::count(image_, std::byte{7}), 100);
  EXPECT_EQ(part.front(), std::byte{7});
}

TEST_F(GpuMemoryTest, SaysWhatCudaRefused) {
  EXPECT_THAT(allocate("0000:77:00.0").error().text,
              HasSubstr("memory of GPU 0000:77:00.0: cuDeviceGetByPCIBusId: CUDA_ERROR_FAKE (101)"));
  const auto none = GpuMemory::allocate({"/nowhere/libcuda.so.1"}, "0000:1b:00.0", image_);
  EXPECT_THAT(none.error().text, HasSubstr("/nowhere/libcuda.so.1"));
}

TEST_F(GpuMemoryTest, ItsFileOrWhyThereIsNone) {
  const auto memory = allocate();
  ASSERT_TRUE(memory);
  EXPECT_TRUE((*memory)->dma_buf());
  setenv("RAILBED_FAKE_FAULT", "no-dma-buf", 1);
  const auto refused = (*memory)->dma_buf();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("cuMemGetHandleForAddressRange: CUDA_ERROR_FAKE (801)"));
  EXPECT_EQ((*memory)->error(), "") << "copies go on";
}

TEST_F(GpuMemoryTest, ACopyThatFailsIsSaid) {
  const auto memory = allocate();
  ASSERT_TRUE(memory);
  setenv("RAILBED_FAKE_FAULT", "copy", 1);
  (*memory)->bring(image_);
  EXPECT_FALSE((*memory)->wait_brought());
  EXPECT_THAT((*memory)->error(), HasSubstr("cuMemcpyDtoHAsync_v2"));
}

// With a real driver: RAILBED_TEST_GPU=0000:1b:00.0 bench_test --gtest_filter='GpuMemoryOnHardware.*'
TEST(GpuMemoryOnHardware, CopiesAndExportsWhatItHolds) {
  const char* gpu = std::getenv("RAILBED_TEST_GPU");
  if (gpu == nullptr) GTEST_SKIP() << "RAILBED_TEST_GPU names no GPU";
  std::vector<std::byte> image(64 << 20);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i * 7 >> 3);
  const std::vector<std::byte> original = image;
  const auto memory = GpuMemory::allocate({"libcuda.so.1"}, gpu, image, 2);
  ASSERT_TRUE(memory) << memory.error().text;
  (*memory)->store(image, 0);
  ASSERT_TRUE((*memory)->wait_stored(0)) << (*memory)->error(0);
  std::ranges::fill(image, std::byte{0});
  (*memory)->bring(image, 1);
  ASSERT_TRUE((*memory)->wait_brought(1)) << (*memory)->error(1);
  EXPECT_TRUE(image == original);
  const auto file = (*memory)->dma_buf();
  std::cout << "DMA-BUF: " << (file ? "exported" : file.error().text) << "\n";
  EXPECT_EQ((*memory)->error(0) + (*memory)->error(1), "");
}

}  // namespace
}  // namespace railbed
