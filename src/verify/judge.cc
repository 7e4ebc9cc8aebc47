#include "verify/judge.h"

#include <sys/mman.h>

#include <cstdint>

namespace railbed {

Case::Case(const Rule& rule, Verdicts& verdicts, std::string node, std::string subject, Things touches)
    : rule_(rule), verdicts_(verdicts) {
  finding_.rule = rule.id;
  finding_.node = std::move(node);
  finding_.subject = std::move(subject);
  finding_.touches = std::move(touches);
}

void Case::add_evidence(std::string_view from) {
  if (from.empty() || finding_.evidence.find(from) != std::string::npos) return;
  if (!finding_.evidence.empty()) finding_.evidence += ", ";
  finding_.evidence += from;
}

bool Case::lacks_interface(const RailEnd& end) {
  if (end.interface != nullptr) return false;
  if (end.facts->net.interfaces.ok())
    not_applicable("there is no such interface");
  else
    (void)read(end.facts->net.interfaces);
  return true;
}

bool Case::lacks_rdma(const RailEnd& end) {
  const auto& devices = end.facts->rdma.devices;
  if (!end.rdma && devices.unknown()) return read(devices) == nullptr;
  return lacks(!end.rdma || !end.wants_rdma(), "no RDMA device behind this interface");
}

bool Case::lacks_gpus(const NodeView& node) {
  if (node.facts->pci.unknown()) return read(node.facts->pci) == nullptr;
  return lacks(node.gpus().empty(), "no NVIDIA GPU on PCI");
}

bool Case::lacks_accelerators(const NodeView& node) {
  if (node.facts->pci.unknown()) return read(node.facts->pci) == nullptr;
  return lacks(!node.has_accelerators(), "no GPU and no RDMA adapter on PCI");
}

bool Case::lacks_settings(const NodeView& node) {
  const auto* place = untold(node.facts->nccl);
  return place != nullptr && read(*place) == nullptr;
}

bool Case::lacks_systemd(const NodeView& node) {
  return read_if_there(node.facts->system.services, "no systemd here") == nullptr;
}

bool Case::lacks(bool nothing, std::string_view why) {
  if (nothing) not_applicable(std::string(why));
  return nothing;
}

void Case::pass(std::string observed) {
  finding_.observed = std::move(observed);
  end(Status::kPass, std::string(rule_.title));
}

void Case::red(Status status, Complaint complaint) {
  finding_.expected = std::move(complaint.expected);
  finding_.observed = std::move(complaint.observed);
  finding_.remedy = std::move(complaint.remedy);
  end(status, std::move(complaint.message));
}

void Case::unknown(std::string why) { end(Status::kUnknown, "could not look: " + why); }

void Case::not_applicable(std::string why) { end(Status::kNotApplicable, std::move(why)); }

void Case::end(Status status, std::string message) {
  if (verdicts_.keep == Keep::kUnsound && severity(status) >= severity(Status::kPass))
    return verdicts_.left_out.add(status);
  finding_.status = status;
  finding_.message = std::move(message);
  verdicts_.list.push_back(std::move(finding_));
}

void Judge::expect(std::size_t findings) {
  if (verdicts_.keep != Keep::kAll) return;
  verdicts_.list.reserve(findings);
  // A fleet's findings fill gigabytes: with pages of 4 KiB the kernel spends longer handing them out than the
  // rules spend judging. A hint; where the kernel does not take it nothing is lost.
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const auto begin =
      (reinterpret_cast<std::uintptr_t>(verdicts_.list.data()) + kHugePage - 1) & ~(kHugePage - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(verdicts_.list.data() + findings) & ~(kHugePage - 1);
  if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace railbed
