// What a program does wrong with PyTorch.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kFsdp = "PyTorch torch/distributed/fsdp/_flat_param.py";

// clang-format off
constexpr Symptom kTorchProgramSymptoms[] = {
    {"no-nccl-built",         kError,   kCause, kAnyone, {"Distributed package doesn't have NCCL built in"}, kTorchDist, "This PyTorch has no NCCL"},
    {"fsdp-dtypes", kError, kCause, kAnyone, {"Must flatten tensors with uniform dtype but got "}, kFsdp, "FSDP cannot wrap a part of the model: its parameters have two data types (dtype)"},
    {"fsdp-dtypes-old", kError, kCause, kAnyone, {"`FlatParameter` requires uniform dtype but got "}, kFsdp, "FSDP cannot wrap a part of the model: its parameters have two data types (dtype)"},
    {"tensors-not-dense", kError, kCause, kAnyone, {"Tensors must be CUDA and dense"}, "PyTorch ProcessGroupNCCL.cpp", "A collective of NCCL was called with a tensor that is not dense GPU memory"},
    {"gloo-scalar", kError, kCause, kAnyone, {"RuntimeError: Invalid scalar type"}, "PyTorch ProcessGroupGloo.cpp", "An operation (of Gloo, mostly) does not take the data type of a tensor"},
    {"tensors-two-devices", kError, kCause, kAnyone, {"Expected all tensors to be on the same device, but "}, "PyTorch aten", "An operation of the program was given tensors on different devices"},
    {"load-device-ordinal", kError, kCause, kAnyone, {"Attempting to deserialize object on CUDA device ", "but torch.cuda.device_count() is"}, "PyTorch torch/serialization.py", "A checkpoint was saved from a GPU number that this process does not have"},
    {"load-no-cuda", kError, kCause, kAnyone, {"Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False"}, "PyTorch torch/serialization.py", "The process sees no GPU, and a checkpoint is to be loaded to one"},
    {"kernel-recommended", kNote, kCause, kAnyone, {"which is below the recommended minimum of 5.5.0"}, "accelerate utils/other.py", "accelerate warns of an old kernel: harmless in most cases"},
    {"checkpoint-metadata", kError, kCause, kAnyone, {"Recomputed values for the following tensors have different metadata"}, "PyTorch torch/utils/checkpoint.py", "Activation checkpointing computed other tensors the second time"},
    {"ddp-no-gradient", kError, kCause, kAnyone, {"DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient"}, "PyTorch torch/nn/parallel/distributed.py", "DDP was given a module without anything to train"},

    // Lines that confirm or refute
    {"recomputed-empty", kNote, kSight, kAnyone, {"recomputed metadata: ", "torch.Size([0])"}, "PyTorch torch/utils/checkpoint.py", "A recomputed tensor is empty"},
    {"recomputed-metadata", kNote, kSight, kAnyone, {"recomputed metadata: "}, "PyTorch torch/utils/checkpoint.py", "A recomputed tensor"},
};

constexpr Hypothesis kTorchProgramHypotheses[] = {
    {.id = "no-nccl-built", .explains = {"no-nccl-built"}, .stated = true,
     .cause = "It is a build for the CPU (or for Windows or macOS), or of a system where NCCL was left out.",
     .remedy = "Install the CUDA build (python -c 'import torch; print(torch.version.cuda)'), or backend gloo.",
     .source = kTorchDist},
    {.id = "fsdp-dtypes", .explains = {"fsdp-dtypes", "fsdp-dtypes-old"}, .stated = true,
     .cause = "FSDP puts the parameters of a wrapped module into one flat tensor, and the message has the two types it met in one: adapters (LoRA), norms or quantised weights are kept in another dtype than the rest.",
     .remedy = "One dtype before FSDP wraps: torch_dtype and bnb_4bit_quant_storage equal, model.to(torch.bfloat16) after the adapters were added, or wrap the adapters by themselves. FSDP 2 (fully_shard) takes mixed types.",
     .source = "github.com/huggingface/peft/issues/484; PyTorch torch/distributed/fsdp/_flat_param.py"},
    {.id = "tensors-not-dense", .explains = {"tensors-not-dense"}, .stated = true,
     .cause = "NCCL takes dense tensors in GPU memory only, and the tensor that it was given is another.",
     .remedy = "tensor.to(device) before the call (metrics and flags are often on the CPU), to_dense() for sparse gradients, or init_process_group(backend=\"cpu:gloo,cuda:nccl\").",
     .source = "PyTorch ProcessGroupNCCL.cpp"},
    {.id = "gloo-scalar", .explains = {"gloo-scalar"}, .stated = true,
     .cause = "PyTorch prints this where Gloo reduces or sends a tensor of a type that it does not have: it takes float32, float64, float16 and some integers, and not bool or int16 (older releases: bfloat16). The frames above name the call; if it is none of torch.distributed, it is another library's.",
     .remedy = "Convert the tensor for the call (float32, int32), or use NCCL with a GPU tensor.",
     .source = "PyTorch ProcessGroupGloo.cpp"},
    {.id = "tensors-two-devices", .explains = {"tensors-two-devices"}, .stated = true,
     .cause = "The program put a part of the model or of its input on another device than the rest; the message has both. Neither GPU is at fault.",
     .remedy = "x.to(model.device) for inputs; torch.cuda.set_device(local_rank) in each rank; with device_map=\"auto\" no .to() and one process.",
     .source = "PyTorch aten"},
    {.id = "load-device-ordinal", .explains = {"load-device-ordinal"}, .stated = true,
     .cause = "torch.load puts each tensor back on the GPU that it was saved from; the message has that number and how many this process sees.",
     .remedy = "torch.load(path, map_location='cpu') and move the model afterwards, or map_location to a GPU that the process has ('cuda:0' if it sees one).",
     .source = "PyTorch torch/serialization.py"},
    {.id = "kernel-recommended", .explains = {"kernel-recommended"}, .stated = true,
     .cause = "accelerate prints this on each kernel whose number is below 5.5. Enterprise distributions (Red Hat 8) keep such a number and bring later corrections into it.",
     .remedy = "Nothing; if a job hangs, look for its cause first (py-spy dump, NCCL_DEBUG=INFO).",
     .source = "accelerate utils/other.py, check_os_kernel"},
    {.id = "checkpoint-zero3", .explains = {"checkpoint-metadata"}, .needs = {"recomputed-empty"}, .refuted_by = {"recomputed-whole"},
     .title = "Checkpointing without re-entry does not go with ZeRO 3: a weight was empty the second time",
     .cause = "ZeRO stage 3 (or FSDP) had taken the weights away again when the layer was computed a second time, so a tensor is empty: torch.Size([0]).",
     .remedy = "gradient_checkpointing_kwargs={'use_reentrant': True} with ZeRO 3, or deepspeed.checkpointing.",
     .settle_by = "the lines \"recomputed metadata\" below the message",
     .source = "PyTorch torch/utils/checkpoint.py; DeepSpeed ZeRO stage 3"},
    {.id = "checkpoint-forward", .explains = {"checkpoint-metadata"}, .common = kUsual, .refuted_by = {"recomputed-empty"},
     .title = "The forward pass of a checkpointed layer is not the same twice",
     .cause = "The layer's forward pass took another way the second time: it depends on state that changed (a cache, a counter, autocast, random numbers, an adapter that was switched).",
     .remedy = "use_cache=False in training; keep such state out of checkpointed layers; torch.utils.checkpoint.set_checkpoint_debug_enabled(True) names the first operation that differs.",
     .settle_by = "the lines \"saved metadata\" and \"recomputed metadata\" below the message",
     .source = "PyTorch torch/utils/checkpoint.py"},
    {.id = "ddp-no-gradient", .explains = {"ddp-no-gradient"}, .stated = true,
     .cause = "No parameter of the module has requires_grad=True: all are frozen, the adapters were not added or not activated, or the module has no parameters.",
     .remedy = "Wrap only what is trained; print the parameters with requires_grad before DDP.",
     .source = "PyTorch torch/nn/parallel/distributed.py"},
};
// clang-format on

}  // namespace

Table torch_program() { return {kTorchProgramSymptoms, kTorchProgramHypotheses}; }

}  // namespace railbed::diagnose::tables
