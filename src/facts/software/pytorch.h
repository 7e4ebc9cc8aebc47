// PyTorch in one Python environment: its version, and whether it works on this machine.
#pragma once

#include <chrono>
#include <string>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

// The result as Python prints it.
struct PyTorch {
  std::string version = {};       // torch.__version__: "2.5.1+cu124"
  std::string cuda = {};          // torch.version.cuda: the CUDA it was built for; empty if built without
  bool cuda_available = false;    // torch.cuda.is_available()
  int devices = 0;                // torch.cuda.device_count()
  bool nccl = false;              // torch.distributed.is_nccl_available()
  std::string nccl_version = {};  // torch.cuda.nccl.version(); empty without it
  // The results of a sum on the first GPU, and of an all_reduce of one process: "worked", or the exception's
  // text; empty if not tried.
  std::string operation = {};
  std::string all_reduce = {};
  std::string error = {};  // why the import failed; then no other field is set
  FIELDS(PyTorch, version, cuda, cuda_available, devices, nccl, nccl_version, operation, all_reduce, error);
};

// Runs VENV/bin/python in a child process with a timeout. Writes nothing, not even Python's own cache. The
// reading is absent if no venv is given. It is denied, and nothing runs, if users other than root and this
// user may change the environment: otherwise they could run code as root. Set `try_gpu` only if no process
// uses a GPU.
Reading<PyTorch> collect_pytorch(Host& host, const std::string& venv, std::chrono::seconds deadline,
                                 bool try_gpu);

}  // namespace railbed
