#include "model/container_gpus.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

constexpr const char* kFirst = "GPU-08b3c2e8-cb7b-ea3f-7711-a042c580b3e8";
constexpr const char* kSecond = "GPU-2d3d0a4b-4f0e-9a1b-60f5-7e5dcd1e4c11";

Gpus two_gpus() {
  Gpus gpus;
  gpus.driver_version = {"580.95.05", "test"};
  gpus.device_nodes = {std::vector<int>{0, 1}, "test"};
  Gpu first;
  first.uuid = {kFirst, "test"};
  Gpu second;
  second.uuid = {kSecond, "test"};
  gpus.devices = {std::vector<Gpu>{first, second}, "test"};
  return gpus;
}

CdiSpec sound_spec(std::string file = "/etc/cdi/nvidia.yaml") {
  return {std::move(file), "580.95.05", {}, {0, 1}, {kFirst, kSecond}};
}

TEST(CdiFault, NamesWhatTheNodeDoesNotHave) {
  const Gpus gpus = two_gpus();
  EXPECT_EQ(cdi_fault(sound_spec(), gpus), "");
  CdiSpec spec = sound_spec();
  spec.driver_version = "570.133.20";
  EXPECT_EQ(cdi_fault(spec, gpus), "/etc/cdi/nvidia.yaml is of driver 570.133.20, and 580.95.05 is loaded");
  spec = sound_spec();
  spec.gone = {"/usr/lib64/libnvidia-ml.so.580.95.05"};
  EXPECT_EQ(cdi_fault(spec, gpus),
            "/etc/cdi/nvidia.yaml names /usr/lib64/libnvidia-ml.so.580.95.05, which is gone");
  spec = sound_spec();
  spec.gpus = {0, 1, 2};
  EXPECT_EQ(cdi_fault(spec, gpus), "/etc/cdi/nvidia.yaml names /dev/nvidia2, which is not there");
  spec = sound_spec();
  spec.uuids = {"GPU-00000000-0000-0000-0000-000000000000"};
  EXPECT_EQ(
      cdi_fault(spec, gpus),
      "/etc/cdi/nvidia.yaml names GPU-00000000-0000-0000-0000-000000000000, and no GPU here has this UUID");
}

TEST(CdiFault, DoesNotGuess) {
  CdiSpec spec = sound_spec();
  spec.gpus = {0, 1, 2};
  spec.uuids = {"GPU-00000000-0000-0000-0000-000000000000"};
  Gpus gpus = two_gpus();
  gpus.device_nodes = {std::vector<int>{0}, "test"};  // nothing has opened the second one yet
  std::vector<Gpu> devices = *gpus.devices;
  devices[1].uuid = {Miss{Missing::kDenied, "only root"}, "test"};
  gpus.devices = {devices, "test"};
  EXPECT_EQ(cdi_fault(spec, gpus), "");
  EXPECT_EQ(cdi_fault(std::vector<CdiSpec>{spec}, gpus), "");
  gpus.driver_version = {Miss{Missing::kAbsent, "no driver"}, "test"};
  spec.driver_version = "570.133.20";
  EXPECT_EQ(cdi_fault(spec, gpus), "");
  // A description for WSL names no /dev/nvidiaN.
  spec = sound_spec();
  spec.gpus = {};
  EXPECT_EQ(cdi_fault(std::vector<CdiSpec>{spec}, two_gpus()), "");
  EXPECT_EQ(cdi_fault(std::vector<CdiSpec>{}, two_gpus()), "");
}

TEST(CdiFault, OneInRunReplacesOneInEtc) {
  CdiSpec old = sound_spec();
  old.driver_version = "570.133.20";
  CdiSpec half = sound_spec("/run/cdi/a.yaml");
  half.gpus = {0};
  EXPECT_EQ(cdi_fault({old, half}, two_gpus()), "/run/cdi/a.yaml does not describe /dev/nvidia1");
  CdiSpec other = sound_spec("/run/cdi/b.yaml");
  other.gpus = {1};
  EXPECT_EQ(cdi_fault({old, half, other}, two_gpus()), "");
}

TEST(LowLevelRuntime, IsTheDefaultOneUnlessItIsNvidias) {
  EngineFiles files;
  EXPECT_EQ(low_level_runtime(files), nullptr);
  files.runtimes = {{"nvidia", "/usr/bin/nvidia-container-runtime", {}},
                    {"crun", "/usr/bin/crun", {}},
                    {"kata", "", {{"runtime_type", "\"io.containerd.kata.v2\""}}},
                    {"runc", "", {{"runtime_type", "\"io.containerd.runc.v2\""}}}};
  EXPECT_EQ(low_level_runtime(files)->name, "runc");
  for (const char* const other : {"nvidia", "kata", "gone"}) {
    files.default_runtime = other;
    EXPECT_EQ(low_level_runtime(files)->name, "runc") << other;
  }
  files.default_runtime = "crun";
  EXPECT_EQ(low_level_runtime(files)->name, "crun");
}

TEST(MemoryGuards, AreServicesThatActOnAllPrograms) {
  EXPECT_TRUE(has_memory_guard({"systemd-oomd", "nohang"}));
  EXPECT_TRUE(has_memory_guard({"earlyoom"}));
  EXPECT_FALSE(has_memory_guard({"systemd-oomd"}));
  EXPECT_FALSE(has_memory_guard({}));
}

}  // namespace
}  // namespace railbed
