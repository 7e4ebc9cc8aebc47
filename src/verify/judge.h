// The interface of rule functions. A Case judges one subject. A rule reads the subject's facts through it
// (read() and related functions), so that the case records where each fact was read, and ends it exactly
// once: pass, warn, fail, unknown or not applicable. A fact that could not be read ends the case as unknown,
// so no rule can forget to check, or treat missing data as health. Ending a case appends a Finding to the
// judge's list; a case that is never ended leaves none.
//
// The judge fills in what all findings of a rule share: the rule's id, the node, the subject, and the things
// that the finding touches, by which causes are found later (causes.h). A judge handles one rule at a time
// and belongs to one thread. The walks over nodes, rails and devices are in walk.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/reading.h"
#include "model/survey.h"
#include "verify/findings.h"
#include "verify/rule.h"

namespace railbed {

// Returns true if the fact exists and only root may read it.
template <class T>
bool needs_root(const Reading<T>& reading) {
  return !reading.ok() && reading.miss().missing == Missing::kDenied;
}

// Text of a warning or failure, as a person reads it first.
struct Complaint {
  std::string message;
  std::string expected;
  std::string observed;
  Remedy remedy = {};
};

// Collects the findings of cases.
struct Verdicts {
  std::vector<Finding> list;
  StatusCounts left_out;  // findings that were counted, not stored
  Keep keep = Keep::kAll;
};

// One subject under one rule. See the head of the file.
class Case {
 public:
  Case(const Rule& rule, Verdicts& verdicts, std::string node, std::string subject, Things touches);

  // Returns the value; null after ending the case as unknown if there is none.
  template <class T>
  const T* read(const Reading<T>& reading) {
    seen(reading);
    if (reading.ok()) return &reading.value();
    unknown(describe(reading.miss(), reading.from()));
    return nullptr;
  }
  // Like read(), for a fact that some sound machines do not have: an absent fact ends the case as not
  // applicable, with the text `why_not`.
  template <class T>
  const T* read_if_there(const Reading<T>& reading, std::string why_not) {
    if (!reading.absent()) return read(reading);
    seen(reading);
    not_applicable(std::move(why_not));
    return nullptr;
  }
  // Each returns true after ending the case as not applicable if the subject does not exist: no interface
  // (unknown if the interfaces could not be read), no RDMA device behind it, no NVIDIA GPU on PCI, neither
  // GPU nor RDMA adapter. The last three are unknown if a report does not hold the devices.
  bool lacks_interface(const RailEnd& end);
  bool lacks_rdma(const RailEnd& end);
  bool lacks_gpus(const NodeView& node);
  bool lacks_accelerators(const NodeView& node);
  bool lacks_systemd(const NodeView& node);  // unknown if services could not be read
  // Returns true after ending the case as unknown if a place that may set NCCL's variables could not be read.
  bool lacks_settings(const NodeView& node);
  // Adds the fact's source to the evidence without using the value.
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

// Opens the cases of a rule and collects their findings.
class Judge {
 public:
  explicit Judge(Keep keep = Keep::kAll) { verdicts_.keep = keep; }
  void start(const Rule& rule) { rule_ = &rule; }
  // Reserves space for this number of findings. More may follow.
  void expect(std::size_t findings);

  Case on(const RailEnd& end) { return Case(*rule_, verdicts_, *end.node, end.name, end.touches); }
  Case on(const NodeView& node, std::string subject, Things touches = {}) {
    return Case(*rule_, verdicts_, *node.name, std::move(subject), std::move(touches));
  }
  // Opens a case about a whole node, which may have no facts.
  Case on_node(const std::string& node) { return Case(*rule_, verdicts_, node, node, {"node:" + node}); }
  // Opens a case about a part of a node that may have no facts, such as its BMC.
  Case on_node(const std::string& node, std::string subject, Things touches) {
    return Case(*rule_, verdicts_, node, std::move(subject), std::move(touches));
  }
  // Opens a case about the cluster, a rail or a measurement rather than one node.
  Case on_cluster(std::string subject, Things touches = {}) {
    return Case(*rule_, verdicts_, {}, std::move(subject), std::move(touches));
  }
  const Rule& rule() const { return *rule_; }  // the rule being judged
  // Returns true if a case of the rule has ended.
  bool has_findings() const { return !verdicts_.list.empty() || verdicts_.left_out.all() > 0; }
  Verdicts take() { return std::move(verdicts_); }

 private:
  const Rule* rule_ = nullptr;
  Verdicts verdicts_;
};

}  // namespace railbed
