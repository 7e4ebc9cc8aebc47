#include "bench/verbs/gpu_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/facts.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

template <class T>
Reading<T> read(T value) {
  return {std::move(value), "a file"};
}

PciDevice pci(const std::string& address, const std::string& parent) {
  PciDevice device;
  device.address = address;
  if (!parent.empty()) device.parent = read(parent);
  return device;
}

// ens6 at 1a:00.0 and a GPU at 1b:00.0 below one root port, another GPU elsewhere; out of order.
Facts node() {
  Facts facts;
  NetInterface interface;
  interface.name = "ens6";
  interface.pci_address = read<std::string>("0000:1a:00.0");
  facts.net.interfaces = read(std::vector{interface});
  facts.pci = read(std::vector{pci("0000:17:01.0", ""), pci("0000:1a:00.0", "0000:17:01.0"),
                               pci("0000:1b:00.0", "0000:17:01.0"), pci("0000:0a:00.0", "")});
  Gpu far;
  far.pci_address = "0000:0a:00.0";
  Gpu near;
  near.pci_address = "0000:1b:00.0";
  facts.gpus.devices = read(std::vector{near, far});
  return facts;
}

std::string chosen(const std::string& memory, const Facts& facts = node()) {
  const auto gpu = choose_gpu(facts, "ens6", memory);
  return gpu ? *gpu : gpu.error().text;
}

TEST(ChooseGpu, TheOneClosestToTheAdapter) {
  EXPECT_EQ(chosen("gpu"), "0000:1b:00.0");
  EXPECT_EQ(nearest_gpu(node(), "eth9"), "0000:1b:00.0") << "the first, where the adapter is not known";
  EXPECT_EQ(nearest_gpu(Facts(), "ens6"), "");
}

TEST(ChooseGpu, PassesOverOneThatTheDriverDoesNotShow) {
  Facts facts = node();
  auto gpus = *facts.gpus.devices;
  gpus[1].nvml = Reading<NvmlGpu>(NvmlGpu{}, "nvml");
  facts.gpus.devices = read(gpus);
  EXPECT_EQ(chosen("gpu", facts), "0000:0a:00.0") << "the near one did not answer";
}

TEST(ChooseGpu, ByNumberAndByAddress) {
  EXPECT_EQ(chosen("gpu:0"), "0000:0a:00.0") << "in PCI order";
  EXPECT_EQ(chosen("gpu:1"), "0000:1b:00.0");
  EXPECT_THAT(chosen("gpu:2"), HasSubstr("there is no GPU 2: 2 are on PCI"));
  EXPECT_EQ(chosen("gpu:0000:9A:00.0"), "0000:9a:00.0");
  EXPECT_EQ(chosen("gpu:00000000:9A:00.0"), "0000:9a:00.0") << "as nvidia-smi writes it";
  EXPECT_EQ(chosen("gpu:10000:9a:00.0"), "10000:9a:00.0") << "a domain above the sixteen bits";
  EXPECT_EQ(chosen("gpu:0000:9a:00.0", Facts()), "0000:9a:00.0");
  EXPECT_EQ(chosen("gpu", Facts()), "there is no NVIDIA GPU");
}

TEST(IsMemory, KnowsItsForms) {
  for (const char* good : {"host", "gpu", "gpu:3", "gpu:0000:1b:00.0", "gpu:0000:1B:00.0"})
    EXPECT_TRUE(is_memory(good)) << good;
  for (const char* bad : {"", "GPU", "gpu:", "gpu:-1", "gpu:1b:00.0", "gpu:0000:1b:00", "cuda", "hosts"})
    EXPECT_FALSE(is_memory(bad)) << bad;
}

}  // namespace
}  // namespace railbed
