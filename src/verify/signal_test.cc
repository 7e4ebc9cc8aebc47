// Bit error ratios of a port before and after correction, and what speaks against a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/verify.h"

namespace railbed {
namespace {

using testing::HasSubstr;

Finding judged(const SignalAnswer& signal, std::string_view rule = "rdma.bit-errors") {
  Evidence evidence;
  evidence.nodes["gpu01"].rdma.signals = {{signal}, "signals"};
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == rule) return finding;
  ADD_FAILURE() << "no finding of " << rule;
  return {};
}

SignalAnswer port_with_link() {
  SignalAnswer signal;
  signal.device = "mlx5_0";
  signal.up = true;
  return signal;
}

SignalAnswer ndr(double symbol_ber, std::uint64_t errors) {
  SignalAnswer signal = port_with_link();
  signal.speed = "IB-NDR";
  signal.fec = "Standard LL RS-FEC - RS(271,257)";
  signal.minutes = 1440;
  signal.raw_ber = 1e-9;
  signal.effective_ber = 1e-12;
  signal.effective_errors = 40'000;
  signal.symbol_ber = symbol_ber;
  signal.symbol_errors = errors;
  signal.link_downs = 0;
  return signal;
}

SignalAnswer ethernet(double raw, std::optional<double> effective) {
  SignalAnswer signal = port_with_link();
  signal.speed = "400G";
  signal.fec = "Standard RS-FEC - RS(544,514)";
  signal.raw_ber = raw;
  signal.effective_ber = effective;
  return signal;
}

TEST(PortBitErrors, OfInfiniBandAreTheSymbolsThatRetransmissionLeft) {
  const Finding sound = judged(ndr(0, 0));
  EXPECT_EQ(sound.status, Status::kPass);
  EXPECT_THAT(sound.observed, HasSubstr("1e-09 before correction, 0e+00 after"));
  EXPECT_EQ(judged(ndr(5e-14, 3)).status, Status::kPass) << "three errors are no rate";
  EXPECT_EQ(judged(ndr(5e-14, 300)).status, Status::kWarn);
  EXPECT_EQ(judged(ndr(5e-12, 30'000)).status, Status::kFail);
}

TEST(PortBitErrors, ALinkThatWentDownMayHaveLeftThem) {
  SignalAnswer signal = ndr(5e-12, 30'000);
  signal.link_downs = 2;
  const Finding found = judged(signal);
  EXPECT_EQ(found.status, Status::kWarn);
  EXPECT_THAT(found.message, HasSubstr("its link went down 2 times meanwhile"));
}

TEST(PortBitErrors, BeforeCorrectionAreJudgedByWhatItIsMadeFor) {
  EXPECT_EQ(judged(ethernet(1e-5, 0.0)).status, Status::kPass);
  EXPECT_EQ(judged(ethernet(3e-4, std::nullopt)).status, Status::kFail);
  const Finding mended = judged(ethernet(3e-4, 0.0));
  EXPECT_EQ(mended.status, Status::kWarn);
  EXPECT_THAT(mended.message, HasSubstr("though what it could not mend is within the limit so far"));
  SignalAnswer older = ethernet(6e-5, 0.0);
  older.fec = "Standard RS-FEC - RS(528,514)";
  EXPECT_EQ(judged(older).status, Status::kWarn);
  older.fec = "Firecode FEC";
  older.effective_ber.reset();
  EXPECT_EQ(judged(older).status, Status::kNotApplicable);
}

TEST(PortBitErrors, WithoutALinkOrARatioNothingIsJudged) {
  SignalAnswer down = ethernet(1e-3, 1e-3);
  down.up = false;
  EXPECT_EQ(judged(down).status, Status::kNotApplicable);
  EXPECT_EQ(judged(port_with_link()).status, Status::kNotApplicable);
}

TEST(PortBitErrors, TheLaneThatHasMostOfThemIsNamed) {
  SignalAnswer signal = ethernet(3e-4, 1e-9);
  signal.effective_errors = 1'000;
  signal.raw_errors = {10, 20, 990'000, 30};
  EXPECT_THAT(judged(signal).message, HasSubstr("; lane 2 has 100 % of the wrong bits"));
  signal.raw_errors = {500, 400, 600, 500};
  EXPECT_THAT(judged(signal).message, testing::Not(HasSubstr("lane")));
}

TEST(PortModule, IsJudgedByItsOwnLimits) {
  SignalAnswer signal = port_with_link();
  EXPECT_EQ(judged(signal, "rdma.module").status, Status::kNotApplicable);
  signal.module = {{"Temperature", "C", {54}, -5, 75},
                   {"Rx Power Current", "dBm", {1.9, -40, 2.2, 1.9}, -10.4, 6}};
  signal.module.push_back({"Bias Current", "mA", {8.4, 0, 8.4, 8.4}, 2, 15});
  EXPECT_EQ(judged(signal, "rdma.module").status, Status::kPass) << "a dark lane is another port's";
  signal.module.pop_back();
  signal.module[0].values = {81};
  signal.module[1].values = {1.9, 2.0, -12.1, 1.9};
  const Finding found = judged(signal, "rdma.module");
  EXPECT_EQ(found.status, Status::kWarn);
  EXPECT_EQ(found.observed,
            "Temperature 81 C, outside -5 to 75; Rx Power Current of lane 2 -12.1 dBm, outside -10.4 to 6");
  signal.up = false;
  EXPECT_EQ(judged(signal, "rdma.module").status, Status::kNotApplicable) << "nothing sends light there";
}

TEST(LinkTrouble, OfAPortIsTheFirmwaresWord) {
  SignalAnswer port = port_with_link();
  EXPECT_EQ(judged(port, "rdma.link-trouble").status, Status::kNotApplicable) << "not stated";
  port.trouble = "";
  EXPECT_EQ(judged(port, "rdma.link-trouble").status, Status::kPass);
  port.trouble = "Bad signal integrity";
  EXPECT_EQ(judged(port, "rdma.link-trouble").status, Status::kWarn);
  port.up = false;
  port.trouble = "Cable is unplugged";
  EXPECT_EQ(judged(port, "rdma.link-trouble").status, Status::kWarn) << "no rails are known: it may be meant";
}

}  // namespace
}  // namespace railbed
