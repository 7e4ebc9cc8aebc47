#include "host/kernel_log.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "host/calls.h"

namespace railbed {
namespace {

constexpr std::string_view kDown = "mlx5_core 0000:c1:00.0 ens3f0np0: Link down";

TEST(KernelLogFold, FoldsRepeatsAndForgetsTheRest) {
  KernelLogFold fold(100);
  fold.add(99, kDown);  // too old
  fold.add(101, "secret of a user");
  fold.add(102, kDown);
  fold.add(110, kDown);
  fold.add(111, "NVRM: Xid (PCI:0000:06:00): 79, \x1b[31m\n");
  KernelLogAnswer answer;
  fold.finish(answer);
  ASSERT_EQ(answer.lines.size(), 2);
  EXPECT_EQ(answer.lines[0].count, 2);
  EXPECT_EQ(answer.lines[0].first, 102);
  EXPECT_EQ(answer.lines[0].last, 110);
  EXPECT_EQ(answer.lines[1].text, "NVRM: Xid (PCI:0000:06:00): 79,  [31m ");
}

TEST(KernelLogFold, IsBounded) {
  KernelLogFold fold(0);
  for (int i = 0; i < 5000; ++i) fold.add(i, "process " + std::to_string(i) + " I/O error, dev sda");
  fold.add(1, "NVRM: Xid " + std::string(100'000, 'x'));
  KernelLogAnswer answer;
  fold.finish(answer);
  EXPECT_LE(answer.lines.size(), 2000);
  EXPECT_EQ(answer.lines.size() + answer.dropped, 5001);
}

TEST(Kmsg, RecordsAreTakenApart) {
  const auto record = parse_kmsg("6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->sequence, 339);
  EXPECT_DOUBLE_EQ(record->uptime, 5.1409);
  EXPECT_TRUE(record->by_kernel);
  EXPECT_EQ(record->text, "NET: Registered");
  EXPECT_FALSE(parse_kmsg("30,340,5140901,-;systemd[1]: by a process")->by_kernel);
  for (const char* text : {"", ";", "6,339;text", "x,339,1,-;text", "6,339,1,-"})
    EXPECT_FALSE(parse_kmsg(text)) << text;
}

TEST(Journal, LinesAreTakenApart) {
  const auto line = parse_journal("1795252201.123456 gpu01 kernel: mlx4_en: ens6: Link Down");
  ASSERT_TRUE(line);
  EXPECT_DOUBLE_EQ(line->when, 1795252201.123456);
  EXPECT_EQ(line->text, "mlx4_en: ens6: Link Down");
  for (const char* text :
       {"", "-- No entries --", "1795252201.1 gpu01 systemd[1]: x", "kernel: x", "nan gpu01 kernel: x"})
    EXPECT_FALSE(parse_journal(text)) << text;
}

TEST(KernelLogCall, AnswersJsonOrSaysWhyNot) {
  const auto answer = call_system("kernel-log 1h");
  if (answer) {
    const auto parsed = json::read<KernelLogAnswer>(*answer);
    ASSERT_TRUE(parsed) << parsed.error().text;
    EXPECT_FALSE(parsed->source.empty());
    EXPECT_GE(parsed->ends, parsed->begins);
  } else {
    EXPECT_FALSE(answer.miss().why.empty());
  }
  EXPECT_EQ(call_system("kernel-log yesterday").miss().missing, Missing::kUnsupported);
}

}  // namespace
}  // namespace railbed
