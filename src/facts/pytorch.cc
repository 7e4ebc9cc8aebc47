#include "facts/pytorch.h"

#include "base/json.h"
#include "host/host.h"

namespace railbed {
namespace {

// One line, so that a captured tree can name it.
constexpr const char* kScript =
    R"(exec('import json\ntry:\n import torch,torch.distributed as d\n c=torch.cuda\n n=d.is_available() and d.is_nccl_available()\n a=dict(version=torch.__version__,cuda=torch.version.cuda or "",cuda_available=c.is_available(),devices=c.device_count(),nccl=n,nccl_version=".".join(map(str,c.nccl.version())) if n else "")\nexcept BaseException as e:\n a=dict(error=repr(e)[:400])\nprint(json.dumps(a))'))";

std::optional<std::vector<std::string>> paths_in(const std::string& answer) {
  auto paths = json::read<std::vector<std::string>>(answer);
  if (!paths) return std::nullopt;
  return std::move(*paths);
}

// What somebody else may change of the interpreter, its configuration and the packages that it loads; empty:
// nothing. A captured tree was asked on its machine.
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

}  // namespace

Reading<PyTorch> collect_pytorch(Host& host, const std::string& venv, std::chrono::seconds deadline) {
  const std::string python = venv + "/bin/python";
  if (venv.empty()) return {Miss{Missing::kAbsent, "no Python environment is named"}, ""};
  // A path that is not absolute could be found in other folders.
  if (venv.front() != '/')
    return {Miss{Missing::kUnsupported, "the environment's path is not absolute"}, venv};
  if (const std::string path = changeable(host, venv); !path.empty())
    return {Miss{Missing::kDenied,
                 path + " may be changed by others than root and this user: Python was not run"},
            venv};
  // -I: neither the user's own packages nor PYTHONPATH; -B: no byte code is written.
  const auto output = host.run({python, "-I", "-B", "-c", kScript}, deadline);
  const std::string from = python + " -c 'import torch'";
  if (output.absent()) {
    // A captured tree answers neither.
    const auto there = host.run({"test", "-e", python});
    if (there && there->exit_code != 0) return {PyTorch{.error = "there is no " + python}, from};
  }
  if (!output) return {output.miss(), from};
  if (output->exit_code != 0)
    return {PyTorch{.error = "python ended with " + std::to_string(output->exit_code)}, from};
  const auto line = output->output.rfind('{');
  auto said =
      json::read<PyTorch>(line == std::string::npos ? "" : std::string_view(output->output).substr(line));
  if (!said) return {Miss{Missing::kGarbled, said.error().text}, from};
  return {std::move(*said), from};
}

}  // namespace railbed
