// The things of a node that a finding is about: "netdev:ens6", "rdma:mlx4_0/1", "rail:rail0",
// "pci:0000:65:00.0", "gpus", "driver", "tasks", "node:gpu01". They link a consequence to its cause.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace railbed {

// A list of things. A fleet has millions of findings about a few things each, so copies share one list:
// copying costs a reference count, and a shared list is copied when it changes.
class Things {
 public:
  Things() = default;
  Things(std::initializer_list<std::string> things)
      : list_(std::make_shared<std::vector<std::string>>(things)) {}

  const std::vector<std::string>& list() const {
    static const std::vector<std::string> kNone;
    return list_ ? *list_ : kNone;
  }
  auto begin() const { return list().begin(); }
  auto end() const { return list().end(); }
  bool empty() const { return list().empty(); }

  void add(std::string thing) { own().push_back(std::move(thing)); }
  void add(const Things& others) {
    if (empty())
      list_ = others.list_;
    else if (!others.empty())
      own().insert(own().end(), others.begin(), others.end());
  }

 private:
  std::vector<std::string>& own() {
    if (!list_ || list_.use_count() > 1) list_ = std::make_shared<std::vector<std::string>>(list());
    return *list_;
  }
  std::shared_ptr<std::vector<std::string>> list_;
};

}  // namespace railbed
