#include "monitor/metrics/collector.h"

namespace railbed {
namespace {

// Time for work that is about to end when the collector is destroyed.
constexpr std::chrono::seconds kGrace{2};

double seconds_of(Collector::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Collector::Collector(std::string name, Work work, Clock::duration period, Clock::duration hangs)
    : state_(std::make_shared<State>()) {
  state_->name = std::move(name);
  state_->work = std::move(work);
  state_->period = period;
  state_->hangs = hangs;
  std::thread([state = state_, stop = stop_.get_token()] { run(state, stop); }).detach();
}

Collector::~Collector() {
  stop_.request_stop();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, kGrace, [&] { return state_->gone; });
}

void Collector::run(const std::shared_ptr<State>& state, std::stop_token stop) {
  std::unique_lock lock(state->mutex);
  while (!stop.stop_requested()) {
    const auto is_wanted = [&] { return state->wanted; };
    if (state->period == kNever)
      state->changed.wait(lock, stop, is_wanted);
    else if (state->ended)
      state->changed.wait_until(lock, stop, state->began + state->period, is_wanted);
    if (stop.stop_requested()) break;
    state->wanted = false;
    state->running = true;
    state->began = Clock::now();
    lock.unlock();
    const auto done = state->work(stop);
    lock.lock();
    state->running = false;
    state->ended = true;
    state->result_began = state->began;
    state->result_seconds = seconds_of(Clock::now() - state->began);
    state->success = done.has_value();
    state->why = done ? "" : done.error().text;
    state->changed.notify_all();
  }
  state->gone = true;
  state->changed.notify_all();
}

void Collector::ring(State& state) {
  const std::lock_guard lock(state.mutex);
  state.wanted = true;
  state.changed.notify_all();
}

std::function<void()> Collector::bell() const {
  return [weak = std::weak_ptr(state_)] {
    if (const auto state = weak.lock()) ring(*state);
  };
}

bool Collector::has_since(Clock::time_point oldest) const {
  return state_->ended && state_->result_began >= oldest;
}

void Collector::begin_unless_since(Clock::time_point oldest) {
  const std::lock_guard lock(state_->mutex);
  if (has_since(oldest) || (state_->running && state_->began >= oldest)) return;
  state_->wanted = true;
  state_->changed.notify_all();
}

void Collector::begin_if_older(Clock::duration than) { begin_unless_since(Clock::now() - than); }

bool Collector::wait(Clock::duration at_most_old, Clock::time_point until) {
  const auto oldest = Clock::now() - at_most_old;
  begin_unless_since(oldest);
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_until(lock, until, [&] { return has_since(oldest); });
}

CollectorHealth Collector::health() const {
  const std::lock_guard lock(state_->mutex);
  const auto now = Clock::now();
  if (state_->running && now - state_->began > state_->hangs)
    return {state_->name, false, seconds_of(now - state_->began)};
  return {state_->name, state_->success, state_->result_seconds};
}

std::string Collector::why() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->running && Clock::now() - state_->began > state_->hangs) return "it hangs";
  return state_->why;
}

}  // namespace railbed
