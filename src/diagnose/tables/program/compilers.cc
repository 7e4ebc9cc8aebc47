// nvcc, ptxas and the compilers of CUDA code.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

// clang-format off
constexpr Symptom kProgramCompilersSymptoms[] = {
    {"nvcc-not-found", kWarning, kCause, kAnyone, {"nvcc: ", "not found"}, "bash, dash", "The shell finds no nvcc"},
    {"nvcc-not-offered", kWarning, kCause, kAnyone, {"Command 'nvcc' not found"}, "Ubuntu command-not-found", "The shell finds no nvcc"},
    {"cuda-new-gcc", kError, kCause, kAnyone, {"unsupported GNU version! gcc versions later than"}, "CUDA, host_config.h", "nvcc refuses the compiler: it is newer than this CUDA knows"},
    {"torch-no-arch",         kError,   kCause, kAnyone, {"is not compatible with the current PyTorch installation"}, "PyTorch torch/cuda/__init__.py", "This PyTorch has no code for this GPU"},
    {"ptxas-no-arch",         kError,   kCause, kAnyone, {"is not defined for option 'gpu-name'"}, "ptxas", "ptxas does not know the GPU's architecture"},
    {"nvcc-no-arch",          kError,   kCause, kAnyone, {"Unsupported gpu architecture '"}, "nvcc", "nvcc does not know the GPU's architecture"},
    {"no-nvcc",               kError,   kCause, kAnyone, {"ould not find nvcc"}, "nvcc", "An extension is to be compiled at run time, and there is no CUDA toolkit"},
    {"no-cuda-home",          kError,   kCause, kAnyone, {"CUDA_HOME environment variable is not set"}, "PyTorch torch/utils/cpp_extension.py", "An extension is to be compiled at run time, and there is no CUDA toolkit"},
    {"no-compiler",           kError,   kCause, kAnyone, {"Failed to find C compiler"}, "Triton python/triton/runtime/build.py", "Triton compiles when it starts, and finds no C compiler"},
    {"no-libcuda-to-link",    kError,   kCause, kAnyone, {"cannot find -lcuda:"}, "GNU ld; Triton third_party/nvidia/backend/driver.py", "The linker finds no libcuda.so"},
    {"no-library-to-link",    kError,   kCause, kAnyone, {"ld: cannot find -l"}, "GNU ld", "A build fails: the linker does not find a library"},
    {"no-libcuda-name",       kError,   kCause, kAnyone, {"libcuda.so cannot found!"}, "Triton third_party/nvidia/backend/driver.py", "The linker finds no libcuda.so"},
    {"no-python-headers",     kError,   kCause, kAnyone, {"fatal error: Python.h: No such file"}, "GCC", "Code is compiled at run time (Triton), and Python's headers are not installed"},

    // Lines that confirm or refute
    {"cuda-release",          kNote,    kSight, kAnyone, {"Cuda compilation tools, release "}, "nvcc --version", "The release of nvcc"},
    {"toolkit-folder",        kNote,    kSight, kAnyone, {"/usr/local/cuda", "/bin/nvcc"}, "ls, find", "A CUDA toolkit is installed"},
    {"toolkit-no-folder",     kNote,    kSight, kAnyone, {"/usr/local/cuda", "No such file"}, "ls", "No CUDA toolkit is installed there"},
};

constexpr Hypothesis kProgramCompilersHypotheses[] = {
    {.id = "nvcc-not-installed", .explains = {"nvcc-not-found", "nvcc-not-offered"}, .refuted_by = {"toolkit-is-there"},
     .title = "The shell finds no nvcc: no CUDA toolkit is installed",
     .cause = "The driver brings no compiler. The CUDA version that nvidia-smi shows is the newest that the driver can run, not that of an installed toolkit.",
     .remedy = "Only what compiles needs it. From NVIDIA's repository: cuda-toolkit-12-8 or another version up to that of nvidia-smi (the package cuda brings a driver, too; nvidia-cuda-toolkit of the distribution is older). In a container: the devel image.",
     .settle_by = "ls -d /usr/local/cuda*/bin/nvcc",
     .source = "CUDA Installation Guide for Linux"},
    {.id = "nvcc-not-in-path", .explains = {"nvcc-not-found", "nvcc-not-offered"}, .refuted_by = {"toolkit-is-absent"},
     .title = "The shell finds no nvcc: its folder is not in PATH",
     .cause = "A toolkit is installed, and its packages set no PATH.",
     .remedy = "export PATH=/usr/local/cuda/bin:$PATH, for all users in /etc/profile.d/cuda.sh; for sudo in secure_path. Do not install a second toolkit.",
     .settle_by = "ls -d /usr/local/cuda*/bin/nvcc",
     .source = "CUDA Installation Guide for Linux, post-installation actions"},
    {.id = "cuda-new-gcc", .explains = {"cuda-new-gcc"}, .stated = true,
     .cause = "The message has the newest GCC that this CUDA takes.",
     .remedy = "Install that one and nvcc -ccbin g++-NN (CMAKE_CUDA_HOST_COMPILER, CUDAHOSTCXX); or a newer CUDA. -allow-unsupported-compiler compiles at your own risk.",
     .source = "CUDA, host_config.h"},
    {.id = "torch-no-arch", .explains = {"torch-no-arch"}, .stated = true,
     .cause = "The message has the GPU's capability and those that this build has code for: the build is older than the GPU, or no longer supports it.",
     .remedy = "Install a build of a newer CUDA (Blackwell: cu128 or newer; GB10: cu130): pip install torch --index-url https://download.pytorch.org/whl/cu128, or NVIDIA's container.",
     .source = "PyTorch torch/cuda/__init__.py"},
    {.id = "compiler-older", .explains = {"ptxas-no-arch", "nvcc-no-arch"}, .common = kUsual, .needs = {"arch-current"}, .refuted_by = {"arch-dropped-here"},
     .title = "The compiler is older than the GPU",
     .cause = "The compiler that was called (Triton's own ptxas, or the nvcc in PATH) is of a CUDA before that GPU.",
     .remedy = "Install a newer CUDA toolkit (sm_120: 12.8; sm_121: 12.9 or 13.0) and point to it: TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas, CUDA_HOME, PATH; nvcc --version.",
     .settle_by = "nvcc --version; nvcc --list-gpu-arch (of ptxas: ptxas --version)",
     .source = "CUDA release notes"},
    {.id = "compiler-newer", .explains = {"ptxas-no-arch", "nvcc-no-arch"}, .needs = {"arch-dropped"}, .refuted_by = {"arch-current", "arch-kept-here"},
     .title = "The compiler is too new: its CUDA no longer supports that architecture",
     .cause = "CUDA 13 compiles for compute capability 7.5 and newer only (it dropped Maxwell, Pascal and Volta); CUDA 12 dropped Kepler. The build asks for an older one.",
     .remedy = "Take the old architecture out of the build if no such GPU is used (TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES, NVCC_GENCODE); for such a GPU install CUDA 12.9 or older.",
     .settle_by = "nvcc --version; nvcc --list-gpu-arch",
     .source = "github.com/RenderKit/oidn/issues/274; github.com/NVIDIA/cuda-samples/issues/382"},
    {.id = "toolkit-missing-here", .explains = {"no-nvcc", "no-cuda-home"}, .common = kUsual, .refuted_by = {"toolkit-is-there"},
     .title = "An extension is to be compiled at run time, and no CUDA toolkit is installed",
     .cause = "The program compiles GPU code when it starts, and this environment (a runtime image, mostly) has no compiler for it.",
     .remedy = "Use the devel image, or install cuda-nvcc, cuda-cudart-dev, ninja, gcc and python3-dev, and set CUDA_HOME; or a wheel that is already compiled.",
     .settle_by = "ls -d /usr/local/cuda*/bin/nvcc; which nvcc, where the process runs",
     .source = "PyTorch torch/utils/cpp_extension.py"},
    {.id = "no-compiler", .explains = {"no-compiler"}, .common = kUsual, .stated = true,
     .cause = "Triton builds a small C module when it first meets a GPU, and neither gcc nor clang is in PATH, nor named by CC: runtime and slim images have no compiler. What failed above it (the capture of CUDA graphs, torch.compile, an fp8 kernel) needs Triton.",
     .remedy = "apt-get install -y gcc libc6-dev python3-dev in the image (no CUDA toolkit is needed: Triton brings ptxas and cuda.h), or an image that has them; a compiler outside PATH: export CC=/path/to/gcc, on every node.",
     .settle_by = "which gcc clang; echo $CC, where the process runs",
     .source = "Triton python/triton/runtime/build.py; github.com/sgl-project/sglang/issues/1067; github.com/SceneWorks/SceneWorks/pull/88"},
    {.id = "no-libcuda-to-link", .explains = {"no-libcuda-to-link", "no-libcuda-name"}, .common = kUsual, .stated = true,
     .cause = "What is being built (Triton's module when a program starts, an extension, a file by nvcc) is linked against libcuda.so, and the linker finds none. The driver and its container runtime bring libcuda.so.1; the name without a number is missing, or its folder is not one of the linker's.",
     .remedy = "ldconfig -p | grep libcuda.so.1 names the file: ln -s libcuda.so.1 libcuda.so in its folder, or export TRITON_LIBCUDA_PATH=FOLDER of a libcuda.so (/usr/local/cuda/lib64/stubs does). In docker build, and wherever there is no driver: -L/usr/local/cuda/lib64/stubs. A running container without any libcuda.so.1 was started without GPUs.",
     .settle_by = "ldconfig -p | grep libcuda; ls -l FOLDER/libcuda.so*",
     .source = "Triton third_party/nvidia/backend/driver.py; github.com/vllm-project/vllm/issues/12559; github.com/state-spaces/mamba/issues/123"},
    {.id = "no-library-to-link", .explains = {"no-library-to-link"}, .common = kUsual, .stated = true,
     .cause = "No folder that the command names (-L), and none of the linker's own, has a file for this build with lib and the name behind -l and .so (with -static: .a). One for another processor is passed over, with \"skipping incompatible\" above. A file with a number behind .so, all that runtime packages bring, is not enough. CUDA from pip or conda keeps its libraries in lib, and builds look in lib64; conda's linker does not look into the system's folders. LD_LIBRARY_PATH does not count here.",
     .remedy = "find / -name 'libNAME.so*' 2>/dev/null: where the file is, export LIBRARY_PATH=FOLDER (with a number alone: ln -s libNAME.so.13 libNAME.so in a folder of your own, and name that). It is nowhere: apt-get install cuda-cudart-dev-12-8 (libcurand-dev-12-8, libcublas-dev-12-8), with the release of the CUDA in use. -lcuda is the driver's: FOLDER is the toolkit's lib64/stubs.",
     .settle_by = "find / -name 'libNAME.so*'; the -L in the command above the line",
     .source = "GNU ld; github.com/deepspeedai/DeepSpeed/issues/889; github.com/ivan-chai/torch-linear-assignment/issues/2; github.com/ar4/deepwave/issues/51"},
    {.id = "toolkit-not-named", .explains = {"no-nvcc", "no-cuda-home"}, .needs = {"toolkit-is-there"}, .refuted_by = {"toolkit-is-absent"},
     .title = "A CUDA toolkit is installed, and the program does not find it",
     .cause = "nvcc is there, and neither CUDA_HOME nor PATH leads this process to it.",
     .remedy = "export CUDA_HOME=/usr/local/cuda PATH=/usr/local/cuda/bin:$PATH in the job itself (a login shell's profile is not read there).",
     .settle_by = "echo $CUDA_HOME; which nvcc, in the job",
     .source = "PyTorch torch/utils/cpp_extension.py"},
    {.id = "python-headers", .explains = {"no-python-headers"}, .stated = true,
     .cause = "The compiler found no Python.h in the folders it was given: the headers of this Python (python3-dev) are not installed, or they are those of another Python.",
     .remedy = "apt install python3-dev (dnf install python3-devel) of the same version as python3 --version, or a Python that brings its headers (conda, uv).",
     .source = "GCC"},
};
// clang-format on

}  // namespace

Table program_compilers() { return {kProgramCompilersSymptoms, kProgramCompilersHypotheses}; }

}  // namespace railbed::diagnose::tables
