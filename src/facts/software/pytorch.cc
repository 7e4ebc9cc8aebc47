#include "facts/software/pytorch.h"

#include "base/json.h"
#include "base/text.h"
#include "host/host.h"

namespace railbed {
namespace {

// The script that runs in the environment, in one line so that a captured tree can name it. With the word
// "try" it also computes a sum on the first GPU and has NCCL do the same as a group of one. That takes 1.2 s
// more and, for half a second, 1.2 GiB of the GPU's memory (H100, PyTorch 2.11).
constexpr const char* kScript =
    R"(exec('import json,sys\ndef t(f):\n try:\n  f();return "worked"\n except BaseException as e:\n  return " ".join((type(e).__name__+": "+str(e)).split())[:400]\ntry:\n import torch,torch.distributed as d\n c=torch.cuda\n n=d.is_available() and d.is_nccl_available()\n a=dict(version=torch.__version__,cuda=torch.version.cuda or "",cuda_available=c.is_available(),devices=c.device_count(),nccl=n,nccl_version=".".join(map(str,c.nccl.version())) if n else "")\n def s(x):\n  assert x.sum().item()==x.numel(),"a sum is wrong"\n def o():\n  s(torch.ones(1024,device="cuda"))\n def r():\n  d.init_process_group("nccl",store=d.HashStore(),rank=0,world_size=1)\n  x=torch.ones(1024,device="cuda");d.all_reduce(x);s(x);d.destroy_process_group()\n if sys.argv[1:]==["try"] and a["cuda_available"]:\n  a["operation"]=t(o)\n  if n:a["all_reduce"]=t(r)\nexcept BaseException as e:\n a=dict(error=repr(e)[:400])\nprint(json.dumps(a))'))";

std::optional<std::vector<std::string>> paths_in(const std::string& answer) {
  auto paths = json::read<std::vector<std::string>>(answer);
  if (!paths) return std::nullopt;
  return std::move(*paths);
}

// Returns the first part of the interpreter, its configuration and its packages that users other than root
// and this one may change; empty if there is none. A captured tree has the results of the captured machine.
std::string changeable(Host& host, const std::string& venv) {
  std::vector<std::string> paths = {venv + "/bin/python", venv + "/pyvenv.cfg"};
  for (const std::string& name : host.list(venv + "/lib").value_or({}))
    paths.push_back(venv + "/lib/" + name + "/site-packages");
  for (const std::string& path : paths) {
    const auto found = host.call("changeable " + path).parsed(paths_in);
    if (found && !found->empty()) return found->front();
  }
  return "";
}

// Returns the last line that is an object: libraries print before it, and NCCL after it.
std::string_view answer_in(std::string_view output) {
  std::string_view answer;
  for (const auto line : lines(output))
    if (line.starts_with("{")) answer = line;
  return answer;
}

}  // namespace

Reading<PyTorch> collect_pytorch(Host& host, const std::string& venv, std::chrono::seconds deadline,
                                 bool try_gpu) {
  const std::string python = venv + "/bin/python";
  if (venv.empty()) return {Miss{Missing::kAbsent, "no Python environment is named"}, ""};
  // A path that is not absolute could resolve to another folder.
  if (venv.front() != '/')
    return {Miss{Missing::kUnsupported, "the environment's path is not absolute"}, venv};
  if (const std::string path = changeable(host, venv); !path.empty())
    return {Miss{Missing::kDenied,
                 path + " can be changed by users other than root and this one, so Python was not run"},
            venv};
  // -I: neither the user's own packages nor PYTHONPATH; -B: no byte code is written.
  std::vector<std::string> command = {python, "-I", "-B", "-c", kScript};
  if (try_gpu) command.emplace_back("try");
  const auto output = host.run(command, deadline);
  const std::string from = python + " -c 'import torch'";
  if (output.absent()) {
    // A captured tree has no result of either command.
    const auto there = host.run({"test", "-e", python});
    if (there && there->exit_code != 0) return {PyTorch{.error = "there is no " + python}, from};
  }
  if (!output) return {output.miss(), from};
  if (output->exit_code != 0)
    return {PyTorch{.error = "python ended with " + std::to_string(output->exit_code)}, from};
  auto said = json::read<PyTorch>(answer_in(output->output));
  if (!said) return {Miss{Missing::kGarbled, said.error().text}, from};
  return {std::move(*said), from};
}

}  // namespace railbed
