// All combinations of answers are evaluated, since they are few. The question that decides is the one whose answer,
// once known, narrows the range most: the width ln(high / low) of all combinations, less the mean width of those
// with one of its answers.
#include "predict/forecast_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "predict/path_limits.h"

namespace railbed {
namespace {

constexpr std::size_t kMostCombinations = 256;
constexpr double kMatters = .02;  // of ln: ends that are nearer to each other are the same

struct Ends {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  void add(double from, double to) {
    low = std::min(low, from);
    high = std::max(high, to);
  }
  double width() const { return high > 0 && low > 0 && high > low ? std::log(high / low) : 0; }
};

bool ends_differ(double a, double b) { return a > 0 && b > 0 && std::abs(std::log(a / b)) > kMatters; }
bool ends_differ(const AnswerRange& a, const AnswerRange& b) {
  return ends_differ(a.low, b.low) || ends_differ(a.high, b.high);
}

// One combination of answers: the number of each question's, and the shape.
struct Combination {
  std::vector<std::size_t> answers;
  ClusterShape shape;
};

std::vector<Combination> combinations_of(const ClusterShape& shape) {
  std::vector<Combination> all{{{}, shape}};
  for (const OpenQuestion& question : shape.open) {
    const bool fits = all.size() * question.answers.size() <= kMostCombinations;
    std::vector<Combination> next;
    for (const Combination& before : all)
      for (std::size_t i = 0; i < (fits ? question.answers.size() : 1); ++i) {
        next.push_back({before.answers, answered(before.shape, question.answers[i])});
        next.back().answers.push_back(i);
      }
    all = std::move(next);
  }
  return all;
}

// Returns the end of a forecast's band, or the limit of the hardware if that is lower.
double most_of(const ClusterShape& shape, Collective operation, const Forecast& forecast) {
  double least = std::numeric_limits<double>::infinity();
  for (const PathLimit& limit : path_limits(shape, operation, forecast.algorithm))
    least = std::min(least, limit.limit.rate.bits_per_second);
  return std::min(forecast.busbw_high, std::max(least, forecast.busbw));
}

// A combination with its forecast.
struct Possible {
  std::vector<std::size_t> answers;
  Forecast forecast;
  double most = 0;  // bit/s: the high end
};

class RangeFinder {
 public:
  RangeFinder(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
              const Calibration& calibration, const ForecastChoice& choice)
      : shape_(shape) {
    double cap = std::numeric_limits<double>::infinity();
    for (const ClusterShape& other : shape.others)
      cap = std::min(cap, forecast_range(other, operation, bytes, calibration, choice).high);
    for (const Combination& one : combinations_of(shape)) {
      Possible possible{one.answers, forecast_collective(one.shape, operation, bytes, calibration, choice),
                        0};
      possible.most = std::min(most_of(one.shape, operation, possible.forecast), cap);
      all_.push_back(std::move(possible));
    }
    range_.bytes = bytes;
  }

  ForecastRange find() {
    find_ends();
    for (std::size_t i = 0; i < shape_.open.size(); ++i) add_question(i);
    std::ranges::stable_sort(weights_, std::ranges::greater{}, &Weight::narrows);
    for (Weight& weight : weights_) range_.questions.push_back(std::move(weight.question));
    if (!range_.questions.empty()) range_.decides = range_.questions.front().what;
    return std::move(range_);
  }

 private:
  struct Weight {
    double narrows = 0;
    QuestionRange question;
  };

  void find_ends() {
    const auto slowest =
        std::ranges::min_element(all_, {}, [](const Possible& one) { return one.forecast.busbw_low; });
    const auto fastest = std::ranges::max_element(all_, {}, &Possible::most);
    range_.low = std::min(slowest->forecast.busbw_low, fastest->most);
    range_.high = fastest->most;
    range_.low_limit = slowest->forecast.limit.name;
    range_.high_limit = fastest->forecast.limit.name;
    range_.time_high = slowest->forecast.time_high;
    // busbw is bytes over time, so the time at the high end follows from it.
    range_.time_low = fastest->most > 0 ? fastest->forecast.time * fastest->forecast.busbw / fastest->most
                                        : fastest->forecast.time_low;
  }

  // Adds the question of this number if its answers leave different ranges.
  void add_question(std::size_t number) {
    const OpenQuestion& open = shape_.open[number];
    Weight weight{0, {open.what, {}, open.settle}};
    double left = 0;
    for (std::size_t answer = 0; answer < open.answers.size(); ++answer) {
      Ends ends;
      for (const Possible& one : all_)
        if (one.answers[number] == answer) ends.add(one.forecast.busbw_low, one.most);
      if (ends.high <= 0) continue;
      left += ends.width();
      weight.question.answers.push_back(
          {open.answers[answer].value, std::min(ends.low, ends.high), ends.high});
    }
    const auto& answers = weight.question.answers;
    const bool matters = std::ranges::any_of(
        answers, [&](const AnswerRange& one) { return ends_differ(one, answers.front()); });
    if (!matters) return;
    Ends whole;
    whole.add(range_.low, range_.high);
    weight.narrows = whole.width() - left / static_cast<double>(answers.size());
    weights_.push_back(std::move(weight));
  }

  const ClusterShape& shape_;
  std::vector<Possible> all_;
  std::vector<Weight> weights_;
  ForecastRange range_;
};

}  // namespace

ClusterShape answered(ClusterShape shape, const ShapeAnswer& answer) {
  if (!answer.gpu.empty()) {
    fill_gpu(shape, answer.gpu, 0, false);
    say_link(shape, kFromName);
  }
  if (answer.nvls) shape.nvls = *answer.nvls;
  if (answer.gpudirect) shape.gpudirect = *answer.gpudirect;
  if (answer.nic_pcie) shape.nic_pcie = *answer.nic_pcie;
  if (answer.ports_of_card) shape.ports_of_card = *answer.ports_of_card;
  return shape;
}

ForecastRange forecast_range(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                             const Calibration& calibration, const ForecastChoice& choice) {
  return RangeFinder(shape, operation, bytes, calibration, choice).find();
}

void drop_idle_questions(ClusterShape& shape, const std::vector<ForecastRange>& ranges) {
  std::erase_if(shape.open, [&](const OpenQuestion& question) {
    return std::ranges::none_of(ranges, [&](const ForecastRange& range) {
      return std::ranges::find(range.questions, question.what, &QuestionRange::what) != range.questions.end();
    });
  });
}

ClusterShape slowest_shape(const ClusterShape& shape) {
  if (shape.open.empty()) return shape;
  std::vector<Combination> all = combinations_of(shape);
  std::vector<double> rates;
  for (const Combination& one : all)
    rates.push_back(forecast_collective(one.shape, Collective::kAllReduce, kReferenceBytes).busbw);
  const auto slowest = static_cast<std::size_t>(std::ranges::min_element(rates) - rates.begin());
  ClusterShape matter = shape;
  drop_idle_questions(matter, {forecast_range(shape, Collective::kAllReduce, kReferenceBytes)});
  ClusterShape found = std::move(all[slowest].shape);
  for (std::size_t i = 0; i < found.open.size(); ++i)
    if (std::ranges::find(matter.open, found.open[i].what, &OpenQuestion::what) != matter.open.end())
      found.notes.push_back(found.open[i].what + ": " + found.open[i].answers[all[slowest].answers[i]].value +
                            " taken, the slowest possible");
  found.open.clear();
  return found;
}

}  // namespace railbed
