// What the engines of one agent are given, and what they have in common.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <typeindex>
#include <utility>

#include "base/peer.h"
#include "host/calls.h"
#include "host/host.h"

namespace railbed {

// An agent in a process of its own, for what may hang or take its process along. Ends with the last
// reference.
using StartPeer = std::function<std::shared_ptr<Peer>()>;

// Lives while handlers are made; what they need later they keep.
class AgentSide {
 public:
  AgentSide(std::shared_ptr<Host> own_host, NvidiaLibraries libraries, StartPeer starter = {})
      : host(std::move(own_host)), nvidia(std::move(libraries)), start(std::move(starter)) {}

  std::shared_ptr<Host> host;  // tells of the machine
  NvidiaLibraries nvidia;      // CUDA is opened from these
  StartPeer start;             // may be empty: then nothing gets a process of its own

  // The one object of this type that several engines use, such as the sessions that one opens and another
  // works on. The first who asks makes it.
  template <class T>
  std::shared_ptr<T> shared() {
    std::shared_ptr<void>& slot = shared_[typeid(T)];
    if (!slot) slot = std::make_shared<T>();
    return std::static_pointer_cast<T>(slot);
  }

 private:
  std::map<std::type_index, std::shared_ptr<void>> shared_;
};

}  // namespace railbed
