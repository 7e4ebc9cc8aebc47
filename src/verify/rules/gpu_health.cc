// Health of each GPU and its memory as NVML reports it: errors, and the spare capacity for repairs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "verify/areas.h"
#include "verify/gpu_view.h"
#include "verify/walk.h"

namespace railbed {
namespace {

Remedy reset(const GpuView& gpu, std::string text) { return {std::move(text), {gpu.smi("--gpu-reset")}}; }

void recovery_action(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* action = said(verdict, gpu.nvml.recovery_action);
    if (action == nullptr) return;
    if (*action == "none") return verdict.pass(*action);
    const bool reboot = *action == "reboot";
    verdict.fail({.message = fmt::format("the driver itself says that {} needs: {}", gpu.where(), *action),
                  .expected = "none",
                  .observed = *action,
                  .remedy = reboot ? Remedy{"Drain the node and reboot it.", {"reboot"}, true}
                                   : reset(gpu, "Drain the node, then reset the GPU.")});
  });
}

void ecc_on(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    if (gpu.model == nullptr || !gpu.model->ecc)
      return verdict.not_applicable("not a model that ships with ECC on");
    const bool* on = said(verdict, gpu.nvml.ecc);
    if (on == nullptr) return;
    if (*on) return verdict.pass("on");
    verdict.fail(
        {.message = fmt::format("{} computes without ECC: flipped bits go into results unseen", gpu.where()),
         .expected = "on",
         .observed = "off",
         .remedy = {"Switch it on; it takes effect after a reset.",
                    {gpu.smi("-e 1"), gpu.smi("--gpu-reset")}}});
  });
}

void ecc_pending(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const bool* now = said(verdict, gpu.nvml.ecc);
    if (now == nullptr) return;
    const bool* pending = said(verdict, gpu.nvml.ecc_pending);
    if (pending == nullptr) return;
    if (*now == *pending) return verdict.pass(on_or_off(*now));
    verdict.warn({.message = fmt::format("ECC of {} is {} and will be {} after the next reset", gpu.where(),
                                         on_or_off(*now), on_or_off(*pending)),
                  .expected = "the same before and after",
                  .observed = fmt::format("{} now, {} pending", on_or_off(*now), on_or_off(*pending)),
                  .remedy = {"Take the setting back, or reset the GPU now rather than by surprise.",
                             {gpu.smi(command("-e {}", *now ? 1 : 0))}}});
  });
}

void ecc_uncorrectable(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* count = said(verdict, gpu.nvml.ecc_volatile_uncorrectable);
    if (count == nullptr) return;
    if (*count == 0) return verdict.pass("0");
    verdict.fail({.message = fmt::format(
                      "{} had {} memory errors that ECC could not correct since the driver was loaded",
                      gpu.where(), *count),
                  .expected = "0",
                  .observed = std::to_string(*count),
                  .remedy = reset(gpu, "Drain the node and reset the GPU; if they come back, replace it.")});
  });
}

// sichek's limit; OCI uses 10.
constexpr std::uint64_t kSramErrors = 4;

void sram(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* count = said(verdict, gpu.nvml.sram_aggregate_uncorrectable);
    if (count == nullptr) return;
    const bool exceeded = gpu.nvml.sram_threshold_exceeded.value_or(false);
    if (*count <= kSramErrors && !exceeded) return verdict.pass(std::to_string(*count));
    verdict.fail(
        {.message = fmt::format("{} had {} uncorrectable errors in its on-chip memory in its life{}",
                                gpu.where(), *count, exceeded ? ", more than its driver accepts" : ""),
         .expected = fmt::format("at most {}", kSramErrors),
         .observed = std::to_string(*count),
         .remedy = {"Run NVIDIA's field diagnostics and ask for a replacement.", {gpu.smi("-q -d ECC")}}});
  });
}

void remap_pending(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const bool* pending = said(verdict, gpu.nvml.remap_pending);
    if (pending == nullptr) return;
    if (!*pending) return verdict.pass("none pending");
    verdict.warn({.message = fmt::format("{} has a bad row of memory that is replaced only at the next reset",
                                         gpu.where()),
                  .expected = "none pending",
                  .observed = "pending",
                  .remedy = reset(gpu, "Drain the node and reset the GPU.")});
  });
}

// NVIDIA's memory error management guide: at most 512 rows can be remapped.
constexpr std::uint32_t kRemappedRows = 512;

void remap_failed(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const bool* failed = said(verdict, gpu.nvml.remap_failed);
    if (failed == nullptr) return;
    const std::uint32_t rows = gpu.nvml.remapped_uncorrectable.value_or(0);
    if (!*failed && rows < kRemappedRows) return verdict.pass(fmt::format("{} rows remapped", rows));
    verdict.fail({.message = fmt::format("{} could not replace a bad row of its memory", gpu.where()),
                  .expected = "no failure",
                  .observed = *failed ? "failed" : fmt::format("{} rows remapped", rows),
                  .remedy = {"Take the node out of service and have the GPU replaced.",
                             {gpu.smi("-q -d ROW_REMAPPER")}}});
  });
}

void remap_spares(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* banks = said(verdict, gpu.nvml.remap_banks);
    if (banks == nullptr) return;
    if (banks->none == 0) return verdict.pass(fmt::format("{} banks with all spares", banks->max));
    verdict.warn({.message = fmt::format(
                      "{} has {} memory banks without a spare row: the next bad row there cannot be replaced",
                      gpu.where(), banks->none),
                  .expected = "0 banks without spares",
                  .observed = std::to_string(banks->none),
                  .remedy = {"Plan its replacement.", {gpu.smi("-q -d ROW_REMAPPER")}}});
  });
}

// NVIDIA's "Dynamic Page Retirement": boards with 60 or more retired pages are replaced.
constexpr std::uint32_t kRetiredPages = 60;

void retired_pages(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const auto* pages = said(verdict, gpu.nvml.retired_pages);
    if (pages == nullptr) return;
    const bool pending = gpu.nvml.retired_pending.value_or(false);
    if (*pages < kRetiredPages && !pending) return verdict.pass(std::to_string(*pages));
    const bool worn = *pages >= kRetiredPages;
    verdict.red(
        worn ? Status::kFail : Status::kWarn,
        {.message = worn ? fmt::format("{} has {} retired memory pages: it is worn out", gpu.where(), *pages)
                         : fmt::format("{} retires a bad memory page only when the driver is loaded again",
                                       gpu.where()),
         .expected = fmt::format("fewer than {}, none pending", kRetiredPages),
         .observed = fmt::format("{}{}", *pages, pending ? ", pending" : ""),
         .remedy = worn ? Remedy{"Have the GPU replaced.", {gpu.smi("-q -d PAGE_RETIREMENT")}}
                        : reset(gpu, "Drain the node, then reset the GPU or reboot.")});
  });
}

void inforom(const Survey& survey, Judge& judge) {
  each_answering_gpu(survey, judge, [](Case& verdict, const GpuView& gpu) {
    const bool* valid = said(verdict, gpu.nvml.inforom_valid);
    if (valid == nullptr) return;
    if (*valid) return verdict.pass("valid");
    verdict.warn({.message = fmt::format(
                      "the inforom of {} is corrupted: its error history and limits are not to be trusted",
                      gpu.where()),
                  .expected = "valid",
                  .observed = "corrupted",
                  .remedy = {"Have it reflashed by the vendor, or the GPU replaced.", {gpu.smi("-q")}}});
  });
}

// The results of one test of DCGM's: by GPU, or of the whole node.
struct TestOfGpus {
  std::string program, name;
  std::vector<const GpuTestAnswer*> results;
  std::string title() const { return fmt::format("{}, {}", program, name); }
};

std::vector<TestOfGpus> tests_of(const NodeView& node) {
  std::vector<TestOfGpus> tests;
  if (!node.facts->gpus.tests.ok()) return tests;
  for (const GpuTestAnswer& result : node.facts->gpus.tests->tests) {
    const auto known = std::ranges::find_if(tests, [&](const TestOfGpus& test) {
      return test.program == result.program && test.name == result.name;
    });
    if (known != tests.end())
      known->results.push_back(&result);
    else
      tests.push_back({result.program, result.name, {&result}});
  }
  return tests;
}

// "GPU 3: ECC errors; GPU 5"
std::string results_text(const std::vector<const GpuTestAnswer*>& results) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> texts;
  for (const GpuTestAnswer* result : results) {
    if (texts.size() == kMost) {
      texts.push_back(fmt::format("and {} more", results.size() - kMost));
      break;
    }
    const std::string where = result->gpu < 0 ? "all GPUs together" : fmt::format("GPU {}", result->gpu);
    if (result->messages.empty())
      texts.push_back(where);
    else if (result->messages.front().starts_with(where + " "))
      texts.push_back(result->messages.front());
    else
      texts.push_back(fmt::format("{}: {}", where, result->messages.front()));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::vector<const GpuTestAnswer*> results_with(const TestOfGpus& test, std::string_view status) {
  std::vector<const GpuTestAnswer*> found;
  for (const GpuTestAnswer* result : test.results)
    if (result->status == status) found.push_back(result);
  return found;
}

// Returns true if the messages of a result name nothing but an IMEX daemon that is not ready. DCGM 4 prints that on
// sound machines which need none, too (NVIDIA/NVSentinel issue 1471, NVIDIA/aicr issue 2641).
bool asks_only_for_imex(const GpuTestAnswer* result) {
  return !result->messages.empty() && std::ranges::all_of(result->messages, [](const std::string& message) {
    return message.starts_with("IMEX daemon status is");
  });
}

void judge_test(Case& verdict, const NodeView& node, const TestOfGpus& test) {
  verdict.seen(node.facts->gpus.tests);
  const auto failed = results_with(test, "fail");
  const auto warned = results_with(test, "warn");
  const auto passed = results_with(test, "pass");
  const auto skipped = results_with(test, "skip");
  if (failed.empty() && warned.empty()) {
    if (passed.empty() && skipped.size() == test.results.size())
      return verdict.not_applicable(fmt::format("skipped on {}", results_text(skipped)));
    if (passed.size() + skipped.size() < test.results.size())
      return verdict.unknown(fmt::format("{} of {} results: the test did not run",
                                         test.results.size() - passed.size() - skipped.size(),
                                         test.results.size()));
    return verdict.pass(fmt::format("{} passed, {} skipped", passed.size(), skipped.size()));
  }
  const auto& reds = failed.empty() ? warned : failed;
  const bool setting = std::ranges::all_of(reds, [](const GpuTestAnswer* result) { return result->setting; });
  const std::string text = results_text(reds);
  if (std::ranges::all_of(reds, asks_only_for_imex))
    return verdict.warn(
        {.message = fmt::format("{} {} in {} on {} for want of an IMEX daemon alone: {}", test.name,
                                failed.empty() ? "warns" : "fails", test.program, *node.name, text),
         .expected = "passed",
         .observed = text,
         .remedy = {
             "Look whether this node shares an NVLink domain with others (GB200, GB300): only then jobs need "
             "IMEX, and its service has to run. Anywhere else, and while no job uses the domain, the GPUs are as "
             "sound as the other results state.",
             {"nvidia-imex-ctl -N"}}});
  verdict.red(
      failed.empty() || setting ? Status::kWarn : Status::kFail,
      {.message = fmt::format("{} {} in {} on {}: {}", test.name, failed.empty() ? "warns" : "fails",
                              test.program, *node.name, text),
       .expected = "passed",
       .observed = text,
       .remedy = {
           setting ? "Correct the setting that the message names, and run the test again."
           : failed.empty()
               ? "Look into what the message names; jobs may run meanwhile. Run the test again while no other program "
                 "is on the GPUs."
               : "Take the node out of service, mend what the message names, and run the test again "
                 "with no other program on the GPUs; if it fails again, keep its output for the maker."}});
}

void diagnostic(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (!node.facts->gpus.tests.ok()) continue;
    for (const std::string& error : node.facts->gpus.tests->errors) {
      Case verdict = judge.on(node, "run of dcgmi", its_gpus(node));
      verdict.unknown(error);
    }
  }
  each_of(
      survey, judge, tests_of, &TestOfGpus::title,
      [](const NodeView& node, const TestOfGpus&) { return its_gpus(node); }, judge_test);
}

}  // namespace

std::span<const Rule> gpu_health_rules() {
  static const Rule kRules[] = {
      {.id = "gpu.recovery-action",
       .title = "driver asks for no recovery",
       .why = "The driver sums up what it saw of errors in one verdict; "
              "NVIDIA names it the first thing to obey.",
       .source = "NVML field GET_GPU_RECOVERY_ACTION",
       .standard = "none; nvml.h",
       .remedy = "Do what it says: reset the GPU, reboot the node, or drain it first.",
       .fixture = "h200-recovery-action",
       .explained_by = {"gpu.row-remap-failed", "gpu.row-remap-pending", "gpu.ecc-uncorrectable",
                        "gpu.answers"},
       .check = recovery_action},
      {.id = "gpu.ecc",
       .title = "ECC is on",
       .why = "Without it memory errors change results and nobody learns of it.",
       .source = "nvmlDeviceGetEccMode",
       .standard = "on, for models that ship so (src/hardware/gpu_model.cc)",
       .remedy = "Switch ECC on (nvidia-smi -e 1), then reset the GPU.",
       .fixture = "h200-ecc-off",
       .explained_by = {"gpu.answers"},
       .check = ecc_on},
      {.id = "gpu.ecc-pending",
       .title = "ECC stays as it is",
       .why = "A change that waits for the next reset turns up when nobody thinks of it.",
       .source = "nvmlDeviceGetEccMode",
       .standard = "current = pending; ours",
       .remedy = "Take the change back, or reset the GPU now.",
       .fixture = "h200-ecc-pending",
       .explained_by = {"gpu.ecc", "gpu.answers"},
       .check = ecc_pending},
      {.id = "gpu.ecc-uncorrectable",
       .title = "no uncorrectable memory error",
       .why = "Programs that met one were ended (Xid 48, 94, 95); "
              "the memory is not to be trusted until a reset.",
       .source = "nvmlDeviceGetTotalEccErrors, volatile",
       .standard = "0 since the driver was loaded; DCGM",
       .remedy = "Reset the GPU; replace it if they come back.",
       .fixture = "h200-ecc-uncorrectable",
       .explained_by = {"gpu.answers"},
       .check = ecc_uncorrectable},
      {.id = "gpu.sram-errors",
       .title = "on-chip memory is sound",
       .why = "SRAM cannot be remapped: what goes wrong there goes wrong again.",
       .source = "nvmlDeviceGetSramEccErrorStatus",
       .standard = "at most 4 uncorrectable in the GPU's life (sichek), and the driver's own threshold",
       .remedy = "Run the vendor's field diagnostics, then have the GPU replaced.",
       .fixture = "h200-sram-errors",
       .explained_by = {"gpu.answers"},
       .check = sram},
      {.id = "gpu.row-remap-pending",
       .title = "no row waits to be remapped",
       .why = "Until the reset the bad row stays in use.",
       .source = "nvmlDeviceGetRemappedRows",
       .standard = "none pending; NVIDIA's GPU memory error management guide",
       .remedy = "Drain and reset the GPU.",
       .fixture = "h200-row-remap-pending",
       .explained_by = {"gpu.row-remap-failed", "gpu.ecc-uncorrectable", "gpu.answers"},
       .check = remap_pending},
      {.id = "gpu.row-remap-failed",
       .title = "bad rows could be remapped",
       .why = "There is no spare row left: NVIDIA replaces such GPUs.",
       .source = "nvmlDeviceGetRemappedRows",
       .standard = "no failure, fewer than 512 rows; NVIDIA's GPU memory error management guide",
       .remedy = "Replace the GPU.",
       .fixture = "h200-row-remap-failed",
       .explained_by = {"gpu.answers"},
       .check = remap_failed},
      {.id = "gpu.row-remap-spares",
       .title = "every memory bank has spare rows",
       .why = "The next bad row in a bank without spares ends the GPU's service.",
       .source = "nvmlDeviceGetRowRemapperHistogram",
       .standard = "no bank without spares; ours",
       .remedy = "Plan to replace the GPU.",
       .fixture = "h200-row-remap-spares",
       .explained_by = {"gpu.row-remap-failed", "gpu.answers"},
       .check = remap_spares},
      {.id = "gpu.retired-pages",
       .title = "few memory pages are retired",
       .why =
           "Older GPUs retire pages instead of remapping rows; many of them mean that the memory wears out.",
       .source = "NVML fields RETIRED_SBE, RETIRED_DBE, RETIRED_PENDING",
       .standard = "fewer than 60 and none pending; NVIDIA's Dynamic Page Retirement",
       .remedy = "Reset the GPU when pages are pending; replace it when 60 are retired.",
       .fixture = "v100-retired-pages",
       .explained_by = {"gpu.answers"},
       .check = retired_pages},
      {.id = "gpu.inforom",
       .title = "inforom is valid",
       .why = "It keeps the GPU's error history, ECC mode and limits.",
       .source = "nvmlDeviceValidateInforom",
       .standard = "valid",
       .remedy = "Have the inforom reflashed, or replace the GPU.",
       .fixture = "h200-inforom",
       .explained_by = {"gpu.answers"},
       .check = inforom},
      {.id = "gpu.diagnostic",
       .title = "GPU passes DCGM's tests",
       .why =
           "A GPU that computes wrongly or loses bandwidth may run for weeks; DCGM's tests load it and compare.",
       .source = "dcgmi diag and dcgmi health -c, of a report",
       .standard = "passed; skipped is not passed; a failure that DCGM calls a setting is a warning",
       .remedy = "Mend what the message names, then run the test again.",
       .fixture = "h100-dcgm-memory",
       .explained_by = {},
       .check = diagnostic},
  };
  return kRules;
}

}  // namespace railbed
