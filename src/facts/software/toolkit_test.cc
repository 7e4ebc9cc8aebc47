#include "facts/software/toolkit.h"

#include <gtest/gtest.h>

#include "host/host.h"
#include "host/tree.h"

namespace railbed {
namespace {

Toolkit toolkit_of(std::string_view entries) {
  auto tree = parse_tree("railbed-tree 1\n" + std::string(entries), "test", nullptr);
  EXPECT_TRUE(tree) << tree.error().text;
  return collect_toolkit(*open_tree(std::move(*tree)));
}

TEST(Toolkit, KnowsEachVersionOnce) {
  const Toolkit found = toolkit_of(
      "/usr/local/cuda -> /etc/alternatives/cuda\n/etc/alternatives/cuda -> /usr/local/cuda-12.8\n"
      "/usr/local/cuda-12 -> cuda-12.8\n/usr/local/cuda-12.8/bin/nvcc =\n"
      "/usr/local/cuda-12.8/version.json = {\"cuda\": {\"version\": \"12.8.1\"}}\n"
      "/usr/local/cuda-10.2/bin/nvcc =\n/usr/local/cuda-10.2/version.txt = CUDA Version 10.2.89\n"
      "/usr/local/cuda-11.4/bin/nvcc =\n/usr/local/cuda-12.6/lib64/\n");
  ASSERT_TRUE(found.cuda) << found.cuda.miss().why;
  const std::vector<CudaToolkit> wanted = {{"/usr/local/cuda-12.8", "12.8.1", true},
                                           {"/usr/local/cuda-10.2", "10.2.89", false},
                                           {"/usr/local/cuda-11.4", "11.4", false}};
  EXPECT_EQ(*found.cuda, wanted);
}

TEST(Toolkit, FindsHeaderAndMpi) {
  const Toolkit found = toolkit_of(
      "/usr/include/nccl.h <<END\n#ifndef NCCL_H_\n#define NCCL_MAJOR 2\n#define NCCL_MINOR 26\n#define NCCL_PATCH 2\n"
      "END\n/opt/hpcx-v2.21/ompi/bin/mpicc =\n/usr/bin/mpicc -> mpicc.openmpi\n/usr/bin/mpicc.openmpi =\n");
  ASSERT_TRUE(found.nccl_header) << found.nccl_header.miss().why;
  EXPECT_EQ(found.nccl_header->version, "2.26.2");
  EXPECT_EQ(items(found.mpi_compilers),
            (std::vector<std::string>{"/usr/bin/mpicc", "/opt/hpcx-v2.21/ompi/bin/mpicc"}));
  const Toolkit none = toolkit_of("");
  EXPECT_TRUE(none.cuda.absent() && none.nccl_header.absent() && none.mpi_compilers.absent());
}

TEST(Toolkit, TakesNoNonsenseForAVersion) {
  EXPECT_FALSE(parse_cuda_version("{\"cuda\": {\"version\": \"12.8; reboot\"}}"));
  EXPECT_FALSE(parse_cuda_version("[]"));
  EXPECT_FALSE(parse_nccl_header("#define NCCL_MAJOR 2\n#define NCCL_MINOR x\n#define NCCL_PATCH 1\n"));
  EXPECT_FALSE(parse_nccl_header("#define NCCL_MAJOR 2\n"));
}

}  // namespace
}  // namespace railbed
