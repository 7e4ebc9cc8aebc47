// GPU memory that an RDMA session sends from and receives into. CUDA runs in the calling process. To be safe
// from a driver that hangs, that process must be one of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "nvidia/cuda_library.h"

namespace railbed {

// Copies between host and GPU for one direction of a session. Not thread-safe.
class GpuCopies {
 public:
  GpuCopies(const std::vector<std::string>& cuda_files, const std::string& gpu);
  ~GpuCopies();
  GpuCopies(const GpuCopies&) = delete;
  GpuCopies& operator=(const GpuCopies&) = delete;
  // to_gpu() and to_host() start copies; wait() returns when all of them have ended. After a failure wait()
  // returns false and error() the reason. Host memory must stay valid until then.
  void to_gpu(cuda::DevicePointer to, std::span<const std::byte> from);
  void to_host(std::span<std::byte> to, cuda::DevicePointer from);
  bool wait();
  const std::string& error() const { return cuda_.error(); }

 private:
  friend class GpuMemory;
  Say silent_ = [](std::string_view) {};
  cuda::Cuda cuda_;
  cuda::Stream stream_ = nullptr;
};

// Memory of one GPU, and an image of it in host memory with the same size. A byte of the image and the byte
// of the GPU at the same offset belong together; bring() and store() copy between them.
class GpuMemory {
 public:
  // Allocates memory with the size of `image`, which must outlive the object. `gpu` is the GPU's PCI address.
  static Result<std::unique_ptr<GpuMemory>> allocate(const std::vector<std::string>& cuda_files,
                                                     const std::string& gpu, std::span<std::byte> image,
                                                     std::size_t lanes = 1);
  ~GpuMemory();
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  cuda::DevicePointer address() const { return address_; }
  std::size_t size() const { return image_.size(); }
  // Returns a DMA-BUF of all the memory, for ibv_reg_dmabuf_mr. Fails if CUDA exports none.
  Result<Fd> dma_buf();

  // Start to copy a part of the image. Two threads may use a lane: one that sends and one that receives.
  void bring(std::span<std::byte> part, std::size_t lane = 0);        // from the GPU, before it is sent
  void store(std::span<const std::byte> part, std::size_t lane = 0);  // into the GPU, after it was received
  bool wait_brought(std::size_t lane = 0) { return lanes_[lane]->outgoing.wait(); }
  bool wait_stored(std::size_t lane = 0) { return lanes_[lane]->incoming.wait(); }
  // Returns why a copy of that lane failed; empty if none did.
  std::string error(std::size_t lane = 0) const;

 private:
  struct Lane {
    Lane(const std::vector<std::string>& cuda_files, const std::string& gpu)
        : outgoing(cuda_files, gpu), incoming(cuda_files, gpu) {}
    GpuCopies outgoing;
    GpuCopies incoming;
  };
  GpuMemory(const std::vector<std::string>& cuda_files, const std::string& gpu, std::span<std::byte> image,
            std::size_t lanes);
  cuda::DevicePointer at(const std::byte* part) const {
    return address_ + static_cast<cuda::DevicePointer>(part - image_.data());
  }

  std::vector<std::string> cuda_files_;
  std::string gpu_;
  std::span<std::byte> image_;
  cuda::DevicePointer allocation_ = 0;
  cuda::DevicePointer address_ = 0;  // the first whole page of it
  std::size_t whole_pages_ = 0;      // bytes
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace railbed
