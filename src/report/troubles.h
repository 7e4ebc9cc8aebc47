// The worst finding on each node and on each of its parts.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "report/picture/scene.h"
#include "verify/findings.h"

namespace railbed {

// Returns how concerning a status is; passes and rules that do not apply count as good.
Health health_of(Status status);

// Root causes come before their consequences, so the first of equally bad findings has the best message.
class Troubles {
 public:
  explicit Troubles(const Findings& findings);
  Trouble of_node(const std::string& node) const { return at({node, ""}); }
  // Returns the worst of these things; see model/things.h.
  Trouble of(const std::string& node, std::initializer_list<std::string> things) const;
  // Returns the worst of a node's end of a rail; `device` is "mlx5_0/1", or empty if there is none.
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
