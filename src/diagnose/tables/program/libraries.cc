// Shared libraries and Python's packages.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kLd = "ld.so(8)";

// clang-format off
constexpr Symptom kProgramLibrariesSymptoms[] = {
    {"undefined-nccl-symbol", kError, kCause, kAnyone, {"undefined symbol: nccl"}, "ld.so; github.com/pytorch/pytorch/issues/119932",
     "A library needs a function that the loaded NCCL does not have"},
    {"program-no-module",     kError,   kCause, kAnyone, {"ModuleNotFoundError: No module named"},
     "Python ModuleNotFoundError",
     "The program needs a Python package that is not there"},

    // Lines that confirm or refute
    {"training-step",         kNote,    kSight, kAnyone, {"loss", "step"}, "training programs", "A training step"},
    {"mpi-cuda-off", kNote, kSight, kAnyone, {"CUDA-aware support is disabled"}, "Open MPI help-mpi-common-cuda.txt", "Open MPI goes on without CUDA"},
};

constexpr Symptom kProgramLibrariesLater[] = {
    {"glibc-old",             kError,   kCause, kAnyone, {"version `GLIBC_", "not found"}, kLd, "A program or library was built for a newer system: this one's C library is too old"},
    {"libstdcxx-old",         kError,   kCause, kAnyone, {"GLIBCXX_", "' not found"}, kLd, "A library needs a newer libstdc++ than the one that was found first"},
    {"libcxxabi-old",         kError,   kCause, kAnyone, {"version `CXXABI_", "not found"}, kLd, "A library needs a newer libstdc++ than the one that was found first"},
    {"library-optional",      kWarning, kAside, kAnyone, {"Could not load dynamic library '", "dlerror: "}, "TensorFlow, dso_loader.cc", "TensorFlow did not find a library and goes on without it"},
    {"no-libcuda",            kError,   kCause, kAnyone, {"libcuda.so.1: cannot open shared object file"}, kLd, "A program finds no libcuda.so.1, the NVIDIA driver's library"},
    {"no-libnvml",            kError,   kCause, kAnyone, {"libnvidia-ml.so.1: cannot open shared object file"}, kLd, "A program finds no libnvidia-ml.so.1, the NVIDIA driver's library"},
    {"library-missing",       kError,   kCause, kAnyone, {": cannot open shared object file", "rror: "}, kLd, "A library that a program needs was not found"},
    {"undefined-symbol",      kError,   kCause, kAnyone, {"undefined symbol: ", "rror: "}, kLd, "Two libraries do not fit together: one needs a symbol that the other does not have"},
    {"cuda-stub",             kError,   kCause, kAnyone, {"CUDA driver is a stub library"}, "CUDA Runtime API, cudaErrorStubLibrary", "The program loaded CUDA's stub library in place of the driver's libcuda.so.1"},
    {"omp-twice",             kError,   kCause, kAnyone, {"OMP: Error #15: "}, "LLVM OpenMP", "Two copies of the OpenMP library are in one process"},
};

constexpr Hypothesis kProgramLibrariesHypotheses[] = {
    {.id = "older-nccl-loaded", .explains = {"undefined-nccl-symbol"}, .common = kUsual, .stated = true,
     .cause = "The libnccl.so.2 that was loaded does not have the function. It is usually an older one than the program was built with: found first in LD_LIBRARY_PATH, of an environment module or /usr/lib, or in the Python environment itself, where another package brought it.",
     .remedy = "LD_DEBUG=libs PROGRAM 2>&1 | grep libnccl names the file. Outside of the environment: take it out of LD_LIBRARY_PATH (module unload nccl). Below site-packages: pip list | grep -i nccl, remove what does not belong (nvidia-nccl-cu11 beside cu12), and install the nvidia-nccl that this PyTorch requires (pip show torch).",
     .source = "github.com/pytorch/pytorch/issues/119932"},
    {.id = "mpi-without-cuda", .explains = {"no-libcuda"}, .needs = {"mpi-cuda-off"}, .refuted_by = {"gpus-listed"},
     .title = "Open MPI found no NVIDIA driver and goes on without CUDA",
     .cause = "This Open MPI was built with CUDA, found no driver on this node and goes on without. On a node without GPUs that is as it should be.",
     .remedy = "Nothing on a CPU node (--mca opal_warn_on_missing_libcuda 0 silences it); on a GPU node the driver's libcuda.so.1 has to be on the library path.",
     .settle_by = "nvidia-smi -L on that node",
     .source = "Open MPI help-mpi-common-cuda.txt"},
    {.id = "program-no-module", .explains = {"program-no-module"}, .common = kUsual, .refuted_by = {"trained-after"},
     .cause = "The Python that ran does not find it in its environment or image.",
     .remedy = "Install it there, or start the same environment on all nodes: python -c 'import sys; print(sys.prefix)'.",
     .source = "Python ModuleNotFoundError"},
    {.id = "program-went-on", .explains = {"program-no-module", "program-no-file", "address-in-use", "bind-in-use"}, .common = kRare, .needs = {"trained-after"}, .refuted_by = {"worked-before"}, .echo = true, .decisive = true,
     .title = "The program caught an error at its start and went on",
     .cause = "Training steps follow in the same log, so the package, file or port was not needed, or the program took another.",
     .remedy = "Nothing: look for what came after it.",
     .settle_by = "whether steps of the training follow the message",
     .source = "Python, try and except ImportError"},
    {.id = "glibc-old", .explains = {"glibc-old"}, .stated = true,
     .cause = "The message has the version it needs and the file that needs it; the C library of this system (ldd --version) is older and cannot be replaced alone.",
     .remedy = "Use a build for this system (an older wheel, manylinux2014), a container with a newer one, or a newer system on all nodes.",
     .source = kLd},
    {.id = "libstdcxx-old", .explains = {"libstdcxx-old", "libcxxabi-old"}, .stated = true,
     .cause = "The libstdc++.so.6 of the message was loaded first (of an older system or conda environment), and another library needs a newer one.",
     .remedy = "strings FILE | grep GLIBCXX shows what each copy has. The message names the system's file (/lib64, /usr/lib): put the environment's first, LD_LIBRARY_PATH=$CONDA_PREFIX/lib. It names the environment's: conda install -c conda-forge libstdcxx-ng there. An extension that was compiled here needs the libstdc++ of its compiler: module load the same gcc.",
     .source = kLd},
    {.id = "library-optional", .explains = {"library-optional"}, .stated = true,
     .cause = "TensorFlow looks for such libraries when it starts and goes on without: without TensorRT if the library is libnvinfer, without any GPU if it is a part of CUDA or cuDNN.",
     .remedy = "Nothing, if the program does not need it. Else install the CUDA and cuDNN of that TensorFlow (pip install 'tensorflow[and-cuda]') and set LD_LIBRARY_PATH.",
     .source = "TensorFlow, dso_loader.cc; github.com/google/lightweight_mmm/issues/23"},
    {.id = "driver-not-passed", .explains = {"no-libcuda", "no-libnvml", "pg-no-gpu", "vllm-no-device", "load-no-cuda"}, .needs = {"container-without-gpus"}, .refuted_by = {"driver-is-nowhere"},
     .title = "The container was started without GPUs, so it has no libraries of the driver",
     .cause = "The NVIDIA runtime puts the driver's files only into a container that asks for GPUs, and this one did not.",
     .remedy = "Start it with the GPUs: docker run --gpus all, podman run --device nvidia.com/gpu=all, runtimeClassName: nvidia. Install no driver in the image.",
     .settle_by = "ls /dev/nvidia* in the container; the command that started it",
     .source = "NVIDIA Container Toolkit"},
    {.id = "driver-not-there", .explains = {"no-libcuda", "no-libnvml", "pg-no-gpu", "vllm-no-device", "load-no-cuda"}, .needs = {"no-driver"}, .refuted_by = {"gpus-listed"},
     .title = "The NVIDIA driver is not installed or not loaded on that node",
     .cause = "The host has no working driver, so nvidia-smi fails on it, too.",
     .remedy = "Install the driver on the host and load it (modprobe nvidia), or run the program on a node that has GPUs.",
     .settle_by = "nvidia-smi on the host",
     .source = "NVIDIA driver README"},
    {.id = "driver-not-found", .explains = {"no-libcuda", "no-libnvml"}, .needs = {"gpus-listed"}, .refuted_by = {"driver-is-nowhere", "container-without-gpus"},
     .title = "The driver works, and the loader does not find its libraries",
     .cause = "The driver's libraries are in a folder that the loader's cache of this process does not have, or they are of another architecture.",
     .remedy = "find / -name 'libcuda.so*'; ldconfig -p | grep -e libcuda -e nvidia-ml; run ldconfig, or add that folder to LD_LIBRARY_PATH (WSL: /usr/lib/wsl/lib).",
     .settle_by = "ldconfig -p | grep -e libcuda -e nvidia-ml, where the process runs",
     .source = "ld.so(8)"},
    {.id = "library-missing", .explains = {"library-missing"}, .common = kUsual, .needs = {"loader-no-file"}, .refuted_by = {"loader-other-error"},
     .title = "A library that a program needs was not found",
     .cause = "No folder that the loader searches has a file of that name: it is not installed in this environment, image or node, it lies elsewhere, or it is there under another version's name.",
     .remedy = "ldconfig -p | grep NAME; find / -name 'NAME*'; install the package that has it (pip install nvidia-NAME-cu12 for parts of CUDA), or add its folder to LD_LIBRARY_PATH.",
     .settle_by = "find / -name 'NAME*', where the process runs",
     .source = kLd},
    {.id = "library-not-opened", .explains = {"library-missing"}, .needs = {"loader-other-error"}, .refuted_by = {"loader-no-file"},
     .title = "A library is there, and the loader could not open it",
     .cause = "The end of the message is the system's reason: a missing permission, too many open files, or a file system that fails. The library itself need not be installed again.",
     .remedy = "ls -lL the file and ls -ld its folders as that user; ulimit -n for \"Too many open files\"; dmesg and the file server for \"Input/output error\" and \"Stale file handle\".",
     .settle_by = "cat FILE > /dev/null as that user, where the process runs",
     .source = "open(2); ld.so(8)"},
    {.id = "symbol-of-torch", .explains = {"undefined-symbol"}, .common = kRare, .needs = {"symbol-of-torch"}, .refuted_by = {"symbol-of-cuda", "symbol-of-neither"}, .decisive = true,
     .title = "An extension was built against another PyTorch than the one that is loaded",
     .cause = "The symbol is PyTorch's own (c10, at, torch), and the PyTorch in this process does not have it in that form: the extension was built against another release, or with the other C++ ABI.",
     .remedy = "pip install --no-build-isolation --force-reinstall the extension (flash-attn, apex, vllm), or take the wheel made for this PyTorch: python -c 'import torch; print(torch.__version__, torch.compiled_with_cxx11_abi())'.",
     .settle_by = "c++filt SYMBOL; pip show torch and the extension",
     .source = "ld.so(8); PyTorch torch/utils/cpp_extension.py"},
    {.id = "symbol-of-cuda", .explains = {"undefined-symbol"}, .common = kRare, .needs = {"symbol-of-cuda"}, .refuted_by = {"symbol-of-torch", "symbol-of-neither"}, .decisive = true,
     .title = "Two releases of CUDA's libraries are mixed in one process",
     .cause = "The symbol is of a library of CUDA, and the copy of it that was found first is of another release, mostly an older one in LD_LIBRARY_PATH or of an environment module.",
     .remedy = "LD_DEBUG=libs PROGRAM 2>&1 | grep -e nvJitLink -e cublas -e cusparse -e cudnn shows which copy is loaded; unset LD_LIBRARY_PATH or unload the module, or install one release of all nvidia-*-cu12 wheels.",
     .settle_by = "LD_DEBUG=libs PROGRAM 2>&1 | grep 'calling init'",
     .source = "ld.so(8)"},
    {.id = "symbol-of-others", .explains = {"undefined-symbol"}, .refuted_by = {"symbol-of-torch", "symbol-of-cuda"},
     .cause = "The library in the message was built against another release of the one that should have the symbol, or that one was not linked or not loaded before it.",
     .remedy = "c++filt SYMBOL names the owner; ldd LIBRARY shows what is loaded for it; reinstall both of one release, or remove the older copy from LD_LIBRARY_PATH.",
     .settle_by = "c++filt SYMBOL; LD_DEBUG=libs,symbols PROGRAM",
     .source = kLd},
    {.id = "cuda-stub", .explains = {"cuda-stub"}, .stated = true,
     .cause = "A folder …/lib64/stubs, which is for linking only, is in LD_LIBRARY_PATH or the loader's cache, before the driver's.",
     .remedy = "Remove the stubs folder from LD_LIBRARY_PATH, ld.so.conf.d and rpath; in a container start with the GPUs so that the driver's libcuda.so.1 is there.",
     .source = "CUDA Runtime API, cudaErrorStubLibrary"},
    {.id = "omp-twice", .explains = {"omp-twice"}, .stated = true,
     .cause = "Two packages (conda's and pip's, mostly) each bring one.",
     .remedy = "One source for all packages; KMP_DUPLICATE_LIB_OK=TRUE goes around it and may give wrong results.",
     .source = "LLVM OpenMP"},
};
// clang-format on

}  // namespace

Table program_libraries() { return {kProgramLibrariesSymptoms, kProgramLibrariesHypotheses, kProgramLibrariesLater}; }

}  // namespace railbed::diagnose::tables
