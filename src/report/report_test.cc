#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/picture/scene.h"
#include "report/samples.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

// Elements that HTML closes by itself.
bool is_void(const std::string& name) { return name == "meta" || name == "br"; }

// Returns the first element that is not closed, or closed out of turn; empty if all are balanced. Texts hold
// no "<", so every one starts a tag; style and script are left out.
std::string first_unbalanced(std::string_view page) {
  std::vector<std::string> open;
  for (auto at = page.find('<'); at != std::string_view::npos; at = page.find('<', at + 1)) {
    const auto end = page.find('>', at);
    std::string_view tag = page.substr(at + 1, end - at - 1);
    const bool is_closing = tag.starts_with('/');
    if (is_closing) tag.remove_prefix(1);
    const std::string name(tag.substr(0, tag.find_first_of(" /")));
    if (name == "!DOCTYPE" || is_void(name) || tag.ends_with('/')) continue;
    if (!is_closing) {
      open.push_back(name);
      if (name == "style" || name == "script") at = page.find("</" + name, at) - 1;
    } else {
      if (open.empty() || open.back() != name) return name;
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

bool has(const std::string& page, std::string_view text) { return page.find(text) != std::string::npos; }

TEST(ReportPage, IsBalancedWhateverItShows) {
  for (const auto& [name, report] : all_samples())
    EXPECT_EQ(first_unbalanced(render_html(report)), "") << name;
}

TEST(ReportPage, LoadsNothing) {
  for (const Report& report : {healthy_pair(), broken_pair(), fleet(40)}) {
    const std::string page = render_html(report);
    for (const char* loading :
         {"http:", "https:", "\"//", "src=", "@import", "<link", "<iframe", "url(http", "url(/", "url(\""})
      EXPECT_FALSE(has(page, loading)) << loading;
    EXPECT_TRUE(has(page, "default-src 'none'"));
  }
}

TEST(ReportPage, WhatNodesSayStaysText) {
  const std::string page = render_html(hostile());
  for (const char* live : {"<script>document", "<img", "<!--", "-->", "\033", "\x01", "\xff", "\xE2\x80\xAE"})
    EXPECT_FALSE(has(page, live)) << live;
  std::size_t scripts = 0;
  for (auto at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) ++scripts;
  EXPECT_EQ(scripts, 1U);
}

TEST(ReportPage, SaysTheVerdictFirst) {
  EXPECT_TRUE(has(render_html(healthy_pair()), "<h1>Everything that was checked is as it should be</h1>"));
  EXPECT_THAT(
      render_html(broken_pair()),
      HasSubstr(
          "<h1>gpu02: ens1np0 is down (administratively)</h1><p class=\"reason\">It explains 3 more findings. </p>"));
  EXPECT_THAT(render_html(infiniband_three()), HasSubstr("<h1>Nothing is broken; 1 warning</h1>"));
  EXPECT_TRUE(has(render_html(Report{}), "<h1>Nothing was checked</h1>"));
}

TEST(ReportPage, ShowsEachNumberBesideItsCeiling) {
  const std::string page = render_html(healthy_pair());
  EXPECT_TRUE(has(page, "96.4 Gb/s: 98 % of 98.0 Gb/s, limited by the wire at MTU 4096"));
  EXPECT_TRUE(has(page, "wire at MTU 4096 98.0 Gb/s (link speed less headers)"));
  EXPECT_TRUE(has(page, ">19.5 GiB<")) << "data compared";
  const std::string nominal = render_html(emulated_pair());
  EXPECT_TRUE(has(nominal, "ceiling nominal 10.0 Gb/s (virtual interface): shown, not judged"));
  EXPECT_FALSE(has(nominal, "% of its ceiling")) << "% of its ceiling";
}

TEST(ReportPage, FoldsConsequencesUnderTheirCause) {
  const std::string page = render_html(broken_pair());
  EXPECT_TRUE(has(page, "<summary>Explains 3 more findings</summary>"));
  EXPECT_FALSE(has(page, "<h3>gpu02: mlx5_1/1 is DOWN (Disabled)</h3>"))
      << "<h3>gpu02: mlx5_1/1 is DOWN (Disabled)</h3>";
  EXPECT_TRUE(has(page, "<pre><code>ip link set ens1np0 up</code></pre>"));
}

TEST(ReportPage, StaysSmall) {
  for (const auto& [name, report] : all_samples())
    EXPECT_LT(render_html(report).size(), report.cluster.nodes.size() <= 2 ? 300'000U : 1'000'000U) << name;
}

TEST(Scene, ABrokenPortBreaksItsRailAndNamesTheRootCause) {
  const Scene scene = scene_of(broken_pair());
  ASSERT_EQ(scene.nodes.size(), 2U);
  EXPECT_EQ(scene.nodes[1].ports[1].trouble.health, Health::kBad);
  EXPECT_EQ(scene.nodes[1].ports[0].trouble.health, Health::kGood);
  EXPECT_EQ(scene.nodes[0].ports[1].trouble.health, Health::kGood);
  EXPECT_EQ(scene.rails[0].trouble.health, Health::kGood);
  EXPECT_EQ(scene.rails[1].trouble.health, Health::kBad);
  EXPECT_EQ(scene.rails[1].trouble.text, "gpu02: ens1np0 is down (administratively)");
}

TEST(Scene, TakesSpeedsFromThePorts) {
  const Scene scene = scene_of(healthy_pair());
  EXPECT_EQ(scene.rails[0].speed, "100 Gb/s");
  EXPECT_EQ(scene.rails[0].mtu, "MTU 9000");
  EXPECT_EQ(scene.rails[0].measured, "RDMA 96.4 Gb/s · TCP 61.2 Gb/s");
  EXPECT_EQ(scene.nodes[0].ports[0].device, "mlx5_0/1");
  EXPECT_EQ(scene.nodes[0].ports[0].attach, "PCIe Gen4 x16");
  EXPECT_EQ(summarise(scene.nodes[0].gpus), "4 × V100-SXM2-16GB");
  EXPECT_EQ(scene.nodes[0].machine, "28 CPUs · 128 GiB · Intel Xeon E5-2690 v4");
}

TEST(Scene, AnUnreachableNodeIsGoneAndSaysWhy) {
  const Scene scene = scene_of(switched_eight());
  EXPECT_EQ(scene.nodes[5].trouble.health, Health::kUnreachable);
  EXPECT_THAT(scene.nodes[5].trouble.text, HasSubstr("No route to host"));
  EXPECT_EQ(scene.nodes[5].ports[0].trouble.health, Health::kUnreachable);
}

TEST(Scene, AFindingAboutARailMarksThePortsOfTheNodesItNames) {
  Report report = infiniband_three();
  Finding finding;
  finding.status = Status::kFail;
  finding.message = "two MTUs on one rail";
  finding.touches = {"rail:rail0", "node:r730c"};
  report.verdict.findings = {finding};
  const Scene scene = scene_of(report);
  EXPECT_EQ(scene.nodes[2].ports[0].trouble.text, "two MTUs on one rail");
  EXPECT_EQ(scene.nodes[1].ports[0].trouble.health, Health::kGood);
}

TEST(Scene, KnowsHowANodeIsManaged) {
  const Scene scene = scene_of(managed(2));
  EXPECT_EQ(scene.management, "10.2.0.0/22");
  EXPECT_EQ(scene.bmcs, "2 BMCs: 1 broken, 1 no answer");
  EXPECT_EQ(scene.nodes[0].management.address, "10.2.0.1");
  EXPECT_EQ(scene.nodes[0].management.bmc, "10.3.0.1");
  EXPECT_EQ(scene.nodes[0].management.state, "on · CPU1 Temp 97 C");
  EXPECT_EQ(scene.nodes[0].management.trouble.health, Health::kBad);
  EXPECT_EQ(scene.nodes[1].management.state, "no answer");
  EXPECT_EQ(scene_of(managed(64)).bmcs, "64 BMCs: 59 healthy, 1 broken, 4 no answer");
}

TEST(Scene, ABmcThatNobodyAskedIsNoTrouble) {
  Report report = managed(2);
  report.bmcs.clear();
  report.verdict.findings = {};
  report.cluster.nodes[0].ssh = "admin@10.9.9.9";
  const Scene scene = scene_of(report);
  EXPECT_EQ(scene.bmcs, "2 BMCs: 2 not asked");
  EXPECT_EQ(scene.nodes[0].management.address, "10.9.9.9") << "the address that ssh is told";
  EXPECT_EQ(scene.nodes[1].management.trouble.health, Health::kGood);
  EXPECT_THAT(render_html(report), HasSubstr("not asked"));
}

TEST(Scene, OfASwitchedOffNodeTheBmcSaysSo) {
  Report report = managed(2);
  report.bmcs.begin()->second.power = {PowerState::kOff, "Get Chassis Status"};
  report.verdict.findings = {};
  const Scene scene = scene_of(report);
  EXPECT_THAT(scene.nodes[0].management.state, testing::StartsWith("off"));
  EXPECT_EQ(scene.nodes[0].management.trouble.text, "the node is switched off");
}

TEST(ReportPage, DrawsTheManagementNetworkOnlyWhereItIsKnown) {
  EXPECT_FALSE(has(render_html(healthy_pair()), "management network"));
  const std::string pair = render_html(managed(2));
  EXPECT_TRUE(has(pair, "management network · 10.2.0.0/22 · 2 BMCs: 1 broken, 1 no answer"));
  EXPECT_TRUE(has(pair, "BMC 10.3.0.1"));
  EXPECT_TRUE(has(pair, "sensors of gpu01 are out of range")) << "findings of BMCs stand on the page";
  // In a large fleet only the nodes in trouble are drawn one by one.
  const std::string fleet = render_html(managed(64));
  EXPECT_TRUE(has(fleet, "64 BMCs: 59 healthy, 1 broken, 4 no answer"));
  EXPECT_FALSE(has(fleet, "BMC 10.3.0.3<"));
  EXPECT_TRUE(has(fleet, "BMC 10.3.0.2: no answer"));
}

TEST(Scene, WithoutAnInventoryShowsTheNodesThatWereLookedAt) {
  Report report = healthy_pair();
  report.cluster = {};
  const Scene scene = scene_of(report);
  ASSERT_EQ(scene.nodes.size(), 2U);
  EXPECT_EQ(scene.nodes[0].ports.size(), 2U);
  EXPECT_EQ(first_unbalanced(render_html(report)), "");
}

}  // namespace
}  // namespace railbed
