// What a rule function speaks to. A Case is one subject on trial. Its facts are asked through it, read() and
// its kin, so that it learns where each was read, and it is ended once: pass, warn, fail, unknown or not
// applicable. What could not be read ends it by itself, as unknown: no rule can forget to look, or take
// silence for health. Ending it puts a Finding in the judge's list; a case that nobody ends leaves none.
//
// The judge fills in what every finding of a rule shares: the rule's id, the node, the subject, and the
// things that the finding touches, by which causes are found later (causes.h). It judges one rule and belongs
// to one thread; who walks over what is written in walk.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/reading.h"
#include "model/survey.h"
#include "verify/findings.h"
#include "verify/rule.h"

namespace railbed {

// Whether a fact is there and only root may read it.
template <class T>
bool needs_root(const Reading<T>& reading) {
  return !reading.ok() && reading.miss().missing == Missing::kDenied;
}

// What is wrong, in the words a person reads first.
struct Complaint {
  std::string message;
  std::string expected;
  std::string observed;
  Remedy remedy = {};
};

// Where cases put their findings.
struct Verdicts {
  std::vector<Finding> list;
  StatusCounts left_out;  // of those that only count
  Keep keep = Keep::kAll;
};

class Case {
 public:
  Case(const Rule& rule, Verdicts& verdicts, std::string node, std::string subject, Things touches);

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
  // True, and the case has ended as not applicable, where there is nothing to look at: no interface (or as
  // unknown, when interfaces could not be read), no RDMA device behind it, no NVIDIA GPU on PCI, neither GPU
  // nor RDMA adapter.
  bool lacks_interface(const RailEnd& end);
  bool lacks_rdma(const RailEnd& end);
  bool lacks_gpus(const NodeView& node);
  bool lacks_accelerators(const NodeView& node);
  bool lacks_systemd(const NodeView& node);  // or as unknown, when services could not be read
  // Ended as unknown, where a place that may set NCCL's variables is not told of.
  bool lacks_settings(const NodeView& node);
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
  bool lacks(bool nothing, std::string_view why);
  void end(Status status, std::string message);
  const Rule& rule_;
  Verdicts& verdicts_;
  Finding finding_;
};

class Judge {
 public:
  explicit Judge(Keep keep = Keep::kAll) { verdicts_.keep = keep; }
  void start(const Rule& rule) { rule_ = &rule; }
  // Room for so many findings; more may come.
  void expect(std::size_t findings);

  Case on(const RailEnd& end) { return Case(*rule_, verdicts_, *end.node, end.name, end.touches); }
  Case on(const NodeView& node, std::string subject, Things touches = {}) {
    return Case(*rule_, verdicts_, *node.name, std::move(subject), std::move(touches));
  }
  // About a whole node, which may have given no facts.
  Case on_node(const std::string& node) { return Case(*rule_, verdicts_, node, node, {"node:" + node}); }
  // About something of a node that may have given no facts: its BMC.
  Case on_node(const std::string& node, std::string subject, Things touches) {
    return Case(*rule_, verdicts_, node, std::move(subject), std::move(touches));
  }
  // About the cluster, a rail or a measurement rather than one node.
  Case on_cluster(std::string subject, Things touches = {}) {
    return Case(*rule_, verdicts_, {}, std::move(subject), std::move(touches));
  }
  const Rule& rule() const { return *rule_; }  // the one being judged
  Verdicts take() { return std::move(verdicts_); }

 private:
  const Rule* rule_ = nullptr;
  Verdicts verdicts_;
};

}  // namespace railbed
