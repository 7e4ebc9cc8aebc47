// Toolkits that programs are built with, if cluster.yaml expects builds on the node.
#include <fmt/format.h>

#include <algorithm>

#include "model/differences.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns the first two numbers: "2.26" of 2.26.2.
std::string_view release_of(std::string_view version) {
  const auto dot = version.find('.');
  return version.substr(0, dot == std::string_view::npos ? dot : version.find('.', dot + 1));
}

std::string names_of(const std::vector<CudaToolkit>& toolkits) {
  std::string text;
  for (const CudaToolkit& toolkit : toolkits)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ",
                        toolkit.version.empty() ? "one of unknown version" : toolkit.version, toolkit.path);
  return text;
}

// Installs cuda-toolkit-12-8, as NVIDIA's repositories name it (CUDA installation guide, "Meta Packages").
Remedy install_cuda(const NodeView& node, std::string_view wanted) {
  std::string package = fmt::format("cuda-toolkit-{}", release_of(wanted));
  std::ranges::replace(package, '.', '-');
  return {
      "Install it from NVIDIA's repository; it leaves the driver alone. One elsewhere (modules, conda) is "
      "not looked for.",
      for_system(node, {command("apt-get install {}", package)}, {command("dnf install {}", package)})};
}

// Judges /usr/local/cuda, which a build uses if it names no version.
void judge_default(Case& verdict, const NodeView& node, const std::vector<CudaToolkit>& all,
                   const CudaToolkit& right) {
  const auto chosen = std::ranges::find_if(all, &CudaToolkit::is_default);
  if (chosen == all.end() || right.is_default || chosen->version.empty())
    return verdict.pass(right.version + " in " + right.path);
  // The folder of NVIDIA's packages. Text that the node reported itself is never part of a command.
  const std::string folder = fmt::format("/usr/local/cuda-{}", release_of(*node.expect().cuda_toolkit));
  Remedy remedy{"Name the right one in PATH where programs are built."};
  if (right.path == folder) remedy.commands = {command("export PATH={}/bin:$PATH", folder)};
  verdict.warn({.message = fmt::format("/usr/local/cuda on {} is CUDA {}, not {}: builds take that one",
                                       *node.name, chosen->version, right.version),
                .expected = right.path,
                .observed = chosen->path,
                .remedy = std::move(remedy)});
}

void cuda_toolkit(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "CUDA toolkit", [](Case& verdict, const NodeView& node) {
    const auto& wanted = node.expect().cuda_toolkit;
    if (!wanted) return verdict.not_applicable("cluster.yaml expects no CUDA toolkit");
    const auto& found = node.facts->toolkit.cuda;
    if (!found.absent() && verdict.read(found) == nullptr) return;
    verdict.seen(found);
    const auto& all = items(found);
    const auto right = std::ranges::find_if(
        all, [&](const CudaToolkit& each) { return version_matches(each.version, *wanted); });
    if (right != all.end()) return judge_default(verdict, node, all, *right);
    const bool unsure =
        std::ranges::any_of(all, [](const CudaToolkit& each) { return each.version.empty(); });
    if (unsure) return verdict.unknown("no version.json says which CUDA is there: " + names_of(all));
    verdict.fail(
        {.message = all.empty()
                        ? fmt::format("there is no nvcc on {} in the usual folders, expected CUDA {}",
                                      *node.name, *wanted)
                        : fmt::format("{} has CUDA {}, expected {}", *node.name, names_of(all), *wanted),
         .expected = "CUDA " + *wanted,
         .observed = all.empty() ? "none" : names_of(all),
         .remedy = install_cuda(node, *wanted)});
  });
}

Remedy install_header(const NodeView& node, const std::string& text) {
  return {text, for_system(node, {"apt-get install libnccl-dev"}, {"dnf install libnccl-devel"})};
}

void missing_header(Case& verdict, const NodeView& node) {
  if (!node.expect().nccl)
    return verdict.not_applicable("there is no nccl.h, and cluster.yaml expects no NCCL");
  verdict.fail(
      {.message = fmt::format(
           "there is no nccl.h on {} in the usual folders: programs with NCCL cannot be built", *node.name),
       .expected = "nccl.h of " + *node.expect().nccl,
       .observed = "none",
       .remedy = install_header(node, "Install it from NVIDIA's repository, of the library's version.")});
}

void nccl_header(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "nccl.h", its_nccl, [](Case& verdict, const NodeView& node) {
    if (!node.expect().cuda_toolkit) return verdict.not_applicable("cluster.yaml expects no CUDA toolkit");
    const auto& header = node.facts->toolkit.nccl_header;
    if (header.absent()) {
      verdict.seen(header);
      return missing_header(verdict, node);
    }
    const NcclHeader* built = verdict.read(header);
    if (built == nullptr) return;
    const NcclFile* run =
        verdict.read_if_there(node.facts->nccl.library, "there is no libnccl.so.2 beside it");
    if (run == nullptr) return;
    if (release_of(built->version) == release_of(run->version)) return verdict.pass(built->version);
    verdict.warn(
        {.message = fmt::format(
             "nccl.h on {} is of NCCL {} ({}) and libnccl.so of {} ({}): programs run with another "
             "version than they are built for",
             *node.name, built->version, built->path, run->version, run->path),
         .expected = run->version,
         .observed = built->version,
         .remedy = install_header(node, "Install both of one version; with apt-get or dnf name it.")});
  });
}

// Without a profile, Red Hat's mpicc is not a command until its module is loaded.
void mpi_compiler(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "mpicc", [](Case& verdict, const NodeView& node) {
    if (!node.expect().mpi.value_or(false)) return verdict.not_applicable("cluster.yaml expects no MPI");
    const auto& found = node.facts->toolkit.mpi_compilers;
    if (!found.absent() && verdict.read(found) == nullptr) return;
    verdict.seen(found);
    if (!items(found).empty()) return verdict.pass(items(found).front());
    verdict.fail(
        {.message =
             fmt::format("there is no mpicc on {} in the usual folders: programs with MPI, nccl-tests among "
                         "them, cannot be built",
                         *node.name),
         .expected = "mpicc",
         .observed = "none",
         .remedy = {"Install Open MPI. One in another folder, of modules or conda, is not looked for.",
                    for_system(node, {"apt-get install libopenmpi-dev openmpi-bin"},
                               {"dnf install openmpi-devel"})}});
  });
}

}  // namespace

std::span<const Rule> toolkit_rules() {
  static const Rule kRules[] = {
      {.id = "toolkit.cuda",
       .title = "the CUDA toolkit is the expected one",
       .why = "Programs built by another toolkit ask for another runtime, maybe for a newer driver.",
       .source = "bin/nvcc and version.json in /usr/local/cuda*, /usr/lib/cuda",
       .standard = "expect.cuda_toolkit; not judged without",
       .remedy = "Install the package cuda-toolkit of that version.",
       .fixture = "h100-toolkit-missing",
       .explained_by = {},
       .settings = {"packages/cuda-toolkit"},
       .check = cuda_toolkit},
      {.id = "toolkit.nccl-header",
       .title = "nccl.h is of the library's version",
       .why =
           "What is built for one NCCL and runs with another lacks functions, or reads structures wrongly.",
       .source = "NCCL_MAJOR, NCCL_MINOR of nccl.h in /usr/include, /usr/local/cuda/include; libnccl.so.2",
       .standard = "the same first two numbers; not judged without expect.cuda_toolkit",
       .remedy = "Install libnccl-dev or libnccl-devel of that version.",
       .fixture = "h100-nccl-header",
       .explained_by = {},
       .settings = {"packages/nccl"},
       .check = nccl_header},
      {.id = "toolkit.mpi",
       .title = "MPI's compiler is there",
       .why = "nccl-tests over several nodes and most HPC programs are built with mpicc.",
       .source = "mpicc in /usr/bin, /usr/lib64/openmpi, /usr/mpi/gcc (MLNX_OFED), /opt/hpcx*, /opt/intel",
       .standard = "expect.mpi; not judged without",
       .remedy = "Install libopenmpi-dev or openmpi-devel.",
       .fixture = "r730-mpi-missing",
       .explained_by = {},
       .settings = {"packages/mpi"},
       .check = mpi_compiler},
  };
  return kRules;
}

}  // namespace railbed
