// The context from which the engines of one agent make their handlers, and the objects that they share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <typeindex>
#include <utility>

#include "base/peer.h"
#include "host/host.h"
#include "nvidia/calls.h"

namespace railbed {

// Starts an agent in a process of its own, for work that may hang or crash its process. That process ends
// when the last reference to the returned peer is dropped.
using StartPeer = std::function<std::shared_ptr<Peer>()>;

// Exists only while handlers are made. A handler must copy, or hold a reference to, all that it needs later.
class AgentSide {
 public:
  AgentSide(std::shared_ptr<Host> own_host, NvidiaLibraries libraries, StartPeer starter = {})
      : host(std::move(own_host)), nvidia(std::move(libraries)), start(std::move(starter)) {}

  std::shared_ptr<Host> host;  // this machine; null for engines that need only GPUs
  NvidiaLibraries nvidia;      // the libraries from which CUDA is opened
  StartPeer start;             // empty: no work gets a process of its own

  // Returns the one object of type T that several engines share, such as the sessions that one engine opens
  // and another works on. The first call makes it.
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
