#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/page/page_pictures.h"
#include "report/samples.h"
#include "report/text/run_text.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

// Returns the run with this number; fails the test if there is none.
BenchRun run_with(const Report& report, std::int64_t id) {
  for (const BenchRun& run : report.runs)
    if (run.id == id) return run;
  ADD_FAILURE() << "no run " << id;
  return {};
}

TEST(RunsPage, GivesEachRunASectionWithWhatWasAskedFor) {
  const std::string page = render_html(measured_pair());
  EXPECT_THAT(page, HasSubstr(R"(<h2 id="run-1">Run 11: after the move</h2>)"));
  EXPECT_THAT(page, HasSubstr("<code>railbed bench gpu dgx01</code>"));
  EXPECT_THAT(page, HasSubstr("<div><dt>traffic-class</dt><dd>104</dd></div>"));
}

TEST(RunsPage, WithoutNodesSaysSoAndDrawsNoCluster) {
  const std::string page = render_html(runs_only());
  EXPECT_THAT(page, HasSubstr("<h1>4 runs measured, and no node was looked at</h1>"));
  EXPECT_THAT(page, Not(HasSubstr("id=\"cluster\"")));
  EXPECT_THAT(page, HasSubstr(R"(<header class="unjudged">)"));
}

TEST(Pictures, ALadderMarksTheRungThatLosesAndNamesTheLikelyCause) {
  const std::string picture = draw_ladder(run_with(measured_pair(), 11).ladders.front()).markup;
  EXPECT_THAT(picture, HasSubstr("RDMA, GPU memory loses most, 51 % of the wire is left."));
  EXPECT_THAT(picture, HasSubstr(R"(RDMA, GPU memory <span class="bad">✕ loses most</span>)"));
  EXPECT_THAT(picture, HasSubstr("likely: ACS sends"));
  EXPECT_THAT(picture, HasSubstr("ceiling: wire at MTU 4096, 392 Gb/s: 400 Gb/s of the port less headers"));
}

TEST(Pictures, ACollectiveShowsItsCeilingAndWhereDataWasWrong) {
  const auto collectives = run_with(measured_pair(), 13).collectives;
  const std::string right = draw_collective(collectives[0]).markup;
  EXPECT_THAT(right, HasSubstr(">ceiling 392 GB/s</i>"));
  EXPECT_THAT(right, HasSubstr("92 % of 392 GB/s, limited by 8 rails of 400 Gb/s"));
  EXPECT_THAT(right, Not(HasSubstr("class=\"point bad\"")));
  const std::string wrong = draw_collective(collectives[1]).markup;
  EXPECT_THAT(wrong, HasSubstr("✕ The data was wrong at 1 of 24 sizes."));
  EXPECT_THAT(wrong, HasSubstr("class=\"point bad\""));
  EXPECT_THAT(wrong, HasSubstr("4096 elements wrong"));
}

// A burn-in of two GPUs, of which the second gave a wrong result after 30 of 40 seconds.
BurnReport burned() {
  BurnReport burn;
  BurnNode& node = burn.nodes.emplace_back();
  node.node = "gpu01";
  for (int i = 0; i < 2; ++i) {
    BurnGpu& gpu = node.gpus.emplace_back();
    gpu.ordinal = i;
    gpu.began = gpu.ended = true;
    gpu.watts_max = 700;
    gpu.course = {10, {0, 700, 350, 700}, {1200, 1980, 1980, 1800}, {40, 60, 62, 63}};
  }
  node.gpus[1].faults.push_back({.at = 30});
  burn.findings.push_back({.status = BurnStatus::kFailure,
                           .node = "gpu01",
                           .gpu = 1,
                           .what = "wrong-result",
                           .message = "GPU 1 of <gpu01> gave wrong results",
                           .remedy = "Take it out"});
  return burn;
}

TEST(Pictures, ABurnInShowsTheCourseOfEachGpuTheWrongOneFirst) {
  const std::string picture = draw_burn(burned()).markup;
  EXPECT_THAT(
      picture,
      HasSubstr(R"(<li class="bad">GPU 1 of &lt;gpu01&gt; gave wrong results. Next: Take it out</li>)"));
  EXPECT_LT(picture.find("gpu01 GPU 1"), picture.find("gpu01 GPU 0"));
  EXPECT_THAT(picture, HasSubstr(R"(points="0.00,23.00 33.33,1.00 66.67,12.00 100.00,1.00 ")"));
  EXPECT_THAT(picture, HasSubstr(R"(<path d="M75.00 0V24"/>)"));
  EXPECT_THAT(picture, HasSubstr("up to 1980 MHz"));
}

TEST(RunsPage, DoesNotCallABurnInWithAFailureSound) {
  Report report = runs_only();
  Finding finding;
  finding.rule = "measured.data";
  finding.status = Status::kNotApplicable;
  report.verdict.findings = {finding};
  EXPECT_THAT(render_html(report), HasSubstr("Nothing could be checked here."));
  report.runs.front().burns.push_back(burned());
  EXPECT_THAT(render_html(report), HasSubstr("✕ 1 failure of a burn-in, below"));
}

TEST(Pictures, ABurnInWithoutACourseIsText) {
  BurnReport burn = burned();
  for (BurnGpu& gpu : burn.nodes[0].gpus) gpu.course = {};
  const std::string picture = draw_burn(burn).markup;
  EXPECT_THAT(picture, Not(HasSubstr("<svg")));
  EXPECT_THAT(picture, HasSubstr("<pre>burn-in of 2 GPUs"));
  EXPECT_THAT(picture, HasSubstr("1 failure\n")) << "each line of the text is one on the page";
}

TEST(Pictures, GpuCopiesStandBesideAMatrixOfPeers) {
  const std::string picture = draw_gpu_copies(run_with(measured_pair(), 12).measurements).markup;
  EXPECT_THAT(picture, HasSubstr(R"(<th scope="row">host → GPU5</th>)"));
  EXPECT_THAT(picture, HasSubstr("GPU0 → GPU3: 196.0 GB/s, 44 % of 18 links of NVLink 4"));
  EXPECT_THAT(picture, HasSubstr("50 % of the fastest pair")) << "both ways have no ceiling";
}

TEST(Pictures, PairsAreNumbersOfFewNodesAndASquareOfMany) {
  const auto pairs = run_with(runs_only(), 21).pairs;
  const std::string few = draw_pairs(pairs[0]).markup;
  EXPECT_THAT(few, HasSubstr("✕ gpu003 sends and receives at 25 % of what the others reach, alone too."));
  EXPECT_THAT(few, HasSubstr("<table class=\"heat\">"));
  const std::string many = draw_pairs(pairs[1]).markup;
  EXPECT_THAT(many, HasSubstr("<svg class=\"square\" viewBox=\"0 0 300 300\""));
  EXPECT_THAT(many, HasSubstr("<title>gpu078 → "));
}

TEST(Pictures, StorageHasABarAWorkload) {
  const std::string picture = draw_storage(run_with(runs_only(), 22).storage.front()).markup;
  EXPECT_THAT(picture, HasSubstr("sequential read, 1 MiB × 16"));
  EXPECT_THAT(picture, HasSubstr("the PCIe link"));
  EXPECT_THAT(picture, HasSubstr("xfs on nvme0n1, nvme1n1"));
}

TEST(Pictures, AStepIsOneBarOfThreeParts) {
  const std::string picture = draw_train(run_with(runs_only(), 0).trains.front()).markup;
  EXPECT_THAT(picture, HasSubstr("80.3 % of perfect scaling."));
  EXPECT_THAT(picture, HasSubstr("computing, exchange hidden: 121 ms, 29 % of the step"));
  EXPECT_THAT(picture, HasSubstr("exchange exposed: 81.0 ms, 20 % of the step"));
  EXPECT_THAT(picture, HasSubstr("301 Gb/s from each rank would hide the exchange"));
}

TEST(Pictures, OfNothingAreNothingOrAName) {
  EXPECT_TRUE(draw_gpu_copies({}).empty());
  EXPECT_TRUE(draw_others({}).empty());
  for (const Html& html :
       {draw_ladder({}), draw_collective({}), draw_pairs({}), draw_storage({}), draw_train({})})
    EXPECT_THAT(html.markup, HasSubstr("<article"));
}

TEST(RunText, ShowsAllThatARunHolds) {
  const std::string text = run_text(run_with(measured_pair(), 11));
  EXPECT_THAT(text, HasSubstr("  asked: traffic-class 104\n"));
  EXPECT_THAT(text, HasSubstr("RDMA, GPU memory loses most"));
  EXPECT_THAT(run_text(run_with(measured_pair(), 13)), HasSubstr("best busbw"));
  EXPECT_EQ(
      run_line(run_with(runs_only(), 0)),
      "railbed bench train cluster.yaml, 2026-05-04T10:00:00Z, bench train cluster.yaml: 0 measurements\n");
}

}  // namespace
}  // namespace railbed
