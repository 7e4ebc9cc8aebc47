#include "verify/parts_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/load.h"

namespace railbed {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two nodes on one InfiniBand rail; `parts` is at line 6 of the file.
std::vector<FitFinding> fit(const std::string& parts, const std::string& expect = "{subnet_manager: true}",
                            const std::string& rail = "fabric: infiniband") {
  const auto cluster = parse_cluster("railbed: 1\ncluster: lab\nexpect: " + expect +
                                         "\nnodes: [n1, n2]\nrails: [{name: ib, interface: ib0, " + rail +
                                         "}]\nparts:\n" + parts,
                                     "cluster.yaml");
  EXPECT_TRUE(cluster) << cluster.error().text;
  return cluster ? check_parts(*cluster) : std::vector<FitFinding>{};
}

auto says(FitSeverity severity, const std::string& text) {
  return Contains(
      AllOf(Field(&FitFinding::severity, severity), Field(&FitFinding::message, HasSubstr(text))));
}

TEST(PartsFit, ConnectedModeNeedsAnAdapterThatHasIt) {
  const auto of = [](const std::string& parts, int mtu) {
    return fit(parts, "{subnet_manager: true}", "fabric: infiniband, mtu: " + std::to_string(mtu));
  };
  const std::string datagrams = "  adapters: [{model: MCX455A-ECAT}]\n";
  EXPECT_THAT(of(datagrams, 65520),
              says(FitSeverity::kError,
                   "rail ib asks for MTU 65520, which needs IPoIB's connected mode. ConnectX-4 has "
                   "none: write mtu: 4092"));
  EXPECT_THAT(of(datagrams, 4092), Not(says(FitSeverity::kError, "MTU")));
  EXPECT_THAT(of("  adapters: [{model: ConnectX-3}]\n", 65520), Not(says(FitSeverity::kError, "MTU")));
  EXPECT_THAT(of("  cables: [{model: x, quantity: 2}]\n", 65520),
              says(FitSeverity::kWarning, "ConnectX-4 and later have none"));
}

TEST(PartsFit, TheGuidesListIsBoundByItsSwitch) {
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/examples/infiniband-trio.yaml");
  ASSERT_TRUE(cluster) << cluster.error().text;
  const auto found = check_parts(*cluster);
  EXPECT_THAT(found, says(FitSeverity::kWarning,
                          "MCX455A-ECAT can do 100 Gb/s; rail ib runs at 40 Gb/s (QDR, 32 Gb/s of data)"));
  EXPECT_THAT(found, Not(says(FitSeverity::kWarning, "subnet manager"))) << "two nodes run OpenSM";
  EXPECT_THAT(found, says(FitSeverity::kNote, "PCIe Gen3 x8"));
  EXPECT_THAT(found, Not(says(FitSeverity::kError, "")));
  for (const FitFinding& finding : found) {
    EXPECT_GT(finding.line, 26) << finding.message;
    EXPECT_NE(finding.source, "") << finding.message;
  }
}

TEST(PartsFit, WhatFitsIsNotTalkedAbout) {
  EXPECT_THAT(fit(R"(  switches: [{model: QM8700}]
  cables: [{model: MCP1650-H002, quantity: 2, length: 2 m}]
  servers: [{model: any, pcie: 4}]
  adapters: [{model: MCX653105A-HDAT}]
  gpus: [{model: NVIDIA T4, slot_watts: 75}]
)"),
              IsEmpty());
  EXPECT_THAT(fit("  adapters: [{model: something else}]\n  switches: [{model: unheard of}]\n"), IsEmpty());
}

TEST(PartsFit, SlowCableIsWhatBinds) {
  const auto found = fit(R"(  switches: [{model: SB7800}]
  cables:
    - {model: FS QSFP-PC02, quantity: 2}
  adapters: [{model: ConnectX-4}]
)",
                         "{subnet_manager: true}", "fabric: infiniband, speed: 100 Gb/s");
  EXPECT_THAT(found, says(FitSeverity::kWarning, "SB7800 can do 100 Gb/s; rail ib runs at 40 Gb/s"));
  EXPECT_THAT(found, says(FitSeverity::kError, "rail ib asks for 100 Gb/s; with FS QSFP-PC02 it runs at 40"));
  EXPECT_THAT(found, Contains(Field(&FitFinding::line, 9)));
}

TEST(PartsFit, PortsAndCablesAreCounted) {
  EXPECT_THAT(fit("  switches: [{model: x, ports: 1}]\n"),
              says(FitSeverity::kError, "1 port for the 2 ends"));
  EXPECT_THAT(fit("  switches: [{model: x, ports: 1}, {model: x, ports: 1}]\n"), IsEmpty());
  EXPECT_THAT(fit("  cables: [{model: x, quantity: 1}]\n"),
              says(FitSeverity::kError, "1 cable for the 2 ends"));
}

TEST(PartsFit, InfinibandSwitchCarriesNoEthernet) {
  EXPECT_THAT(fit("  switches: [{model: QM8700}]\n", "{}",
                  "fabric: roce, subnet: 10.0.0.0/24, first_address: 10.0.0.1"),
              says(FitSeverity::kError, "carries no Ethernet"));
  EXPECT_THAT(fit("  adapters: [{model: ConnectX-6 Dx}]\n"), says(FitSeverity::kError, "does no infiniband"));
}

TEST(PartsFit, SlotsThatLetTooLittlePass) {
  EXPECT_THAT(fit("  adapters: [{model: MCX653105A-HDAT, slot: x8, pcie: 3}]\n"),
              says(FitSeverity::kWarning, "wants PCIe Gen4 x16 and has PCIe Gen3 x8"));
  EXPECT_THAT(fit("  servers: [{model: R720, processor: Xeon E5-2697 v2}]\n"
                  "  adapters: [{model: MCX653105A-HDAT}]\n"),
              says(FitSeverity::kWarning, "has PCIe Gen3 x16"));
}

TEST(PartsFit, CopperAndPowerHaveLimits) {
  EXPECT_THAT(fit("  cables: [{model: x, quantity: 2, speed: 100 Gb/s, medium: passive, length: 7 m}]\n"),
              says(FitSeverity::kWarning, "5 m is the longest"));
  EXPECT_THAT(fit("  cables: [{model: x, quantity: 2, speed: 100 Gb/s, medium: optical, length: 30 m}]\n"),
              IsEmpty());
  EXPECT_THAT(fit("  gpus: [{model: Tesla K20, slot_watts: 75}]\n"),
              says(FitSeverity::kError, "takes 225 W"));
}

TEST(PartsFit, SystemsThatDoNotRunThere) {
  EXPECT_THAT(fit("  servers: [{model: R720, processor: Xeon E5-2697 v2}]\n", "{os: rhel 10.1}"),
              says(FitSeverity::kError, "asks for x86-64-v3, and Xeon E5-2697 v2 is Ivy Bridge"));
  EXPECT_THAT(fit("  adapters: [{model: MCX354A-FCBT}]\n", "{os: rhel 10}"),
              says(FitSeverity::kError, "no longer drives ConnectX-3"));
  EXPECT_THAT(fit("  gpus: [{model: Tesla P4, quantity: 2}]\n", "{gpus: 1, gpu_model: T4}"),
              AllOf(says(FitSeverity::kWarning, "gpu_model: T4, and this is Tesla P4"),
                    says(FitSeverity::kWarning, "n1 has 2 of these parts")));
}

std::vector<FitFinding> sharing(const std::string& configure, const std::string& expect = "{}") {
  const auto cluster = parse_cluster(
      "railbed: 1\ncluster: lab\nexpect: " + expect + "\nconfigure: " + configure + "\nnodes: [n1, n2]\n",
      "cluster.yaml");
  EXPECT_TRUE(cluster) << cluster.error().text;
  return cluster ? check_sharing(*cluster) : std::vector<FitFinding>{};
}

TEST(SharingFit, RefusesWhatCannotBe) {
  const auto error = [](const std::string& text) { return says(FitSeverity::kError, text); };
  const std::string cut = ", mig: [{instances: {3g.40gb: 2}}]}";
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps}" + cut),
              error("n[1-2]: each MIG instance needs an MPS daemon"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps, replicas: 4}" + cut), error("no MIG instances by MPS"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps}}", "{mig: true}"), error("each MIG instance"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: time-slices, replicas: 4}}", "{mig: true}"),
              error("not known"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps, replicas: 49}}"),
              error("48 replicas of a GPU by MPS at most"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps, replicas: 17}}", "{gpu_model: V100 PCIe}"),
              error("16 replicas"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps, active_threads: 50}}", "{gpu_model: P4}"),
              error("begin with Volta"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps, pinned_memory: 20 GiB}}", "{gpu_model: T4}"),
              error("T4 has 16 GB"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps}}", "{gpu_model: K10}"), error("3.5"));
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps}}", "{gpus: 0}"), error("expect.gpus is 0"));
}

TEST(SharingFit, AcceptsWhatCan) {
  EXPECT_THAT(sharing("{}"), IsEmpty());
  EXPECT_THAT(sharing("{gpu_sharing: {method: none}, mig: [{instances: {3g.40gb: 2}}]}"), IsEmpty());
  EXPECT_THAT(
      sharing("{gpu_sharing: {method: time-slices, replicas: 100}, mig: [{instances: {3g.40gb: 2}}]}"),
      IsEmpty());
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps, replicas: 48}}", "{gpu_model: T4}"), IsEmpty());
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps, replicas: 17}}"), IsEmpty()) << "nobody names the GPU";
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps}}", "{gpu_model: K20}"), IsEmpty());
  EXPECT_THAT(sharing("{gpu_sharing: {method: mps, active_threads: 50, pinned_memory: 16 GiB}}",
                      "{gpu_model: V100S}"),
              IsEmpty());
}

}  // namespace
}  // namespace railbed
