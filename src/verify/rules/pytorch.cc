// PyTorch in the environment that cluster.yaml names.
#include <fmt/format.h>

#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

Things pytorch_and_gpus(const NodeView& node) {
  Things touches = {"pytorch"};
  touches.add(node.gpu_touches);
  return touches;
}

// Calls look(Case&, const NodeView&, const PyTorch&) on every node whose PyTorch was checked.
template <class Look>
void each_pytorch(const Survey& survey, Judge& judge, const Look& look) {
  each_node(survey, judge, "PyTorch", pytorch_and_gpus, [&](Case& verdict, const NodeView& node) {
    const PyTorch* torch = verdict.read_if_there(node.facts->pytorch, "cluster.yaml names no venv");
    if (torch != nullptr) look(verdict, node, *torch);
  });
}

// Like each_pytorch(), for nodes where it starts.
template <class Look>
void each_started_pytorch(const Survey& survey, Judge& judge, const Look& look) {
  each_pytorch(survey, judge, [&](Case& verdict, const NodeView& node, const PyTorch& torch) {
    if (!torch.error.empty()) return verdict.not_applicable("PyTorch does not start (pytorch.imports)");
    look(verdict, node, torch);
  });
}

ShellCommand try_it(const NodeView& node, const std::string& statement) {
  const std::string venv = node.expect().venv.value_or("VENV");
  return command("{}/bin/python -c {}", venv, ShellQuoted{statement});
}

void imports(const Survey& survey, Judge& judge) {
  each_pytorch(survey, judge, [](Case& verdict, const NodeView& node, const PyTorch& torch) {
    if (torch.error.empty()) return verdict.pass(torch.version);
    verdict.fail({.message = fmt::format("PyTorch does not start on {}: {}", *node.name, torch.error),
                  .expected = "import torch",
                  .observed = torch.error,
                  .remedy = {"Install it in that environment, or correct expect.venv in cluster.yaml.",
                             {try_it(node, "import torch")}}});
  });
}

void cuda(const Survey& survey, Judge& judge) {
  each_started_pytorch(survey, judge, [](Case& verdict, const NodeView& node, const PyTorch& torch) {
    if (torch.cuda_available) return verdict.pass("CUDA " + torch.cuda);
    const bool built = !torch.cuda.empty();
    verdict.fail(
        {.message = fmt::format(
             "PyTorch {} on {} cannot use CUDA: {}", torch.version, *node.name,
             built ? fmt::format("it was built for CUDA {}, and the driver does not serve it", torch.cuda)
                   : "it was built without"),
         .expected = "torch.cuda.is_available()",
         .observed = built ? "built for CUDA " + torch.cuda + ", not available" : "built without CUDA",
         .remedy = {built ? "The statement below says why; often the driver is older than this CUDA."
                          : "Install the build of PyTorch for CUDA.",
                    {try_it(node, "import torch; torch.cuda.init()"), "nvidia-smi"}}});
  });
}

void devices(const Survey& survey, Judge& judge) {
  each_started_pytorch(survey, judge, [](Case& verdict, const NodeView& node, const PyTorch& torch) {
    const int want = node.expect().gpus.value_or(static_cast<int>(node.gpus().size()));
    if (!torch.cuda_available) return verdict.not_applicable("CUDA is not available (pytorch.cuda)");
    if (torch.devices == want) return verdict.pass(std::to_string(want));
    verdict.fail({.message = fmt::format("PyTorch on {} sees {} of {} GPUs", *node.name, torch.devices, want),
                  .expected = std::to_string(want),
                  .observed = std::to_string(torch.devices),
                  .remedy = {"Look for CUDA_VISIBLE_DEVICES, for MIG, and for a GPU that does not start.",
                             {"env | grep CUDA_VISIBLE_DEVICES", "nvidia-smi -L"}}});
  });
}

void nccl_backend(const Survey& survey, Judge& judge) {
  each_started_pytorch(survey, judge, [](Case& verdict, const NodeView& node, const PyTorch& torch) {
    if (torch.nccl) return verdict.pass("NCCL " + torch.nccl_version);
    verdict.fail(
        {.message = fmt::format("PyTorch {} on {} has no NCCL: torch.distributed falls back to gloo over TCP",
                                torch.version, *node.name),
         .expected = "torch.distributed.is_nccl_available()",
         .observed = "no",
         .remedy = {"Install the build of PyTorch for CUDA; it brings NCCL.",
                    {try_it(node, "import torch.distributed as d; print(d.is_nccl_available())")}}});
  });
}

// Returns the last error, which is the most specific, in "DistBackendError: NCCL error in: FILE, invalid
// usage (…) Last error: no socket interface found".
std::string_view said_last(std::string_view error) {
  constexpr std::string_view kLast = "Last error: ";
  const std::size_t at = error.rfind(kLast);
  return at == std::string_view::npos ? error : error.substr(at + kLast.size());
}

// Returns true if another program took the GPU during the check.
bool was_taken(std::string_view error) {
  return error.find("out of memory") != std::string_view::npos ||
         error.find("devices are busy or unavailable") != std::string_view::npos;
}

Complaint does_not_work(const NodeView& node, std::string_view what, const std::string& error,
                        const std::string& statement) {
  return {
      .message = fmt::format("PyTorch on {} starts, but {} fails: {}", *node.name, what, said_last(error)),
      .expected = "it works",
      .observed = error,
      .remedy = {"The statement below repeats it, and NCCL and CUDA say more on the way.",
                 {command("NCCL_DEBUG=INFO {}", try_it(node, statement))}}};
}

void works(const Survey& survey, Judge& judge) {
  constexpr std::string_view kWorked = "worked";
  each_started_pytorch(survey, judge, [&](Case& verdict, const NodeView& node, const PyTorch& torch) {
    if (torch.operation.empty()) return verdict.not_applicable("not tried: no GPU, or one that is in use");
    if (was_taken(torch.operation) || was_taken(torch.all_reduce))
      return verdict.unknown("another program took the GPU while PyTorch was tried");
    if (torch.operation != kWorked)
      return verdict.fail(does_not_work(node, "a sum on its first GPU", torch.operation,
                                        "import torch; print(torch.ones(8, device=\"cuda\").sum())"));
    if (!torch.all_reduce.empty() && torch.all_reduce != kWorked)
      return verdict.fail(does_not_work(
          node, "an all_reduce of one process", torch.all_reduce,
          "import torch, torch.distributed as d; d.init_process_group(\"nccl\", store=d.HashStore(), rank=0, "
          "world_size=1); x = torch.ones(8, device=\"cuda\"); d.all_reduce(x); print(x.sum())"));
    verdict.pass(torch.all_reduce.empty() ? "a sum on the first GPU"
                                          : "a sum on the first GPU, an all_reduce");
  });
}

}  // namespace

std::span<const Rule> pytorch_rules() {
  static const Rule kRules[] = {
      {.id = "pytorch.imports",
       .title = "PyTorch starts",
       .why = "What trains is PyTorch: a node whose environment is broken fails the job in its first second.",
       .source = "expect.venv's bin/python, import torch",
       .standard = "it imports; not judged without expect.venv",
       .remedy = "Repair the environment.",
       .fixture = "h100-pytorch-broken",
       .explained_by = {},
       .check = imports},
      {.id = "pytorch.cuda",
       .title = "PyTorch can use CUDA",
       .why = "Without it training runs on the processor, silently where the script allows it.",
       .source = "torch.cuda.is_available(), torch.version.cuda",
       .standard = "available; not judged without expect.venv",
       .remedy = "Install PyTorch's build for CUDA, and a driver that is as new.",
       .fixture = "h100-pytorch-no-cuda",
       .explained_by = {"pytorch.imports", "gpu.driver", "gpu.version-mismatch", "gpu.fabric-manager",
                        "gpu.xid-reboot"},
       .check = cuda},
      {.id = "pytorch.devices",
       .title = "PyTorch sees every GPU",
       .why = "A rank without a GPU stops the whole job.",
       .source = "torch.cuda.device_count()",
       .standard = "expect.gpus, else the GPUs on PCI; not judged without expect.venv",
       .remedy = "Look at CUDA_VISIBLE_DEVICES, at MIG, and at the GPU that is missing.",
       .fixture = "h100-pytorch-devices",
       .explained_by = {"pytorch.cuda", "gpu.device-nodes", "gpu.xid-reboot"},
       .check = devices},
      {.id = "pytorch.nccl",
       .title = "PyTorch has NCCL",
       .why = "Without NCCL collectives go through gloo over TCP, at a hundredth of the speed.",
       .source = "torch.distributed.is_nccl_available()",
       .standard = "available; not judged without expect.venv",
       .remedy = "Install PyTorch's build for CUDA.",
       .fixture = "h100-pytorch-no-nccl",
       .explained_by = {"pytorch.imports", "pytorch.cuda"},
       .check = nccl_backend},
      {.id = "pytorch.works",
       .title = "PyTorch computes and reduces",
       .why =
           "Flags only say what PyTorch was built with. A sum on a GPU and an all_reduce load what a job loads: "
           "kernels for this GPU, NCCL, its settings and its network.",
       .source =
           "expect.venv's bin/python: torch.ones(1024).sum() and all_reduce of one process on the first GPU",
       .standard = "both work; not tried where a process uses a GPU, not judged without expect.venv",
       .remedy =
           "Read what CUDA or NCCL says; often NCCL's settings are wrong, or the build is for other GPUs.",
       .fixture = "h100-pytorch-all-reduce",
       .explained_by = {"pytorch.cuda", "pytorch.nccl", "gpu.driver", "gpu.version-mismatch",
                        "gpu.fabric-manager", "gpu.xid-reboot"},
       .check = works},
  };
  return kRules;
}

}  // namespace railbed
