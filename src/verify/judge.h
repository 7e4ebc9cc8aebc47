// What a rule function speaks to. It opens one Case a subject and ends it with one verdict; the judge fills
// in rule, node, touches and evidence.
//
//   Case one = judge.on(end);
//   const int* mtu = one.read(end.interface->mtu);  // not readable: the case ends as unknown, with the path
//   if (mtu == nullptr) continue;
//   if (*mtu == 9000) { one.pass("9000"); continue; }
//   one.fail({.message = "ens6 has MTU 1500, expected 9000", .expected = "9000", .observed = "1500",
//             .remedy = {"Raise the MTU.", {"ip link set ens6 mtu 9000"}}});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/reading.h"
#include "verify/finding.h"
#include "verify/rule.h"
#include "verify/survey.h"

namespace railbed {

// What is wrong, in the words a person reads first.
struct Complaint {
  std::string message;
  std::string expected;
  std::string observed;
  Remedy remedy;
};

class Case {
 public:
  Case(const Rule& rule, std::vector<Finding>& findings, std::string node, std::string subject,
       Things touches);

  // The value, or null when there is none: then the case has ended as unknown.
  template <class T>
  const T* read(const Reading<T>& reading) {
    seen(reading);
    if (reading.ok()) return &reading.value();
    unknown(describe(reading.miss(), reading.from()));
    return nullptr;
  }
  // As read(), for a fact that some sound machines do not have: where it is absent the case ends as not
  // applicable.
  template <class T>
  const T* read_if_there(const Reading<T>& reading, std::string why_not) {
    if (!reading.absent()) return read(reading);
    seen(reading);
    not_applicable(std::move(why_not));
    return nullptr;
  }
  // True, and the case has ended, when this end has no interface to look at.
  bool lacks_interface(const RailEnd& end);
  // Names where a fact was read without asking for it.
  template <class T>
  void seen(const Reading<T>& reading) {
    add_evidence(reading.from());
  }
  void add_evidence(std::string_view from);
  void touch(std::string thing) { finding_.touches.add(std::move(thing)); }
  void touch(const Things& things) { finding_.touches.add(things); }

  void pass(std::string observed);
  void warn(Complaint complaint) { red(Status::kWarn, std::move(complaint)); }
  void fail(Complaint complaint) { red(Status::kFail, std::move(complaint)); }
  void red(Status status, Complaint complaint);
  void unknown(std::string why);
  void not_applicable(std::string why);

 private:
  void end(Status status, std::string message);
  const Rule& rule_;
  std::vector<Finding>& findings_;
  Finding finding_;
};

class Judge {
 public:
  void start(const Rule& rule) { rule_ = &rule; }
  // Room for so many findings; more may come.
  void expect(std::size_t findings);

  Case on(const RailEnd& end) { return Case(*rule_, findings_, *end.node, end.name, end.touches); }
  Case on(const NodeView& node, std::string subject, Things touches = {}) {
    return Case(*rule_, findings_, *node.name, std::move(subject), std::move(touches));
  }
  // About a whole node, which may have given no facts.
  Case on_node(const std::string& node) { return Case(*rule_, findings_, node, node, {"node:" + node}); }
  // About the cluster, a rail or a measurement rather than one node.
  Case on_cluster(std::string subject, Things touches = {}) {
    return Case(*rule_, findings_, {}, std::move(subject), std::move(touches));
  }
  const Rule& rule() const { return *rule_; }  // the one being judged
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  const Rule* rule_ = nullptr;
  std::vector<Finding> findings_;
};

}  // namespace railbed
