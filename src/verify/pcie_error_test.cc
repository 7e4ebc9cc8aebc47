// What an uncorrected PCIe error asks for: no layer of it proves that the card is to be replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/verify.h"

namespace railbed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Finding of_pcie_error(const std::string& type, const char* gpu) {
  Facts facts;
  Gpu device;
  device.model = {std::string(gpu), "nvidia-smi"};
  facts.gpus.devices = {std::vector<Gpu>{device}, "nvidia-smi"};
  KernelLog log;
  log.begins = 1;
  log.ends = 2000;
  log.events = {{.kind = LogKind::kAerFatal,
                 .code = 0,
                 .subject = "0000:19:00.0",
                 .count = 1,
                 .first = 1000,
                 .last = 1000,
                 .text = "PCIe Bus Error: severity=Uncorrectable (Fatal), " + type}};
  facts.kernel_log = {std::move(log), "/dev/kmsg"};
  Evidence evidence;
  evidence.nodes.emplace("n1", facts);
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == "pcie.aer-uncorrected") return finding;
  ADD_FAILURE() << "the rule says nothing";
  return {};
}

TEST(PcieError, InTheTransactionLayerLeadsToWhatStandsBeforeIt) {
  const Finding finding = of_pcie_error("type=Transaction Layer, (Requester ID)", "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(finding.status, Status::kFail);
  EXPECT_THAT(finding.message, HasSubstr("in the transaction layer"));
  EXPECT_THAT(finding.remedy.text, AllOf(HasSubstr("stands before it"),
                                         HasSubstr("only if it follows the card"), Not(HasSubstr("eplace"))));
}

TEST(PcieError, OnTheLinkIsReseatedBeforeAnythingIsReplaced) {
  const Finding finding = of_pcie_error("type=Data Link Layer, (Receiver ID)", "NVIDIA H100 80GB HBM3");
  EXPECT_THAT(finding.message, HasSubstr("on the link"));
  EXPECT_THAT(finding.remedy.text,
              AllOf(HasSubstr("Reseat the card"), HasSubstr("what the error follows into another slot")));
  EXPECT_THAT(of_pcie_error("type=Physical Layer, (Receiver ID)", "NVIDIA A40").message,
              HasSubstr("on the link"));
}

TEST(PcieError, OfAnUnknownLayerStatesNone) {
  const Finding finding = of_pcie_error("type=Inaccessible, (Unregistered Agent ID)", "NVIDIA A40");
  EXPECT_THAT(finding.message, AllOf(Not(HasSubstr("layer")), Not(HasSubstr("on the link"))));
}

TEST(PcieError, OfABuiltInDeviceIsNotReseated) {
  const Finding finding = of_pcie_error("type=Physical Layer, (Receiver ID)", "NVIDIA GB10");
  EXPECT_THAT(finding.remedy.text, AllOf(HasSubstr("part of the board"), Not(HasSubstr("Reseat"))));
}

}  // namespace
}  // namespace railbed
