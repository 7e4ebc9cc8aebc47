// The worst that findings say of each node and of each thing of it.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "report/scene.h"
#include "verify/findings.h"

namespace railbed {

Health health_of(Status status);

// Root causes stand before their consequences, so the first of equals says most.
class Troubles {
 public:
  explicit Troubles(const Findings& findings);
  Trouble of_node(const std::string& node) const { return at({node, ""}); }
  // The worst of these things; see model/things.h.
  Trouble of(const std::string& node, std::initializer_list<std::string> things) const;
  // Of a node's end of a rail; `device` is "mlx5_0/1", empty where there is none.
  Trouble of_end(const std::string& node, const std::string& rail, const std::string& interface,
                 const std::string& device) const;
  Trouble of_gpu(const std::string& node, const std::string& pci_address) const;

 private:
  using Key = std::pair<std::string, std::string>;  // node, thing
  void take_named_nodes(const Finding& finding, const Trouble& trouble);
  void take(const Key& key, const Trouble& trouble);
  Trouble at(const Key& key) const;

  std::map<Key, Trouble> worst_;
};

}  // namespace railbed
