// Memory of a GPU that an RDMA session sends from and receives into. CUDA works in the calling process: where
// a driver that hangs must not be felt, that is a process of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "host/cuda_library.h"

namespace railbed {

// Copies between host and GPU in one direction of a session; for one thread at a time.
class GpuCopies {
 public:
  GpuCopies(const std::vector<std::string>& cuda_files, const std::string& gpu);
  ~GpuCopies();
  GpuCopies(const GpuCopies&) = delete;
  GpuCopies& operator=(const GpuCopies&) = delete;
  // Start copies; `wait()` ends when all of them have. False, and why, once something failed.
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

class GpuMemory {
 public:
  // `gpu`: its PCI address. `image` is host memory as large, in which the same bytes stand at the same
  // places; it must outlive this.
  static Result<std::unique_ptr<GpuMemory>> allocate(const std::vector<std::string>& cuda_files,
                                                     const std::string& gpu, std::span<std::byte> image,
                                                     std::size_t lanes = 1);
  ~GpuMemory();
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  cuda::DevicePointer address() const { return address_; }
  std::size_t size() const { return image_.size(); }
  // A file that stands for all of it, for ibv_reg_dmabuf_mr; or why CUDA gives none.
  Result<Fd> dma_buf();

  // Parts of the image. Each lane has two threads, one that sends and one that receives.
  void bring(std::span<std::byte> part, std::size_t lane = 0);        // from the GPU, before it is sent
  void store(std::span<const std::byte> part, std::size_t lane = 0);  // into the GPU, after it was received
  bool wait_brought(std::size_t lane = 0) { return lanes_[lane]->outgoing.wait(); }
  bool wait_stored(std::size_t lane = 0) { return lanes_[lane]->incoming.wait(); }
  // Why a copy of that lane failed; empty: none did.
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
