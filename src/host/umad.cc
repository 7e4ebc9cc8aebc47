// The part of libibumad that railbed calls: our own declarations of what its manual pages document
// (umad_send(3) and its relatives). The library's ABI version has been 3 since 2007.
#include "host/umad.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "os/library.h"

namespace railbed {
namespace {

constexpr int kSubnetClass = 0x01;
constexpr int kDirectedClass = 0x81;
constexpr int kPerformanceClass = 0x04;
constexpr int kGeneralQkey = static_cast<int>(0x80010000U);

// The functions of the library that are used. The layout of its buffers is not: only its functions access
// them.
struct UmadLibrary {
  int (*init)() = nullptr;
  int (*open_port)(const char* device, int port) = nullptr;
  int (*close_port)(int id) = nullptr;
  int (*enlist)(int id, int management_class, int version, std::uint8_t rmpp, long* methods) = nullptr;
  std::size_t (*size)() = nullptr;
  void* (*mad_of)(void* umad) = nullptr;
  int (*set_address)(void* umad, int lid, int queue_pair, int service_level, int qkey) = nullptr;
  int (*send)(int id, int agent, void* umad, int length, int timeout_ms, int retries) = nullptr;
  int (*receive)(int id, void* umad, int* length, int timeout_ms) = nullptr;
  int (*status)(void* umad) = nullptr;
};

Result<UmadLibrary> load() {
  const Library library({"libibumad.so.3", "libibumad.so"});
  if (!library)
    return fail(ErrorKind::kUnavailable,
                "libibumad is not installed: " + library.error() +
                    "\nInstall the package libibumad3 (RHEL: libibumad), or name a dump "
                    "with --from");
  UmadLibrary umad;
  std::string error;
  library.bind(umad.init, "umad_init", error);
  library.bind(umad.open_port, "umad_open_port", error);
  library.bind(umad.close_port, "umad_close_port", error);
  library.bind(umad.enlist, "umad_register", error);
  library.bind(umad.size, "umad_size", error);
  library.bind(umad.mad_of, "umad_get_mad", error);
  library.bind(umad.set_address, "umad_set_addr", error);
  library.bind(umad.send, "umad_send", error);
  library.bind(umad.receive, "umad_recv", error);
  library.bind(umad.status, "umad_status", error);
  if (!error.empty()) return fail(ErrorKind::kUnavailable, error);
  return umad;
}

class UmadDoor : public MadDoor {
 public:
  UmadDoor(const UmadLibrary& umad, int id, std::string name)
      : umad_(umad), id_(id), name_(std::move(name)), buffer_(umad.size() + kMadBytes) {}
  UmadDoor(const UmadDoor&) = delete;
  UmadDoor& operator=(const UmadDoor&) = delete;
  ~UmadDoor() override { umad_.close_port(id_); }

  bool enlist() {
    subnet_ = umad_.enlist(id_, kSubnetClass, 1, 0, nullptr);
    directed_ = umad_.enlist(id_, kDirectedClass, 1, 0, nullptr);
    performance_ = umad_.enlist(id_, kPerformanceClass, 1, 0, nullptr);
    return subnet_ >= 0 && directed_ >= 0 && performance_ >= 0;
  }

  bool send(const Mad& mad, const MadRoute& route, std::chrono::milliseconds timeout) override {
    std::ranges::fill(buffer_, std::uint8_t{0});
    std::memcpy(umad_.mad_of(buffer_.data()), mad.data(), mad.size());
    umad_.set_address(buffer_.data(), route.lid, route.performance ? 1 : 0, 0,
                      route.performance ? kGeneralQkey : 0);
    const int agent = route.performance ? performance_ : mad[1] == kDirectedClass ? directed_ : subnet_;
    return umad_.send(id_, agent, buffer_.data(), kMadBytes, static_cast<int>(timeout.count()), 0) >= 0;
  }

  std::optional<Mad> receive(std::chrono::milliseconds timeout) override {
    int length = kMadBytes;
    std::ranges::fill(buffer_, std::uint8_t{0});
    const int agent = umad_.receive(id_, buffer_.data(), &length, static_cast<int>(timeout.count()));
    if (agent < 0) return std::nullopt;
    Mad mad = {};
    std::memcpy(mad.data(), umad_.mad_of(buffer_.data()), mad.size());
    return mad;
  }

  std::string name() const override { return name_; }

 private:
  UmadLibrary umad_;
  int id_;
  std::string name_;
  std::vector<std::uint8_t> buffer_;
  int subnet_ = -1, directed_ = -1, performance_ = -1;
};

}  // namespace

Result<std::unique_ptr<MadDoor>> open_umad(const std::string& device, int port) {
  ASSIGN_OR_RETURN(const auto umad, load());
  const std::string name = device.empty() ? "the first InfiniBand port"
                           : port == 0    ? device
                                          : fmt::format("{} port {}", device, port);
  if (umad.init() < 0)
    return fail(ErrorKind::kUnavailable,
                "this machine has no InfiniBand device, or lacks the module ib_umad: modprobe "
                "ib_umad, or name a dump with --from");
  errno = 0;
  const int id = umad.open_port(device.empty() ? nullptr : device.c_str(), port);
  if (id < 0) {
    const int error = -id;
    return fail(
        ErrorKind::kUnavailable,
        fmt::format("cannot open {} for management: {}\nIt needs root, or a member of the group that owns "
                    "/dev/infiniband/umad*, and the module ib_umad; or name a dump with --from",
                    name, std::strerror(error)));
  }
  auto door = std::make_unique<UmadDoor>(umad, id, name);
  if (!door->enlist())
    return fail(ErrorKind::kUnavailable,
                fmt::format("{} does not let management datagrams pass: is it an InfiniBand port?", name));
  return door;
}

}  // namespace railbed
