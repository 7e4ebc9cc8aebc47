#include "configure/device_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/load.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<std::string> manifest(const std::string& rest) {
  const auto cluster = parse_cluster("railbed: 1\ncluster: c\n" + rest, "cluster.yaml");
  EXPECT_TRUE(cluster) << cluster.error().text;
  return device_plugin_manifest(*cluster);
}

std::string text_of_manifest(const std::string& rest) {
  const auto text = manifest(rest);
  EXPECT_TRUE(text) << text.error().text;
  return text.value_or("");
}

TEST(DevicePlugin, SharesWholeGpusInSlices) {
  EXPECT_THAT(
      text_of_manifest("configure: {gpu_sharing: {method: time-slices, replicas: 4}}\nnodes: [a, b]\n"),
      HasSubstr("kind: ConfigMap\n"
                "metadata:\n"
                "  name: gpu-sharing\n"
                "  namespace: nvidia-device-plugin\n"
                "data:\n"
                "  unshared: |\n"
                "    version: v1\n"
                "  time-slices-4: |\n"
                "    version: v1\n"
                "    sharing:\n"
                "      timeSlicing:\n"
                "        renameByDefault: true\n"
                "        failRequestsGreaterThanOne: true\n"
                "        resources:\n"
                "          - name: nvidia.com/gpu\n"
                "            replicas: 4\n"));
}

TEST(DevicePlugin, NamesInstancesAsThePluginDoes) {
  const std::string cut = text_of_manifest(
      "configure: {gpu_sharing: {method: time-slices, replicas: 2}, mig: [{instances: {1g.10gb+me: 1, "
      "1g.10gb: 6}}]}\nnodes: [a]\n");
  EXPECT_THAT(cut, HasSubstr("migStrategy: mixed"));
  EXPECT_THAT(cut, HasSubstr("name: nvidia.com/mig-1g.10gb\n"));
  EXPECT_THAT(cut, HasSubstr("name: nvidia.com/mig-1g.10gb.me\n"));
  EXPECT_THAT(cut, Not(HasSubstr("nvidia.com/gpu\n"))) << "none is whole";
}

TEST(DevicePlugin, TellsKindsOfNodesApart) {
  const std::string text = text_of_manifest(
      "configure: {gpu_sharing: {method: time-slices, replicas: 4}}\n"
      "nodes: [a, b, {name: c, configure: {gpu_sharing: {method: mps, replicas: 8}}}, {name: d, configure: {gpu_sharing: "
      "{method: none}}}]\n");
  EXPECT_THAT(text, HasSubstr("label --overwrite node a b nvidia.com/device-plugin.config=time-slices-4\n"));
  EXPECT_THAT(text, HasSubstr("label --overwrite node c nvidia.com/device-plugin.config=mps-8\n"));
  EXPECT_THAT(
      text, HasSubstr("  mps-8: |\n    version: v1\n    sharing:\n      mps:\n        renameByDefault: true\n"
                      "        resources:\n"));
  EXPECT_THAT(text, Not(HasSubstr("node d")));
  EXPECT_THAT(text, HasSubstr("gfd.enabled=true")) << "its label lets the chart start MPS there";
}

TEST(DevicePlugin, RefusesWhatThePluginWouldNotDo) {
  EXPECT_THAT(manifest("nodes: [a]\n").error().text,
              HasSubstr("no node has GPUs that Kubernetes is to share"));
  EXPECT_FALSE(manifest("configure: {gpu_sharing: {method: mps}}\nnodes: [a]\n")) << "the node's own";
  EXPECT_THAT(
      manifest(
          "configure: {gpu_sharing: {method: mps, replicas: 4}, mig: [{instances: {3g.40gb: 2}}]}\nnodes: [a]\n")
          .error()
          .text,
      HasSubstr("shares no MIG instances by MPS"));
}

}  // namespace
}  // namespace railbed
