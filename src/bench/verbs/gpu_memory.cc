#include "bench/verbs/gpu_memory.h"

#include <fmt/format.h>
#include <unistd.h>

namespace railbed {
namespace {

constexpr int kSyncMemops = 6;                     // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
constexpr int kDmaBufHandle = 1;                   // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
constexpr int kHostMemoryAlreadyRegistered = 712;  // CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

GpuCopies::GpuCopies(const std::vector<std::string>& cuda_files, const std::string& gpu)
    : cuda_(cuda_files, silent_) {
  cuda_.open(gpu) && cuda_.call("cuStreamCreate", &stream_, cuda::kNonBlocking);
}

GpuCopies::~GpuCopies() {
  if (stream_ == nullptr) return;
  cuda_.release("cuCtxSetCurrent", cuda_.context());
  cuda_.release("cuStreamDestroy_v2", stream_);
}

void GpuCopies::to_gpu(cuda::DevicePointer to, std::span<const std::byte> from) {
  cuda_.enter();
  cuda_.quick("cuMemcpyHtoDAsync_v2", to, static_cast<const void*>(from.data()), from.size(), stream_);
}

void GpuCopies::to_host(std::span<std::byte> to, cuda::DevicePointer from) {
  cuda_.enter();
  cuda_.quick("cuMemcpyDtoHAsync_v2", static_cast<void*>(to.data()), from, to.size(), stream_);
}

bool GpuCopies::wait() { return cuda_.enter() && cuda_.quick("cuStreamSynchronize", stream_); }

GpuMemory::GpuMemory(const std::vector<std::string>& cuda_files, const std::string& gpu,
                     std::span<std::byte> image, std::size_t lanes)
    : cuda_files_(cuda_files), gpu_(gpu), image_(image) {
  for (std::size_t i = 0; i < lanes; ++i) lanes_.push_back(std::make_unique<Lane>(cuda_files, gpu));
  cuda::Cuda& cuda = lanes_.front()->outgoing.cuda_;
  cuda.enter();
  // A DMA-BUF consists of whole pages of the host (cuMemGetHandleForAddressRange), but cuMemAlloc does not
  // guarantee their alignment.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  whole_pages_ = round_up(image.size(), page);
  cuda.call("cuMemAlloc_v2", &allocation_, whole_pages_ + page);
  address_ = round_up(allocation_, page);
  // With this attribute, copies are in order with the adapter's accesses ("Developing a Linux Kernel Module
  // using GPUDirect RDMA").
  unsigned yes = 1;
  cuda.call("cuPointerSetAttribute", static_cast<const void*>(&yes), kSyncMemops, address_);
  // Without this the driver would copy through a buffer of its own.
  cuda.allow(kHostMemoryAlreadyRegistered, "cuMemHostRegister_v2", static_cast<void*>(image.data()),
             image.size(), 0U);
}

Result<std::unique_ptr<GpuMemory>> GpuMemory::allocate(const std::vector<std::string>& cuda_files,
                                                       const std::string& gpu, std::span<std::byte> image,
                                                       std::size_t lanes) {
  std::unique_ptr<GpuMemory> memory(new GpuMemory(cuda_files, gpu, image, lanes));
  for (std::size_t i = 0; i < lanes; ++i)
    if (const std::string why = memory->error(i); !why.empty())
      return fail(ErrorKind::kUnavailable, fmt::format("memory of GPU {}: {}", gpu, why));
  return memory;
}

std::string GpuMemory::error(std::size_t lane) const {
  const Lane& one = *lanes_[lane];
  return !one.outgoing.error().empty() ? one.outgoing.error() : one.incoming.error();
}

GpuMemory::~GpuMemory() {
  cuda::Cuda& cuda = lanes_.front()->outgoing.cuda_;
  if (allocation_ == 0) return;
  cuda.release("cuCtxSetCurrent", cuda.context());
  cuda.release("cuMemHostUnregister", static_cast<void*>(image_.data()));
  cuda.release("cuMemFree_v2", allocation_);
}

Result<Fd> GpuMemory::dma_buf() {
  // A separate CUDA object: if the GPU has no such file, the other objects must not record that as a failure.
  GpuCopies asking(cuda_files_, gpu_);
  cuda::Cuda& cuda = asking.cuda_;
  if (cuda.attribute(cuda::kDmaBuf).value_or(0) == 0)
    return fail(ErrorKind::kUnavailable, "CUDA says that this GPU exports no DMA-BUF");
  int file = -1;
  cuda.call("cuMemGetHandleForAddressRange", static_cast<void*>(&file), address_, whole_pages_, kDmaBufHandle,
            0ULL);
  if (!cuda.error().empty()) return fail(ErrorKind::kUnavailable, cuda.error());
  return Fd(file);
}

void GpuMemory::bring(std::span<std::byte> part, std::size_t lane) {
  lanes_[lane]->outgoing.to_host(part, at(part.data()));
}

void GpuMemory::store(std::span<const std::byte> part, std::size_t lane) {
  lanes_[lane]->incoming.to_gpu(at(part.data()), part);
}

}  // namespace railbed
