#include "report/causes.h"
#include "report/documents.h"
#include "report/findings.h"
#include "report/report.h"

namespace railbed {
namespace {

FindingsDocument findings_document(const Verdict& verdict, const Run& run) {
  return {.cluster = run.cluster,
          .started_at = run.started_at,
          .seconds = run.seconds,
          .nodes = run.nodes,
          .counts = verdict.findings.counts(),
          .differences = run.differences,
          .findings = FindingsView(verdict.findings)};
}

}  // namespace

std::string render_json(const Verdict& verdict, const Run& run) {
  return document_text(kFindingsDocument, findings_document(verdict, run));
}

std::string render_json(const Report& report) {
  const Run run = run_of(report);
  FindingsDocument document = findings_document(report.verdict, run);
  document.measurements = report.measurements;
  document.runs = report.runs;
  return document_text(kFindingsDocument, document);
}

}  // namespace railbed
