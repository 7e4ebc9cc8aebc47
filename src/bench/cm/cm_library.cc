#include "bench/cm/cm_library.h"

#include "os/library.h"

namespace railbed {
namespace {

struct OpenedCm {
  CmLibrary library;
  std::string error;
};

OpenedCm open_cm_library() {
  OpenedCm opened;
  const Library file({"librdmacm.so.1"});
  if (!file) {
    opened.error = file.error() + "; install librdmacm (Debian, Ubuntu: librdmacm1; RHEL: librdmacm)";
    return opened;
  }
  CmLibrary& library = opened.library;
  file.bind(library.create_event_channel, "rdma_create_event_channel", opened.error);
  file.bind(library.destroy_event_channel, "rdma_destroy_event_channel", opened.error);
  file.bind(library.create_id, "rdma_create_id", opened.error);
  file.bind(library.destroy_id, "rdma_destroy_id", opened.error);
  file.bind(library.bind_addr, "rdma_bind_addr", opened.error);
  file.bind(library.listen, "rdma_listen", opened.error);
  file.bind(library.get_src_port, "rdma_get_src_port", opened.error);
  file.bind(library.resolve_addr, "rdma_resolve_addr", opened.error);
  file.bind(library.resolve_route, "rdma_resolve_route", opened.error);
  file.bind(library.create_qp, "rdma_create_qp", opened.error);
  file.bind(library.destroy_qp, "rdma_destroy_qp", opened.error);
  file.bind(library.connect, "rdma_connect", opened.error);
  file.bind(library.accept, "rdma_accept", opened.error);
  file.bind(library.reject, "rdma_reject", opened.error);
  file.bind(library.disconnect, "rdma_disconnect", opened.error);
  file.bind(library.get_cm_event, "rdma_get_cm_event", opened.error);
  file.bind(library.ack_cm_event, "rdma_ack_cm_event", opened.error);
  return opened;
}

}  // namespace

Result<const CmLibrary*> cm_library() {
  static const OpenedCm opened = open_cm_library();
  if (!opened.error.empty()) return fail(ErrorKind::kUnavailable, opened.error);
  return &opened.library;
}

}  // namespace railbed
