#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

using testing::HasSubstr;

std::string cluster_with(std::string_view more) {
  return "railbed: 1\ncluster: pair\nexpect: {os: ubuntu 22.04, gpus: 2}\n"
         "configure: {exporters: true, " +
         std::string(more) + "}\nnodes: [gpu1]\n";
}

TEST(RenderExporters, ListenOnTheManagementAddressAndWaitForIt) {
  const auto settings =
      sample(cluster_with("management_interface: eno1, management_address: 192.168.1.70/24"))
          .render("gpu1", Section::kExporters);
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].files.at(0).content,
            std::string(kFileMark) +
                "ARGS=\"--web.listen-address=192.168.1.70:9100 "
                "--collector.textfile.directory=/var/lib/prometheus/node-exporter\"\n");
  EXPECT_EQ(settings[0].files.at(1).content,
            std::string(kFileMark) +
                "[Unit]\nWants=network-online.target\nAfter=network-online.target\n"
                "[Service]\nRestart=on-failure\nRestartSec=5s\n");
  EXPECT_EQ(settings[2].files.at(0).path, "/etc/apt/sources.list.d/railbed-nvidia-cuda.sources");
  EXPECT_EQ(settings[2].files.at(1).path,
            "/etc/systemd/system/nvidia-dcgm-exporter.service.d/90-railbed.conf");
  EXPECT_THAT(settings[2].files[1].content,
              HasSubstr("Environment=DCGM_EXPORTER_LISTEN=192.168.1.70:9400\n"));
}

TEST(RenderExporters, ListenOnThisMachineAloneWhenNothingIsSaid) {
  const auto settings = sample(cluster_with("user: ops")).render("gpu1", Section::kExporters);
  EXPECT_THAT(settings.at(0).files.at(0).content, HasSubstr("--web.listen-address=127.0.0.1:9100 "));
  EXPECT_THAT(settings[0].notes.at(0), HasSubstr("management_address"));
}

TEST(RenderExporters, UnitsAreThoseOfTheGuide) {
  const auto settings = sample(cluster_with("user: ops")).render("gpu1", Section::kExporters);
  std::ifstream file(RAILBED_SOURCE_DIR "/docs/how-to/node-exporter.md");
  std::ostringstream guide;
  guide << file.rdbuf();
  ASSERT_EQ(settings.at(1).files.size(), 2U);
  for (const DesiredFile& file : settings[1].files) {
    const std::string unit = file.content.substr(kFileMark.size());
    EXPECT_THAT(guide.str(), HasSubstr("# " + file.path + "\n" + unit));
  }
}

TEST(RenderExporters, LeaveOutWhatTheSystemDoesNotHave) {
  const auto rhel =
      sample(
          "railbed: 1\ncluster: one\nexpect: {os: rhel 9.4}\nconfigure: {exporters: true}\nnodes: [gpu1]\n")
          .render("gpu1", Section::kExporters);
  ASSERT_EQ(rhel.size(), 2U);  // no GPU is expected
  EXPECT_TRUE(rhel[0].steps.empty());
  EXPECT_THAT(rhel[0].notes.at(0), HasSubstr("EPEL"));
}

}  // namespace
}  // namespace railbed
