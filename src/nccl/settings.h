// What NCCL will be told on a node, and by whom.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/nccl.h"
#include "facts/rdma.h"
#include "nccl/version.h"

namespace railbed::nccl {

// In a login shell, by the order of by_precedence() (facts/nccl.h). Keeps pointers into `nccl`.
class Settings {
 public:
  explicit Settings(const Nccl& nccl);

  const NcclVariable* find(std::string_view name) const;  // the one that wins; null when nothing sets it
  std::string value(std::string_view name) const;         // empty when nothing sets it
  // As NCCL reads numbers (strtoll, base 0): "true" and other words count as 0. Nothing when unset or empty.
  std::optional<long long> number(std::string_view name) const;
  const std::vector<const NcclVariable*>& all() const { return all_; }  // winners first
  // What services hand to their jobs, and root's own file: other contexts than the login shell.
  const std::vector<const NcclVariable*>& elsewhere() const { return elsewhere_; }

 private:
  std::vector<const NcclVariable*> all_;
  std::vector<const NcclVariable*> elsewhere_;
};

// True when every job gets the variable, rather than the one that asks.
bool for_everybody(const NcclVariable& variable);
// True when the variable stands in one of the files that NCCL itself reads, to the letter.
bool in_own_file(const Nccl& nccl, const NcclVariable& variable);

// The NCCL that is installed on the node.
std::optional<Version> installed_version(const Nccl& nccl);

// NCCL_IB_HCA and NCCL_SOCKET_IFNAME: [^][=]name[:port],… (NCCL user guide; src/misc/utils.cc).
struct NameList {
  struct Entry {
    std::string name;
    int port = -1;  // -1: any
  };
  bool exclude = false;
  bool exact = false;
  std::vector<Entry> entries;

  static NameList parse(std::string_view text);
  bool matches(const Entry& entry, std::string_view name, int port = -1) const;
  bool lists(std::string_view name, int port = -1) const;    // some entry matches
  bool selects(std::string_view name, int port = -1) const;  // what NCCL makes of it: an empty list takes all
};

// Which entry of a RoCE port's GID table NCCL takes, by the rules of 2.21 and newer (src/transport/net_ib):
// the pinned one, else by family, range and RoCE version, else entry 0.
struct GidChoice {
  int index = 0;
  const Gid* gid = nullptr;  // null: that entry is empty
  bool pinned = false;
  bool matched = false;  // it has the wanted family, range and version
  std::string why;
};
// `before_2_21`: only the pinned index or 0.
GidChoice choose_gid(const RdmaPort& port, const Settings& settings, bool before_2_21);

}  // namespace railbed::nccl
