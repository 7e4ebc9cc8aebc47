// Forms of dcgmi, composed by the sources in tests/SOURCES.md.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "host/sent_answers.h"
#include "host/support/pasted.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"

namespace railbed {
namespace {

GpuTestsAnswer tests_in(const std::string& text) {
  ReportTree report;
  add_gpu_tests({text}, report);
  const auto host = host_of(std::move(report));
  const auto call = host->call("gpu-tests");
  auto answer = call ? json::read<GpuTestsAnswer>(*call) : GpuTestsAnswer();
  return answer ? *answer : GpuTestsAnswer();
}

const GpuTestAnswer* find_result(const GpuTestsAnswer& answer, const std::string& name, int gpu) {
  for (const GpuTestAnswer& test : answer.tests)
    if (test.name == name && test.gpu == gpu) return &test;
  return nullptr;
}

constexpr const char* kVersion3 = R"(WARNING: a line before the document
{"DCGM GPU Diagnostic": {"version": "3.1.0", "Driver Version Detected": "535.104.12", "test_categories": [
 {"category": "Deployment", "tests": [{"name": "Denylist", "results": [{"gpu_ids": "0,1", "status": "PASS"}]}, null]},
 {"category": "Hardware", "tests": [{"name": "GPU Memory", "results": [
   {"gpu_ids": 0, "status": "Pass"}, {"gpu_id": "1", "status": "Fail", "warnings": "GPU 1 had 2 errors"}]}]},
 {"category": "Stress", "tests": [{"name": "Targeted Power", "results": [
   {"gpu_id": "0", "status": "Skip", "info": ["not allowed on this SKU"]}]}]}]}})";

constexpr const char* kVersion4 = R"({"DCGM Diagnostic": {"test_categories": [
 {"category": "Deployment", "tests": [{"name": "software", "results": [
   {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 0, "status": "Fail",
    "warnings": [{"error_category": 8, "error_id": 29, "error_severity": 5, "warning": "Persistence mode is disabled."}]},
   {"entity_group": "CPU", "entity_id": 0, "status": "Skip"}], "test_summary": {"status": "Fail"}}]},
 {"category": "Hardware", "tests": [{"name": "memory", "results": [
   {"entity_group": "GPU", "entity_id": 3, "status": "Fail", "warnings": [{"error_severity": 2, "warning": "ECC"}]}]},
   {"name": "diagnostic", "test_summary": {"status": "Not Run"}}]}]}, "metadata": {"version": "4.2.3"}})";

constexpr const char* kDiagTable =
    "Successfully ran diagnostic for group.\n"
    "+---------------------------+------------------------------------------------+\n"
    "| Diagnostic                | Result                                         |\n"
    "+===========================+================================================+\n"
    "|-----  Metadata  ----------+------------------------------------------------|\n"
    "| DCGM Version              | 3.3.3                                          |\n"
    "| GPU Device IDs Detected   | 20b2,20b2                                      |\n"
    "|-----  Deployment  --------+------------------------------------------------|\n"
    "| Denylist                  | Pass                                           |\n"
    "| Page Retirement/Row Remap | Fail                                           |\n"
    "|                           | Error: GPU 3 had memory errors and row         |\n"
    "|                           | remappings are pending                         |\n"
    "+-----  Hardware  ----------+------------------------------------------------+\n"
    "| GPU Memory                | Fail - GPU 3                                   |\n"
    "| Warning                   | GPU 3 a memory error                           |\n"
    "| Memory Bandwidth          | Pass - All                                     |\n"
    "+-----  Stress  ------------+------------------------------------------------+\n"
    "| Targeted Stress           | Skip - All                                     |\n"
    "| memtest                   | Fail                                           |\n"
    "|                           | GPU0: Pass                                     |\n"
    "|                           | GPU1: Fail                                     |\n"
    "+---------------------------+------------------------------------------------+\n";

constexpr const char* kHealthTable =
    "+---------------------------+----------------------------------------------------------+\n"
    "| Health Monitor Report                                                                |\n"
    "+===========================+==========================================================+\n"
    "| Overall Health            | Warning                                                  |\n"
    "| GPU                       |                                                          |\n"
    "| -> 2                      | Warning                                                  |\n"
    "|    -> Errors              |                                                          |\n"
    "|       -> PCIe system      | Warning                                                  |\n"
    "|                           | Detected more than 8 PCIe replays per minute for GPU 2 : |\n"
    "|                           | 13                                                       |\n"
    "+---------------------------+----------------------------------------------------------+\n";

TEST(DcgmText, ReadsTheDocumentOfVersion3) {
  const auto answer = tests_in(kVersion3);
  EXPECT_TRUE(answer.errors.empty());
  ASSERT_EQ(answer.tests.size(), 5U);
  EXPECT_EQ(find_result(answer, "Denylist", 1)->status, "pass");
  EXPECT_EQ(find_result(answer, "GPU Memory", 0)->status, "pass");
  const auto* failed = find_result(answer, "GPU Memory", 1);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->status, "fail");
  EXPECT_EQ(failed->messages, std::vector<std::string>{"GPU 1 had 2 errors"});
  EXPECT_FALSE(failed->setting);
  EXPECT_EQ(find_result(answer, "Targeted Power", 0)->status, "skip");
}

TEST(DcgmText, ReadsTheDocumentOfVersion4) {
  const auto answer = tests_in(kVersion4);
  const auto* software = find_result(answer, "software", 0);
  ASSERT_NE(software, nullptr);
  EXPECT_TRUE(software->setting) << "CONFIG";
  EXPECT_NE(find_result(answer, "software", -1), nullptr) << "a processor is no GPU";
  const auto* memory = find_result(answer, "memory", 3);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->status, "fail");
  EXPECT_FALSE(memory->setting);
  EXPECT_EQ(find_result(answer, "diagnostic", -1)->status, "not run");
}

TEST(DcgmText, ReadsTheTable) {
  const auto answer = tests_in(kDiagTable);
  EXPECT_TRUE(answer.errors.empty());
  EXPECT_EQ(find_result(answer, "Denylist", -1)->status, "pass");
  const auto* remap = find_result(answer, "Page Retirement/Row Remap", -1);
  ASSERT_NE(remap, nullptr);
  ASSERT_EQ(remap->messages.size(), 1U);
  EXPECT_NE(remap->messages[0].find("remappings are pending"), std::string::npos);
  const auto* memory = find_result(answer, "GPU Memory", 3);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->messages, std::vector<std::string>{"GPU 3 a memory error"});
  EXPECT_EQ(find_result(answer, "Targeted Stress", -1)->status, "skip");
  EXPECT_EQ(find_result(answer, "memtest", 0)->status, "pass");
  EXPECT_EQ(find_result(answer, "memtest", 1)->status, "fail");
  EXPECT_EQ(find_result(answer, "memtest", -1), nullptr) << "the summary of the two";
  EXPECT_EQ(find_result(answer, "DCGM Version", -1), nullptr);
}

TEST(DcgmText, ReadsHealth) {
  const auto answer = tests_in(kHealthTable);
  ASSERT_EQ(answer.tests.size(), 1U);
  EXPECT_EQ(answer.tests[0].program, "dcgmi health");
  EXPECT_EQ(answer.tests[0].gpu, 2);
  EXPECT_EQ(answer.tests[0].status, "warn");
  EXPECT_NE(answer.tests[0].messages.at(0).find("GPU 2 : 13"), std::string::npos);
}

// The first is of NVIDIA/DCGM issue 263; the tree below is that of dcgmi/Health.cpp.
TEST(DcgmText, ReadsHealthAsJson) {
  const std::string healthy_text =
      "{\n\t\"body\" : \n\t{\n\t\t\"Overall Health\" : \n\t\t{\n\t\t\t\"value\" : \"Healthy\"\n\t\t}\n\t},\n"
      "\t\"header\" : \n\t[\n\t\t\"Health Monitor Report\"\n\t]\n}\n";
  EXPECT_EQ(dcgm_kind(healthy_text), "health");
  const auto healthy = tests_in(healthy_text);
  ASSERT_EQ(healthy.tests.size(), 1U);
  EXPECT_EQ(healthy.tests[0].status, "pass");
  const auto sick = tests_in(
      R"({"header": ["Health Monitor Report"], "body": {"Overall Health": {"value": "Failure"}, "GPU": {"children": {)"
      R"("3": {"value": "Failure", "children": {"PCIe system": {"value": "Failure"}}}}}}})");
  ASSERT_EQ(sick.tests.size(), 1U);
  EXPECT_EQ(sick.tests[0].name, "PCIe system");
  EXPECT_EQ(sick.tests[0].gpu, 3);
  EXPECT_EQ(sick.tests[0].status, "fail");
  EXPECT_FALSE(tests_in(healthy_text.substr(0, 60)).errors.empty());
}

// A group of entities that are no GPUs has its numbers, too; an unknown system must not lend its message to another.
TEST(DcgmText, ReadsHealthOfOtherEntities) {
  const auto answer = tests_in(
      "+---------------------------+----------------------------------------------------------+\n"
      "| Health Monitor Report                                                                |\n"
      "+===========================+==========================================================+\n"
      "| Overall Health            | Failure                                                  |\n"
      "| GPU                       |                                                          |\n"
      "| -> 1                      | Warning                                                  |\n"
      "|    -> Errors              |                                                          |\n"
      "|       -> NVLINK system    | Warning                                                  |\n"
      "|                           | GPU 1's NvLink link 4 is currently down                  |\n"
      "|       -> Internal error   | Warning                                                  |\n"
      "|                           | IMEX daemon status is -3 (not READY)                     |\n"
      "| ConnectX                  |                                                          |\n"
      "| -> 0                      | Failure                                                  |\n"
      "|    -> Errors              |                                                          |\n"
      "|       -> ConnectX system  | Failure                                                  |\n"
      "|                           | ConnectX entity Id:0 uncorrectable fatal errors: 0x1010  |\n"
      "+---------------------------+----------------------------------------------------------+\n");
  EXPECT_TRUE(answer.errors.empty());
  ASSERT_EQ(answer.tests.size(), 3U);
  EXPECT_EQ(answer.tests[0].gpu, 1);
  EXPECT_EQ(answer.tests[0].messages, std::vector<std::string>{"GPU 1's NvLink link 4 is currently down"});
  EXPECT_EQ(answer.tests[1].status, "warn");
  EXPECT_EQ(answer.tests[2].gpu, -1) << "ConnectX 0 is no GPU 0";
  EXPECT_EQ(answer.tests[2].status, "fail");
  const auto tree = tests_in(
      R"({"header": ["Health Monitor Report"], "body": {"Overall Health": {"value": "Failure"}, "ConnectX": {"children": )"
      R"({"0": {"value": "Failure", "children": {"Errors": {"children": {"ConnectX system": {"value": "Failure"}}}}}}}, )"
      R"("GPU": {"children": {"2": {"value": "Warning", "children": {"Errors": {"children": {"Driver": {"value": )"
      R"("Warning"}}}}}}}}})");
  ASSERT_EQ(tree.tests.size(), 2U);
  EXPECT_EQ(tree.tests[0].gpu, -1);
  EXPECT_EQ(tree.tests[1].gpu, 2);
}

TEST(DcgmText, ReadsHealthOfTheFirstVersions) {
  const std::string border =
      "+------------------+---------------------------------------------------------+\n";
  const std::string group =
      "Health Monitor Report\n" + border +
      "| Group 2          | Overall Health: Error                                   |\n"
      "+==================+=========================================================+\n"
      "| GPU ID: 3        | Warning                                                 |\n"
      "|                  | Memory system: Warning - A pending retired page has     |\n"
      "|                  | been detected in GPU 3.                                 |\n" +
      border +
      "| GPU ID: 5        | Error                                                   |\n"
      "|                  | Thermal system: Error - GPU 5 is too hot                |\n"
      "|                  | Power system: Warning - the power brake is on           |\n" +
      border;
  EXPECT_EQ(dcgm_kind(group), "health");
  const auto answer = tests_in(group);
  EXPECT_TRUE(answer.errors.empty());
  ASSERT_EQ(answer.tests.size(), 3U);
  EXPECT_EQ(answer.tests[0].name, "Memory system");
  EXPECT_EQ(answer.tests[0].gpu, 3);
  EXPECT_EQ(answer.tests[0].messages.at(0), "A pending retired page has been detected in GPU 3.");
  EXPECT_EQ(answer.tests[1].gpu, 5);
  EXPECT_EQ(answer.tests[1].status, "fail");
  EXPECT_EQ(answer.tests[2].status, "warn");
  const std::string sound =
      "Health Monitor Report\n" + border + "| Overall Health:   Healthy           |\n" + border;
  ASSERT_EQ(tests_in(sound).tests.size(), 1U);
  EXPECT_EQ(tests_in(sound).tests[0].status, "pass");
  EXPECT_FALSE(tests_in(group.substr(0, group.find("been detected"))).errors.empty()) << "cut off";
}

TEST(DcgmText, ReadsTheTableBelowALineOfKubectlAndAPartOfIt) {
  const std::string table = kDiagTable;
  const std::string below = "Defaulted container \"dcgm\" out of: dcgm, validation (init)\n" + table;
  EXPECT_EQ(dcgm_kind(below), "diag");
  EXPECT_EQ(tests_in(below).tests.size(), tests_in(table).tests.size());
  const std::string part =
      "+-----  Integration  -------+------------------------------------------------+\n"
      "| PCIe                      | Fail - All                                     |\n"
      "| Warning                   | GPU 0's NvLink link 0 is currently down        |\n";
  EXPECT_EQ(dcgm_kind(part), "diag");
  const auto answer = tests_in(part);
  ASSERT_EQ(answer.tests.size(), 1U);
  EXPECT_EQ(answer.tests[0].status, "fail");
  EXPECT_FALSE(answer.errors.empty()) << "cut off";
  EXPECT_EQ(dcgm_kind("+-----  Prices  ---+---+\n| GPU | Fail - All |\n"), "");
}

TEST(DcgmText, ACutOutputIsNoPass) {
  const std::string json = kVersion4, table = kDiagTable;
  EXPECT_FALSE(tests_in(json.substr(0, json.size() / 2)).errors.empty());
  EXPECT_FALSE(tests_in(table.substr(0, table.find("| Memory Bandwidth"))).errors.empty());
  EXPECT_FALSE(tests_in("{\"DCGM GPU Diagnostic\": {\"version\": \"4.2.3\"}}").errors.empty());
  EXPECT_FALSE(tests_in("").errors.empty());
  EXPECT_FALSE(tests_in("Error: Unable to run diagnostic on unsupported GPU 0.\n").errors.empty());
}

TEST(DcgmText, IsRecognised) {
  EXPECT_EQ(dcgm_kind(kVersion3), "diag");
  EXPECT_EQ(dcgm_kind(kVersion4), "diag");
  EXPECT_EQ(dcgm_kind(kDiagTable), "diag");
  EXPECT_EQ(dcgm_kind(kHealthTable), "health");
  EXPECT_EQ(dcgm_kind("{\"tests\": []}"), "");
  EXPECT_EQ(dcgm_kind("+---+\n| Name | Result |\n+---+\n"), "");
  EXPECT_EQ(dcgm_kind("# Cron Health Monitor Report\n"), "");
}

TEST(DcgmText, HasBounds) {
  std::string text = "{\"DCGM Diagnostic\": {\"test_categories\": [{\"tests\": [";
  for (int i = 0; i < 200; ++i)
    text +=
        std::string(i > 0 ? "," : "") + "{\"name\": \"t" + std::to_string(i) +
        "\", \"results\": [{\"gpu_ids\": \"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,"
        "28,29\", \"status\": \"Pass\"}]}";
  EXPECT_EQ(tests_in(text + "]}]}}").tests.size(), kMostSentTests);
}

TEST(DcgmText, HostileTextsAreShownAsText) {
  const std::string huge(1 << 20, '|');
  EXPECT_FALSE(tests_in("+---+\n| Diagnostic | Result |\n" + huge + "\n").errors.empty());
  EXPECT_FALSE(tests_in("{\"DCGM Diagnostic\": " + std::string(1 << 20, '[') + "}").errors.empty());
  const auto answer = tests_in(
      "{\"DCGM Diagnostic\": {\"runtime_error\": {}, \"test_categories\": [{\"tests\": [{\"name\": \"a\\u001b[31m\", "
      "\"results\": [{\"gpu_id\": 99999999999999, \"status\": \"Fail\", \"warnings\": [\"b\\u0007\", 7, null, {}]}]}]}]}}");
  ASSERT_EQ(answer.tests.size(), 1U);
  EXPECT_EQ(answer.tests[0].gpu, -1) << "no number of a GPU";
  EXPECT_EQ(answer.tests[0].name.find('\x1b'), std::string::npos);
  EXPECT_EQ(answer.tests[0].messages.at(0).find('\x07'), std::string::npos);
  ASSERT_EQ(answer.errors.size(), 1U);
  EXPECT_FALSE(answer.errors[0].empty());
}

// dcgmi nvlink -s of DCGM 3.3 to 4, composed.
std::string links(const std::vector<std::string>& gpus) {
  std::string text = "+----------------------+\n|  NvLink Link Status  |\n+----------------------+\nGPUs:\n";
  for (std::size_t i = 0; i < gpus.size(); ++i)
    text += "    gpuId " + std::to_string(i) + ":\n        " + gpus[i] + "\n";
  return text + "NvSwitches:\n    No NvSwitches found.\n\nKey: Up=U, Down=D, Disabled=X, Not Supported=_\n";
}

TEST(DcgmText, ReadsNvlinksThatAreDownBesideOthers) {
  const std::string text = links({"U U U U", "U D U D", "_ _ _ _"});
  EXPECT_EQ(command_shown_by(text), "dcgmi nvlink");
  const GpuTestsAnswer answer = tests_in(text);
  ASSERT_NE(find_result(answer, "NVLinks", 1), nullptr);
  EXPECT_EQ(find_result(answer, "NVLinks", 0)->status, "pass");
  EXPECT_EQ(find_result(answer, "NVLinks", 1)->status, "fail");
  EXPECT_EQ(find_result(answer, "NVLinks", 1)->messages.front(), "down: 1, 3");
  EXPECT_EQ(find_result(answer, "NVLinks", 2)->status, "skip");
  EXPECT_TRUE(answer.errors.empty());
  const GpuTestsAnswer alone = tests_in(links({"U U D D"}));
  EXPECT_EQ(find_result(alone, "NVLinks", 0)->status, "warn") << "one of two bridges may be fitted";
}

TEST(DcgmText, WarnsOfAGpuWithoutNvlinksBesideOthers) {
  const GpuTestsAnswer answer = tests_in(links({"U U U U", "X X X X", "D D D D", "X X D D", "_ _ _ _"}));
  for (const int gpu : {1, 2, 3}) {
    ASSERT_NE(find_result(answer, "NVLinks", gpu), nullptr) << gpu;
    EXPECT_EQ(find_result(answer, "NVLinks", gpu)->status, "warn") << gpu;
  }
  EXPECT_EQ(find_result(answer, "NVLinks", 1)->messages.front(),
            "all are disabled, beside GPUs whose are up");
  EXPECT_EQ(find_result(answer, "NVLinks", 4)->status, "skip");
  EXPECT_TRUE(answer.errors.empty());
  EXPECT_EQ(find_result(tests_in(links({"X X X X", "X X X X"})), "NVLinks", 0)->status, "skip");
}

TEST(DcgmText, CallsNvlinksUnknownThatAreAllDown) {
  const GpuTestsAnswer answer = tests_in(links({"D D D D", "D D D D"}));
  EXPECT_TRUE(answer.tests.empty());
  ASSERT_EQ(answer.errors.size(), 1U);
  EXPECT_NE(answer.errors.front().find("all NVLinks are down of GPU 0, 1"), std::string::npos);
  EXPECT_TRUE(tests_in(links({"U U X _", "U U X _"})).errors.empty());
}

TEST(DcgmText, NamesCountsAndPlaces) {
  EXPECT_EQ(
      command_shown_by(
          "+-----------------------------+------+\n| NVLINK Error Counts                |\n| GPU 0    "
          "                          |\n| Link 0                      |      |\n| -> Replay Error          "
          "   | 12   |\n"),
      "dcgmi nvlink -e");
  EXPECT_EQ(command_shown_by("+-------------------+------+\n| mygroup           | Topology Information |\n"
                             "+===================+======+\n| CPU Core Affinity | 0 - 11               |\n"),
            "dcgmi topo");
  EXPECT_EQ(command_shown_by("| Device ID | Topology Information |\n| 0 | Local CPU List: 0-23 |\n"), "");
  EXPECT_EQ(command_shown_by("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-abcdefab-cdef-abdc-abcd-abababababab)\n"
                             "\t Link 0: Replay Errors: 0\n\t Link 0: Recovery Errors: 0\n"),
            "nvidia-smi nvlink -e");
}

}  // namespace
}  // namespace railbed
