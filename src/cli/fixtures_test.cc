// The proof behind the rule table: every rule has a machine on which it, and no unrelated rule, turns red;
// and on sound machines none does. findings.txt beside each machine is the golden; UPDATE_GOLDEN=1 rewrites
// it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cli/testing/machines.h"
#include "hardware/pci_link.h"
#include "report/findings.h"
#include "verify/rule.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

const Verdict& judge(std::string_view machine) { return machine_of(machine).verdict; }

// The rule itself and all that it can explain, directly or through others.
std::set<std::string_view> reach(std::string_view id) {
  std::set<std::string_view> found = {id};
  for (bool grew = true; grew;) {
    grew = false;
    for (const Rule& rule : all_rules())
      if (std::ranges::any_of(rule.explained_by,
                              [&](std::string_view cause) { return found.contains(cause); }))
        grew = found.insert(rule.id).second || grew;
  }
  return found;
}

std::string as_text(const Verdict& verdict) {
  std::string text;
  for (const Finding& finding : verdict.findings) {
    if (finding.status == Status::kPass || finding.status == Status::kNotApplicable) continue;
    const auto status = enum_names(Status{})[static_cast<std::size_t>(finding.status)];
    text += fmt::format("{}{} {} {} {}: {}\n", finding.caused_by ? "  caused: " : "", status, finding.rule,
                        finding.node.empty() ? "-" : finding.node, finding.subject, finding.message);
  }
  return text;
}

class RuleFixture : public testing::TestWithParam<const Rule*> {};

TEST_P(RuleFixture, TurnsThisRuleRedAndNoUnrelatedOne) {
  const Rule& rule = *GetParam();
  ASSERT_FALSE(rule.fixture.empty());
  ASSERT_TRUE(fs::exists(kMachines / rule.fixture)) << "no folder " << rule.fixture;
  const Verdict& verdict = judge(rule.fixture);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings.front().rule, rule.id) << "the first line must be the true cause:\n"
                                                    << as_text(verdict);
  const auto related = reach(rule.id);
  bool red = false;
  for (const Finding& finding : verdict.findings) {
    EXPECT_NE(finding.status, Status::kUnknown) << finding.rule << ": " << finding.message;
    if (!is_red(finding)) continue;
    red = red || finding.rule == rule.id;
    EXPECT_TRUE(related.contains(finding.rule)) << finding.rule << " is red, too: " << finding.message;
    EXPECT_TRUE(finding.rule == rule.id || finding.caused_by)
        << finding.rule << " is not folded under its cause";
    EXPECT_FALSE(finding.remedy.text.empty()) << finding.rule;
    EXPECT_FALSE(finding.observed.empty()) << finding.rule;
  }
  EXPECT_TRUE(red);
}

std::vector<const Rule*> rule_pointers() {
  std::vector<const Rule*> rules;
  for (const Rule& rule : all_rules()) rules.push_back(&rule);
  return rules;
}

INSTANTIATE_TEST_SUITE_P(AllRules, RuleFixture, testing::ValuesIn(rule_pointers()), [](const auto& info) {
  std::string name(info.param->id);
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
});

class SoundMachine : public testing::TestWithParam<const char*> {};

TEST_P(SoundMachine, RaisesNoAlarm) {
  const Verdict& verdict = judge(GetParam());
  EXPECT_EQ(as_text(verdict), "");
  EXPECT_EQ(verdict.exit_code(), 0);
  const auto passed = std::ranges::count(verdict.findings, Status::kPass, &Finding::status);
  EXPECT_GT(passed, 50) << "a healthy machine is one that was looked at";
}

INSTANTIATE_TEST_SUITE_P(Composed, SoundMachine,
                         testing::Values("v100-cx3pro", "v100-console-sound", "spark-cx7", "spark-two-rails",
                                         "r730-cx4", "h100-cx7", "measured-healthy", "measured-sound-v100",
                                         "measured-sound-virtual", "measured-sound-spark",
                                         "measured-sound-h100", "spark-measured", "h100-container-sound",
                                         "h100-toolkit-sound", "h100-sound-two-to-one", "h100-job-works",
                                         "h100-optics-sound", "pcie-gen4-below-gen5-switch"));
// Captured. These are virtual machines without clock synchronization; h200-sound is h200x4 with a
// synchronized clock.
INSTANTIATE_TEST_SUITE_P(Captured, SoundMachine,
                         testing::Values("lab-vm1", "lab-vm2", "mixed-pair", "h200-sound"));

// A device that the code does not expect, beside one that is read as ever.
class OddDevice : public testing::TestWithParam<const char*> {};

TEST_P(OddDevice, CostsNoOtherItsFindings) {
  const Verdict& odd = judge(GetParam());
  EXPECT_EQ(as_text(odd), "");
  for (const Finding& finding : judge("r730-cx4").findings) {
    const auto same = [&](const Finding& other) {
      return other.rule == finding.rule && other.node == finding.node && other.subject == finding.subject;
    };
    const auto found = std::ranges::find_if(odd.findings, same);
    ASSERT_NE(found, odd.findings.end()) << finding.rule << " says nothing of " << finding.subject;
    EXPECT_EQ(found->status, finding.status)
        << finding.rule << " " << finding.subject << ": " << found->message;
  }
}

INSTANTIATE_TEST_SUITE_P(Composed, OddDevice,
                         testing::Values("odd-irdma", "odd-bnxt", "odd-bnxt-einval", "odd-mlx4-vf",
                                         "odd-hfi1", "odd-restricted", "odd-no-counters"),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Machines, SayWhatTheirGoldenSays) {
  const char* update = std::getenv("UPDATE_GOLDEN");
  for (const fs::path& folder : machine_folders()) {
    const std::string now = as_text(judge(folder.filename().string()));
    if (update != nullptr && std::string_view(update) == "1") {
      std::ofstream(folder / "findings.txt") << now;
      continue;
    }
    std::ifstream file(folder / "findings.txt");
    EXPECT_TRUE(file.is_open()) << folder << " has no findings.txt: UPDATE_GOLDEN=1";
    std::ostringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(now, golden.str()) << folder;
  }
}

TEST(Machines, AreJudgedAlikeWhereSoundFindingsOnlyCount) {
  const Machine& machine = machine_of("h100-cable-unplugged");
  const Verdict short_one = verify(machine.evidence, Keep::kUnsound);
  const StatusCounts counts = machine.verdict.findings.counts();
  EXPECT_EQ(short_one.findings.size(), counts.fail + counts.warn + counts.unknown);
  EXPECT_EQ(short_one.findings.counts().pass, counts.pass);
  EXPECT_EQ(short_one.findings.counts().not_applicable, counts.not_applicable);
  EXPECT_EQ(render_text(short_one, {}), render_text(machine.verdict, {}));
}

TEST(Machines, AreToldWhatTheNextBootKeeps) {
  const auto status = [](const char* machine, std::string_view node, std::string_view interface) {
    for (const Finding& finding : judge(machine).findings)
      if (finding.rule == "net.kept-at-boot" && finding.node == node && finding.subject == interface)
        return finding.status;
    ADD_FAILURE() << machine << " " << node;
    return Status::kUnknown;
  };
  EXPECT_EQ(status("spark-rails-in-run", "spark-01", "enP2p1s0f0np0"), Status::kWarn);
  EXPECT_EQ(status("spark-rails-in-run", "spark-02", "enP2p1s0f0np0"), Status::kPass);
  EXPECT_EQ(status("spark-mtu-by-hand", "spark-01", "enP2p1s0f0np0"), Status::kWarn);
  EXPECT_EQ(status("spark-mtu-by-hand", "spark-02", "enP2p1s0f0np0"), Status::kPass);
  EXPECT_EQ(status("r730-address-by-hand", "r730-a", "ib0"), Status::kPass);
  EXPECT_EQ(status("r730-address-by-hand", "r730-b", "ib0"), Status::kWarn);
  EXPECT_EQ(status("r730-address-by-hand", "r730-c", "ib0"), Status::kNotApplicable);   // not root
  EXPECT_EQ(status("spark-cx7", "spark-01", "enP2p1s0f0np0"), Status::kNotApplicable);  // not recorded
}

// All red findings on the links of one device have one root, and a limit that a slot sets is no fault of the card.
TEST(Machines, HaveOneFindingForEachLink) {
  constexpr std::string_view kOfLinks[] = {
      "pcie.adapter-link", "pcie.gpu-link", "pcie.slot-limits-adapter", "gpu.pcie-width",
      "gpu.pcie-slot",     "gpu.load-pcie", "storage.nvme-link",        "pcie.bandwidth-limited"};
  std::size_t links = 0;
  for (const fs::path& folder : machine_folders()) {
    const Machine& machine = machine_of(folder.filename().string());
    std::map<std::pair<std::string, std::string>, std::string> roots;
    for (const Finding& finding : machine.verdict.findings) {
      if (!is_red(finding) || std::ranges::find(kOfLinks, finding.rule) == std::end(kOfLinks)) continue;
      ++links;
      if (!finding.caused_by) {
        const auto [first, fresh] = roots.try_emplace({finding.node, finding.subject}, finding.rule);
        EXPECT_TRUE(fresh) << folder << " " << finding.subject << ": " << first->second << " and "
                           << finding.rule;
      }
      const auto& pci = items(machine.evidence.nodes.at(finding.node).pci);
      const PciDevice* device = find_pci(pci, finding.subject);
      const auto above = device == nullptr ? std::vector<RealLink>() : links_above(pci, *device);
      const bool lost = std::ranges::find(above, PcieState::kLost, &RealLink::state) != above.end();
      const bool held = !above.empty() && above.front().state == PcieState::kHeld;
      if (held && !lost) {
        EXPECT_EQ(finding.status, Status::kWarn) << folder << ": " << finding.message;
        EXPECT_EQ(finding.remedy.text.find("eseat"), std::string::npos)
            << folder << ": " << finding.remedy.text;
      }
    }
  }
  EXPECT_GE(links, 12U);
}

// Chains that a measurement must be folded under: the first line is the root, the failure is a consequence.
TEST(Machines, AFailedMeasurementIsFoldedUnderItsRoot) {
  for (const auto& [fixture, root] : {std::pair{"measured-failed-module", "rdma.adapter-modules"},
                                      std::pair{"measured-failed-interface", "net.admin-up"}}) {
    const Verdict& verdict = judge(fixture);
    EXPECT_EQ(verdict.findings.front().rule, root) << as_text(verdict);
    const auto failed = std::ranges::find(verdict.findings, "measured.failed", &Finding::rule);
    ASSERT_NE(failed, verdict.findings.end());
    ASSERT_TRUE(failed->caused_by) << as_text(verdict);
    EXPECT_EQ(verdict.findings[*failed->caused_by].rule, root);
    EXPECT_EQ(verdict.exit_code(), 2);
  }
}

const Finding* find_red(std::string_view machine, std::string_view rule) {
  const Verdict& verdict = judge(machine);
  const auto found = std::ranges::find_if(
      verdict.findings, [&](const Finding& finding) { return finding.rule == rule && is_red(finding); });
  return found == verdict.findings.end() ? nullptr : &*found;
}

// nvidia-peermem cannot be loaded beside an RDMA core of RHEL 10 or Ubuntu 6.8: what is told must be
// feasible.
TEST(Machines, GpuDirectRemediesFitTheMachine) {
  for (const char* machine : {"r730-module-closed", "h100-gpudirect-none"}) {
    const Finding* const route = find_red(machine, "gpu.gpudirect-route");
    ASSERT_NE(route, nullptr) << machine;
    EXPECT_EQ(route->remedy.commands, std::vector<ShellCommand>{"modinfo -F license nvidia"}) << machine;
  }
  const Finding* const path = find_red("r730-gdr-undecided", "gpu.gpudirect-path");
  ASSERT_NE(path, nullptr);
  EXPECT_NE(path->remedy.text.find("NCCL_NET_GDR_LEVEL=PHB"), std::string::npos);
  const Finding* const level = find_red("spark-gdr-integer", "nccl.gdr-level");
  ASSERT_NE(level, nullptr);
  EXPECT_EQ(level->remedy.text.find("SYS"), std::string::npos) << level->remedy.text;
}

// The adapter's driver is missing: that is the root, and nothing of GPUDirect is red beside it.
TEST(Machines, AMissingAdapterDriverIsNoFaultOfGpuDirect) {
  for (const char* machine : {"r730-mlx5-missing", "h100-mlx5-ib-missing"}) {
    EXPECT_EQ(judge(machine).findings.front().rule, "rdma.adapter-modules") << machine;
    for (const Finding& finding : judge(machine).findings)
      EXPECT_FALSE(is_red(finding) && finding.rule.starts_with("gpu.gpudirect"))
          << machine << ": " << finding.message;
  }
}

}  // namespace
}  // namespace railbed
