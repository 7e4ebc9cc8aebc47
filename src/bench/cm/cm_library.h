// librdmacm, opened at run time. Its header is not needed: the structures below are the heads of those in
// rdma-core's rdma/rdma_cma.h, whose members have kept their places since librdmacm 1.0.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "base/result.h"
#include "bench/verbs/verbs_library.h"

namespace railbed {

inline constexpr int kCmPortSpaceTcp = 0x0106;  // RDMA_PS_TCP: reliable connections by address and port

// enum rdma_cm_event_type.
enum class CmEventType : int {
  kAddressResolved,
  kAddressError,
  kRouteResolved,
  kRouteError,
  kConnectRequest,
  kConnectResponse,
  kConnectError,
  kUnreachable,
  kRejected,
  kEstablished,
  kDisconnected,
  kDeviceRemoval
};

struct CmChannel {  // struct rdma_event_channel
  int fd;
};
struct CmId {  // struct rdma_cm_id, which only the library allocates
  ibv_context* verbs;
  CmChannel* channel;
  void* context;
  ibv_qp* queue_pair;
};
struct CmParameters {  // struct rdma_conn_param
  const void* private_data;
  std::uint8_t private_bytes;
  std::uint8_t responder_resources;
  std::uint8_t initiator_depth;
  std::uint8_t flow_control;
  std::uint8_t retry_count;
  std::uint8_t rnr_retry_count;
  std::uint8_t srq;
  std::uint32_t queue_pair_number;
};
struct CmEvent {  // struct rdma_cm_event, which only the library allocates
  CmId* id;
  CmId* listen_id;
  CmEventType event;
  int status;
  CmParameters parameters;
};

struct CmLibrary {
  CmChannel* (*create_event_channel)() = nullptr;
  void (*destroy_event_channel)(CmChannel*) = nullptr;
  int (*create_id)(CmChannel*, CmId**, void*, int) = nullptr;
  int (*destroy_id)(CmId*) = nullptr;
  int (*bind_addr)(CmId*, sockaddr*) = nullptr;
  int (*listen)(CmId*, int) = nullptr;
  std::uint16_t (*get_src_port)(CmId*) = nullptr;  // in network byte order
  int (*resolve_addr)(CmId*, sockaddr*, sockaddr*, int) = nullptr;
  int (*resolve_route)(CmId*, int) = nullptr;
  int (*create_qp)(CmId*, ibv_pd*, ibv_qp_init_attr*) = nullptr;
  void (*destroy_qp)(CmId*) = nullptr;
  int (*connect)(CmId*, CmParameters*) = nullptr;
  int (*accept)(CmId*, CmParameters*) = nullptr;
  int (*reject)(CmId*, const void*, std::uint8_t) = nullptr;
  int (*disconnect)(CmId*) = nullptr;
  int (*get_cm_event)(CmChannel*, CmEvent**) = nullptr;
  int (*ack_cm_event)(CmEvent*) = nullptr;
};

// Returns the library, which is opened at the first call and kept until the process ends. Thread-safe. Fails
// if it is not installed or lacks a function.
Result<const CmLibrary*> cm_library();

}  // namespace railbed
