// What PyTorch in one Python environment says of itself and of this machine.
#pragma once

#include <chrono>
#include <string>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

// As Python prints it.
struct PyTorch {
  std::string version = {};       // torch.__version__: "2.5.1+cu124"
  std::string cuda = {};          // torch.version.cuda: the CUDA it was built for; empty: built without
  bool cuda_available = false;    // torch.cuda.is_available()
  int devices = 0;                // torch.cuda.device_count()
  bool nccl = false;              // torch.distributed.is_nccl_available()
  std::string nccl_version = {};  // torch.cuda.nccl.version(); empty without it
  // What became of a sum on the first GPU, and of an all_reduce of one process: "worked", or the exception's
  // text; empty: not tried.
  std::string operation = {};
  std::string all_reduce = {};
  std::string error = {};  // why it could not be imported; then nothing else is set
  FIELDS(PyTorch, version, cuda, cuda_available, devices, nccl, nccl_version, operation, all_reduce, error);
};

// Runs VENV/bin/python in a child with a deadline. Nothing is written, not even Python's own cache. Absent
// where no venv is named; denied, and not run, where others than root and this user may change the
// environment: a look as root must not become theirs. `try_gpu`: nobody uses a GPU that this could disturb.
Reading<PyTorch> collect_pytorch(Host& host, const std::string& venv, std::chrono::seconds deadline,
                                 bool try_gpu);

}  // namespace railbed
