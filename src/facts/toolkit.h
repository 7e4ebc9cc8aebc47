// What programs are built with on this node: CUDA's compiler, NCCL's header, MPI's compiler. Only files are
// read, in the folders of packages; environment modules, conda and network folders have their own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

struct CudaToolkit {
  std::string path;         // /usr/local/cuda-12.8
  std::string version;      // "12.8.1", of version.json, else version.txt, else of the path; empty: not known
  bool is_default = false;  // /usr/local/cuda leads there
  FIELDS(CudaToolkit, path, version, is_default);
  bool operator==(const CudaToolkit&) const = default;
};

struct NcclHeader {
  std::string path;     // /usr/include/nccl.h
  std::string version;  // NCCL_MAJOR.NCCL_MINOR.NCCL_PATCH
  FIELDS(NcclHeader, path, version);
};

struct Toolkit {
  Reading<std::vector<CudaToolkit>> cuda;           // those with nvcc; /usr/local/cuda*, /usr/lib/cuda
  Reading<NcclHeader> nccl_header;                  // the first that a compiler finds
  Reading<std::vector<std::string>> mpi_compilers;  // mpicc of packages, MLNX_OFED, HPC-X and oneAPI
  FIELDS(Toolkit, cuda, nccl_header, mpi_compilers);
};

Toolkit collect_toolkit(Host& host);

// {"cuda": {"version": "12.8.1"}, …} as version.json has it; text from elsewhere.
std::optional<std::string> parse_cuda_version(const std::string& text);
// #define NCCL_MAJOR 2 …
std::optional<std::string> parse_nccl_header(std::string_view text);

}  // namespace railbed
