// The verdict on a burn-in: which GPUs are wrong, slow, slowed down or lost. A pure function of what was measured.
//
// A GPU is compared with its siblings: GPUs of the same name in the same phase, over all nodes.
// * Deviations are ln(median / rate), so that a share means the same for every product.
// * Their scale is 1.4826 times the median of their sizes (the MAD, which half of the GPUs may spoil without harm), or
//   that of the slow half alone if it is larger: rates of sound GPUs at their power cap have a longer tail there.
// * A GPU is slow if its deviation in scales has a probability below kFalseAlarms / tests, by Student's t with
//   (siblings − 1) / 2 degrees of freedom. Tests are all GPUs times all phases of the burn, so all of it together gives
//   a false alarm in at most one burn of a hundred. Half of the usual degrees pays for the MAD, which of few
//   numbers is often too small: by simulation (burn_verdict_test.cc) alarms are 0.1 to 0.8 % of burns from 4 to 1,024
//   GPUs with a normal spread.
// * Less than kWorthNaming is never named.
// * Of fewer than kFewestSiblings a GPU is slow that lags behind the fastest by more than sound GPUs of one kind do.
//
// The spread of sound GPUs decides how small a lag is found. With 1,024 GPUs and seven phases the limit is 4.7 scales, so
// a GPU that is 3 % slower is found in 95 of 100 burns if it is slow in a phase whose spread (standard deviation) is at
// most 0.47 %. At the power cap the spread is larger: Sinha et al. ("Not All GPUs Are Created Equal", SC 2022) saw
// products on five clusters vary by 8 % among GPUs of one kind, which we take for a deviation of 1.5 %; there such a
// GPU is not found. The simulation assumes one phase of products with 0.45 %: our own value, for GPUs that reach their
// highest clock in it, for which we know no publication. Two H200 were at the cap of 700 W in all four precisions and
// differed by 1.2, 1.8, 1.8 and 3.6 % (8192 x 8192, 68 to 73 against 60 to 63 degrees Celsius): there the smallest lag
// is several percent. BurnFamily::smallest is computed from the spread of the burn itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/burn.h"

namespace railbed {

inline constexpr double kFalseAlarms = 0.01;  // probability, of a whole burn of sound GPUs
inline constexpr double kWorthNaming = 0.01;  // share of the median
inline constexpr std::size_t kFewestSiblings = 4;
inline constexpr double kSlowFailsFrom =
    0.10;  // slower than its siblings: it holds back the whole job that much

// Fills in `families` and `findings` from the rest of the report.
void judge_burn(BurnReport& report);

// Returns the exit code that the findings and a stop before the end give.
int burn_exit_code(const BurnReport& report);

// A comparison of the rates of siblings.
struct Siblings {
  double median = 0;
  double low = 0;
  double high = 0;
  double spread = 0;                    // robust standard deviation as a share of the median
  std::optional<double> smallest = {};  // the smallest share that one may be slower and still be found
  std::vector<std::pair<std::size_t, double>> slow = {};  // index of each that is slow, and by which share
};
// `tests` is the number of rates in the whole burn. Precondition: there is a rate.
Siblings compare_siblings(const std::vector<double>& rates, int tests);
// Returns what one of so many siblings is compared with: "the median of 7 siblings".
std::string siblings_text(std::size_t members);

// Adds findings about one node.
class NodeFindings {
 public:
  NodeFindings(const BurnNode& node, std::vector<BurnFinding>& findings) : node_(node), findings_(findings) {}

  void add(BurnStatus status, std::string what, std::string message, std::string remedy = {},
           bool injected = false);
  // Adds "NAME: 3 WORDS during the burn", unless there are none or nobody knows.
  void count(const std::optional<std::uint64_t>& more, std::string_view name, BurnStatus status,
             std::string what, std::string_view words, std::string remedy);

 private:
  const BurnNode& node_;
  std::vector<BurnFinding>& findings_;
};

// Adds the findings about processors and their memory, and fills in `host_families`.
void judge_burn_hosts(BurnReport& report, int tests);

// The same about drives, and `drive_families`.
void judge_burn_drives(BurnReport& report, int tests);
// Returns true if a drive's rate can be compared with others. The rate of a rotating drive depends on the file's place.
bool is_compared_with_siblings(const BurnDrive& drive);
// The same about rails, and their `families`.
void judge_burn_rails(BurnReport& report, int tests);
// Returns the number of rates of rails that are compared with others.
int rail_tests(const BurnReport& report);
// Adds the findings about collectives.
void judge_burn_collectives(BurnReport& report);

// "nvme0n1 of gpu01 (/scratch)"
std::string drive_text(const BurnNode& node, const BurnDrive& drive);

// Returns the limit beyond which a deviation counts, in scales.
double burn_limit(int siblings, int tests);

}  // namespace railbed
