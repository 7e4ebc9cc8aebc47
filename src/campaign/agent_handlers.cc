#include "campaign/agent_handlers.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <mutex>

#include "apply/node_apply.h"
#include "base/json.h"
#include "base/version.h"
#include "bench/engines/handlers.h"
#include "campaign/change/job_handlers.h"
#include "campaign/change/plan_nodes.h"
#include "campaign/change/reboot_nodes.h"
#include "campaign/look/cables.h"
#include "campaign/look/jobs.h"
#include "facts/facts.h"
#include "facts/file_state.h"
#include "facts/network/counts_answer.h"
#include "fleet/fleet.h"
#include "host/open.h"

namespace railbed {
namespace {

Result<std::string> hello(std::string_view, std::stop_token) {
  utsname name = {};
  uname(&name);
  json::Value answer;
  answer["version"] = railbed_version();
  answer["architecture"] = name.machine;
  answer["pid"] = getpid();
  answer["node"] = name.nodename;
  return json::dump(answer);
}

Result<std::string> facts(std::string_view payload, std::stop_token) {
  const auto options = json::read<CollectOptions>(payload);
  if (!options) return fail(options.error(), "facts");
  const auto machine = open_this_machine();
  return json::dump(json::encode(collect_facts(*machine, *options)));
}

// Starts no program, but a child process for each GPU in the request.
Result<std::string> counts(std::string_view payload, std::stop_token) {
  const auto request = json::read<CountsRequest>(payload);
  if (!request) return fail(request.error(), "counts");
  static std::mutex mutex;
  static KnownUsers users;  // looking one up may take long
  const std::lock_guard lock(mutex);
  return json::dump(json::encode(answer_counts(*open_this_machine(), *request, users)));
}

Result<std::string> files(std::string_view payload, std::stop_token) {
  const auto request = json::read<FilesRequest>(payload);
  if (!request) return fail(request.error(), "files");
  return json::dump(json::encode(collect_files(*open_this_machine(), request->paths)));
}

Result<std::string> clock_now(std::string_view, std::stop_token) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return json::dump(json::encode(ClockNow{std::chrono::nanoseconds(now).count()}));
}

// Starts another agent on this machine, which shares nothing with this process but its standard streams.
std::shared_ptr<Peer> own_agent() {
  const auto fleet = std::make_shared<fleet::Fleet>(
      std::vector<fleet::Target>{{"the process for CUDA", "", true}}, fleet::FleetOptions{});
  return {fleet, &fleet->peer(0)};
}

}  // namespace

// Each room with methods for nodes adds them here.
Handlers agent_handlers() {
  Handlers handlers = bench_handlers(open_this_machine(), own_agent);
  handlers["hello"] = hello;
  handlers["facts"] = facts;
  handlers["counts"] = counts;
  handlers["files"] = files;
  handlers["clock"] = clock_now;
  handlers.merge(apply_handlers());
  handlers.merge(slurm_handlers());
  handlers.merge(job_handlers());
  handlers.merge(job_record_handlers());
  handlers.merge(link_handlers());
  return handlers;
}

std::size_t serve_agent(const std::stop_token& stop) { return fleet::serve_stdio(agent_handlers(), stop); }

}  // namespace railbed
