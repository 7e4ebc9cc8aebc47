// Queries every port through libibverbs, opened at run time.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "host/calls.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr const char* kLibrary = "libibverbs.so.1";

// verbs.h defines a macro of this name; the library's symbol is the old form of the function.
#undef ibv_query_port

struct Verbs {
  decltype(&ibv_get_device_list) get_device_list = nullptr;
  decltype(&ibv_free_device_list) free_device_list = nullptr;
  decltype(&ibv_get_device_name) get_device_name = nullptr;
  decltype(&ibv_open_device) open_device = nullptr;
  decltype(&ibv_close_device) close_device = nullptr;
  decltype(&ibv_query_device) query_device = nullptr;
  decltype(&ibv_query_port) query_port = nullptr;
  // Since rdma-core 34; null before.
  decltype(&ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&ibv_reg_dmabuf_mr) reg_dmabuf_mr = nullptr;
};

template <class Function>
bool bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool bind_all(void* library, Verbs& verbs) {
  bind(library, "ibv_alloc_pd", verbs.alloc_pd);
  bind(library, "ibv_dealloc_pd", verbs.dealloc_pd);
  bind(library, "ibv_reg_dmabuf_mr", verbs.reg_dmabuf_mr);
  return bind(library, "ibv_get_device_list", verbs.get_device_list) &&
         bind(library, "ibv_free_device_list", verbs.free_device_list) &&
         bind(library, "ibv_get_device_name", verbs.get_device_name) &&
         bind(library, "ibv_open_device", verbs.open_device) &&
         bind(library, "ibv_close_device", verbs.close_device) &&
         bind(library, "ibv_query_device", verbs.query_device) &&
         bind(library, "ibv_query_port", verbs.query_port);
}

// Returns whether the driver accepts DMA-BUF: "yes", "no", or empty if unknown. Requests the registration of
// memory from a file that is not open, which no driver can do: one that accepts DMA-BUF at all fails with
// EBADF. NCCL tests it the same way (src/misc/ibvwrap.cc).
std::string ask_dma_buf(const Verbs& verbs, ibv_context* context) {
  if (verbs.reg_dmabuf_mr == nullptr || verbs.alloc_pd == nullptr || verbs.dealloc_pd == nullptr) return "";
  ibv_pd* domain = verbs.alloc_pd(context);
  if (domain == nullptr) return "";
  errno = 0;
  ibv_mr* never = verbs.reg_dmabuf_mr(domain, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
  const int error = never == nullptr ? errno : 0;
  verbs.dealloc_pd(domain);
  if (error == EBADF) return "yes";
  return error == EOPNOTSUPP || error == EPROTONOSUPPORT ? "no" : "";
}

// enum ibv_mtu: 1 is 256 bytes, 5 is 4096.
int mtu_bytes(int code) { return code >= 1 && code <= 5 ? 128 << code : 0; }

// Fills `attributes` and returns 0, or returns an errno. The library's own symbol fills only the start of
// today's struct, which holds all members that are used here.
int query(const Verbs& verbs, ibv_context* context, int number, ibv_port_attr& attributes) {
  return verbs.query_port(context, static_cast<std::uint8_t>(number),
                          reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
}

VerbsPort ask_port(const Verbs& verbs, ibv_context* context, int number) {
  VerbsPort port;
  port.number = number;
  ibv_port_attr attributes = {};
  if (const int error = query(verbs, context, number, attributes); error != 0) {
    port.error = std::strerror(error);
    return port;
  }
  port.active_mtu = mtu_bytes(attributes.active_mtu);
  port.max_mtu = mtu_bytes(attributes.max_mtu);
  port.gid_table_length = attributes.gid_tbl_len;
  if (attributes.link_layer == IBV_LINK_LAYER_ETHERNET) port.link_layer = "Ethernet";
  if (attributes.link_layer == IBV_LINK_LAYER_INFINIBAND) port.link_layer = "InfiniBand";
  return port;
}

VerbsDevice ask_device(const Verbs& verbs, ibv_device* handle, const Say& about_to) {
  VerbsDevice device;
  device.name = verbs.get_device_name(handle);
  about_to("ibv_open_device of " + device.name);
  errno = 0;
  ibv_context* context = verbs.open_device(handle);
  if (context == nullptr) {
    device.error = errno != 0 ? std::strerror(errno) : "ibv_open_device failed";
    return device;
  }
  ibv_device_attr attributes = {};
  if (const int error = verbs.query_device(context, &attributes); error != 0)
    device.error = std::strerror(error);
  for (int number = 1; number <= attributes.phys_port_cnt; ++number)
    device.ports.push_back(ask_port(verbs, context, number));
  device.dma_buf = ask_dma_buf(verbs, context);
  verbs.close_device(context);
  return device;
}

std::string ask_all(const std::vector<std::string>& except, const Say& about_to) {
  VerbsAnswer answer;
  Verbs verbs;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || !bind_all(library, verbs)) {
    const char* words = dlerror();
    answer.error = words != nullptr ? words : "not usable";
    return json::dump(json::encode(answer));
  }
  answer.library = kLibrary;
  int count = 0;
  if (ibv_device** devices = verbs.get_device_list(&count); devices != nullptr) {
    for (int i = 0; i < count; ++i)
      if (std::ranges::find(except, std::string(verbs.get_device_name(devices[i]))) == except.end())
        answer.devices.push_back(ask_device(verbs, devices[i], about_to));
    verbs.free_device_list(devices);
  } else {
    answer.error = "ibv_get_device_list: " + std::string(std::strerror(errno));
  }
  return json::dump(json::encode(answer));
}

// If there is no device, there is no driver that could hang, and a child would cost more than the whole
// query.
bool has_devices() {
  std::error_code failure;
  return !std::filesystem::is_empty("/sys/class/infiniband_verbs", failure) && !failure;
}

}  // namespace

Reading<std::string> call_verbs(const std::vector<std::string>& except) {
  if (!has_devices()) return {ask_all(except, [](std::string_view) {}), "verbs"};
  return ask_in_child(
      "verbs", [&](const Say& about_to) { return ask_all(except, about_to); }, std::chrono::seconds(5));
}

}  // namespace railbed
