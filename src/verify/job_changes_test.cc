#include "verify/job_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/files.h"
#include "base/json.h"

namespace railbed {
namespace {

constexpr double kStart = 1'795'000'000;
constexpr double kHour = 3600;
constexpr const char* kGpu = "0000:9b:00.0";

// A job of one hour on a sound node, in which nothing goes wrong but bytes and energy are spent.
JobRecord sound_job() {
  JobLook look;
  look.time = kStart;
  look.boot_id = "one";
  look.uptime = 1000;
  look.driver = "580.95.05";
  look.ports["mlx5_2/1"] = {"ACTIVE",
                            "4X NDR",
                            {{"link_downed", 1},
                             {"symbol_error", 7},
                             {"port_rcv_errors", 0},
                             {"out_of_buffer", 0},
                             {"local_ack_timeout_err", 5},
                             {"port_xmit_data", 100},
                             {"rx_icrc_encapsulated", 0}}};
  look.interfaces["ens2"] = {
      "mlx5_2", true, true, {{"carrier_changes", 3}, {"tx_pause_storm_error_events", 0}}};
  look.interfaces["eno1"] = {"", true, true, {{"carrier_changes", 2}}};
  look.pci["0000:17:00.0"] = {{"correctable", 10}, {"correctable RxErr", 10}, {"nonfatal", 0}, {"fatal", 0}};
  JobGpu gpu;
  gpu.uuid = "GPU-1";
  gpu.counters = {{"ecc_uncorrectable", 0},
                  {"ecc_corrected", 2},
                  {"ecc_lifetime", 4},
                  {"rows_remapped_corrected", 0},
                  {"rows_remapped_uncorrectable", 1},
                  {"pages_retired", 0},
                  {"pcie_replays", 0},
                  {"energy", 1000}};
  gpu.nvlink = {{"crc", 0}, {"replay", 0}};
  gpu.held_back = {{"power cap", 0}, {"power brake", 5'000'000'000}, {"hardware thermal slowdown", 0}};
  gpu.remap_pending = false;
  gpu.remap_failed = false;
  gpu.recovery_action = "none";
  gpu.nvlinks = 18;
  gpu.pcie_generation_max = 5;
  gpu.pcie_width_max = 16;
  gpu.pcie_width = 16;
  gpu.power_limit = 700;
  look.gpus[kGpu] = gpu;
  JobRecord record;
  record.id = "4711";
  record.begin = look;
  look.time += kHour;
  *look.uptime += kHour;
  look.ports["mlx5_2/1"].counters["port_xmit_data"] = 1'000'000;
  look.ports["mlx5_2/1"].counters["symbol_error"] = 100;            // fewer than 120 an hour
  look.ports["mlx5_2/1"].counters["local_ack_timeout_err"] = 1000;  // fewer than one a second
  look.pci["0000:17:00.0"]["correctable"] = 3000;                   // fewer than one a second
  look.gpus[kGpu].counters["energy"] = 900'000'000;
  look.gpus[kGpu].counters["pcie_replays"] = 20;
  look.gpus[kGpu].held_back["power cap"] = 3'000'000'000'000;  // a sound GPU under load
  look.gpus[kGpu].nvlink["crc"] = 200;
  record.end = look;
  return record;
}

Reading<KernelLog> log_with(std::vector<LogEvent> events) {
  return {KernelLog{kStart, kStart + kHour, false, 0, std::move(events), false}, "/dev/kmsg"};
}

LogEvent event_of(LogKind kind, int code = 0, std::string subject = kGpu, double when = kStart + 100) {
  return {kind, code, std::move(subject), 1, when, when, "text"};
}

std::vector<JobChange> judged(const JobRecord& record, std::vector<LogEvent> events = {}) {
  return judge_job(record, log_with(std::move(events)));
}

// Expects exactly one change, and returns it.
JobChange only(const std::vector<JobChange>& changes) {
  std::string all;
  for (const JobChange& change : changes) all += change.what + ": " + change.message + "\n";
  EXPECT_EQ(changes.size(), 1U) << all;
  return changes.empty() ? JobChange{} : changes.front();
}

void expect(const JobChange& change, JobStatus status, JobFault fault, const char* what, const char* words) {
  EXPECT_EQ(change.status, status) << change.message;
  EXPECT_EQ(change.fault, fault) << change.message;
  EXPECT_EQ(change.what, what);
  EXPECT_NE(change.message.find(words), std::string::npos) << change.message;
}

JobGpu& gpu_after(JobRecord& record) { return record.end->gpus[kGpu]; }
JobPort& port_after(JobRecord& record) { return record.end->ports["mlx5_2/1"]; }

TEST(JobChanges, OfASoundNodeThereIsNone) {
  const JobRecord record = sound_job();
  EXPECT_TRUE(judged(record).empty()) << judged(record).front().message;
  EXPECT_EQ(exit_code(record), 0);
  EXPECT_DOUBLE_EQ(*seconds_of(record), kHour);
}

// A burn of half a minute on an H200, which stood at its power cap for two thirds of it, as it should.
TEST(JobChanges, OfABurnOfARealGpuThereIsNone) {
  const auto text = read_file(RAILBED_SOURCE_DIR "/tests/jobs/h200-burn.json");
  ASSERT_TRUE(text) << text.error().text;
  const auto record = json::read<JobRecord>(*text);
  ASSERT_TRUE(record) << record.error().text;
  const auto& gpu = record->end->gpus.at("0000:00:06.0");
  EXPECT_GT(gpu.held_back.at("power cap"), 20'000'000'000U);
  EXPECT_TRUE(judge_job(*record,
                        {KernelLog{record->begin->time, record->end->time, false, 0, {}, false}, "/dev/kmsg"})
                  .empty());
}

// A cable, a switch that restarts, a peer that is rebooted, and an administrator at the other end look the same from here.
TEST(JobChanges, ALostLinkIsNobodysUntilItIsLookedAt) {
  JobRecord record = sound_job();
  port_after(record).counters["link_downed"] = 4;
  record.end->interfaces["ens2"].counters["carrier_changes"] = 9;  // the same losses, seen by the interface
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "link-lost",
         "port mlx5_2/1 went down 3 times during the job: the cable, the port at either end, or somebody");
}

TEST(JobChanges, ErrorsOfALinkThatWasLostMayComeOfTheLoss) {
  JobRecord record = sound_job();
  port_after(record).counters["symbol_error"] = 5000;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kLink, "symbol_error", "the signal is weak");
  port_after(record).counters["link_downed"] = 2;  // the peer was rebooted
  const auto changes = judged(record);
  ASSERT_EQ(changes.size(), 2U);
  expect(changes[1], JobStatus::kWarning, JobFault::kUndecided, "symbol_error",
         "the link was lost meanwhile, which moves this counter, too");
}

TEST(JobChanges, ALinkThatSomebodySwitchedOffIsNotTheCables) {
  JobRecord record = sound_job();
  port_after(record).counters["link_downed"] = 2;
  record.end->interfaces["ens2"].on = false;
  record.end->interfaces["ens2"].counters["carrier_changes"] = 4;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kPeople, "link-lost",
         "switched its interface off");
}

TEST(JobChanges, AnInterfaceThatAloneCountsTheLossNamesIt) {
  JobRecord record = sound_job();
  record.end->interfaces["ens2"].counters["carrier_changes"] = 7;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "link-lost",
         "interface ens2 lost its link twice");
  record = sound_job();
  record.end->interfaces["eno1"].counters["carrier_changes"] = 4;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kUndecided, "link-lost",
         "interface eno1 lost its link once");
}

TEST(JobChanges, CountersOfPortsHaveTheLimitsOfALoadWindow) {
  JobRecord record = sound_job();
  port_after(record).counters["symbol_error"] = 7 + 121;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kLink, "symbol_error",
         "the signal is weak; the cable");
  record = sound_job();
  port_after(record).counters["local_ack_timeout_err"] = 5 + 3601;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kUndecided, "local_ack_timeout_err",
         "or the peer");
  record = sound_job();
  port_after(record).counters["rx_icrc_encapsulated"] = 1;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kNetwork, "rx_icrc_encapsulated",
         "on the way, not the job");
}

TEST(JobChanges, BuffersThatAreMissingMayBeAFileSystems) {
  JobRecord record = sound_job();
  port_after(record).counters["out_of_buffer"] = 9;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kUndecided, "out_of_buffer",
         "posts too few receives, or whose process was starved, or a file system over RDMA");
}

TEST(JobChanges, APortThatIsDownAfterwardsOrSlowerIsNamed) {
  JobRecord record = sound_job();
  port_after(record).state = "DOWN";
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "port-down", "is DOWN after it");
  record = sound_job();
  port_after(record).rate = "2X NDR";
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kUndecided, "port-rate",
         "4X NDR before the job and runs at 2X NDR");
  record = sound_job();
  record.begin->ports["mlx5_2/1"].state = "DOWN";  // it was so before
  port_after(record).state = "DOWN";
  EXPECT_TRUE(judged(record).empty());
  record = sound_job();
  record.end->ports.clear();
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "port-gone", "is gone");
}

TEST(JobChanges, CountersThatWentBackwardsAreNoIncreaseAndAreNamed) {
  JobRecord record = sound_job();
  record.begin->ports["mlx5_2/1"].counters["link_downed"] = 50;
  port_after(record).counters["link_downed"] = 0;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kUndecided, "counters-began-again",
         "began again during the job");
  port_after(record).counters["link_downed"] = 2;  // since it began again
  const auto changes = judged(record);
  ASSERT_EQ(changes.size(), 2U);
  expect(changes[0], JobStatus::kFailure, JobFault::kUndecided, "link-lost", "at least twice");
}

TEST(JobChanges, ACounterThatCannotRiseIsUnknown) {
  JobRecord record = sound_job();
  record.begin->ports["mlx5_2/1"].counters["link_downed"] = 255;
  port_after(record).counters["link_downed"] = 255;
  expect(only(judged(record)), JobStatus::kUnknown, JobFault::kNobody, "counter-full",
         "whether it would have risen");
  record.begin->ports["mlx5_2/1"].counters["link_downed"] = 254;  // it rose to its limit
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "link-lost", "went down once");
}

// The node's PCIe counters: more errors of these names, and as many in total.
JobRecord job_with_pcie(const std::string& severity, const std::vector<std::string>& names,
                        std::uint64_t each = 1) {
  JobRecord record = sound_job();
  JobCounters& after = record.end->pci["0000:17:00.0"];
  for (const std::string& name : names) {
    after[severity + " " + name] += each;
    after[severity] += each;
  }
  return record;
}

TEST(JobChanges, PcieErrorsOfTheLinkAreTheHardwares) {
  const JobRecord weak = job_with_pcie("correctable", {"RxErr", "BadTLP"}, 5000);
  expect(only(judged(weak)), JobStatus::kWarning, JobFault::kHardware, "pcie-errors",
         "all corrected (BadTLP, RxErr): its link: the card, its slot or riser");
  expect(only(judged(job_with_pcie("fatal", {"DLP"}))), JobStatus::kFailure, JobFault::kHardware,
         "pcie-errors", "1 PCIe errors in 60 min, not corrected (DLP): its link");
  // The kernel's older names.
  expect(only(judged(job_with_pcie("fatal", {"Data Link Protocol"}))), JobStatus::kFailure,
         JobFault::kHardware, "pcie-errors", "its link");
}

TEST(JobChanges, PcieErrorsThatTheLinkCarriedAreNotTheLinks) {
  for (const char* name : {"CmpltTO", "CmpltAbrt", "UnsupReq", "UnxCmplt", "MalfTLP", "ACSViol", "SDES"}) {
    const JobChange change = only(judged(job_with_pcie("nonfatal", {name})));
    EXPECT_EQ(change.status, JobStatus::kFailure) << name;
    EXPECT_EQ(change.fault, JobFault::kUndecided) << change.message;
    EXPECT_EQ(change.message.find("slot or riser"), std::string::npos) << change.message;
    EXPECT_EQ(change.remedy.find("Reseat"), std::string::npos) << change.remedy;
  }
  expect(only(judged(job_with_pcie("nonfatal", {"TLP"}))), JobStatus::kFailure, JobFault::kHardware,
         "pcie-errors", "that its sender had marked as bad");
  expect(only(judged(job_with_pcie("fatal", {"UncorrIntErr"}))), JobStatus::kFailure, JobFault::kNode,
         "pcie-errors", "the inside of the device or its firmware");
  // A corrected error need not be of the link: this one is a refused request that did no harm.
  expect(only(judged(job_with_pcie("correctable", {"NonFatalErr"}, 5000))), JobStatus::kWarning,
         JobFault::kUndecided, "pcie-errors", "the link carried it");
}

TEST(JobChanges, CorrectedPcieErrorsBesideOneThatWasNotHaveAFindingOfTheirOwn) {
  JobRecord record = job_with_pcie("correctable", {"RxErr"}, 100000);
  record.end->pci["0000:17:00.0"]["nonfatal UnsupReq"] += 1;
  record.end->pci["0000:17:00.0"]["nonfatal"] += 1;
  const auto changes = judged(record);
  ASSERT_EQ(changes.size(), 2U);
  expect(changes[0], JobStatus::kFailure, JobFault::kUndecided, "pcie-errors",
         "1 PCIe errors in 60 min, not corrected (UnsupReq)");
  expect(changes[1], JobStatus::kWarning, JobFault::kHardware, "pcie-errors",
         "in 60 min, all corrected (RxErr): its link");
  record = job_with_pcie("correctable", {"RxErr"}, 5);
  record.end->pci["0000:17:00.0"]["nonfatal UnsupReq"] += 1;
  record.end->pci["0000:17:00.0"]["nonfatal"] += 1;
  EXPECT_EQ(judged(record).size(), 1U);
}

TEST(JobChanges, PcieErrorsOfSeveralKindsOrOfNoneAreUndecided) {
  expect(only(judged(job_with_pcie("fatal", {"DLP", "CmpltTO"}))), JobStatus::kFailure, JobFault::kUndecided,
         "pcie-errors", "does not show which");
  expect(only(judged(job_with_pcie("fatal", {"New\x1bName"}))), JobStatus::kFailure, JobFault::kUndecided,
         "pcie-errors", "does not show which");
  JobRecord record = sound_job();  // of an older railbed, which recorded no names
  record.end->pci["0000:17:00.0"]["fatal"] = 1;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "pcie-errors",
         "does not show which");
  record.begin->pci["0000:17:00.0"]["fatal"] = 7;  // begun by the older one, ended by this one
  record.end->pci["0000:17:00.0"] = {{"correctable", 10}, {"nonfatal", 0}, {"fatal", 8}, {"fatal DLP", 8}};
  EXPECT_EQ(only(judged(record)).fault, JobFault::kUndecided);
}

TEST(JobChanges, PcieErrorsOfTheLogAreJudgedByTheirLayer) {
  const auto told = [](const char* type, const char* subject) {
    LogEvent event = event_of(LogKind::kAerFatal, 0, subject);
    event.text = std::string("PCIe Bus Error: severity=Uncorrected (Fatal), type=") + type;
    return event;
  };
  JobRecord record =
      sound_job();  // the log tells it of a device that counts none, and no second time of one that does
  expect(only(judged(record, {told("Data Link Layer, (Receiver ID)", "0000:03:00.0")})), JobStatus::kFailure,
         JobFault::kHardware, "pcie-errors", "fatal PCIe errors");
  expect(only(judged(record, {told("Transaction Layer, (Requester ID)", "0000:03:00.0")})),
         JobStatus::kFailure, JobFault::kUndecided, "pcie-errors", "the link carried it");
  expect(only(judged(record, {told("Transaction Layer, (Completer ID)", "0000:03:00.0")})),
         JobStatus::kFailure, JobFault::kUndecided, "pcie-errors", "that the other end refuses");
  EXPECT_TRUE(judged(record, {told("Data Link Layer, (Receiver ID)", "0000:17:00.0")}).empty());
  record.end->pci["0000:17:00.0"]["fatal"] = 1;  // without a name: the log has the layer
  expect(only(judged(record, {told("Data Link Layer, (Receiver ID)", "0000:17:00.0")})), JobStatus::kFailure,
         JobFault::kHardware, "pcie-errors", "its link");
}

TEST(JobChanges, XidsOfProgramsAfterAFaultOfTheGpuMayFollowFromIt) {
  const JobRecord record = sound_job();
  for (const int program : {13, 31, 43, 137}) {
    const auto changes =
        judged(record, {event_of(LogKind::kXid, 94), event_of(LogKind::kXid, program, kGpu, kStart + 101)});
    ASSERT_EQ(changes.size(), 2U);
    expect(changes[1], JobStatus::kWarning, JobFault::kUndecided, ("xid-" + std::to_string(program)).c_str(),
           "may follow from what the log has of GPU 0");
  }
  // An NVLink error of another GPU ends programs here, too; a fault of another GPU's memory does not.
  const auto peer = [&](int code) {
    return judged(record, {event_of(LogKind::kXid, code, "0000:01:00.0"),
                           event_of(LogKind::kXid, 31, kGpu, kStart + 101)});
  };
  EXPECT_EQ(peer(74).back().fault, JobFault::kUndecided);
  EXPECT_EQ(peer(48).back().fault, JobFault::kProgram);
  // The program was first.
  const auto first =
      judged(record, {event_of(LogKind::kXid, 31), event_of(LogKind::kXid, 94, kGpu, kStart + 200)});
  EXPECT_EQ(first.back().fault, JobFault::kProgram) << first.back().message;
  JobRecord bad = sound_job();
  gpu_after(bad).counters["ecc_uncorrectable"] = 1;
  EXPECT_EQ(judged(bad, {event_of(LogKind::kXid, 31)}).back().fault, JobFault::kUndecided);
}

TEST(JobChanges, XidsOfProgramsAreTheProgramsAndThoseOfHardwareAreNot) {
  const JobRecord record = sound_job();
  expect(only(judged(record, {event_of(LogKind::kXid, 31)})), JobStatus::kWarning, JobFault::kProgram,
         "xid-31", "the job's program, unless several programs or only this GPU show it");
  for (const int code : {48, 63, 94, 64, 74}) {
    const JobChange change = only(judged(record, {event_of(LogKind::kXid, code)}));
    EXPECT_EQ(change.fault, JobFault::kHardware) << code;
    EXPECT_NE(change.message.find("the hardware, not the job"), std::string::npos) << change.message;
    EXPECT_EQ(change.status, code == 63 ? JobStatus::kWarning : JobStatus::kFailure) << code;
  }
  expect(only(judged(record, {event_of(LogKind::kXid, 119)})), JobStatus::kFailure, JobFault::kNode,
         "xid-119", "its firmware or its driver, not the job");
  expect(only(judged(record, {event_of(LogKind::kXid, 79)})), JobStatus::kFailure, JobFault::kNode, "xid-79",
         "its power or PCIe link, its firmware or its driver, not the job");
  expect(only(judged(record, {event_of(LogKind::kXid, 32)})), JobStatus::kWarning, JobFault::kUndecided,
         "xid-32", "does not show which");
  expect(only(judged(record, {event_of(LogKind::kXid, 9999)})), JobStatus::kWarning, JobFault::kUndecided,
         "xid-9999", "does not know");
  expect(only(judged(record, {event_of(LogKind::kXid, 45)})), JobStatus::kNote, JobFault::kNobody, "xid-45",
         "no fault");
  expect(only(judged(record, {event_of(LogKind::kGpuLost)})), JobStatus::kFailure, JobFault::kNode,
         "gpu-lost", "has fallen off the bus");
}

TEST(JobChanges, AProgramOnASharedNodeMayBeAnothers) {
  JobRecord record = sound_job();
  record.beside = {"4712", "\x1b[31mred"};
  const JobChange change = only(judged(record, {event_of(LogKind::kXid, 31)}));
  expect(change, JobStatus::kWarning, JobFault::kProgram, "xid-31", "or of job 4712, ");
  EXPECT_EQ(change.message.find('\x1b'), std::string::npos);
}

TEST(JobChanges, Xid109IsTheProgramsOnlyAfterAnErrorOfAProgram) {
  const JobRecord record = sound_job();
  const auto followed =
      judged(record, {event_of(LogKind::kXid, 31), event_of(LogKind::kXid, 109, kGpu, kStart + 110)});
  ASSERT_EQ(followed.size(), 2U);
  for (const JobChange& change : followed) EXPECT_EQ(change.fault, JobFault::kProgram) << change.message;
  expect(only(judged(record, {event_of(LogKind::kXid, 109)})), JobStatus::kFailure, JobFault::kUndecided,
         "xid-109", "or the GPU");
  const auto elsewhere =
      judged(record, {event_of(LogKind::kXid, 31, "0000:01:00.0"), event_of(LogKind::kXid, 109)});
  ASSERT_EQ(elsewhere.size(), 2U);
  EXPECT_EQ(elsewhere.front().fault, JobFault::kUndecided);
}

TEST(JobChanges, ErrorsOfMemoryAreTheGpus) {
  JobRecord record = sound_job();
  gpu_after(record).counters["ecc_uncorrectable"] = 1;
  gpu_after(record).counters["ecc_lifetime"] = 5;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kHardware, "ecc-uncorrectable",
         "1 uncorrectable memory error");
  record = sound_job();
  gpu_after(record).counters["ecc_corrected"] = 12;
  expect(only(judged(record)), JobStatus::kNote, JobFault::kHardware, "ecc-corrected",
         "corrected 10 memory errors");
  record = sound_job();
  gpu_after(record).counters["rows_remapped_uncorrectable"] = 2;
  gpu_after(record).remap_pending = true;
  const auto changes = judged(record);
  ASSERT_EQ(changes.size(), 2U);
  expect(changes[0], JobStatus::kFailure, JobFault::kHardware, "rows-remapped", "remapped 1 row");
  expect(changes[1], JobStatus::kWarning, JobFault::kHardware, "remap-pending", "next reset");
  record = sound_job();
  gpu_after(record).counters["pages_retired"] = 1;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kHardware, "pages-retired", "retired 1 page");
  record = sound_job();
  gpu_after(record).remap_failed = true;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kHardware, "remap-failed", "could not remap");
  record.begin->gpus[kGpu].remap_failed = true;  // it was so before
  EXPECT_TRUE(judged(record).empty());
}

TEST(JobChanges, TimeHeldBackIsAShareOfTheJob) {
  JobRecord record = sound_job();
  gpu_after(record).held_back["power brake"] = 5'000'000'000 + 432'000'000'000;  // 432 s of an hour
  expect(
      only(judged(record)), JobStatus::kFailure, JobFault::kNode, "held-back",
      "GPU 0 (0000:9b:00.0) was held back by power brake for 12 % of the job: the power supplies or their cables, or a "
      "power budget of the BMC or the rack");
  gpu_after(record).held_back["power brake"] = 5'000'000'000 + 36'000'000'000;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kNode, "held-back", "for 1 % of the job");
  gpu_after(record).held_back["power brake"] = 5'000'000'000 + 1'000'000'000;  // a second: below a thousandth
  EXPECT_TRUE(judged(record).empty());
  gpu_after(record).held_back["hardware thermal slowdown"] = 360'000'000'000;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kHardware, "held-back",
         "the cooling or the room");
}

TEST(JobChanges, LinksAndLanesOfGpus) {
  JobRecord record = sound_job();
  gpu_after(record).nvlinks = 17;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "nvlink-lost",
         "17 of the 18 NVLinks that it had: the link, a GPU or switch at its other end");
  record = sound_job();
  gpu_after(record).nvlink["replay"] = 3;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kLink, "nvlink-errors",
         "3 new errors (replay)");
  record = sound_job();
  gpu_after(record).pcie_width = 8;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kHardware, "pcie-width", "8 PCIe lanes, of 16");
  record = sound_job();
  gpu_after(record).counters["pcie_replays"] = 5000;  // Gen5 x16 may repeat 1844 in an hour
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kHardware, "pcie-replays",
         "repeated 5000 packets");
}

TEST(JobChanges, SettingsAreSomebodys) {
  JobRecord record = sound_job();
  gpu_after(record).power_limit = 500;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kPeople, "power-limit", "from 700 to 500 W");
  gpu_after(record).counters["energy"] = 5;  // the driver started anew, and nobody set anything
  const auto changes = judged(record);
  ASSERT_EQ(changes.size(), 2U);
  expect(changes[0], JobStatus::kWarning, JobFault::kUndecided, "power-limit", "its driver began anew");
  record = sound_job();
  record.end->driver = "590.1";
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kPeople, "driver", "from 580.95.05 to 590.1");
  record = sound_job();
  gpu_after(record).recovery_action = "reset";
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kNode, "recovery", "reset");
}

TEST(JobChanges, AGpuThatWasResetCountsFromZero) {
  JobRecord record = sound_job();
  gpu_after(record).counters["energy"] = 5;
  gpu_after(record).counters["ecc_corrected"] = 2;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kUndecided, "counters-began-again",
         "as it does without persistence mode");
  // An uncorrectable error before the reset is in the GPU's own count alone.
  gpu_after(record).counters["ecc_lifetime"] = 5;
  const auto changes = judged(record);
  ASSERT_EQ(changes.size(), 2U);
  expect(changes[0], JobStatus::kFailure, JobFault::kHardware, "ecc-uncorrectable", "lifetime count");
}

TEST(JobChanges, AGpuThatIsGoneSilentOrAnother) {
  JobRecord record = sound_job();
  record.end->gpus.clear();
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "gpu-gone", "no longer on PCI");
  record = sound_job();
  gpu_after(record) = {.unread = "no answer within 1 s"};
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kNode, "gpu-silent", "no answer within 1 s");
  record.begin->gpus[kGpu] = {.unread = "no answer within 1 s"};  // it was so before: nobody knows
  expect(only(judged(record)), JobStatus::kUnknown, JobFault::kNobody, "unread",
         "could not be read before the job");
  record = sound_job();
  gpu_after(record).uuid = "GPU-2";
  gpu_after(record).counters["ecc_uncorrectable"] = 9;
  expect(only(judged(record)), JobStatus::kWarning, JobFault::kPeople, "gpu-exchanged", "another GPU");
}

TEST(JobChanges, ARestartHidesWhatCountersHeldAndNotWhatTheGpuKeeps) {
  JobRecord record = sound_job();
  record.end->boot_id = "two";
  record.end->uptime = 60;
  port_after(record).counters["link_downed"] = 3;  // since the restart: ports that come up
  gpu_after(record).counters["energy"] = 5;
  expect(only(judged(record)), JobStatus::kFailure, JobFault::kUndecided, "restart",
         "the node restarted during the job, at 20");
  EXPECT_DOUBLE_EQ(*seconds_of(record), kHour);
  gpu_after(record).counters["ecc_lifetime"] = 6;
  const auto changes = judged(record);
  ASSERT_EQ(changes.size(), 2U);
  expect(changes[1], JobStatus::kFailure, JobFault::kHardware, "ecc-uncorrectable",
         "2 uncorrectable memory errors");
  record.end->time = kStart - 5;
  EXPECT_FALSE(seconds_of(record));
}

TEST(JobChanges, AClockThatIsSetBackChangesNoLength) {
  JobRecord record = sound_job();
  record.end->time = kStart - 100;
  EXPECT_DOUBLE_EQ(*seconds_of(record), kHour);
  EXPECT_TRUE(judged(record).empty());
}

TEST(JobChanges, TheLogNamesTheNodesOtherFaults) {
  const JobRecord record = sound_job();
  expect(only(judged(record, {event_of(LogKind::kAdapterHealth, 0, "0000:17:00.0")})), JobStatus::kFailure,
         JobFault::kNode, "adapter-health", "or its power or PCIe link, not the job");
  expect(only(judged(record, {event_of(LogKind::kJobOutOfMemory, 0, "python3")})), JobStatus::kWarning,
         JobFault::kUndecided, "job-out-of-memory", "killed python3 (at ");
  expect(only(judged(record, {event_of(LogKind::kSlotLinkDown, 0, "0000:16:00.0")})), JobStatus::kFailure,
         JobFault::kUndecided, "slot-link-down", "or somebody who reset or removed it");
  expect(only(judged(record, {event_of(LogKind::kTransmitTimeout, 0, "ens2")})), JobStatus::kWarning,
         JobFault::kUndecided, "transmit-timeout", "a network that pauses it");
  for (const LogKind kind : {LogKind::kDiskError, LogKind::kDiskTimeout, LogKind::kDiskLost})
    EXPECT_EQ(only(judged(record, {event_of(kind, 0, "nvme0n1")})).fault, JobFault::kNode);
  expect(only(judged(record, {event_of(LogKind::kOutOfMemory, 0, "a\x1b[2J")})), JobStatus::kWarning,
         JobFault::kUndecided, "out-of-memory", "no memory left");
  expect(only(judged(record, {event_of(LogKind::kMachineCheck, 0, "")})), JobStatus::kFailure,
         JobFault::kHardware, "machine-check", "not the job");
  EXPECT_TRUE(
      judged(record, {event_of(LogKind::kLinkUp, 0, "ens2"), event_of(LogKind::kCablePlugged)}).empty());
}

TEST(JobChanges, ALogThatIsNotWholeOrNotReadIsUnknown) {
  const JobRecord record = sound_job();
  KernelLog part{kStart, kStart + kHour, true, 0, {}, false};
  expect(only(judge_job(record, {part, "/dev/kmsg"})), JobStatus::kUnknown, JobFault::kNobody, "log",
         "may be missing");
  const Reading<KernelLog> denied(Miss{Missing::kDenied, "permission denied"}, "/dev/kmsg");
  expect(only(judge_job(record, denied)), JobStatus::kUnknown, JobFault::kNobody, "log", "could not be read");
}

TEST(JobChanges, NeedBothLooks) {
  JobRecord record = sound_job();
  record.begin.reset();
  EXPECT_TRUE(judged(record).empty());
  EXPECT_EQ(exit_code(record), 3);
  record.end.reset();
  EXPECT_EQ(exit_code(record), 3);
}

}  // namespace
}  // namespace railbed
