// The files that each example requires: tests/rendered/EXAMPLE.txt. UPDATE_GOLDEN=1 rewrites them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "campaign/change/plan_nodes.h"
#include "report/text/plan_text.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

const fs::path kRendered = fs::path(RAILBED_SOURCE_DIR) / "tests/rendered";

class Rendered : public testing::TestWithParam<std::string> {};

TEST_P(Rendered, IsWhatTheGoldenFileSays) {
  PlanRequest request;
  request.sources.cluster = fs::path(RAILBED_SOURCE_DIR) / "examples" / (GetParam() + ".yaml");
  const auto nodes = render_nodes(request);
  ASSERT_TRUE(nodes) << nodes.error().text;
  const std::string text = settings_text(*nodes);
  const fs::path golden = kRendered / (GetParam() + ".txt");
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    const auto written = write_file(golden, text);
    ASSERT_TRUE(written) << written.error().text;
  }
  std::ifstream stream(golden);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(stream), {}))
      << "UPDATE_GOLDEN=1 writes it anew";
}

INSTANTIATE_TEST_SUITE_P(Examples, Rendered,
                         testing::Values("v100-pair", "dgx-spark-pair", "infiniband-trio"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace railbed
