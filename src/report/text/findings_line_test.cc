#include <gtest/gtest.h>

#include "report/findings.h"

namespace railbed {
namespace {

Finding finding(Status status, std::string_view rule, std::string subject, std::string message) {
  Finding made;
  made.status = status;
  made.rule = rule;
  made.subject = std::move(subject);
  made.message = std::move(message);
  return made;
}

const Finding kDown = finding(Status::kFail, "rdma.port-state", "mlx5_0/1", "mlx5_0/1 is DOWN: no cable");
const Finding kSlow = finding(Status::kWarn, "cpu.governor", "CPU", "the CPU governor is powersave");
const Finding kBlind = finding(Status::kUnknown, "gpu.ecc", "0000:17:00.0", "could not look: denied");
const Finding kFine = finding(Status::kPass, "net.mtu", "ens6", "MTU is right");

TEST(FindingsLine, NamesTheWorstCauseFirst) {
  EXPECT_EQ(render_line(Verdict{{kDown, kSlow, kFine}}, 200), "rdma.port-state: mlx5_0/1 is DOWN: no cable");
  EXPECT_EQ(render_line(Verdict{{kSlow, kBlind, kFine}}, 200),
            "gpu.ecc 0000:17:00.0: could not look: denied");
  EXPECT_EQ(render_line(Verdict{{kSlow, kFine}}, 200),
            "1 warning, no failure: cpu.governor CPU: the CPU governor is powersave");
  EXPECT_EQ(render_line(Verdict{{kFine}}, 200), "1 check passed");
  EXPECT_EQ(render_line(Verdict{}, 200), "nothing could be checked here");
}

TEST(FindingsLine, KeepsToItsBytesAndToWholeCharacters) {
  EXPECT_EQ(render_line(Verdict{{kDown}}, 30), "rdma.port-state: mlx5_0/1 i…");
  for (std::size_t most = 3; most < 20; ++most) {
    const std::string cut = shortened_bytes("ÄÖÜäöüßñ–—", most);
    EXPECT_LE(cut.size(), most);
    EXPECT_TRUE(cut.ends_with("…")) << most;
    EXPECT_EQ((cut.size() - std::string("…").size()) % 2, 0u) << "half a character: " << cut;
  }
}

TEST(FindingsLine, IsOneLineWhateverANodeSays) {
  const Finding evil = finding(Status::kFail, "net.mtu", "eth\n0", "a\nb\x1b[2J");
  EXPECT_EQ(render_line(Verdict{{evil}}, 200).find_first_of("\n\x1b"), std::string::npos);
}

}  // namespace
}  // namespace railbed
