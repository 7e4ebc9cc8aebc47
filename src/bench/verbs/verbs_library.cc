#include "bench/verbs/verbs_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace railbed {
namespace {

constexpr const char* kName = "libibverbs.so.1";

struct Opened {
  VerbsLibrary library;
  std::string error;
};

Opened open_library() {
  Opened opened;
  void* handle = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    opened.error =
        fmt::format("{}; install rdma-core (Debian, Ubuntu: libibverbs1 ibverbs-providers)", dlerror());
    return opened;
  }
  const auto bind = [&](const char* name, auto& function, bool needed = true) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr && needed && opened.error.empty())
      opened.error = fmt::format("{} has no {}: update rdma-core", kName, name);
  };
  VerbsLibrary& library = opened.library;
  bind("ibv_get_device_list", library.get_device_list);
  bind("ibv_free_device_list", library.free_device_list);
  bind("ibv_get_device_name", library.get_device_name);
  bind("ibv_open_device", library.open_device);
  bind("ibv_close_device", library.close_device);
  bind("ibv_query_device", library.query_device);
  bind("ibv_alloc_pd", library.alloc_pd);
  bind("ibv_dealloc_pd", library.dealloc_pd);
  bind("ibv_reg_mr", library.reg_mr);
  bind("ibv_reg_mr_iova2", library.reg_mr_iova2, false);
  bind("ibv_reg_dmabuf_mr", library.reg_dmabuf_mr, false);
  bind("ibv_dereg_mr", library.dereg_mr);
  bind("ibv_create_cq", library.create_cq);
  bind("ibv_destroy_cq", library.destroy_cq);
  bind("ibv_create_comp_channel", library.create_comp_channel);
  bind("ibv_destroy_comp_channel", library.destroy_comp_channel);
  bind("ibv_get_cq_event", library.get_cq_event);
  bind("ibv_ack_cq_events", library.ack_cq_events);
  bind("ibv_create_ah", library.create_ah);
  bind("ibv_destroy_ah", library.destroy_ah);
  bind("ibv_create_qp", library.create_qp);
  bind("ibv_modify_qp", library.modify_qp);
  bind("ibv_destroy_qp", library.destroy_qp);
  bind("ibv_get_async_event", library.get_async_event);
  bind("ibv_ack_async_event", library.ack_async_event);
  bind("ibv_event_type_str", library.event_type_str);
  return opened;
}

}  // namespace

Result<const VerbsLibrary*> verbs_library() {
  static const Opened opened = open_library();
  if (!opened.error.empty()) return fail(ErrorKind::kUnavailable, opened.error);
  return &opened.library;
}

std::string status_name(ibv_wc_status status) {
  // In the order of enum ibv_wc_status.
  constexpr std::array<std::string_view, 24> kNames{"SUCCESS",
                                                    "LOC_LEN_ERR",
                                                    "LOC_QP_OP_ERR",
                                                    "LOC_EEC_OP_ERR",
                                                    "LOC_PROT_ERR",
                                                    "WR_FLUSH_ERR",
                                                    "MW_BIND_ERR",
                                                    "BAD_RESP_ERR",
                                                    "LOC_ACCESS_ERR",
                                                    "REM_INV_REQ_ERR",
                                                    "REM_ACCESS_ERR",
                                                    "REM_OP_ERR",
                                                    "RETRY_EXC_ERR",
                                                    "RNR_RETRY_EXC_ERR",
                                                    "LOC_RDD_VIOL_ERR",
                                                    "REM_INV_RD_REQ_ERR",
                                                    "REM_ABORT_ERR",
                                                    "INV_EECN_ERR",
                                                    "INV_EEC_STATE_ERR",
                                                    "FATAL_ERR",
                                                    "RESP_TIMEOUT_ERR",
                                                    "GENERAL_ERR",
                                                    "TM_ERR",
                                                    "TM_RNDV_INCOMPLETE"};
  const auto index = static_cast<std::size_t>(status);
  return index < kNames.size() ? fmt::format("IBV_WC_{}", kNames[index]) : fmt::format("status {}", index);
}

}  // namespace railbed
