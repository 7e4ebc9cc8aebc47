#include "hardware/gpu_speed.h"

#include <gtest/gtest.h>

#include <string>

#include "hardware/gpu_product.h"

namespace railbed {
namespace {

TEST(GpuSpeed, FollowsTheNameOfTheProduct) {
  EXPECT_EQ(find_gpu_speed("NVIDIA H100 80GB HBM3")->half, 989);
  EXPECT_EQ(find_gpu_speed("NVIDIA H100 PCIe")->half, 756);
  EXPECT_EQ(find_gpu_speed("NVIDIA H200")->half, 989);
  EXPECT_EQ(find_gpu_speed("NVIDIA H200")->fp64, 67);
  EXPECT_EQ(find_gpu_speed("Tesla T4")->fp64, 0);
  EXPECT_EQ(find_gpu_speed("NVIDIA H200 NVL")->half, 835);
  EXPECT_EQ(find_gpu_speed("Tesla V100-SXM2-16GB")->half, 125);
  EXPECT_EQ(find_gpu_speed("NVIDIA GeForce RTX 4090")->half, 165.2);
  EXPECT_EQ(find_gpu_speed("NVIDIA GB10")->bandwidth, 273);
  EXPECT_EQ(find_gpu_speed("NVIDIA GB200")->half, 2500) << "it is no B200";
  EXPECT_EQ(find_gpu_speed("NVIDIA A100-SXM4-80GB")->bandwidth, 2039);
}

TEST(GpuSpeed, DoesNotGuessAmongNamesakes) {
  EXPECT_EQ(find_gpu_speed("H100"), nullptr);
  EXPECT_EQ(find_gpu_speed("NVIDIA GeForce RTX 4090 Laptop GPU"), nullptr);
  EXPECT_EQ(find_gpu_speed("NVIDIA GeForce RTX 4090 D"), nullptr);
  EXPECT_EQ(find_gpu_speed("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"), nullptr);
  EXPECT_EQ(find_gpu_speed("NVIDIA GeForce RTX 3060"), nullptr);
  EXPECT_EQ(find_gpu_speed("NVIDIA GeForce RTX 4090D"), nullptr);
  EXPECT_EQ(find_gpu_speed("NVIDIA A10G"), nullptr);
  EXPECT_EQ(find_gpu_speed(""), nullptr);
  EXPECT_EQ(find_module_speed("H100")->name, "H100 80GB HBM3");
  EXPECT_EQ(find_module_speed("H100 SXM5")->name, "H100 80GB HBM3");
  EXPECT_EQ(find_module_speed("A100 SXM4 80GB")->name, "A100-SXM4-80GB");
  EXPECT_EQ(find_module_speed("A100 SXM4 40GB")->name, "A100-SXM4");
  EXPECT_EQ(find_module_speed(""), nullptr);
  EXPECT_EQ(find_module_speed("V100")->name, "V100-SXM2");
  EXPECT_EQ(find_module_speed("RTX 3090")->name, "RTX 3090");
}

TEST(GpuSpeed, GivesNoEditionTheRatesOfAnother) {
  for (const char* const other :
       {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Server Edition", "NVIDIA H20-3e",
        "H20-3e", "NVIDIA GH200 144G HBM3e", "GH200 144G", "Tesla P100-PCIE-12GB", "GRID A40-48Q",
        "NVIDIA A100-SXM-64GB", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA H100 80GB HBM3 MIG 3g.40gb"}) {
    EXPECT_EQ(find_gpu_speed(other), nullptr) << other;
    EXPECT_EQ(find_module_speed(other), nullptr) << other;
  }
  EXPECT_EQ(find_gpu_speed("NVIDIA GH200 480GB")->name, "GH200") << "480 GB is its processor's memory";
  EXPECT_EQ(find_gpu_speed("NVIDIA RTX PRO 6000 Blackwell Workstation Edition")->name, "RTX PRO 6000");
  EXPECT_EQ(find_gpu_speed("Tesla V100-SXM2-32GB")->name, "V100-SXM2");
  EXPECT_EQ(find_gpu_speed("NVIDIA A100-SXM4-40GB")->name, "A100-SXM4");
  EXPECT_EQ(find_gpu_speed("NVIDIA H20")->name, "H20");
  EXPECT_EQ(find_gpu_speed("Tesla K20m")->name, "K20");
  EXPECT_EQ(find_gpu_speed("Tesla K20c")->name, "K20");
  EXPECT_EQ(find_gpu_speed("Tesla K20Xm")->name, "K20X");
  for (const char* const other :
       {"Quadro K2000", "Quadro K2000M", "GRID K2", "Tesla K20Y", "Tesla M40", "Quadro M4000", "Apple M4"})
    EXPECT_EQ(find_gpu_speed(other), nullptr) << other;
  EXPECT_EQ(find_gpu_speed("B200 192GB")->name, "B200");
}

TEST(GpuSpeed, HasTheUnitsOfItsArchitecture) {
  for (const GpuSpeed& speed : gpu_speeds()) {
    const GpuProduct* product = find_gpu_product(speed.name);
    ASSERT_NE(product, nullptr) << speed.name;
    EXPECT_EQ(speed.bf16, product->architecture >= GpuArchitecture::kAmpere) << speed.name;
    EXPECT_EQ(speed.fp8 > 0, product->architecture >= GpuArchitecture::kAda) << speed.name;
    EXPECT_EQ(speed.tf32 > 0, product->architecture >= GpuArchitecture::kAmpere) << speed.name;
    if (product->architecture >= GpuArchitecture::kPascal) {
      EXPECT_GE(speed.half, speed.fp32) << speed.name;
    } else {
      EXPECT_EQ(speed.half, 0) << speed.name << " has no 16-bit units";
    }
    EXPECT_NE(speed.source, "") << speed.name;
  }
  EXPECT_EQ(find_gpu_speed("T4")->teraflops(MatrixType::kBf16), 0);
  EXPECT_EQ(find_gpu_speed("T4")->teraflops(MatrixType::kFp16), 65);
  EXPECT_EQ(find_gpu_speed("A100")->teraflops(MatrixType::kFp8), 0);
}

}  // namespace
}  // namespace railbed
