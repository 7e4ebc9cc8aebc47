// SGLang.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kSglang = "github.com/sgl-project/sglang";

// clang-format off
constexpr Symptom kServingSglangSymptoms[] = {
    {"sglang-load-barrier", kError, kCause, kAnyone, {"could finish the model loading, but there are other ranks that didn"},
     "SGLang srt/model_executor/model_runner.py",
     "SGLang: other ranks had not loaded the model when the time limit for it ended"},
    {"sglang-unbalanced",     kError,   kCause, kAnyone, {"The memory capacity is unbalanced"},
     "SGLang model_runner.py",
     "SGLang's GPUs have unequal free memory before the model is loaded"},
    {"sglang-memory",         kError,   kCause, kAnyone, {"Not enough memory. Please try to increase --mem-fraction-static"},
     "SGLang model_runner.py",
     "The model leaves SGLang no GPU memory for its KV cache"},
    {"sglang-init",           kError,   kEcho,  kAnyone, {"Initialization failed. Please see the error messages above"},
     "SGLang entrypoints/engine.py",
     "SGLang's scheduler did not start"},

    // Lines that confirm or refute
    {"sglang-second-model",   kNote,    kSight, kAnyone, {"Capture cuda graph end"}, "SGLang model_runner.py", "A model is loaded already"},
    {"gpu-process-listed",    kNote,    kSight, kAnyone, {"N/A", " C ", "MiB |"}, "nvidia-smi", "A process holds memory of a GPU"},
};

constexpr Symptom kServingSglangLater[] = {
    {"sglang-watchdog", kError, kEcho, kAnyone, {"Watchdog timeout (self.watchdog_timeout="}, "SGLang managers/scheduler.py", "A scheduler of SGLang made no step within its time limit, and ended itself"},
    {"sglang-scheduler-dead", kError, kEcho, kAnyone, {"scheduler is dead. Please check if there are relevant logs"}, kSglang, "A scheduler of SGLang has ended"},
    {"sglang-aborted", kWarning, kEcho, kAnyone, {"KVTransferError(", "Aborted by AbortReq"}, "SGLang srt/disaggregation", "SGLang gave up the transfer of a cache, since its request was aborted"},
    {"sglang-transfer", kError, kEcho, kAnyone, {"KVTransferError(bootstrap_room="}, "SGLang srt/disaggregation", "A cache was not transferred between a prefill and a decode instance of SGLang"},
    {"sglang-scheduler-exception", kError, kEcho, kAnyone, {"Scheduler hit an exception: "}, "SGLang managers/scheduler.py", "A scheduler of SGLang has ended"},
};

constexpr Hypothesis kServingSglangHypotheses[] = {
    {.id = "sglang-load-slow", .explains = {"sglang-load-barrier"}, .common = kUsual, .refuted_by = {"a-rank-failed"},
     .title = "SGLang: ranks still load the model when the time limit of the barrier after it ends",
     .cause = "The ranks without an end of loading are slower (larger shards, slow storage, a long step after loading) than the barrier waits: 480 s in releases up to 2026.",
     .remedy = "Look for the ranks that have no \"Load weight end\", and let them finish: SGLANG_MODEL_LOADING_TIMEOUT_S=1800 in a release that has it, the model on local NVMe, its files read once before (cat FILES > /dev/null).",
     .settle_by = "grep \"Load weight\" of all ranks: who began and did not end; py-spy dump --pid PID of those",
     .source = "github.com/sgl-project/sglang/pull/39128"},
    {.id = "sglang-load-failed", .explains = {"sglang-load-barrier"}, .needs = {"a-rank-failed"}, .refuted_by = {"no-rank-failed"},
     .title = "SGLang: a rank failed while it loaded the model; the others wait for it",
     .cause = "A rank ended with an error of its own, and never came to the barrier after loading.",
     .remedy = "Correct the error of that rank; out of memory: a smaller --mem-fraction-static or more GPUs.",
     .settle_by = "the last lines of each rank; dmesg -T | grep -i -e oom -e xid",
     .source = "SGLang srt/model_executor/model_runner.py"},
    {.id = "sglang-unbalanced", .explains = {"sglang-unbalanced"}, .needs = {"gpu-process-listed"}, .refuted_by = {"sglang-second-model", "gpus-of-two-kinds"},
     .title = "Other processes hold memory of some of SGLang's GPUs",
     .cause = "Other processes, often of a server that ended badly, hold memory of a GPU.",
     .remedy = "nvidia-smi lists the processes on each GPU: end those that do not belong to this server, and look whether ranks of it opened another's GPU.",
     .settle_by = "nvidia-smi, before the server starts",
     .source = "github.com/sgl-project/sglang/issues/1533"},
    {.id = "sglang-second-model", .explains = {"sglang-unbalanced"}, .needs = {"sglang-second-model"}, .refuted_by = {"gpus-of-two-kinds"},
     .title = "SGLang's check met its own ranks: it loads a second model",
     .cause = "The check ran again for a draft model, while ranks had loaded and captured unequal parts of the first.",
     .remedy = "SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=1 in the server's environment (newer releases: SGLANG_DISABLE_TP_MEMORY_INBALANCE_CHECK); update an SGLang of before April 2025 first.",
     .settle_by = "whether the ranks captured graphs before the message",
     .source = "github.com/sgl-project/sglang/issues/4233; github.com/sgl-project/sglang/pull/5426"},
    {.id = "sglang-other-gpus", .explains = {"sglang-unbalanced"}, .needs = {"gpus-of-two-kinds"}, .refuted_by = {"gpus-of-one-kind"},
     .title = "SGLang's GPUs are not of one size",
     .cause = "The check compares free memory, so a smaller GPU among larger ones fails it although nothing else runs.",
     .remedy = "Take GPUs of one kind (CUDA_VISIBLE_DEVICES), or SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=1 with --mem-fraction-static for the smallest.",
     .settle_by = "nvidia-smi -L; on all nodes of the server",
     .source = "github.com/sgl-project/sglang/issues/1533"},
    {.id = "sglang-memory", .explains = {"sglang-memory"}, .common = kUsual, .stated = true,
     .cause = "Nothing of the share of memory that --mem-fraction-static gives is left after the model was loaded.",
     .remedy = "Raise --mem-fraction-static, or spread the model (--tp-size).",
     .source = "SGLang model_runner.py"},
    {.id = "sglang-init", .explains = {"sglang-init"}, .common = kUsual, .stated = true,
     .cause = "The scheduler's process printed the reason before this line.",
     .remedy = "Look for the first traceback of a TP rank.",
     .source = "SGLang entrypoints/engine.py"},
    {.id = "sglang-stuck", .explains = {"sglang-watchdog"}, .refuted_by = {"a-rank-failed"},
     .title = "A scheduler of SGLang made no step in time, and this log does not show why",
     .cause = "The scheduler waits in a collective or in a kernel that does not end, or a batch is slower than the limit.",
     .remedy = "py-spy dump --pid of every scheduler before the limit; --watchdog-timeout 1200 for long compilations; one run with --disable-cuda-graph; NCCL_DEBUG=INFO.",
     .settle_by = "py-spy dump --pid PID of every scheduler during the wait",
     .source = "SGLang managers/scheduler.py"},
    {.id = "sglang-rank-failed", .explains = {"sglang-watchdog"}, .common = kRare, .needs = {"a-rank-failed"}, .refuted_by = {"no-rank-failed"}, .echo = true,
     .title = "A rank of SGLang failed, and the others waited for it",
     .cause = "A rank of the group failed, and the others waited in a collective for it.",
     .remedy = "Look at that rank's error.",
     .settle_by = "the first exception of all ranks",
     .source = "SGLang managers/scheduler.py"},
    {.id = "sglang-scheduler-dead", .explains = {"sglang-scheduler-dead", "sglang-scheduler-exception"}, .stated = true,
     .cause = "The scheduler's process ended by an exception or a signal; its own lines stand above.",
     .remedy = "Look at the first traceback of that rank above it; without one: dmesg -T | grep -i -e oom -e xid.",
     .source = "SGLang entrypoints/engine.py"},
    {.id = "sglang-transfer", .explains = {"sglang-transfer"}, .stated = true,
     .cause = "The text after the number has the step that failed, such as Bootstrapping or WaitingForInput (the other instance did not come to it), or a session that is no longer alive. The transfer engine's own lines have the cause.",
     .remedy = "The first line of Mooncake (rdma_endpoint, rdma_context) or NIXL on both ends; --disaggregation-ib-device; the bootstrap port from the decode node: nc -zv PREFILL 8998.",
     .source = "SGLang srt/disaggregation"},
    {.id = "sglang-aborted", .explains = {"sglang-aborted"}, .stated = true,
     .cause = "The request was aborted while its cache was under way: the client left, or the router or the other instance gave up. A few are normal; if all are aborted, the other instance does not answer.",
     .remedy = "For a few: nothing. For all: look at the first error of the other instance and the time limits of client and router; restart prefill before decode.",
     .source = "SGLang srt/disaggregation, abort"},
};
// clang-format on

}  // namespace

Table serving_sglang() { return {kServingSglangSymptoms, kServingSglangHypotheses, kServingSglangLater}; }

}  // namespace railbed::diagnose::tables
