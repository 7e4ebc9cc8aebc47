#include "hardware/xid.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Xid, TableIsSortedAndSourced) {
  int before = 0;
  for (const Xid& xid : xids()) {
    EXPECT_GT(xid.first, before);
    EXPECT_GE(xid.last, xid.first);
    before = xid.last;
    EXPECT_FALSE(xid.meaning.empty()) << xid.first;
    EXPECT_FALSE(xid.source.empty()) << xid.first;
    EXPECT_FALSE(advice(xid.action).empty()) << xid.first;
  }
}

TEST(Xid, CodesAskForWhatNvidiaSays) {
  for (const int code : {48, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158})
    EXPECT_EQ(find_xid(code)->action, XidAction::kReset) << code;
  for (const int code : {79, 151}) EXPECT_EQ(find_xid(code)->action, XidAction::kReboot) << code;
  for (const int code : {54, 64}) EXPECT_EQ(find_xid(code)->action, XidAction::kIsolate) << code;
  for (const int code : {13, 31, 94, 126}) EXPECT_EQ(find_xid(code)->action, XidAction::kApplication) << code;
  for (const int code : {43, 63, 92, 121}) EXPECT_EQ(find_xid(code)->action, XidAction::kInformation) << code;
  EXPECT_EQ(find_xid(1), nullptr);
  EXPECT_EQ(find_xid(9999), nullptr);
}

TEST(Xid, ReadsTheDriversWordsOf154) {
  const std::string text = "NVRM: Xid (PCI:0000:06:00): 154, GPU recovery action changed from 0x0 (None) to ";
  EXPECT_EQ(action_of_xid_154(text + "0x2 (Node Reboot Required)"), XidAction::kReboot);
  EXPECT_EQ(action_of_xid_154(text + "0x2 (OS Reboot)"), XidAction::kReboot);
  EXPECT_EQ(action_of_xid_154(text + "0x1 (GPU Reset Required)"), XidAction::kReset);
  EXPECT_EQ(action_of_xid_154(text + "0x4 (Drain and Reset)"), XidAction::kReset);
  EXPECT_EQ(
      action_of_xid_154("154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)"),
      XidAction::kInformation);
  EXPECT_FALSE(action_of_xid_154("154, something else"));
  EXPECT_FALSE(action_of_xid_154(text + "0x9 (New words)"));
}

TEST(Xid, OriginsSeparateProgramsFromHardware) {
  for (const int code : {13, 31, 43, 137}) EXPECT_EQ(origin_of_xid(code), XidOrigin::kProgram) << code;
  for (const int code : {48, 63, 74, 94, 95}) EXPECT_EQ(origin_of_xid(code), XidOrigin::kHardware) << code;
  for (const int code : {62, 79, 119, 120, 143, 151})
    EXPECT_EQ(origin_of_xid(code), XidOrigin::kNode) << code;
  for (const int code : {45, 155}) EXPECT_EQ(origin_of_xid(code), XidOrigin::kNobody) << code;
  for (const int code : {109, 9999}) EXPECT_EQ(origin_of_xid(code), XidOrigin::kEither) << code;
}

TEST(Xid, FailuresOfTheGpuAreThoseThatNoProgramCauses) {
  const auto is_failure = [](int code) { return is_gpu_failure(code, ""); };
  for (const int code : {48, 54, 62, 64, 74, 79, 94, 95, 110, 119, 120, 136, 140, 143, 158})
    EXPECT_TRUE(is_failure(code)) << code;
  for (const int code : {13, 31, 43, 45, 63, 92, 109, 121, 137, 144, 155, 9999})
    EXPECT_FALSE(is_failure(code)) << code;
  const std::string recovery = "Xid (PCI:0000:06:00): 154, GPU recovery action changed from 0x0 (None) to ";
  EXPECT_TRUE(is_gpu_failure(154, recovery + "0x1 (GPU Reset Required)"));
  EXPECT_FALSE(is_gpu_failure(154, recovery + "0x0 (None)"));
}

TEST(Sxid, KnowsUnitsAndWhatIsAlwaysFatal) {
  EXPECT_EQ(find_sxid(12028)->unit, "port, egress");
  EXPECT_FALSE(find_sxid(12028)->always_fatal);
  EXPECT_TRUE(find_sxid(12020)->always_fatal);
  EXPECT_TRUE(find_sxid(23017)->always_fatal);
  EXPECT_FALSE(find_sxid(20034)->always_fatal);
  EXPECT_FALSE(find_sxid(79));
  EXPECT_FALSE(find_sxid(31000));
}

}  // namespace
}  // namespace railbed
