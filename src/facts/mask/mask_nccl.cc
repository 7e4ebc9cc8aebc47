// Reduces the values of NCCL's and UCX's variables to what a masked capture keeps.
//
// A value may contain a secret beside its setting, and a piece that is harmless to its author may be a secret
// to others. So a piece of a value stays if it is a number, an address, a device of this machine or of the
// form of one, or a word of NCCL's or UCX's own documentation. Every other piece becomes "masked1",
// "masked2".
#include <algorithm>

#include "base/ip.h"
#include "base/text.h"
#include "facts/mask/mask.h"
#include "facts/software/nccl.h"

namespace railbed {
namespace {

// docs.nvidia.com, NCCL, "Environment Variables"; openucx.readthedocs.io; and the text that replaces a masked
// piece.
constexpr std::string_view kValueWords[] = {"masked",
                                            "export",
                                            "INFO",
                                            "WARN",
                                            "TRACE",
                                            "VERSION",
                                            "ABORT",
                                            "NONE",
                                            "INIT",
                                            "COLL",
                                            "P2P",
                                            "SHM",
                                            "NET",
                                            "GRAPH",
                                            "TUNING",
                                            "ENV",
                                            "ALLOC",
                                            "CALL",
                                            "PROXY",
                                            "NVLS",
                                            "NVLSTree",
                                            "BOOTSTRAP",
                                            "REG",
                                            "PROFILE",
                                            "RAS",
                                            "ALL",
                                            "Tree",
                                            "tree",
                                            "Ring",
                                            "ring",
                                            "CollnetDirect",
                                            "CollnetChain",
                                            "PAT",
                                            "allreduce",
                                            "allgather",
                                            "reducescatter",
                                            "broadcast",
                                            "reduce",
                                            "LL",
                                            "LL128",
                                            "Simple",
                                            "SIMPLE",
                                            "LOC",
                                            "NVL",
                                            "PIX",
                                            "PXB",
                                            "P2C",
                                            "PXN",
                                            "PHB",
                                            "NODE",
                                            "SYS",
                                            "IB",
                                            "Socket",
                                            "socket",
                                            "PLUGIN",
                                            "none",
                                            "AF_INET",
                                            "AF_INET6",
                                            "RDMA",
                                            "tcp",
                                            "rc",
                                            "ud",
                                            "dc",
                                            "rc_x",
                                            "ud_x",
                                            "dc_x",
                                            "rc_v",
                                            "ud_v",
                                            "rc_mlx5",
                                            "ud_mlx5",
                                            "dc_mlx5",
                                            "rc_verbs",
                                            "ud_verbs",
                                            "sm",
                                            "self",
                                            "posix",
                                            "sysv",
                                            "cma",
                                            "knem",
                                            "xpmem",
                                            "cuda",
                                            "cuda_copy",
                                            "cuda_ipc",
                                            "gdr_copy",
                                            "all",
                                            "any",
                                            "y",
                                            "n",
                                            "yes",
                                            "no",
                                            "on",
                                            "off",
                                            "true",
                                            "false",
                                            "try",
                                            "auto",
                                            "inf",
                                            "ERROR",
                                            "DIAG",
                                            "DEBUG",
                                            "aws-ofi",
                                            "aws-ofi-nccl",
                                            "ofi",
                                            "libnccl-net.so",
                                            "libnccl-net-ofi.so",
                                            "libnccl-tuner.so",
                                            "GPU",
                                            "MIG"};

// Beginnings of the names of interfaces (systemd.net-naming-scheme(7), and names that people and programs
// choose) and of RDMA devices (the kernel's drivers; rdma-core's udev rules). The rest of a name is digits
// and the letters of kGoesOn.
constexpr std::string_view kDeviceStarts[] = {
    "mlx4_", "mlx5_",  "bnxt_re", "irdma", "rxe", "siw",  "hfi1_", "efa_", "rocep", "roceP", "roceo", "roces",
    "ibp",   "ibP",    "ibo",     "ibs",   "ib",  "eth",  "eno",   "ens",  "enp",   "enP",   "en",    "bond",
    "br",    "docker", "veth",    "virbr", "lo",  "team", "vlan",  "rail", "mesh",  "wl"};
constexpr std::string_view kGoesOn = "0123456789fsnpdvuPib_.";
constexpr std::size_t kLongestDeviceForm = 20;

bool is_device_by_form(std::string_view piece) {
  return piece.size() <= kLongestDeviceForm &&
         std::ranges::any_of(kDeviceStarts, [&](std::string_view start) {
           return piece.starts_with(start) &&
                  piece.find_first_not_of(kGoesOn, start.size()) == std::string_view::npos;
         });
}

// "1", "0x10", "4194304", "0-3", "1.5", "512M".
bool is_value_number(std::string_view piece) {
  constexpr std::size_t kLongest = 20;
  if (piece.starts_with("0x"))
    return piece.size() > 2 && piece.size() <= 18 &&
           piece.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
  const std::string_view digits = piece.substr(0, piece.find_last_not_of("KMGkmg") + 1);
  return !digits.empty() && piece.size() - digits.size() <= 1 && piece.size() <= kLongest &&
         (is_digit(digits.front()) || (digits.size() > 1 && digits.front() == '-')) &&
         digits.find_first_not_of("0123456789.-") == std::string_view::npos;
}

bool is_device_uuid(std::string_view piece) {
  constexpr std::size_t kLength = 36;
  if (piece.starts_with("GPU-") || piece.starts_with("MIG-")) piece.remove_prefix(4);
  return piece.size() == kLength && piece.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

bool is_known_piece(std::string_view piece, const KnownNames& known) {
  if (known.contains(piece)) return true;
  if (piece.starts_with('/')) return false;
  return std::ranges::find(kValueWords, piece) != std::end(kValueWords) || is_value_number(piece) ||
         is_device_uuid(piece) || is_device_by_form(piece) || IpAddress::parse(piece).has_value();
}

bool is_of_piece(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("_./-").find(c) != std::string_view::npos;
}

template <class Known>
std::string masked_pieces(std::string_view text, const Known& known, Mask& mask) {
  std::string kept;
  while (!text.empty()) {
    std::size_t end = 0;
    while (end < text.size() && is_of_piece(text[end])) ++end;
    const auto piece = text.substr(0, end);
    if (!piece.empty()) kept += known(piece) ? std::string(piece) : mask.placeholder("masked", piece);
    // The characters between pieces stay, except bytes beyond ASCII, which may be letters of a word.
    if (end < text.size() && static_cast<unsigned char>(text[end]) < 0x80) kept += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return kept;
}

bool is_of_name(std::string_view piece) {
  return piece == "export" ||
         (is_nccl_name(piece) &&
          piece.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == piece.npos);
}

}  // namespace

std::string masked_nccl_value(std::string_view value, const KnownNames& known, Mask& mask) {
  return masked_pieces(
      value, [&](std::string_view piece) { return is_known_piece(piece, known); }, mask);
}

std::string masked_nccl_lines(std::string_view text, const KnownNames& known, Mask& mask) {
  std::string kept;
  const std::string own = only_nccl_lines(text);
  for (const auto line : lines(own)) {
    const auto equals = line.find('=');
    if (equals != std::string_view::npos)
      kept += masked_pieces(line.substr(0, equals), is_of_name, mask) + "=" +
              masked_nccl_value(line.substr(equals + 1), known, mask);
    kept.push_back('\n');
  }
  return kept;
}

}  // namespace railbed
