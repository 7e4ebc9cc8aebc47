#include "cli/typed_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/app.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// The program after parsing, and the innermost command that was chosen.
struct Parsed {
  explicit Parsed(const std::string& line) : app(build_app(action)) {
    app->parse(line);
    chosen = app.get();
    while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  }
  Action action;
  std::unique_ptr<CLI::App> app;
  const CLI::App* chosen = nullptr;
};

std::string typed(const std::string& line) { return typed_command(*Parsed(line).chosen); }
std::map<std::string, std::string> choices(const std::string& line) {
  return typed_choices(*Parsed(line).chosen);
}

TEST(TypedCommand, HasEveryOptionThatMakesTheRun) {
  EXPECT_EQ(typed("bench tcp localhost localhost"), "bench tcp localhost localhost");
  EXPECT_EQ(typed("bench rdma --streams 4 a b --sizes 4K,64K --latency-size 8 --traffic-class 104,26"
                  " --flow-label 7 --working-set 256M --both-ways --bandwidth-only --repeat 5"),
            "bench rdma a b --sizes 4K,64K --latency-size 8 --streams 4 --both-ways --traffic-class 104,26"
            " --flow-label 7 --working-set 256M --bandwidth-only --repeat 5");
  EXPECT_EQ(typed("bench rdma a b --operations read,send --duplex --threads 2 --memory gpu:1"
                  " --cluster c.yaml --rail rail0"),
            "bench rdma a b --cluster c.yaml --rail rail0 --operations read,send --duplex --threads 2"
            " --memory gpu:1");
  EXPECT_EQ(typed("bench train c.yaml --model 7b --batch 4 --step-time 900 --transport tcp,rdma"),
            "bench train c.yaml --model 7b --batch 4 --transport tcp,rdma --step-time 900");
  EXPECT_EQ(typed("bench collectives gpu01:0,1 gpu02 --op alltoall --from 1M --in-place"),
            "bench collectives gpu01:0,1 gpu02 --op alltoall --from 1M --in-place");
}

TEST(TypedCommand, ReachesTheNodesAgain) {
  EXPECT_EQ(typed("bench ping a b --parallel 4 --ssh-option Port=2222 --ssh-option User=ops --no-share"),
            "bench ping a b --parallel 4 --ssh-option Port=2222 --ssh-option User=ops --no-share");
  EXPECT_THAT(choices("bench ping a b --ssh-option Port=2222"), IsEmpty());
}

TEST(TypedCommand, LeavesOutHowItIsPrintedAndKept) {
  EXPECT_EQ(typed("bench pairs c.yaml --every-pair --svg p.svg --json --label today --store s --no-store"),
            "bench pairs c.yaml --every-pair");
  EXPECT_EQ(typed("prove c.yaml -o page.html --seconds 1 --seconds 3 --measurements m.json --all"),
            "prove c.yaml --seconds 3");
  EXPECT_EQ(typed("bench storage /scratch --baseline 3"), "bench storage /scratch");
}

TEST(TypedCommand, QuotesWhatAShellWouldTear) {
  EXPECT_EQ(typed("bench storage \"/my data\" --seconds 1"), "bench storage '/my data' --seconds 1");
}

// What is kept, typed again, is kept the same.
TEST(TypedCommand, CanBeTypedAgain) {
  for (const char* line :
       {"bench tcp a b --busy-poll --zero-copy --warm-up 0.1 --latency-only --sizes all --format iperf3",
        "bench rdma a b --tcp --operations write,datagram --traffic-class 104 --flow-label 1,2,3",
        "bench ladder a b --cluster c.yaml --rail rail1 --seconds 0.5 --repeat 2",
        "bench pairs c.yaml --rail rail0 --engine tcp --size 64K --tolerance 5 --streams 2",
        "bench storage a:/x b:/y --size 1G", "bench storage c.yaml --dir /mnt/nfs --seconds 1",
        "bench train --gpus 0,1 --buckets 10M --dtype-bytes 2 --library /a/libnccl.so",
        "bench train c.yaml --host-buffers --ranks 2 --compute-flops 312e12 --rail rail1",
        "bench gpu gpu01 --gpus 0,2 --size 1G --samples 12 --patience 5",
        "bench collectives --gpus 0,1 --type bfloat16 --to 4M --factor 2 --iterations 10 --no-check "
        "--no-graph --choices --library /a/libnccl.so --root 1",
        "prove c.yaml --no-measure", "bench tcp a b --ssh-option Port=2222 --ssh-option User=ops"}) {
    const std::string once = typed(line);
    EXPECT_EQ(typed(once), once);
    EXPECT_EQ(choices(once), choices(line));
  }
}

TEST(TypedChoices, AreWhatCanChangeANumber) {
  EXPECT_THAT(choices("bench tcp a b --seconds 9 --repeat 5 --warm-up 1 --bandwidth-only --cluster c.yaml"),
              IsEmpty());
  EXPECT_THAT(choices("bench rdma a b --sizes 64K --traffic-class 104,26 --duplex --seconds 1"),
              ElementsAre(Pair("duplex", "true"), Pair("sizes", "64K"), Pair("traffic-class", "104,26")));
  EXPECT_THAT(choices("bench storage /scratch --size 1G"), ElementsAre(Pair("size", "1G")));
}

}  // namespace
}  // namespace railbed
