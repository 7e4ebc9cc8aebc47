#include "campaign/measure/gpu_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/temporary_folder.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(GpuPlaces, AreAllNodesOfAList) {
  const auto places = find_gpu_places({"gpu[01-02],nas", "gpu[7-8]:0,1"}, {});
  ASSERT_TRUE(places);
  std::vector<std::string> names;
  for (const GpuPlace& place : places->nodes) names.push_back(place.name + " " + place.destination);
  EXPECT_THAT(names, ElementsAre("gpu01 gpu01", "gpu02 gpu02", "nas nas", "gpu7:0,1 gpu7", "gpu8:0,1 gpu8"));
  EXPECT_THAT(places->nodes.front().gpus, IsEmpty());
  EXPECT_THAT(places->nodes.back().gpus, ElementsAre(0, 1));
}

TEST(GpuPlaces, AreSomeGpusOfNodesOfACluster) {
  const TemporaryFolder folder;
  const std::string cluster = folder.path() / "cluster.yaml";
  std::ofstream(cluster) << "railbed: 1\ncluster: c\nfabric: ethernet\nnodes: [gpu1, gpu2, gpu3]\n";
  const auto places = find_gpu_places({cluster, "gpu[1-2]:0,1"}, {});
  ASSERT_TRUE(places) << places.error().text;
  ASSERT_EQ(places->nodes.size(), 2U);
  EXPECT_EQ(places->nodes.back().name, "gpu2") << "the name that its rails have";
  EXPECT_THAT(places->nodes.back().gpus, ElementsAre(0, 1));
  EXPECT_THAT(find_gpu_places({cluster, "gpu4:0"}, {}).error().text, HasSubstr("has no node \"gpu4\""));
  EXPECT_THAT(find_gpu_places({cluster, "gpu1:0", "gpu1:1"}, {}).error().text, HasSubstr("write gpu1:0,1"));
}

TEST(GpuPlaces, TellWhichPartOfAListIsWrong) {
  EXPECT_THAT(find_gpu_places({"gpu[1-"}, {}).error().text, HasSubstr("gpu[1-, character 4"));
  EXPECT_THAT(find_gpu_places({":0"}, {}).error().text, HasSubstr("write NODE"));
  EXPECT_THAT(find_gpu_places({"gpu[1-2]:x"}, {}).error().text, HasSubstr("write NODE"));
}

}  // namespace
}  // namespace railbed
