// What a GPU that the driver cannot start asks for: the machine and the other messages decide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/verify.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

LogEvent event(LogKind kind, const std::string& subject = "") {
  return {.kind = kind,
          .code = 0,
          .subject = subject,
          .count = 1,
          .first = 1000,
          .last = 1000,
          .text = "NVRM: x"};
}

Finding of_start(const std::vector<LogKind>& beside) {
  Facts facts;
  KernelLog log;
  log.begins = 1;
  log.ends = 2000;
  for (const LogKind kind : beside) log.events.push_back(event(kind));
  log.events.push_back(event(LogKind::kGpuInitFailed, "0000:17:00.0"));
  facts.kernel_log = {std::move(log), "/dev/kmsg"};
  Evidence evidence;
  evidence.nodes.emplace("n1", facts);
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == "gpu.init-failed") return finding;
  ADD_FAILURE() << "the rule says nothing";
  return {};
}

TEST(GpuStart, OnMetalTheCardIsLookedAt) {
  EXPECT_THAT(of_start({}).remedy.text, HasSubstr("then replace it"));
  EXPECT_THAT(of_start({LogKind::kOpenModuleLoaded}).remedy.text, HasSubstr("then replace it"));
}

TEST(GpuStart, InAConfidentialGuestTheModeIsLookedAt) {
  for (const auto& beside :
       {std::vector{LogKind::kConfidentialGuest}, std::vector{LogKind::kGpuConfidential}}) {
    const Finding finding = of_start(beside);
    EXPECT_THAT(finding.remedy.text, HasSubstr("Do not replace the GPU"));
    EXPECT_THAT(finding.remedy.text, HasSubstr("ecdsa_generic"));
    EXPECT_THAT(finding.remedy.text, Not(HasSubstr("seat")));
  }
  EXPECT_THAT(of_start({LogKind::kConfidentialGuest}).message, HasSubstr("a confidential virtual machine"));
}

TEST(GpuStart, WhereItsBootProcessorRefusesTheModeComesBeforeTheCard) {
  const std::string remedy = of_start({LogKind::kGpuBootRefused}).remedy.text;
  EXPECT_THAT(remedy, HasSubstr("--query-cc-settings"));
  EXPECT_LT(remedy.find("--query-cc-settings"), remedy.find("replace it"));
}

}  // namespace
}  // namespace railbed
