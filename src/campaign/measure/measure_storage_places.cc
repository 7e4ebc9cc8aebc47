#include "campaign/measure/measure_storage_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>

#include "base/wording.h"
#include "bench/core/typed.h"
#include "bench/storage/storage.h"
#include "campaign/look/survey.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

class StorageMeasurer {
 public:
  StorageMeasurer(const StoragePlan& plan, int repeat, fleet::Fleet& fleet, const Surveyed& surveyed,
                  const Caller& caller)
      : plan_(plan), repeat_(repeat), fleet_(fleet), surveyed_(surveyed), caller_(caller) {}

  std::vector<StoragePlace> run(const std::vector<StorageVisit>& visits) {
    std::vector<std::vector<StoragePlace>> found(visits.size());
    std::atomic<std::size_t> next = 0;
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < std::min(visits.size(), fleet_.parallelism()); ++i)
        threads.emplace_back([&] {
          for (std::size_t k = next++; k < visits.size(); k = next++)
            if (surveyed_.facts.contains(visits[k].target.name)) found[k] = measure(visits[k]);
        });
    }
    std::vector<StoragePlace> places;
    for (auto& some : found) std::move(some.begin(), some.end(), std::back_inserter(places));
    return places;
  }

 private:
  std::vector<StoragePlace> measure(const StorageVisit& visit) {
    std::vector<StoragePlace> places;
    for (const std::string& folder : visit.folders) {
      StoragePlace place{visit.target.name, {}, {}};
      place.answer.folder = folder;
      const StorageRequest request{folder, plan_.bytes, plan_.seconds};
      for (int i = 0; i < repeat_ && !caller_.stop.stop_requested() && !place.answer.failure; ++i)
        measure_once(*fleet_.find(place.node), request, place);
      places.push_back(std::move(place));
    }
    return places;
  }

  void measure_once(Peer& peer, const StorageRequest& request, StoragePlace& place) {
    caller_.progress(fmt::format("measuring {} on {}, about {:.0f} s", request.folder, place.node,
                                 request.seconds * static_cast<double>(storage_workloads().size())));
    auto answer = ask<StorageAnswer>(peer, kStorage, request, storage_deadline(request), caller_.stop);
    if (!answer) {
      place.answer.failure =
          Failure{"run", fmt::format("the agent on {}: {}", place.node, without_node(answer.error())),
                  fmt::format("see whether {} is up and its railbed agent was not killed", place.node)};
      return;
    }
    place.answer = std::move(*answer);
    auto measured = storage_measurements(place.node, place.answer, &surveyed_.facts.at(place.node));
    std::move(measured.begin(), measured.end(), std::back_inserter(place.measurements));
  }

  const StoragePlan& plan_;
  int repeat_;
  fleet::Fleet& fleet_;
  const Surveyed& surveyed_;
  const Caller& caller_;
};

}  // namespace

MeasuredStorage measure_storage_places(const StorageVisits& visits, const StoragePlan& plan,
                                       const RunRequest& request, ReachOptions reach, const Caller& caller) {
  std::vector<fleet::Target> targets;
  for (const StorageVisit& visit : visits.nodes) targets.push_back(visit.target);
  reach.ssh_config = visits.ssh_config;
  fleet::Fleet fleet(std::move(targets), std::move(reach));
  Surveyed surveyed = survey_nodes(fleet, caller);
  MeasuredStorage measured{begin_run(request), {}};
  measured.run.storage = StorageMeasurer(plan, request.repeat, fleet, surveyed, caller).run(visits.nodes);
  for (const StoragePlace& place : measured.run.storage) add_measurements(measured.run, place.measurements);
  for (const auto& [node, facts] : surveyed.facts) add_fingerprint(measured.run, node, facts);
  measured.unreachable = std::move(surveyed.unreachable);
  return measured;
}

}  // namespace railbed
