// Student's t distribution by Boost.Math. Its errors are values here: an argument outside the distribution's domain
// (NaN, no degrees of freedom) gives NaN, and nothing throws.
#include <boost/math/distributions/students_t.hpp>

#include "base/student.h"

namespace railbed {
namespace {

namespace policies = boost::math::policies;
using Policy =
    policies::policy<policies::domain_error<policies::ignore_error>,
                     policies::pole_error<policies::ignore_error>,
                     policies::overflow_error<policies::ignore_error>,
                     policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;

}  // namespace

double student_tail(double t, double freedom) { return cdf(complement(StudentsT(freedom), t)); }

double student_quantile(double tail, double freedom) {
  return quantile(complement(StudentsT(freedom), tail));
}

}  // namespace railbed
