// libibverbs, opened at run time. Only the verbs_*.cc files of this room include its header.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "base/result.h"

// verbs.h defines these names as macros. They must be plain names, because their symbols are looked up here.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

namespace railbed {

// The functions that verbs.h does not define inline. dlsym returns each symbol's default version.
struct VerbsLibrary {
  ibv_device** (*get_device_list)(int*) = nullptr;
  void (*free_device_list)(ibv_device**) = nullptr;
  const char* (*get_device_name)(ibv_device*) = nullptr;
  ibv_context* (*open_device)(ibv_device*) = nullptr;
  int (*close_device)(ibv_context*) = nullptr;
  int (*query_device)(ibv_context*, ibv_device_attr*) = nullptr;
  ibv_pd* (*alloc_pd)(ibv_context*) = nullptr;
  int (*dealloc_pd)(ibv_pd*) = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int) = nullptr;
  // Supports relaxed ordering. Null in libraries before rdma-core 28.
  ibv_mr* (*reg_mr_iova2)(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned) = nullptr;
  // Null in libraries before rdma-core 34.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) = nullptr;
  int (*dereg_mr)(ibv_mr*) = nullptr;
  ibv_cq* (*create_cq)(ibv_context*, int, void*, ibv_comp_channel*, int) = nullptr;
  int (*destroy_cq)(ibv_cq*) = nullptr;
  ibv_comp_channel* (*create_comp_channel)(ibv_context*) = nullptr;
  int (*destroy_comp_channel)(ibv_comp_channel*) = nullptr;
  int (*get_cq_event)(ibv_comp_channel*, ibv_cq**, void**) = nullptr;
  void (*ack_cq_events)(ibv_cq*, unsigned) = nullptr;
  ibv_ah* (*create_ah)(ibv_pd*, ibv_ah_attr*) = nullptr;
  int (*destroy_ah)(ibv_ah*) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*) = nullptr;
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int) = nullptr;
  int (*destroy_qp)(ibv_qp*) = nullptr;
  int (*get_async_event)(ibv_context*, ibv_async_event*) = nullptr;
  void (*ack_async_event)(ibv_async_event*) = nullptr;
  const char* (*event_type_str)(ibv_event_type) = nullptr;
};

// Returns the library, which is opened at the first call and kept until the process ends. Thread-safe. Fails
// if it is not installed or lacks a function.
Result<const VerbsLibrary*> verbs_library();

// Returns the name of a status, as in "IBV_WC_RETRY_EXC_ERR".
std::string status_name(ibv_wc_status status);

}  // namespace railbed
