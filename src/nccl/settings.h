// The NCCL variables in effect on a node, and their sources.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/network/rdma.h"
#include "facts/software/nccl.h"
#include "nccl/version.h"

namespace railbed::nccl {

// The variables in a login shell, in the order of by_precedence() (facts/software/nccl.h). Keeps pointers into `nccl`,
// which must outlive it.
class Settings {
 public:
  explicit Settings(const Nccl& nccl);

  const NcclVariable* find(std::string_view name) const;  // the one in effect; null if it is not set
  std::string value(std::string_view name) const;         // empty if it is not set
  // Returns the number as NCCL reads it (strtoll, base 0): "true" and other words count as 0. Nothing if
  // unset or empty.
  std::optional<long long> number(std::string_view name) const;
  const std::vector<const NcclVariable*>& all() const { return all_; }  // those in effect first
  // Returns the variables that services pass to their jobs, and root's own file: other contexts than the
  // login shell.
  const std::vector<const NcclVariable*>& elsewhere() const { return elsewhere_; }

 private:
  std::vector<const NcclVariable*> all_;
  std::vector<const NcclVariable*> elsewhere_;
};

// Returns whether every job gets the variable, not only jobs from this environment.
bool for_everybody(const NcclVariable& variable);
// Returns whether the variable is set in a file that NCCL itself reads, without any shell syntax.
bool in_own_file(const Nccl& nccl, const NcclVariable& variable);

// Returns the version of the NCCL that is installed on the node.
std::optional<Version> installed_version(const Nccl& nccl);

// The syntax of NCCL_IB_HCA and NCCL_SOCKET_IFNAME: [^][=]name[:port],… (NCCL user guide; src/misc/utils.cc).
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
  bool selects(std::string_view name, int port = -1) const;  // NCCL's selection: an empty list selects all
};

// The entry of a RoCE port's GID table that NCCL uses, by the rules of 2.21 and newer (src/transport/net_ib):
// the pinned one, else by family, range and RoCE version, else entry 0.
struct GidChoice {
  int index = 0;
  const Gid* gid = nullptr;  // null if that entry is empty
  bool pinned = false;
  // It has the wanted family, range and version; if it is pinned or before 2.21, it is only usable.
  bool matched = false;
  std::string why;
};
// Returns NCCL's choice. With `before_2_21` only the pinned index or 0 is possible.
GidChoice choose_gid(const RdmaPort& port, const Settings& settings, bool before_2_21);

}  // namespace railbed::nccl
