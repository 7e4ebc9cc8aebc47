#include "predict/forecast_range.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "facts/facts.h"
#include "inventory/load.h"
#include "predict/open_questions.h"
#include "predict/shape_from_nodes.h"
#include "results/collective.h"

namespace railbed {
namespace {

constexpr std::uint64_t kGuideBytes = 128 << 20;
constexpr std::uint64_t kPeakBytes = std::uint64_t{4} << 30;

double gbytes(double bits) { return bits / 8e9; }

Cluster parsed_cluster(const std::string& text) {
  const auto cluster = parse_cluster(text, "cluster.yaml");
  EXPECT_TRUE(cluster) << cluster.error().text;
  return cluster ? *cluster : Cluster{};
}
Cluster example_cluster(const std::string& name) {
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/examples/" + name);
  EXPECT_TRUE(cluster) << cluster.error().text;
  return cluster ? *cluster : Cluster{};
}
ClusterShape shape_by_file(const Cluster& cluster, const ShapeWords& words = {}) {
  const auto shape = shape_from_nodes(cluster, {}, words);
  EXPECT_TRUE(shape) << shape.error().text;
  return shape ? *shape : ClusterShape{};
}
ClusterPart bought(PartKind kind, const std::string& model) {
  ClusterPart one;
  one.kind = kind;
  one.model = model;
  return one;
}
ForecastRange range_of(const ClusterShape& shape, std::uint64_t bytes = kPeakBytes,
                       Collective operation = Collective::kAllReduce) {
  return forecast_range(shape, operation, bytes);
}
std::set<std::string> asked_in(const ForecastRange& range) {
  std::set<std::string> names;
  for (const QuestionRange& question : range.questions) names.insert(question.what);
  return names;
}
bool notes_hold(const ClusterShape& shape, std::string_view piece) {
  return std::ranges::any_of(shape.notes,
                             [&](const std::string& note) { return note.find(piece) != note.npos; });
}

// --- the guides' own clusters, from their example files alone ---

TEST(ForecastRange, TheV100PairOfTheGuideIsBetweenItsEnds) {
  const ForecastRange range = range_of(shape_by_file(example_cluster("v100-pair.yaml")), kGuideBytes);
  EXPECT_LT(gbytes(range.low), 2.0);
  EXPECT_GT(gbytes(range.high), 2.0);
  EXPECT_GT(range.high / range.low, 4) << "V100 on a board with NVLink and GPUDirect is possible, too";
  EXPECT_EQ(range.decides, "GPUDirect RDMA");
  EXPECT_LT(range.time_low, range.time_high);
}

TEST(ForecastRange, PartsNarrowTheV100Pair) {
  Cluster cluster = example_cluster("v100-pair.yaml");
  const ForecastRange open = range_of(shape_by_file(cluster), kGuideBytes);
  cluster.parts = {bought(PartKind::kGpu, "V100 PCIe")};
  const ForecastRange with_gpu = range_of(shape_by_file(cluster), kGuideBytes);
  EXPECT_FALSE(asked_in(with_gpu).contains("GPUs"));
  EXPECT_TRUE(asked_in(with_gpu).contains("GPUDirect RDMA"));
  cluster.parts.push_back(bought(PartKind::kAdapter, "ConnectX-3 Pro"));
  const ClusterShape known = shape_by_file(cluster);
  EXPECT_FALSE(known.gpudirect);
  EXPECT_EQ(known.ports_of_card, 2) << "one card for both rails";
  EXPECT_EQ(known.link, GpuLink::kPcie);
  EXPECT_TRUE(known.open.empty());
  const ForecastRange range = range_of(known, kGuideBytes);
  EXPECT_LT(gbytes(range.low), 2.0);
  EXPECT_GT(gbytes(range.high), 2.0);
  EXPECT_TRUE(range.questions.empty());
  EXPECT_LT(std::log(range.high / range.low), .5 * std::log(open.high / open.low));
}

TEST(ForecastRange, TheSparkPairByOneHalfAndByTwo) {
  Cluster cluster = example_cluster("dgx-spark-pair.yaml");
  const ClusterShape one = shape_by_file(cluster);
  EXPECT_TRUE(one.open.empty()) << "the file names the function";
  const ForecastRange half = range_of(one, kPeakBytes, Collective::kAllGather);
  EXPECT_LT(gbytes(half.low), 12.04);
  EXPECT_GT(gbytes(half.high), 12.04);
  EXPECT_LE(gbytes(half.high), 12.5) << "four lanes of Gen5";
  Rail second = cluster.rails.front();
  second.name = "mesh2";
  for (RailPort& port : second.ports) port.interface = "enp1s0f0np0";
  cluster.rails.push_back(second);
  const ForecastRange both = range_of(shape_by_file(cluster), kPeakBytes, Collective::kAllGather);
  EXPECT_LT(gbytes(both.low), 23);
  EXPECT_GT(gbytes(both.high), 23);
  EXPECT_GT(gbytes(both.low), gbytes(half.high));
}

TEST(ForecastRange, ASparkPortOfNoNamedFunctionIsEitherHalfOrBoth) {
  ShapeWords words;
  words.gpu = "GB10";
  words.nodes = 2;
  words.nic = "1x200roce";
  const ForecastRange range = range_of(*shape_from_words(words));
  EXPECT_EQ(range.decides, "halves of a port");
  EXPECT_LT(gbytes(range.low), 12.04);
  EXPECT_GT(gbytes(range.high), 23);
}

TEST(ForecastRange, TheQdrTrioStaysBelowItsDataRate) {
  const ClusterShape shape = shape_by_file(example_cluster("infiniband-trio.yaml"));
  const ForecastRange range = range_of(shape);
  EXPECT_LT(gbytes(range.high), 3.975) << "3.97: 32 Gb/s less headers";
  EXPECT_GT(gbytes(range.low), 2);
  EXPECT_TRUE(shape.gpudirect);
  EXPECT_TRUE(notes_hold(shape, "the nodes differ"));
  for (const char* const node : {"r720", "r730-a", "r730-b"}) EXPECT_TRUE(notes_hold(shape, node)) << node;
}

// --- what may be written ---

constexpr const char* kTwoNodesFile =
    "railbed: 1\ncluster: pair\nspeed: {} Gb/s\nexpect: {{gpus: 2{}}}\nnodes: [a, b]\n"
    "rails: [{{name: r, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}}]\n{}";
Cluster two_nodes(int gigabits, const std::string& gpu, const std::string& parts) {
  return parsed_cluster(fmt::format(fmt::runtime(kTwoNodesFile), gigabits,
                                    gpu.empty() ? "" : ", gpu_model: " + gpu,
                                    parts.empty() ? "" : "parts:\n" + parts));
}

TEST(OpenQuestions, APartThatNobodyKnowsSettlesNothing) {
  const std::set<std::string> before = asked_in(range_of(shape_by_file(two_nodes(40, "V100", ""))));
  EXPECT_EQ(before, std::set<std::string>{"GPUDirect RDMA"});
  const ClusterShape shape = shape_by_file(two_nodes(40, "V100",
                                                     "  gpus: [{model: Abacus 9000}]\n"
                                                     "  adapters: [{model: Carrier Pigeon}]\n"));
  EXPECT_EQ(asked_in(range_of(shape)), before);
  EXPECT_EQ(shape.open.size(), shape_by_file(two_nodes(40, "V100", "")).open.size());
  EXPECT_TRUE(notes_hold(shape, "Abacus 9000"));
  EXPECT_TRUE(notes_hold(shape, "Carrier Pigeon"));
  const auto unknown = shape_from_nodes(two_nodes(40, "", "  gpus: [{model: Abacus 9000}]\n"), {});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text.find("Abacus 9000"), std::string::npos);
}

TEST(OpenQuestions, PartsThatContradictEachOtherAreBothPossible) {
  const ClusterShape sxm = shape_by_file(two_nodes(100, "V100-SXM2", "  gpus: [{model: V100 PCIe}]\n"));
  EXPECT_TRUE(notes_hold(sxm, "contradicts itself"));
  ASSERT_FALSE(sxm.open.empty());
  EXPECT_EQ(sxm.open[0].what, kFormQuestion);
  EXPECT_EQ(sxm.open[0].answers.size(), 2U);
  const ClusterShape slot =
      shape_by_file(two_nodes(100, "", "  gpus: [{model: A100-SXM4-40GB, slot: x16}]\n"));
  EXPECT_TRUE(notes_hold(slot, "parts give it a slot"));
  EXPECT_EQ(slot.open.at(0).answers.size(), 2U);
  const ClusterShape other = shape_by_file(two_nodes(100, "H100", "  gpus: [{model: A100 PCIe}]\n"));
  EXPECT_EQ(other.open.at(0).answers.size(), 3U);
  const ClusterShape name = shape_by_file(two_nodes(100, "", "  gpus: [{model: A100-SXM4 PCIe}]\n"));
  EXPECT_EQ(name.open.at(0).answers.size(), 2U);
}

TEST(OpenQuestions, ASlotShowsACardAndOneNameMayBeAPieceOfTheOther) {
  EXPECT_EQ(shape_by_file(two_nodes(100, "V100", "  gpus: [{model: Tesla V100, slot: x16}]\n")).link,
            GpuLink::kPcie);
  EXPECT_EQ(shape_by_file(two_nodes(100, "V100", "  gpus: [{model: Tesla V100-SXM2-16GB}]\n")).gpu,
            "Tesla V100-SXM2-16GB");
  EXPECT_EQ(shape_by_file(two_nodes(100, "V100-SXM2", "  gpus: [{model: Tesla V100}]\n")).gpu, "V100-SXM2");
  for (const char* const gpu : {"V100", "V100-SXM2"})
    EXPECT_FALSE(
        notes_hold(shape_by_file(two_nodes(100, gpu, "  gpus: [{model: Tesla V100}]\n")), "contradicts"));
}

TEST(ForecastRange, PartsOnSomeNodesSettleThese) {
  const std::string gpus = "  gpus: [{model: V100 PCIe}]\n";
  const ForecastRange none = range_of(shape_by_file(two_nodes(40, "V100", gpus)));
  const ClusterShape some =
      shape_by_file(two_nodes(40, "V100", gpus + "  adapters: [{nodes: a, model: ConnectX-3 Pro}]\n"));
  const ForecastRange capped = range_of(some);
  EXPECT_TRUE(notes_hold(some, "a has"));
  EXPECT_LT(capped.high, .7 * none.high) << "a has no GPUDirect, whatever b has";
  EXPECT_FALSE(asked_in(capped).contains("GPUDirect RDMA")) << "so b's answer changes nothing";
}

TEST(ForecastRange, TheSlowestOfMixedNodesCountsAndIsNamed) {
  const ClusterShape mixed =
      shape_by_file(two_nodes(100, "",
                              "  gpus: [{nodes: a, model: A100-SXM4-80GB}, {nodes: b, model: V100 PCIe}]\n"
                              "  adapters: [{nodes: a, model: MCX515A-CCAT, slot: x16, pcie: 4}, "
                              "{nodes: b, model: MCX515A-CCAT, slot: x4, pcie: 3}]\n"));
  EXPECT_EQ(mixed.gpu, "V100 PCIe");
  EXPECT_TRUE(notes_hold(mixed, "like the slowest: b has 2 x V100 PCIe"));
  EXPECT_EQ(mixed.others.size(), 1U);
  EXPECT_LT(gbytes(range_of(mixed).high), 4);
}

TEST(ForecastRange, NodesWithoutGpusAreLeftOut) {
  const ClusterShape shape = shape_by_file(
      parsed_cluster("railbed: 1\ncluster: pod\nspeed: 100 Gb/s\nnodes: [login, a, b]\n"
                     "rails: [{name: r, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}]\n"
                     "parts: {gpus: [{nodes: [a, b], model: A100-SXM4-80GB, quantity: 8}]}\n"));
  EXPECT_EQ(shape.nodes, 2);
  EXPECT_EQ(shape.gpus, 8);
  EXPECT_TRUE(notes_hold(shape, "login"));
}

// --- facts decide ---

Facts node_of_gpus(const std::string& gpu) {
  Facts facts;
  Gpu one;
  one.model = Reading<std::string>(gpu, "test");
  one.pci_address = "0000:80:00.0";
  facts.gpus.devices = Reading<std::vector<Gpu>>(std::vector<Gpu>{one, one}, "test");
  return facts;
}

TEST(ForecastRange, FactsLeaveNothingOpen) {
  const Cluster cluster = example_cluster("v100-pair.yaml");
  ShapeWords words;
  words.nic = "2x40roce";
  std::map<std::string, Facts> facts = {{"gpuserver1", node_of_gpus("Tesla V100-PCIE-16GB")},
                                        {"gpuserver2", node_of_gpus("Tesla V100-PCIE-16GB")}};
  const auto shape = shape_from_nodes(cluster, facts, words);
  ASSERT_TRUE(shape) << shape.error().text;
  EXPECT_TRUE(shape->open.empty());
  EXPECT_TRUE(shape->others.empty());
  EXPECT_FALSE(notes_hold(*shape, "differ"));
  EXPECT_TRUE(range_of(*shape).questions.empty());
  facts["gpuserver2"] = node_of_gpus("Tesla P4");
  const auto mixed = shape_from_nodes(cluster, facts, words);
  ASSERT_TRUE(mixed) << mixed.error().text;
  EXPECT_TRUE(notes_hold(*mixed, "gpuserver2 has 2 x Tesla P4"));
}

TEST(ForecastRange, ARunNamesTheGpusThatItRanOn) {
  ClusterShape shape = shape_by_file(example_cluster("v100-pair.yaml"));
  ASSERT_EQ(shape.open.at(0).what, kFormQuestion);
  CollectiveReport report;
  report.ranks.push_back({0, "gpuserver1", 0, {0, "", "Tesla V100-PCIE-16GB"}});
  settle_gpu(shape, report);
  EXPECT_EQ(shape.link, GpuLink::kPcie);
  EXPECT_TRUE(std::ranges::none_of(shape.open, [](const auto& one) { return one.what == kFormQuestion; }));
}

// --- which adapters carry data ---

ClusterShape eight_rails(int gpus, const std::string& gpu = "H100", const std::string& nic = "8x400ib") {
  ShapeWords words;
  words.gpu = gpu;
  words.gpus = gpus;
  words.nodes = 2;
  words.nic = nic;
  return *shape_from_words(words);
}

TEST(NearAdapters, AGpuFeedsNoMoreThanItsSlotCarries) {
  EXPECT_EQ(eight_rails(1).nics, 1);
  EXPECT_EQ(eight_rails(3).nics, 3);
  EXPECT_EQ(eight_rails(8).nics, 8);
  EXPECT_EQ(eight_rails(8, "H100", "32x100efa").nics, 32);
  EXPECT_EQ(eight_rails(8, "B300", "16x400efa").nics, 16);
  EXPECT_EQ(eight_rails(4, "GB200", "8x400ib").nics, 8);
  EXPECT_EQ(eight_rails(1, "GB10", "2x100roce").nics, 2);
  const ForecastRange range = range_of(eight_rails(1));
  EXPECT_LT(gbytes(range.low), 48) << "the issue: one GPU of an eight-rail machine reached 48 GB/s";
  EXPECT_GT(gbytes(range.high), 48);
  EXPECT_LE(gbytes(range.high), 50);
}

TEST(NearAdapters, SomeGpusOfANodeHaveTheirShare) {
  const Cluster pod = example_cluster("rail-optimised-1000.yaml");
  for (const int gpus : {1, 3, 8}) {
    ShapeWords words;
    words.gpus = gpus;
    EXPECT_EQ(shape_by_file(pod, words).nics, gpus);
  }
  ShapeWords two;
  two.gpus = 2;
  two.nodes = 2;
  const ClusterShape shape = shape_by_file(two_nodes(100, "H100 SXM", ""), two);
  EXPECT_EQ(shape.nics, 1);
  ClusterShape measured = eight_rails(8);
  CollectiveReport report;
  for (int i = 0; i < 2; ++i)
    report.ranks.push_back({i, i == 0 ? "a" : "b", 0, {0, "", "NVIDIA H100 80GB HBM3"}});
  fit_to_report(measured, report);
  EXPECT_EQ(measured.gpus, 1);
  EXPECT_EQ(measured.nics, 1);
}

TEST(Shape, KnowsTheExportModels) {
  const ClusterShape h800 = eight_rails(8, "NVIDIA H800");
  EXPECT_EQ(h800.link, GpuLink::kNvswitch);
  EXPECT_NEAR(h800.link_rate.gigabytes(), 8 * 20.6, .1);
  EXPECT_EQ(eight_rails(8, "NVIDIA A800-SXM4-80GB").nvlinks, 8);
  EXPECT_EQ(eight_rails(8, "NVIDIA A800 80GB PCIe").link, GpuLink::kPcie);
  EXPECT_EQ(eight_rails(8, "NVIDIA H800 PCIe").link, GpuLink::kPcie);
  EXPECT_LT(range_of(h800).high, range_of(eight_rails(8)).high);
}

// --- every question counts ---

TEST(ForecastRange, NoQuestionHasAnswersThatLeaveTheSameRange) {
  int questions = 0;
  for (const char* const gpu : {"V100", "A100", "H100", "P100", "H800", "H200", "RTX 4090", "T4", "GB10"})
    for (const char* const nic :
         {"1x40roce", "2x40roce", "2x56ib", "1x100ib", "4x100roce", "8x400ib", "1x200roce", "2x10tcp"})
      for (const int gpus : {1, 2, 8})
        for (const std::uint64_t bytes : {std::uint64_t{8}, kGuideBytes, kPeakBytes}) {
          ClusterShape shape = eight_rails(gpus, gpu, nic);
          const ForecastRange range = range_of(shape, bytes);
          SCOPED_TRACE(fmt::format("{} x {} {} {}", gpus, gpu, nic, bytes));
          EXPECT_LE(range.low, range.high);
          EXPECT_EQ(range.decides.empty(), range.questions.empty());
          drop_idle_questions(shape, {range});
          EXPECT_EQ(shape.open.size(), range.questions.size());
          for (const QuestionRange& question : range.questions) {
            ++questions;
            const AnswerRange& first = question.answers.front();
            EXPECT_TRUE(std::ranges::any_of(question.answers, [&](const AnswerRange& one) {
              return std::abs(std::log(one.low / first.low)) > .02 ||
                     std::abs(std::log(one.high / first.high)) > .02;
            })) << question.what;
            for (const AnswerRange& one : question.answers) {
              EXPECT_GE(one.low, range.low * .999);
              EXPECT_LE(one.high, range.high * 1.001);
            }
          }
        }
  EXPECT_GT(questions, 50);
}

TEST(ForecastRange, NothingIsAskedWhereItCannotMatter) {
  for (const int gpus : {1, 3, 8})
    EXPECT_TRUE(range_of(eight_rails(gpus)).questions.empty()) << "laid out as a board";
  EXPECT_TRUE(range_of(eight_rails(1, "T4", "1x25roce")).questions.empty())
      << "no adapter of 25 Gb/s is too old";
  ShapeWords words;
  words.gpu = "V100 PCIe";
  words.gpus = 2;
  words.nodes = 2;
  words.nic = "1x40roce";
  words.staged = true;
  EXPECT_TRUE(range_of(*shape_from_words(words)).questions.empty());
  words.staged = false;
  EXPECT_EQ(range_of(*shape_from_words(words)).decides, "GPUDirect RDMA");
  words.adapter = "ConnectX-4";
  EXPECT_TRUE(range_of(*shape_from_words(words)).questions.empty());
}

TEST(ForecastRange, WithoutQuestionsItIsTheBandBelowTheLimits) {
  const ClusterShape shape = eight_rails(8);
  const Forecast forecast = forecast_collective(shape, Collective::kAllReduce, kPeakBytes);
  const ForecastRange range = range_of(shape);
  EXPECT_DOUBLE_EQ(range.low, forecast.busbw_low);
  EXPECT_LE(range.high, forecast.busbw_high);
  EXPECT_GE(range.high, forecast.busbw);
  EXPECT_TRUE(range.decides.empty());
}

TEST(SlowestShape, TakesTheSlowestAnswersAndSaysSo) {
  const ClusterShape open = shape_by_file(example_cluster("v100-pair.yaml"));
  const ClusterShape slowest = slowest_shape(open);
  EXPECT_TRUE(slowest.open.empty());
  EXPECT_FALSE(slowest.gpudirect);
  EXPECT_TRUE(notes_hold(slowest, "GPUDirect RDMA: no, as with ConnectX-3 taken"));
  const double low = forecast_collective(slowest, Collective::kAllReduce, kReferenceBytes).busbw;
  for (const OpenQuestion& question : open.open)
    for (const ShapeAnswer& answer : question.answers)
      EXPECT_LE(low,
                forecast_collective(answered(open, answer), Collective::kAllReduce, kReferenceBytes).busbw);
}

TEST(OpenQuestions, NvlsStaysOffInEveryForm) {
  ShapeWords words;
  words.gpu = "H100";
  words.no_nvls = true;
  const ClusterShape shape = *shape_from_words(words);
  ASSERT_FALSE(shape.open.empty());
  for (const ShapeAnswer& answer : shape.open[0].answers)
    EXPECT_FALSE(answered(shape, answer).nvls) << answer.value;
}

}  // namespace
}  // namespace railbed
