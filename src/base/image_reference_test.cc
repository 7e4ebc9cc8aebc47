#include "base/image_reference.h"

#include <gtest/gtest.h>

#include <string>

namespace railbed {
namespace {

TEST(ImageReference, IsWhatDockerTakes) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const std::string good :
       {"ubuntu", "ubuntu:24.04", "nvcr.io/nvidia/pytorch:25.01-py3", "localhost:5000/a/b__c:V_1",
        "a-b--c/d.e", "Registry.example.com/team/image", "7f3a9c0d1e2f"})
    EXPECT_TRUE(is_image_reference(good)) << good;
  EXPECT_TRUE(is_image_reference("nvcr.io/nvidia/cuda:12.8" + digest));
}

TEST(ImageReference, IsNothingElse) {
  for (const std::string bad :
       {"", "-v", "--privileged", "Ubuntu", "a b", "a:", "a:-x", "a//b", "/a", "a/", "a..b", "a_.b",
        "a:b:c/d", "a@sha256:12", "a@md5:00", "a;reboot", "host:99999/a", "host: 43/a", "host:/a", "a\n"})
    EXPECT_FALSE(is_image_reference(bad)) << bad;
  EXPECT_FALSE(is_image_reference(std::string(256, 'a')));
}

}  // namespace
}  // namespace railbed
