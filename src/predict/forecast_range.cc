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
constexpr std::uint64_t kReferenceBytes = std::uint64_t{1} << 30;
constexpr double kMatters = .02;  // a question whose answer narrows ln(high / low) by less does not matter

// One combination: the number of each question's answer, and the shape.
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

double highest_possible(const ClusterShape& shape, Collective operation, const Forecast& forecast) {
  double least = std::numeric_limits<double>::infinity();
  for (const PathLimit& limit : path_limits(shape, operation, forecast.algorithm))
    least = std::min(least, limit.limit.rate.bits_per_second);
  return std::max(least, forecast.busbw);
}

struct Ends {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  void add(double rate) {
    low = std::min(low, rate);
    high = std::max(high, rate);
  }
  double width() const { return high > 0 && low > 0 ? std::log(high / low) : 0; }
};

std::string deciding_question(const ClusterShape& shape, const std::vector<Combination>& all,
                              const std::vector<double>& rates) {
  Ends whole;
  for (const double rate : rates) whole.add(rate);
  std::string decides;
  double most = kMatters;
  for (std::size_t question = 0; question < shape.open.size(); ++question) {
    const std::size_t answers = shape.open[question].answers.size();
    double left = 0;
    for (std::size_t answer = 0; answer < answers; ++answer) {
      Ends known;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].answers[question] == answer) known.add(rates[i]);
      left += known.width() / static_cast<double>(answers);
    }
    if (whole.width() - left <= most) continue;
    most = whole.width() - left;
    decides = shape.open[question].what;
  }
  return decides;
}

}  // namespace

ClusterShape answered(ClusterShape shape, const ShapeAnswer& answer) {
  if (!answer.gpu.empty()) fill_gpu(shape, answer.gpu, 0, false);
  if (answer.gpudirect) shape.gpudirect = *answer.gpudirect;
  if (answer.nic_pcie) shape.nic_pcie = *answer.nic_pcie;
  if (answer.ports_of_card) shape.ports_of_card = *answer.ports_of_card;
  return shape;
}

ForecastRange forecast_range(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                             const Calibration& calibration, const ForecastChoice& choice) {
  ForecastRange range;
  range.bytes = bytes;
  const std::vector<Combination> all = combinations_of(shape);
  std::vector<double> rates;
  double low = 0;
  double high = 0;
  for (const Combination& one : all) {
    const Forecast forecast = forecast_collective(one.shape, operation, bytes, calibration, choice);
    rates.push_back(forecast.busbw);
    const double most = std::min(forecast.busbw_high, highest_possible(one.shape, operation, forecast));
    if (rates.size() == 1 || forecast.busbw_low < low) {
      low = forecast.busbw_low;
      range.time_high = forecast.time_high;
      range.low_limit = forecast.limit.name;
    }
    if (rates.size() == 1 || most > high) {
      high = most;
      range.time_low = forecast.time * forecast.busbw / std::max(most, 1.0);
      range.high_limit = forecast.limit.name;
    }
  }
  range.low = low;
  range.high = high;
  range.decides = deciding_question(shape, all, rates);
  return range;
}

ClusterShape slowest_shape(const ClusterShape& shape) {
  std::vector<Combination> all = combinations_of(shape);
  const auto slowest = std::ranges::min_element(all, {}, [](const Combination& one) {
    return forecast_collective(one.shape, Collective::kAllReduce, kReferenceBytes).busbw;
  });
  ClusterShape found = std::move(slowest->shape);
  for (std::size_t i = 0; i < found.open.size(); ++i) {
    const ShapeAnswer& answer = found.open[i].answers[slowest->answers[i]];
    found.notes.push_back(found.open[i].what + ": " + answer.value + " taken, the slowest possible");
  }
  found.open.clear();
  return found;
}

const OpenQuestion* find_question(const ClusterShape& shape, std::string_view what) {
  const auto found = std::ranges::find(shape.open, what, &OpenQuestion::what);
  return found == shape.open.end() ? nullptr : &*found;
}

}  // namespace railbed
