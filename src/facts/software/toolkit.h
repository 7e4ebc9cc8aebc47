// The build tools on this node: CUDA's compiler, NCCL's header, MPI's compiler. Only files in the folders of
// packages are read; environment modules, conda and network folders are not covered.
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
  std::string version;      // "12.8.1" from version.json, else version.txt, else the path; empty if not known
  bool is_default = false;  // /usr/local/cuda resolves to it
  FIELDS(CudaToolkit, path, version, is_default);
  bool operator==(const CudaToolkit&) const = default;
};

struct NcclHeader {
  std::string path;     // /usr/include/nccl.h
  std::string version;  // NCCL_MAJOR.NCCL_MINOR.NCCL_PATCH
  FIELDS(NcclHeader, path, version);
};

struct Toolkit {
  Reading<std::vector<CudaToolkit>> cuda;           // toolkits with nvcc; /usr/local/cuda*, /usr/lib/cuda
  Reading<NcclHeader> nccl_header;                  // the first one on a compiler's search path
  Reading<std::vector<std::string>> mpi_compilers;  // paths of mpicc of packages, MLNX_OFED, HPC-X and oneAPI
  FIELDS(Toolkit, cuda, nccl_header, mpi_compilers);
};

Toolkit collect_toolkit(Host& host);

// Returns the CUDA version in the text of version.json, {"cuda": {"version": "12.8.1"}, …}; untrusted text.
std::optional<std::string> parse_cuda_version(const std::string& text);
// Returns the version in nccl.h as "2.28.9", from "#define NCCL_MAJOR 2" and so on.
std::optional<std::string> parse_nccl_header(std::string_view text);

}  // namespace railbed
