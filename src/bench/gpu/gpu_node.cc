#include "bench/gpu/gpu_node.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "bench/gpu/visible_gpus.h"
#include "os/host_name.h"
#include "os/near.h"

namespace railbed {
void ask_for_nccl_log(bool choices) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a buffer's content is lost when the process ends
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", choices ? "INIT,ENV,NET,GRAPH,TUNING" : "INIT,ENV,NET,GRAPH", 1);
  unsetenv("NCCL_DEBUG_FILE");
}

// Names are whole, behind "=": without it NCCL takes mlx5_1 for mlx5_10, too. With NCCL_NET it uses TCP although there
// is RDMA.
static void set_nccl_network(const NcclNetwork& network) {
  if (!network.adapter.empty()) setenv("NCCL_IB_HCA", ("=" + network.adapter).c_str(), 1);
  if (network.interface.empty()) return;
  setenv("NCCL_SOCKET_IFNAME", ("=" + network.interface).c_str(), 1);
  setenv("NCCL_NET", "Socket", 1);
}

GpuNode::GpuNode(NodePlace place, const NvidiaLibraries& from, const Tell& tell, TellNews news)
    : place_(std::move(place)),
      from_(from),
      tell_(tell),
      news_(std::move(news)),
      cuda_(from.cuda, tell.about_to) {}

std::string GpuNode::find() {
  set_nccl_network(place_.network);
  tell_.about_to("opening " + from_.cuda.front());
  cuda_.start();
  gpus_ = find_visible_gpus(cuda_, place_.gpus);
  if (!cuda_.error().empty()) {
    kind_ = railbed::failure_kind(cuda_);
    return cuda_.error();
  }
  ranks_ = place_.ranks > 0 ? place_.ranks : static_cast<int>(gpus_.size());
  if (place_.first_rank + static_cast<int>(gpus_.size()) > ranks_) return "more GPUs here than ranks";
  barrier_ = std::make_unique<Barrier>(static_cast<int>(gpus_.size()));
  ready_ = ready_promise_.get_future().share();
  return "";
}

std::string GpuNode::run(std::function<void(const GpuThread&)> work) {
  work_ = std::move(work);
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    std::thread([this, i] {
      run_near(gpus_[i].address);
      cuda::Cuda cuda(from_.cuda, tell_.about_to);
      if (!cuda.use(gpus_[i].ordinal)) return barrier_->give_up(cuda.error(), railbed::failure_kind(cuda));
      work_({i, place_.first_rank + static_cast<int>(i), cuda});
    }).detach();
  if (auto why = open_nccl(); !why.empty()) return why;
  ready_promise_.set_value();
  return barrier_->wait_for_end();
}

const NcclLibrary& GpuNode::nccl() const {
  ready_.wait();
  return *nccl_;
}

std::string GpuNode::open_nccl() {
  const auto files = place_.library.empty() ? nccl_files() : std::vector{place_.library};
  tell_.about_to("opening " + files.front());
  nccl_ = std::make_unique<NcclLibrary>(files);
  if (!nccl_->error().empty()) {
    kind_ = FailureKind::kNoNccl;
    return nccl_->error();
  }
  news_({.version = nccl_->version(), .library = nccl_->file(), .ranks = listed_ranks()});
  if (!place_.id.empty()) {
    const auto id = unique_id(place_.id);
    if (!id) return "the unique id is not one";
    id_ = *id;
    return "";
  }
  tell_.about_to("ncclGetUniqueId");
  if (auto why = nccl_->make_id(id_); !why.empty()) return why;
  news_({.id = to_hex(id_)});
  return "";
}

std::vector<CollectiveRank> GpuNode::listed_ranks() const {
  std::vector<CollectiveRank> ranks;
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    ranks.push_back({place_.first_rank + static_cast<int>(i), host_name(), getpid(), gpus_[i]});
  return ranks;
}

}  // namespace railbed
