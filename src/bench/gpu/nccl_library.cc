#include "bench/gpu/nccl_library.h"

#include <fmt/format.h>

#include <array>

#include "bench/gpu/library_files.h"

namespace railbed {
std::string to_hex(const NcclUniqueId& id) {
  std::string hex;
  for (const char byte : id.bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::optional<NcclUniqueId> unique_id(std::string_view hex) {
  NcclUniqueId id = {};
  if (hex.size() != 2 * sizeof id.bytes) return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id.bytes[i] = static_cast<char>(high << 4 | low);
  }
  return id;
}

std::vector<std::string> nccl_files() {
  std::vector<std::string> files{"libnccl.so.2"};
  for (std::string& file : beside_python("nvidia/nccl/lib/libnccl.so.2")) files.push_back(std::move(file));
  return files;
}

int nccl_type(DataType type) {
  // ncclInt8 0, ncclFloat16 6, ncclBfloat16 9, ncclInt32 2, ncclFloat32 7, ncclInt64 4, ncclFloat64 8
  return std::array<int, 7>{0, 6, 9, 2, 7, 4, 8}[static_cast<std::size_t>(type)];
}

NcclLibrary::NcclLibrary(const std::vector<std::string>& files) : library_(files) {
  if (!library_) {
    error_ = not_opened(library_, files);
    return;
  }
  library_.bind(nccl_.get_version, "ncclGetVersion", error_);
  library_.bind(nccl_.get_error, "ncclGetErrorString", error_);
  library_.bind(nccl_.get_unique_id, "ncclGetUniqueId", error_);
  library_.bind(nccl_.init_rank, "ncclCommInitRank", error_);
  library_.bind(nccl_.destroy, "ncclCommDestroy", error_);
  library_.bind(nccl_.all_reduce, "ncclAllReduce", error_);
  library_.bind(nccl_.reduce_scatter, "ncclReduceScatter", error_);
  library_.bind(nccl_.all_gather, "ncclAllGather", error_);
  library_.bind(nccl_.broadcast, "ncclBroadcast", error_);
  library_.bind(nccl_.reduce, "ncclReduce", error_);
  library_.bind(nccl_.send, "ncclSend", error_);
  library_.bind(nccl_.receive, "ncclRecv", error_);
  library_.bind(nccl_.group_start, "ncclGroupStart", error_);
  library_.bind(nccl_.group_end, "ncclGroupEnd", error_);
}

std::string NcclLibrary::judge(const char* function, Result result) const {
  if (result == 0) return "";
  const char* words = nccl_.get_error(result);
  return fmt::format("{}: {} ({})", function, words != nullptr ? words : "error", result);
}

std::string NcclLibrary::version() const {
  int code = 0;
  if (nccl_.get_version(&code) != 0) return "";
  // NCCL_VERSION of nccl.h: X*1000 + Y*100 + Z up to 2.8, X*10000 + Y*100 + Z from 2.9 on.
  const int major = code < 10'000 ? code / 1000 : code / 10'000;
  const int minor = code < 10'000 ? code % 1000 / 100 : code % 10'000 / 100;
  return fmt::format("{}.{}.{}", major, minor, code % 100);
}

std::string NcclLibrary::make_id(NcclUniqueId& id) const {
  return judge("ncclGetUniqueId", nccl_.get_unique_id(&id));
}

std::string NcclLibrary::join(NcclCommunicator& communicator, int ranks, const NcclUniqueId& id,
                              int rank) const {
  return judge("ncclCommInitRank", nccl_.init_rank(&communicator, ranks, id, rank));
}

std::string NcclLibrary::leave(NcclCommunicator communicator) const {
  return judge("ncclCommDestroy", nccl_.destroy(communicator));
}

std::string NcclLibrary::run(const Call& call, cuda::DevicePointer send, cuda::DevicePointer receive) const {
  const void* from = cuda::pointer(send);
  void* to = cuda::pointer(receive);
  const int type = nccl_type(call.type);
  switch (call.operation) {
    case Collective::kAllReduce:
      return judge("ncclAllReduce",
                   nccl_.all_reduce(from, to, call.block, type, kSum, call.communicator, call.stream));
    case Collective::kReduceScatter:
      return judge("ncclReduceScatter",
                   nccl_.reduce_scatter(from, to, call.block, type, kSum, call.communicator, call.stream));
    case Collective::kAllGather:
      return judge("ncclAllGather",
                   nccl_.all_gather(from, to, call.block, type, call.communicator, call.stream));
    case Collective::kBroadcast:
      return judge("ncclBroadcast",
                   nccl_.broadcast(from, to, call.block, type, call.root, call.communicator, call.stream));
    case Collective::kReduce:
      return judge("ncclReduce",
                   nccl_.reduce(from, to, call.block, type, kSum, call.root, call.communicator, call.stream));
    default:
      return exchange(call, send, receive);
  }
}

// Runs the operations for which NCCL has no single function, as sends and receives in one group.
std::string NcclLibrary::exchange(const Call& call, cuda::DevicePointer send,
                                  cuda::DevicePointer receive) const {
  const int type = nccl_type(call.type);
  const std::uint64_t step = call.block * bytes_of(call.type);
  Result worst = 0;
  const auto keep = [&](Result result) { worst = worst != 0 ? worst : result; };
  const auto give = [&](int peer, std::uint64_t place) {
    keep(nccl_.send(cuda::pointer(send + place * step), call.block, type, peer, call.communicator,
                    call.stream));
  };
  const auto take = [&](int peer, std::uint64_t place) {
    keep(nccl_.receive(cuda::pointer(receive + place * step), call.block, type, peer, call.communicator,
                       call.stream));
  };
  keep(nccl_.group_start());
  const bool at_root = call.rank == call.root;
  for (int peer = 0; peer < call.ranks; ++peer) {
    const auto place = static_cast<std::uint64_t>(peer);
    if (call.operation == Collective::kAllToAll) give(peer, place), take(peer, place);
    if (call.operation == Collective::kGather && at_root) take(peer, place);
    if (call.operation == Collective::kScatter && at_root) give(peer, place);
  }
  if (call.operation == Collective::kGather) give(call.root, 0);
  if (call.operation == Collective::kScatter) take(call.root, 0);
  if (call.operation == Collective::kSendReceive) {
    give((call.rank + 1) % call.ranks, 0);
    take((call.rank + call.ranks - 1) % call.ranks, 0);
  }
  keep(nccl_.group_end());
  return judge("ncclSend and ncclRecv", worst);
}

}  // namespace railbed
