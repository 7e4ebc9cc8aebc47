#include "hardware/gpu_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hardware/gpu_model.h"
#include "hardware/gpu_product.h"
#include "hardware/gpu_speed.h"

namespace railbed {
namespace {

using testing::ElementsAre;

GpuSheet only_sheet(std::string_view model) {
  const auto sheets = gpu_sheets(model);
  EXPECT_EQ(sheets.size(), 1U) << model;
  return sheets.empty() ? GpuSheet{} : sheets.front();
}

std::vector<std::string> names_of(std::string_view model) {
  std::vector<std::string> names;
  for (const GpuSheet& sheet : gpu_sheets(model)) names.push_back(sheet.name);
  return names;
}

TEST(GpuSheet, EachRowHasItsProductAndSpeed) {
  for (const std::string_view name : gpu_sheet_names()) {
    const GpuProduct* product = find_gpu_product(name);
    const GpuSpeed* speed = find_gpu_speed(name);
    ASSERT_NE(product, nullptr) << name;
    ASSERT_NE(speed, nullptr) << name;
    EXPECT_GT(product->memory_gb, 0) << name;
    const GpuSheet sheet = only_sheet(name);
    EXPECT_EQ(sheet.name, name);
    EXPECT_EQ(sheet.sources.size(), 2U) << name;
    EXPECT_FALSE(sheet.technologies.empty()) << name;
  }
}

// Burn-in and forecasts read gpu_speed(): each of its rows has a sheet, and the sheet's figures are the same.
TEST(GpuSheet, HasTheFiguresThatForecastsUse) {
  for (const GpuSpeed& speed : gpu_speeds()) {
    const auto sheets = gpu_sheets(speed.name);
    ASSERT_FALSE(sheets.empty()) << speed.name;
    EXPECT_TRUE(std::ranges::any_of(sheets, [&](const GpuSheet& sheet) {
      return find_gpu_speed(sheet.name) == &speed && sheet.fp32 == speed.fp32 && sheet.fp16 == speed.half &&
             sheet.memory_bandwidth == speed.bandwidth;
    })) << speed.name;
  }
}

TEST(GpuSheet, CoresAreThoseOfItsMultiprocessors) {
  for (const std::string_view name : gpu_sheet_names()) {
    const GpuSheet sheet = only_sheet(name);
    const int each = cores_per_multiprocessor(find_gpu_product(name)->capability);
    ASSERT_GT(each, 0) << name;
    EXPECT_EQ(sheet.cores.has_value(), sheet.multiprocessors.has_value()) << name;
    if (sheet.cores) {
      EXPECT_EQ(*sheet.cores, *sheet.multiprocessors * each) << name;
    }
  }
  EXPECT_EQ(cores_per_multiprocessor(0), 0);
}

TEST(GpuSheet, BandwidthIsThatOfItsPins) {
  int compared = 0;
  for (const std::string_view name : gpu_sheet_names())
    if (const auto pins = gpu_pin_bandwidth(name)) {
      const double stated = only_sheet(name).memory_bandwidth;
      EXPECT_NEAR(*pins / stated, 1, 0.03)
          << name << ": " << *pins << " by its pins, " << stated << " stated";
      ++compared;
    }
  EXPECT_GT(compared, 30);
  EXPECT_FALSE(gpu_pin_bandwidth("B200"));
  EXPECT_FALSE(gpu_pin_bandwidth("abacus"));
}

TEST(GpuSheet, DenseRatesFollowTheirArchitecture) {
  for (const std::string_view name : gpu_sheet_names()) {
    const GpuSheet sheet = only_sheet(name);
    const GpuProduct& product = *find_gpu_product(name);
    if (sheet.tf32.value_or(0) > 0) {
      EXPECT_NEAR(*sheet.fp16 / *sheet.tf32, 2, 0.05) << name;
    }
    if (sheet.fp8.value_or(0) > 0) {
      EXPECT_NEAR(*sheet.fp8 / *sheet.fp16, 2, 0.05) << name;
    }
    if (sheet.fp4.value_or(0) > 0) {
      EXPECT_GT(*sheet.fp4 / *sheet.fp8, 1.9) << name;
    }
    // What has no such unit has none, which is not the same as a rate that nobody states.
    EXPECT_EQ(sheet.tf32 == 0.0, product.architecture < GpuArchitecture::kAmpere) << name;
    EXPECT_EQ(sheet.fp8 == 0.0, product.architecture < GpuArchitecture::kAda) << name;
    EXPECT_EQ(sheet.fp4 == 0.0, product.architecture < GpuArchitecture::kBlackwell) << name;
    EXPECT_EQ(sheet.bf16 == 0.0, product.architecture < GpuArchitecture::kAmpere) << name;
    if (sheet.fp64_tensor.value_or(0) > 0 && sheet.fp64) {
      EXPECT_GE(*sheet.fp64_tensor, *sheet.fp64) << name;
    }
  }
  EXPECT_EQ(only_sheet("V100-SXM2-32GB").fp64, 7.8);
  EXPECT_EQ(only_sheet("V100-SXM2-32GB").fp64_tensor, 0.0);
  EXPECT_EQ(only_sheet("V100-SXM2-32GB").int8, std::nullopt) << "its data sheet states none";
  EXPECT_EQ(only_sheet("A100-SXM4-80GB").fp64_tensor, 19.5);
}

// gpu_model() has what rules expect of a healthy GPU, and may not differ.
TEST(GpuSheet, AgreesWithTheTableOfHealthyGpus) {
  int links = 0;
  for (const GpuModel& model : gpu_models()) {
    for (const GpuSheet& sheet : gpu_sheets(model.name)) {
      if (find_gpu_model(sheet.name) != &model) continue;
      if (model.pcie_generation > 0) {
        EXPECT_EQ(sheet.pcie_generation, model.pcie_generation) << sheet.name;
      }
      if (model.nvlinks == 0) continue;
      const int each = model.nvlink_mbps / 25'000 * 25;
      EXPECT_EQ(sheet.nvlink_bandwidth, 2 * model.nvlinks * each) << sheet.name;
      ++links;
    }
  }
  EXPECT_GE(links, 7);
}

TEST(GpuSheet, IsFoundByWhatPeopleAndDriversCallIt) {
  EXPECT_EQ(only_sheet("NVIDIA H100 80GB HBM3").name, "H100 80GB HBM3");
  EXPECT_EQ(only_sheet("Tesla V100-SXM2-16GB").name, "V100-SXM2-16GB");
  EXPECT_EQ(only_sheet("Tesla V100S-PCIE-32GB").name, "V100S");
  EXPECT_EQ(only_sheet("NVIDIA A100-SXM4-80GB").name, "A100-SXM4-80GB");
  EXPECT_EQ(only_sheet("NVIDIA GeForce RTX 4090").memory_gb, 24);
  EXPECT_EQ(only_sheet("NVIDIA GeForce RTX 3090 Ti").cores, 10752);
  EXPECT_EQ(only_sheet("p4").name, "P4");
  EXPECT_EQ(only_sheet("Tesla K20Xm").cores, 2688);
  EXPECT_EQ(only_sheet("Tesla K20m").name, "K20");
  EXPECT_EQ(only_sheet("Tesla K20").name, "K20") << "no K20X";
  EXPECT_EQ(only_sheet("Tesla M4").name, "M4");
  EXPECT_EQ(only_sheet("H200").name, "H200") << "no H200 NVL";
  EXPECT_EQ(only_sheet("NVIDIA GB200").nvlink_bandwidth, 1800);
  EXPECT_THAT(names_of("H100"), ElementsAre("H100 PCIe", "H100 NVL", "H100 80GB HBM3"));
  EXPECT_THAT(names_of("Tesla V100"), ElementsAre("V100-PCIE-16GB", "V100-PCIE-32GB", "V100S",
                                                  "V100-SXM2-16GB", "V100-SXM2-32GB", "V100-SXM3"));
  EXPECT_THAT(names_of("4090"), ElementsAre("RTX 4090"));
  EXPECT_THAT(names_of("RTX 40"), ElementsAre("RTX 4080", "RTX 4090"));
  // Words that models of several lines have, and another maker's.
  for (const char* const other : {"RTX", "80GB", "PCIe", "HBM3", "SXM4", "AMD B200", "Intel A100", "AMD"})
    EXPECT_TRUE(gpu_sheets(other).empty()) << other;
  // Namesakes with other figures.
  for (const char* const other :
       {"", " ", "H1000", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4080 SUPER", "NVIDIA GeForce RTX 3060", "Tesla K80"})
    EXPECT_TRUE(gpu_sheets(other).empty()) << other;
}

TEST(GpuSheet, StatesTheSoftwareOfItsArchitecture) {
  const GpuSheet volta = only_sheet("V100S");
  EXPECT_EQ(volta.first_driver, 384);
  EXPECT_EQ(volta.last_driver, 580);
  EXPECT_EQ(volta.first_toolkit, "9.0");
  EXPECT_EQ(volta.last_toolkit, "12.9");
  EXPECT_EQ(only_sheet("B200").last_driver, 0);
}

// The comparison of the InfiniBand guide, and the card that it names besides.
TEST(GpuSheet, HasTheOldCardsOfTheGuide) {
  const GpuSheet kepler = only_sheet("K20");
  EXPECT_EQ(kepler.architecture, "Kepler");
  EXPECT_EQ(kepler.cores, 2496);
  EXPECT_EQ(kepler.memory_gb, 5);
  EXPECT_EQ(kepler.memory_bandwidth, 208);
  EXPECT_EQ(kepler.pcie_generation, 2);
  EXPECT_EQ(kepler.watts, 225);
  EXPECT_EQ(kepler.fp64, 1.17);
  EXPECT_EQ(kepler.fp16, 0.0) << "no 16-bit units, which is not the same as a rate that nobody states";
  EXPECT_EQ(kepler.int8, 0.0);
  EXPECT_EQ(kepler.nvenc, std::nullopt);
  EXPECT_EQ(kepler.last_driver, 470);
  EXPECT_EQ(kepler.last_toolkit, "11.8");
  EXPECT_EQ(kepler.first_nccl_toolkit(), "7.0") << "NCCL begins later than the card";
  const GpuSheet maxwell = only_sheet("M4");
  EXPECT_EQ(maxwell.cores, 1024);
  EXPECT_EQ(maxwell.last_driver, 580);
  EXPECT_NEAR(*maxwell.fp64, 0.069, 0.001);
  for (const GpuSheet& sheet : {kepler, maxwell}) {
    const auto judged = [&](std::string_view technology) {
      return std::ranges::find(sheet.technologies, technology, &TechnologyCell::technology)->support;
    };
    EXPECT_EQ(judged("MIG"), TechnologySupport::kNo);
    EXPECT_EQ(judged("NIM"), TechnologySupport::kNo);
    EXPECT_EQ(judged("vGPU"), TechnologySupport::kNo);
    EXPECT_EQ(judged("NCCL"), TechnologySupport::kLimited);
  }
}

}  // namespace
}  // namespace railbed
