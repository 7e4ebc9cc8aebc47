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

TEST(KernelLogFold, LinesOfOneSortHideNoOther) {
  KernelLogFold fold(0);
  for (int i = 0; i < 5000; ++i)
    fold.add(i, "Memory cgroup out of memory: Killed process " + std::to_string(i) + " (a.out) total-vm:1kB");
  fold.add(5000, "NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.");
  KernelLogAnswer answer;
  fold.finish(answer);
  EXPECT_TRUE(answer.lines.back().text.starts_with("NVRM: Xid"));
  EXPECT_GT(answer.dropped, 0U);
}

TEST(KernelLogFold, LinesThatBeginWithATaskAreItsOwn) {
  KernelLogFold fold(0);
  fold.add(1, "Oops: 0000 [#1][4711]: segfault at 0 ip 000055 sp 00007f error 4");
  KernelLogAnswer answer;
  fold.finish(answer);
  EXPECT_TRUE(answer.lines.empty());
  for (const char* line : {"a[1]: segfault", "fifteen bytes..[1]: segfault", "a (1): x", "a(1): x", "a/1: x",
                           "a b invoked oom-killer: x", "\\x1b\\x1b[1]: segfault"})
    EXPECT_TRUE(begins_with_a_task(line)) << line;
  for (const char* line :
       {"", "[", "Oops: 0000 [#1] SMP", "DMAR: [DMA Read]", "pcieport 0000:16:02.0: pciehp: Slot(4): x",
        "{1}[Hardware Error]: x", "sixteen bytes...[1]: segfault", "a[b]: x", "I/O error, dev sda"})
    EXPECT_FALSE(begins_with_a_task(line)) << line;
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

TEST(Journal, AMessageOfSeveralLinesIsOne) {
  const auto messages = parse_journal_messages(
      "1795252201.1 gpu01 kernel: NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
      "                           NVRM: BAR1 is 0M @ 0x0 (PCI:0000:1b:00.0)\n"
      "1795252202.1 gpu01 systemd[1]: x\n"
      "                           NVRM: of another program\n"
      "1795252203.1 gpu01 kernel: y\n");
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].text,
            "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\\x0aNVRM: BAR1 is 0M @ 0x0 "
            "(PCI:0000:1b:00.0)");
  EXPECT_EQ(messages[1].text, "y");
  EXPECT_TRUE(parse_journal_messages("   a line of nothing").empty());
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
