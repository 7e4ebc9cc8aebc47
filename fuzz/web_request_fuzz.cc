// Any bytes as what a reader of the web service sends: each request of them is refused or is one for a path,
// and no answer to it holds a header that we did not write.
//
// Rooms: monitor
#include <cstdint>

#include "fuzz/require.h"
#include "monitor/web/web_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  std::string_view came = as_text(data, size);
  while (!came.empty()) {
    const WebCut cut = cut_request(came);
    require(cut.bytes <= came.size() && cut.bytes <= kMostRequestBytes);
    require(cut.refused == 0 || cut.bytes == 0);
    if (cut.bytes == 0) {
      require(cut.refused != 0 || came.size() < kMostRequestBytes);
      break;
    }
    const WebQuestion question = parse_request(came.substr(0, cut.bytes));
    came.remove_prefix(cut.bytes);
    if (question.refused != 0) {
      require(question.refused >= 400 && question.refused < 500);
      break;
    }
    require(question.request.path.starts_with('/'));
    for (const char c : question.request.path) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    if (question.host) static_cast<void>(names_loopback(*question.host));
    WebAnswer answer;
    answer.type = question.request.path;
    answer.headers = {{question.request.query, question.host.value_or("")}};
    const std::string head = answer_head(answer, question.keep_alive, 0);
    require(head.find("\r\n\r\n") == head.size() - 4);
    require(lines(head).size() == 9);
  }
  const std::string event = event_text(as_text(data, size));
  require(event.find("\n\n") == event.size() - 2 && event.find('\r') == std::string::npos);
  for (const auto line : lines(event)) require(line.empty() || line.starts_with("data: "));
  return 0;
}
