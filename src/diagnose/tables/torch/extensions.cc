// Operators that PyTorch and DeepSpeed compile.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

// clang-format off
constexpr Symptom kTorchExtensionsSymptoms[] = {
    {"extension-cuda", kError, kCause, kAnyone, {"does not match the version torch was compiled with"},
     "DeepSpeed op_builder/builder.py, assert_no_cuda_mismatch",
     "DeepSpeed does not compile its operator: the installed CUDA toolkit is not the one of PyTorch"},
    {"extension-cuda-torch", kError, kCause, kAnyone, {"mismatches the version that was used to compile"},
     "PyTorch torch/utils/cpp_extension.py",
     "PyTorch does not compile the extension: the installed CUDA toolkit is not the one of PyTorch"},
    {"extension-no-cuda", kError, kCause, kAnyone, {"CUDA_HOME does not exist, unable to compile CUDA op"},
     "DeepSpeed op_builder/builder.py, installed_cuda_version",
     "DeepSpeed finds no CUDA toolkit to compile its operator"},
    {"extension-no-ninja", kError, kCause, kAnyone, {"Ninja is required to load C++ extensions"},
     "PyTorch torch/utils/cpp_extension.py",
     "PyTorch cannot compile an extension: it finds no ninja"},
    {"ninja-log", kError, kCause, kAnyone, {"ninja: error: opening build log: No such file"},
     "ninja src/ninja.cc; FlashInfer flashinfer/jit",
     "ninja's log went away while a kernel was to be compiled"},
    {"flashinfer-build", kError, kEcho, kAnyone, {"Ninja build failed. Ninja output"},
     "FlashInfer flashinfer/jit/cpp_ext.py",
     "FlashInfer could not compile a kernel"},
    {"extension-build", kError, kEcho, kAnyone, {"Error building extension '"},
     "PyTorch torch/utils/cpp_extension.py",
     "PyTorch could not compile an extension"},
    {"cpu-adam-half", kError, kEcho, kAnyone, {"object has no attribute 'ds_opt_adam'"},
     "DeepSpeed ops/adam/cpu_adam.py",
     "DeepSpeed's CPU optimizer was not made: its operator could not be compiled or loaded"},
};

constexpr Hypothesis kTorchExtensionsHypotheses[] = {
    {.id = "extension-other-cuda", .explains = {"extension-cuda", "extension-cuda-torch"}, .common = kUsual, .stated = true,
     .cause = "The message has both versions: that of nvcc in CUDA_HOME, and that with which PyTorch was built. What follows (a missing attribute such as ds_opt_adam) is an after-effect.",
     .remedy = "Install the toolkit of python -c 'import torch; print(torch.version.cuda)' and set CUDA_HOME to it, or a PyTorch of the installed toolkit. "
     "If only the minor versions differ: DS_SKIP_CUDA_CHECK=1.",
     .source = "DeepSpeed op_builder/builder.py; github.com/deepspeedai/DeepSpeed/issues/1077"},
    {.id = "extension-no-cuda", .explains = {"extension-no-cuda"}, .common = kUsual, .stated = true,
     .cause = "DeepSpeed compiles its operators when they are first used, and needs nvcc for that; PyTorch brings CUDA's libraries and no nvcc.",
     .remedy = "Install the toolkit of torch.version.cuda (an image named devel, not runtime) and set CUDA_HOME, on every node.",
     .source = "DeepSpeed op_builder/builder.py"},
    {.id = "extension-no-ninja", .explains = {"extension-no-ninja"}, .common = kUsual, .stated = true,
     .cause = "PyTorch starts the program ninja, and PATH has none. A launcher by ssh or pdsh often leaves out the folder bin of the environment, where pip put it.",
     .remedy = "which ninja on each node: pip install ninja there, or add the environment's bin to PATH (DeepSpeed: PATH=... in ~/.deepspeed_env).",
     .source = "PyTorch torch/utils/cpp_extension.py; github.com/deepspeedai/DeepSpeed/issues/5627"},
    {.id = "ninja-log", .explains = {"ninja-log"}, .common = kUsual, .stated = true,
     .cause = "The log (.ninja_log) in the build's folder went away. Mostly several processes of the job compile in one folder at the same time, and one replaced the log that another was to open, which comes and goes by chance; with one process alone something else removed the folder, or its file server lost it (\"Stale file handle\").",
     .remedy = "Start it again: what is compiled already stays. For good: a FlashInfer with its pull request 2339 (January 2026), where each module has its own folder; its compiled kernels (pip install flashinfer-jit-cache); one process that compiles before the others start; or a cache of its own for each rank (FLASHINFER_WORKSPACE_BASE).",
     .settle_by = "the same job with one rank, or once more",
     .source = "github.com/flashinfer-ai/flashinfer/issues/2338; github.com/flashinfer-ai/flashinfer/pull/2339; github.com/NVIDIA/TensorRT-LLM/pull/18278"},
    {.id = "flashinfer-build", .explains = {"flashinfer-build"}, .common = kUsual, .stated = true,
     .cause = "The compiler's own error stands below this line.",
     .remedy = "Read the first line below it with error:, FAILED: or Killed. Killed is a lack of memory: MAX_JOBS=4. Else compare nvcc --version with torch.version.cuda, and remove the old build: rm -rf ~/.cache/flashinfer; pip install flashinfer-jit-cache brings compiled kernels.",
     .source = "FlashInfer flashinfer/jit/cpp_ext.py; github.com/flashinfer-ai/flashinfer/issues/4410"},
    {.id = "extension-build", .explains = {"extension-build"}, .common = kUsual, .stated = true,
     .cause = "The compiler's own error stands above this line.",
     .remedy = "Read the first line above it with error: or FAILED:. After a change of CUDA or the compiler remove the old build: rm -rf ~/.cache/torch_extensions.",
     .source = "PyTorch torch/utils/cpp_extension.py"},
    {.id = "cpu-adam-half", .explains = {"cpu-adam-half"}, .common = kUsual, .stated = true,
     .cause = "The exception before this one has the reason. This line is of the destructor of a half-made object.",
     .remedy = "Look at the exception above it; ds_report, and python -c 'import deepspeed; deepspeed.ops.op_builder.CPUAdamBuilder().load()' shows it alone.",
     .source = "DeepSpeed ops/adam/cpu_adam.py; github.com/deepspeedai/DeepSpeed/issues/1077"},
};
// clang-format on

}  // namespace

Table torch_extensions() { return {kTorchExtensionsSymptoms, kTorchExtensionsHypotheses}; }

}  // namespace railbed::diagnose::tables
