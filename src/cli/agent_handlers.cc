#include "cli/agent_handlers.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"

namespace railbed {
namespace {

Result<std::string> hello(std::string_view, std::stop_token) {
  utsname name = {};
  uname(&name);
  json::Value answer;
  answer["version"] = RAILBED_VERSION;
  answer["architecture"] = name.machine;
  answer["pid"] = getpid();
  answer["node"] = name.nodename;
  return json::dump(answer);
}

}  // namespace

// A room that answers on nodes adds its methods here.
Handlers agent_handlers() { return {{"hello", hello}}; }

}  // namespace railbed
