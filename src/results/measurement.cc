#include "results/measurement.h"

namespace railbed {

bool same_subject(const Measurement& a, const Measurement& b) {
  return a.engine == b.engine && a.metric == b.metric && a.operation == b.operation && a.rail == b.rail &&
         a.from.node == b.from.node && a.to.node == b.to.node && a.message_bytes == b.message_bytes &&
         a.streams == b.streams;
}

}  // namespace railbed
