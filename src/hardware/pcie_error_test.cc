#include "hardware/pcie_error.h"

#include <gtest/gtest.h>

#include <vector>

namespace railbed {
namespace {

PcieTrouble common_of(const std::vector<std::string>& names) { return trouble_of_pcie_errors(names); }

TEST(PcieErrorNames, OfTodayAndOfOldKernelsMeanTheSame) {
  EXPECT_EQ(trouble_of_pcie_error("BadDLLP"), PcieTrouble::kLink);
  EXPECT_EQ(trouble_of_pcie_error("Bad DLLP"), PcieTrouble::kLink);
  EXPECT_EQ(trouble_of_pcie_error("CmpltTO"), PcieTrouble::kUnanswered);
  EXPECT_EQ(trouble_of_pcie_error("Completion Timeout"), PcieTrouble::kUnanswered);
  EXPECT_EQ(trouble_of_pcie_error("TLP"), PcieTrouble::kPoisoned);
  EXPECT_EQ(trouble_of_pcie_error("Undefined"), PcieTrouble::kUnknown);
}

TEST(PcieErrorNames, ThatDifferMeanWhatTheyHaveInCommon) {
  EXPECT_EQ(common_of({"RxErr", "BadTLP"}), PcieTrouble::kLink);
  EXPECT_EQ(common_of({"CmpltTO", "UnsupReq"}), PcieTrouble::kTransaction);
  EXPECT_EQ(common_of({"DLP", "CmpltTO"}), PcieTrouble::kUnknown);
  EXPECT_EQ(common_of({}), PcieTrouble::kUnknown);
}

TEST(PcieErrorLine, HasALayerAndAnEnd) {
  EXPECT_EQ(trouble_of_pcie_line("severity=Correctable, type=Physical Layer, (Receiver ID)"),
            PcieTrouble::kLink);
  EXPECT_EQ(trouble_of_pcie_line("type=Transaction Layer, (Completer ID)"), PcieTrouble::kRefused);
  EXPECT_EQ(trouble_of_pcie_line("type=Transaction Layer, (Requester ID)"), PcieTrouble::kTransaction);
  EXPECT_EQ(trouble_of_pcie_line("type=Inaccessible, (Unregistered Agent ID)"), PcieTrouble::kUnknown);
}

TEST(PcieErrorOrigin, IsAssertedOnlyOfLinksAndOfMarkedData) {
  for (const PcieTrouble trouble : {PcieTrouble::kLinkLost, PcieTrouble::kUnanswered, PcieTrouble::kRefused,
                                    PcieTrouble::kTransaction, PcieTrouble::kUnknown}) {
    EXPECT_EQ(origin_of(trouble), PcieOrigin::kUndecided);
    EXPECT_FALSE(origin_text(trouble).empty());
  }
  EXPECT_EQ(origin_of(PcieTrouble::kLink), PcieOrigin::kHardware);
  EXPECT_EQ(origin_of(PcieTrouble::kPoisoned), PcieOrigin::kHardware);
  EXPECT_EQ(origin_of(PcieTrouble::kInternal), PcieOrigin::kNode);
}

TEST(PcieErrorRemedy, OfALinkThatWentAwayDoesNotClaimThatItCarriedAnything) {
  for (const bool built_in : {false, true}) {
    const std::string_view remedy = remedy_of(PcieTrouble::kLinkLost, built_in);
    EXPECT_EQ(remedy.find("carried"), remedy.npos) << remedy;
    EXPECT_NE(remedy.find("who reset"), remedy.npos) << remedy;
  }
  EXPECT_NE(remedy_of(PcieTrouble::kLinkLost, false).find("removed"), std::string_view::npos);
}

TEST(PcieErrorRemedy, PlacesTheNameOfTheErrorNowhere) {
  EXPECT_EQ(remedy_of(PcieTrouble::kRefused, false).find("below"), std::string_view::npos);
  EXPECT_EQ(origin_text(PcieTrouble::kUnknown).find("count alone"), std::string_view::npos);
}

}  // namespace
}  // namespace railbed
