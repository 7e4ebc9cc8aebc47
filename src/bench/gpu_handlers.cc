#include "bench/child_session.h"
#include "bench/collective_child.h"
#include "bench/gpu_copy.h"
#include "bench/gpu_seats.h"
#include "bench/gpu_train_child.h"
#include "bench/handlers.h"
#include "bench/measure_collective.h"
#include "bench/sessions.h"
#include "bench/typed.h"

namespace railbed {
namespace {

using Children = Sessions<ChildSession>;
constexpr std::chrono::seconds kNewsWait{1};
constexpr std::uint64_t kMostCopyBytes = std::uint64_t{16} << 30;

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

Result<void> check_copies(const GpuCopyPlan& plan) {
  const auto refuse = [](const char* what) { return fail(ErrorKind::kBadInput, what); };
  if (plan.bytes < 4096 || plan.bytes > kMostCopyBytes) return refuse("bytes: 4 KiB to 16 GiB");
  if (plan.samples < 1 || plan.samples > 10'000) return refuse("samples: 1 to 10000");
  if (!(plan.patience > 0) || plan.patience > 86'400) return refuse("patience: up to a day");
  return {};
}

// `run` in a child with a session of its own.
template <class Plan, class Run>
ChildName start(Children& children, const Plan& plan, const NvidiaLibraries& from, Run run) {
  return {children.add(std::make_shared<ChildSession>(
      [plan, from, run](const Tell& tell) { run(plan, from, tell); }, milliseconds_of(plan.patience)))};
}

Result<GpuSeats> seats_here(const NvidiaLibraries& from) {
  const auto answer = ask_in_child(
      "GPUs",
      [&](const Say& about_to) {
        about_to("opening " + from.cuda.front());
        cuda::Cuda cuda(from.cuda, about_to);
        cuda.start();
        GpuSeats seats;
        seats.gpus = find_seats(cuda, {});
        seats.error = cuda.error();
        return json::dump(json::encode(seats));
      },
      from.deadline);
  if (!answer) return fail(ErrorKind::kUnavailable, answer.miss().why);
  auto seats = json::read<GpuSeats>(*answer);
  if (seats && !seats->error.empty()) return fail(ErrorKind::kUnavailable, seats->error);
  return seats;
}

}  // namespace

Handlers gpu_handlers(const NvidiaLibraries& from) {
  auto children = std::make_shared<Children>();
  Handlers handlers;
  handlers.emplace(kGpuSeats, typed_handler<GpuSeats>(
                                  [from](const GpuSeats&, std::stop_token) { return seats_here(from); }));
  handlers.emplace(kGpuCopies,
                   typed_handler<GpuCopyPlan>(
                       [children, from](const GpuCopyPlan& plan, std::stop_token) -> Result<ChildName> {
                         if (auto sane = check_copies(plan); !sane) return fail(sane.error());
                         return start(*children, plan, from, run_gpu_copies);
                       }));
  handlers.emplace(kCollective,
                   typed_handler<CollectivePlan>(
                       [children, from](const CollectivePlan& plan, std::stop_token) -> Result<ChildName> {
                         if (auto sane = check_plan(plan); !sane) return fail(sane.error());
                         return start(*children, plan, from, run_collective);
                       }));
  handlers.emplace(kGpuTrain,
                   typed_handler<GpuTrainPlan>(
                       [children, from](const GpuTrainPlan& plan, std::stop_token) -> Result<ChildName> {
                         if (auto sane = check_gpu_train(plan); !sane) return fail(sane.error());
                         return start(*children, plan, from, run_gpu_train);
                       }));
  handlers.emplace(kChildNext,
                   typed_handler<ChildName>(
                       [children](const ChildName& request, std::stop_token stop) -> Result<ChildNews> {
                         auto session = children->find(request.session);
                         if (!session) return fail(session.error());
                         return (*session)->news(kNewsWait, std::move(stop));
                       }));
  handlers.emplace(kChildEnd, typed_handler<ChildName>(
                                  [children](const ChildName& request, std::stop_token) -> Result<ChildName> {
                                    children->remove(request.session);
                                    return request;
                                  }));
  return handlers;
}

}  // namespace railbed
