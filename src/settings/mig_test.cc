#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/testing/temporary_folder.h"
#include "settings/step.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kCut = R"(railbed: 1
cluster: c
expect: {os: ubuntu 24.04, gpus: 4, gpu_model: H100 80GB HBM3}
configure: {mig: [{gpus: [0, 2], instances: {3g.40gb: 1, 4g.40gb: 1}}]}
nodes: [gpu1]
)";

NvmlGpu answer(bool mig, std::vector<std::string> devices) {
  NvmlGpu nvml;
  nvml.name = {"NVIDIA H100 80GB HBM3", "test"};
  nvml.mig = {mig, "test"};
  nvml.mig_devices = {std::move(devices), "test"};
  nvml.processes = {std::vector<NvmlProcess>(), "test"};
  return nvml;
}

Facts machine(const NvmlGpu& first) {
  Facts facts;
  facts.railbed = "1";
  facts.system.own_units_at_boot = {std::vector<std::string>(), "test"};
  std::vector<Gpu> gpus(4);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].pci_address = fmt::format("0000:{}b:00.0", i + 1);
    gpus[i].nvml = {i == 0 ? first : answer(true, {"3g.40gb", "4g.40gb"}), "test"};
  }
  facts.gpus.devices = {std::move(gpus), "test"};
  return facts;
}

Setting mig_setting(std::string_view yaml, const Facts& facts) {
  for (Setting& setting : sample(yaml, {{"gpu1", facts}}).render("gpu1", Section::kServices))
    if (setting.name == "services/mig") return std::move(setting);
  ADD_FAILURE() << "no such setting";
  return {};
}

TEST(MigSetting, PlacesTheInstancesOfEachGpuByItsAddress) {
  const Setting setting = mig_setting(kCut, machine(answer(false, {})));
  EXPECT_EQ(setting.refused, "");
  EXPECT_EQ(setting.doubt, "");
  ASSERT_EQ(setting.needs.size(), 2u);
  EXPECT_EQ(setting.needs[0].what, "GPU 0000:1b:00.0 has 3g.40gb + 4g.40gb");
  EXPECT_EQ(setting.needs[0].now, false);
  EXPECT_EQ(setting.needs[0].found, "MIG is off");
  EXPECT_EQ(setting.needs[1].now, true);
  EXPECT_EQ(setting.needs[1].at_boot, false);
  EXPECT_THAT(setting.files.at(0).content,
              HasSubstr("  cut_gpu 0000:1b:00.0 4g.40gb:0 3g.40gb:4 || failed=1\n"
                        "  cut_gpu 0000:3b:00.0 4g.40gb:0 3g.40gb:4 || failed=1\n"));
  EXPECT_THAT(setting.files.at(0).content, Not(HasSubstr("0000:2b:00.0")));
  EXPECT_THAT(setting.files.at(1).content, HasSubstr("Before=docker.service containerd.service"));
  for (const NodeStep& step : setting.steps) EXPECT_TRUE(check_step(step));
}

TEST(MigSetting, WithoutFactsGoesByNumbers) {
  EXPECT_THAT(mig_setting(kCut, {}).files.at(0).content,
              HasSubstr("  cut_gpu 2 4g.40gb:0 3g.40gb:4 || failed=1\n"));
}

TEST(MigSetting, PutsNoForeignTextIntoItsScript) {
  Facts facts = machine(answer(false, {}));
  std::vector<Gpu> gpus = *facts.gpus.devices;
  gpus[0].pci_address = "0000:1b:00.0; reboot";
  facts.gpus.devices = {std::move(gpus), "test"};
  const std::string script = mig_setting(kCut, facts).files.at(0).content;
  EXPECT_THAT(script, Not(HasSubstr("reboot")));
  EXPECT_THAT(script, HasSubstr("  cut_gpu 0 4g.40gb:0 3g.40gb:4 || failed=1\n"));
}

TEST(MigSetting, IsMetWhereTheInstancesAreThere) {
  Facts facts = machine(answer(true, {"3g.40gb", "4g.40gb"}));
  facts.system.own_units_at_boot = {std::vector<std::string>{"railbed-mig.service"}, "test"};
  const Setting setting = mig_setting(kCut, facts);
  for (const Need& need : setting.needs) {
    EXPECT_EQ(need.now, true);
    EXPECT_EQ(need.at_boot, true);
    EXPECT_EQ(need.found, "");
  }
  EXPECT_EQ(setting.steps.back().kind, StepKind::kRestartUnit);
}

TEST(MigSetting, HoldsAGpuThatIsInUseAndWaitsForOtherInstances) {
  NvmlGpu busy = answer(false, {});
  busy.processes = {std::vector<NvmlProcess>{{4711, {}}}, "test"};
  EXPECT_EQ(mig_setting(kCut, machine(busy)).refused,
            "1 process runs on GPU 0000:1b:00.0: it can be cut when nothing runs there");
  EXPECT_EQ(mig_setting(kCut, machine(answer(true, {"7g.80gb"}))).doubt,
            "GPU 0000:1b:00.0 has other instances, 7g.80gb, which would be removed");
  NvmlGpu unread = answer(true, {});
  unread.mig_devices = {Miss{Missing::kUnsupported, "too old"}, "test"};
  EXPECT_EQ(mig_setting(kCut, machine(unread)).needs[0].now, std::nullopt);
}

TEST(MigSetting, RefusesWhatTheGpuCannotHave) {
  const auto refused = [](const std::string& model, const std::string& instances) {
    NvmlGpu nvml = answer(false, {});
    nvml.name = {model, "test"};
    return mig_setting(
               fmt::format(
                   "railbed: 1\ncluster: c\nexpect: {{os: ubuntu 24.04}}\nconfigure: {{mig: [{{gpus: 0, "
                   "instances: {}}}]}}\nnodes: [gpu1]\n",
                   instances),
               machine(nvml))
        .refused;
  };
  EXPECT_EQ(refused("Tesla V100-SXM2-16GB", "{3g.40gb: 1}"), "Tesla V100-SXM2-16GB has no MIG");
  EXPECT_THAT(refused("NVIDIA H100 80GB HBM3", "{3g.20gb: 1}"), HasSubstr("has no MIG profile \"3g.20gb\""));
  EXPECT_THAT(refused("NVIDIA H100 80GB HBM3", "{4g.40gb: 2}"), HasSubstr("has no room for 2 × 4g.40gb"));
  EXPECT_EQ(refused("Abacus 3000", "{3g.40gb: 1}"),
            "railbed's tables do not have the MIG profiles of Abacus 3000");
  EXPECT_THAT(
      mig_setting(
          "railbed: 1\ncluster: c\nexpect: {os: ubuntu 24.04}\nconfigure: {mig: [{gpus: 4, instances: {3g.40gb: "
          "1}}]}\nnodes: [gpu1]\n",
          machine(answer(false, {})))
          .refused,
      HasSubstr("cluster.yaml describes instances of GPU 4, and the node has 4 GPUs"));
}

// The script against a stand-in for nvidia-smi, which keeps each GPU in a folder: `mode`, `instances` (a line
// "PROFILE START" each), `users` (process numbers), `stuck` (MIG cannot be switched on), `broken` (nothing can be made).
constexpr std::string_view kStandIn = R"sh(#!/bin/sh
cd "$(dirname "$0")" || exit 9
echo "$*" >>calls
mig= gpu= what= list=
while [ $# -gt 0 ]; do
  case $1 in
    mig) mig=1 ;;
    -i) gpu=$2; shift ;;
    -mig) what=switch list=$2; shift ;;
    -cgi) what=make list=$2; shift ;;
    -C) ;;
    --format=*) ;;
    *) what=$1 ;;
  esac
  shift
done
[ -d "$gpu" ] || { echo "No devices were found"; exit 6; }
cd "$gpu" || exit 9
case $what in
  --query-gpu=mig.mode.current) cat mode ;;
  --query-compute-apps=pid) if [ -f users ]; then cat users; fi ;;
  -lgi)
    [ -s instances ] || { echo "No GPU instances found: Not Found"; exit 6; }
    echo "+------------------------------------+"
    echo "| GPU instances:                     |"
    echo "| GPU   Name   Profile  Instance   Placement |"
    while read -r name start; do echo "|   0  MIG $name          9        1          $start:4     |"; done <instances ;;
  -L)
    echo "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)"
    n=0
    while read -r name start; do echo "  MIG $name     Device  $n: (UUID: MIG-$n)"; n=$((n + 1)); done <instances ;;
  switch)
    if [ "$list" = 1 ] && [ -f stuck ]; then echo "Warning: MIG mode is in pending enable state: In use by another client"; exit 0; fi
    if [ "$list" = 1 ]; then echo Enabled >mode; else echo Disabled >mode; : >instances; fi ;;
  --gpu-reset) exit 1 ;;
  -dci) : ;;
  -dgi) : >instances ;;
  make)
    [ ! -f broken ] || { echo "Unable to create a GPU instance: Insufficient Resources"; exit 1; }
    for one in $(echo "$list" | tr , ' '); do echo "${one%:*} ${one#*:}" >>instances; done ;;
esac
)sh";

class MigScript : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "nvidia-smi") << kStandIn;
    std::ofstream(folder_ / "systemctl") << "#!/bin/sh\ncat \"$(dirname \"$0\")/state\" 2>/dev/null\n";
    for (const char* const program : {"nvidia-smi", "systemctl"})
      std::filesystem::permissions(folder_ / program, std::filesystem::perms::owner_all);
    std::ofstream(folder_ / "mig.sh") << mig_setting(kCut, machine(answer(false, {}))).files.at(0).content;
    for (const char* const gpu : {"0000:1b:00.0", "0000:2b:00.0", "0000:3b:00.0"}) {
      std::filesystem::create_directory(folder_ / gpu);
      put(gpu, "mode", "Disabled\n");
      put(gpu, "instances", "");
    }
  }
  void put(const std::string& gpu, const std::string& file, const std::string& text) {
    std::ofstream(folder_ / gpu / file) << text;
  }
  std::string get(const std::string& gpu, const std::string& file) {
    return read_file((folder_ / gpu / file).string()).value_or("?");
  }
  // Returns the exit code. What the script says is in said_.
  int run(const std::string& action) {
    std::filesystem::remove(folder_ / "calls");
    const std::string command =
        fmt::format("PATH={0}:$PATH sh {0}/mig.sh {1} >{0}/out 2>{0}/said", folder_.string(), action);
    const int code = std::system(command.c_str());
    said_ = read_file((folder_ / "said").string()).value_or("?");
    return WEXITSTATUS(code);
  }
  std::string calls() { return read_file((folder_ / "calls").string()).value_or(""); }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
  std::string said_;
};

const std::string kFirstGpu = "0000:1b:00.0";
const std::string kThirdGpu = "0000:3b:00.0";
const std::string kWantedInstances = "4g.40gb 0\n3g.40gb 4\n";

TEST_F(MigScript, MakesTheInstancesAndTheSecondTimeNothing) {
  EXPECT_EQ(run("start"), 0) << said_;
  for (const std::string& gpu : {kFirstGpu, kThirdGpu}) {
    EXPECT_EQ(get(gpu, "mode"), "Enabled\n");
    EXPECT_EQ(get(gpu, "instances"), kWantedInstances);
  }
  EXPECT_EQ(get("0000:2b:00.0", "mode"), "Disabled\n");
  EXPECT_EQ(run("start"), 0) << said_;
  EXPECT_THAT(calls(), Not(HasSubstr("-cgi")));
  EXPECT_THAT(calls(), Not(HasSubstr("-dgi")));
  EXPECT_THAT(calls(), Not(HasSubstr("-mig ")));
}

TEST_F(MigScript, StopMakesTheGpusWhole) {
  ASSERT_EQ(run("start"), 0) << said_;
  EXPECT_EQ(run("stop"), 0) << said_;
  EXPECT_EQ(get(kFirstGpu, "mode"), "Disabled\n");
  EXPECT_EQ(get(kFirstGpu, "instances"), "");
  ASSERT_EQ(run("start"), 0);
  std::ofstream(folder_ / "state") << "stopping\n";
  EXPECT_EQ(run("stop"), 0);
  EXPECT_EQ(get(kFirstGpu, "instances"), kWantedInstances)
      << "the machine goes down: the driver forgets them";
  std::ofstream(folder_ / "state") << "12 railbed-mig.service restart running\n";
  EXPECT_EQ(run("stop"), 0);
  EXPECT_EQ(get(kFirstGpu, "instances"), kWantedInstances) << "the unit starts again at once";
}

TEST_F(MigScript, LeavesAGpuInUseAloneAndTakesTheOtherBack) {
  put(kThirdGpu, "users", "4711\n");
  EXPECT_EQ(run("start"), 1);
  EXPECT_THAT(said_, HasSubstr("GPU 0000:3b:00.0: in use by 4711: it stays as it is"));
  EXPECT_EQ(get(kThirdGpu, "mode"), "Disabled\n");
  EXPECT_EQ(get(kFirstGpu, "mode"), "Disabled\n") << "nothing is left of a change that failed";
  std::ofstream(folder_ / "state") << "starting\n";
  EXPECT_EQ(run("start"), 1);
  EXPECT_EQ(get(kFirstGpu, "instances"), kWantedInstances) << "at boot the others are of use";
}

TEST_F(MigScript, GivesBackWhatAGpuHadIfTheNewInstancesFail) {
  put(kFirstGpu, "mode", "Enabled\n");
  put(kFirstGpu, "instances", "7g.80gb 0\n");
  put(kThirdGpu, "stuck", "");
  EXPECT_EQ(run("start"), 1);
  EXPECT_THAT(said_,
              HasSubstr("GPU 0000:3b:00.0: MIG did not become Enabled: Warning: MIG mode is in pending"));
  EXPECT_EQ(get(kThirdGpu, "mode"), "Disabled\n");
  put(kFirstGpu, "mode", "Disabled\n");
  put(kFirstGpu, "instances", "");
  put(kFirstGpu, "broken", "");
  std::filesystem::remove(folder_ / kThirdGpu / "stuck");
  EXPECT_EQ(run("start"), 1);
  EXPECT_THAT(said_, HasSubstr("Insufficient Resources"));
  EXPECT_EQ(get(kFirstGpu, "mode"), "Disabled\n");
}

TEST_F(MigScript, ReplacesOtherInstances) {
  put(kFirstGpu, "mode", "Enabled\n");
  put(kFirstGpu, "instances", "7g.80gb 0\n");
  EXPECT_EQ(run("start"), 0) << said_;
  EXPECT_EQ(get(kFirstGpu, "instances"), kWantedInstances);
}

}  // namespace
}  // namespace railbed
