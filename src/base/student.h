// Student's t distribution.
#pragma once

namespace railbed {

// Returns P(T > t). `freedom`, the degrees of freedom, must be positive; it need not be an integer.
double student_tail(double t, double freedom);
// Returns the t with P(T > t) = tail, for a tail in (0, 0.5].
double student_quantile(double tail, double freedom);

}  // namespace railbed
