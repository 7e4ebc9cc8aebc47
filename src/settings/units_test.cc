// Checks the rendered units with systemd's own tools.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <tuple>

#include "settings/testing/sample.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

// Writes the files of all these sections into a folder, under their own paths.
struct RenderedRoot {
  RenderedRoot() : folder(fs::temp_directory_path() / ("railbed-units-" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
  }
  ~RenderedRoot() { fs::remove_all(folder); }
  RenderedRoot(const RenderedRoot&) = delete;
  RenderedRoot& operator=(const RenderedRoot&) = delete;

  void write(const std::vector<Setting>& settings) const {
    for (const Setting& setting : settings)
      for (const DesiredFile& file : setting.files) {
        const fs::path path = folder / file.path.substr(1);
        fs::create_directories(path.parent_path());
        std::ofstream(path) << file.content;
      }
  }
  fs::path folder;
};

std::vector<Setting> settings_of_h100() {
  const ConfiguredCluster all = captured("h100-read-request-512");
  std::vector<Setting> settings = render_settings(all.target("gpu01"));
  constexpr std::string_view kSoftware = R"(
railbed: 1
cluster: one
expect: {os: debian 12}
rdma_driver: rxe
nodes: [vm1]
rails: [{name: rail0, subnet: 10.0.0.0/24, interface: eth1, first_address: 10.0.0.1}]
)";
  const ConfiguredCluster virtual_machine = sample(kSoftware);
  for (Setting& setting : virtual_machine.render("vm1", Section::kModules))
    settings.push_back(std::move(setting));
  return settings;
}

// Programs that the node has and this machine may lack are reported as "not executable"; any other report is
// a fault.
TEST(RenderedUnits, PleaseSystemd) {
  if (!has_program("systemd-analyze")) GTEST_SKIP() << "no systemd-analyze here";
  const RenderedRoot root;
  root.write(settings_of_h100());
  const fs::path units = root.folder / "etc/systemd/system";
  ASSERT_TRUE(fs::exists(units / "railbed-qos@.service"));
  for (const char* unit : {"railbed-governor.service", "rdma-cm-tos.service", "railbed-qos@ens11np0.service",
                           "railbed-read-request@ens11np0.service", "railbed-rxe@eth1.service"}) {
    const std::string name(unit);
    fs::path file = units / name;
    if (const auto at = name.find('@'); at != std::string::npos) {
      file = units / name.substr(0, at + 1).append(".service");
      fs::copy_file(file, units / name);
      file = units / name;
    }
    const std::string told = (root.folder / "told").string();
    std::ignore =
        std::system(("systemd-analyze verify --man=no " + file.string() + " >" + told + " 2>&1").c_str());
    std::ifstream lines(told);
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(line.find(name.substr(0, name.find('@'))) == std::string::npos ||
                  line.find("is not executable") != std::string::npos)
          << line;
  }
}

TEST(RenderedUnits, WriteTheGovernorOfEveryProcessor) {
  if (!has_program("systemd-tmpfiles")) GTEST_SKIP() << "no systemd-tmpfiles here";
  const RenderedRoot root;
  root.write(settings_of_h100());
  const fs::path cpufreq = root.folder / "sys/devices/system/cpu/cpufreq";
  for (const char* policy : {"policy0", "policy1"}) {
    fs::create_directories(cpufreq / policy);
    std::ofstream(cpufreq / policy / "scaling_governor") << "powersave\n";
  }
  ASSERT_EQ(std::system(("systemd-tmpfiles --root=" + root.folder.string() + " --create " +
                         root.folder.string() + "/etc/tmpfiles.d/railbed-governor.conf")
                            .c_str()),
            0);
  for (const char* policy : {"policy0", "policy1"}) {
    std::string governor;
    std::ifstream(cpufreq / policy / "scaling_governor") >> governor;
    EXPECT_EQ(governor, "performance");
  }
}

}  // namespace
}  // namespace railbed
