// Any bytes as what a root agent is asked to change, as what iproute2 says of a network, and as what grubby prints of the boot
// menu: nothing that is let through leaves /etc, names a program's option or breaks out of its line; contents of files come
// back exactly, and no undo is a command that a record may not hold.
//
// Rooms: apply
// Seeds: fuzz/corpus/apply
#include <cstdint>

#include "apply/network_state.h"
#include "apply/request.h"
#include "apply/undo.h"
#include "base/json.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railbed;
  const std::string_view text = as_text(data, size);
  const FileContent content{std::string(text)};
  require(FileContent::parse(content.to_text()) == content);
  if (const auto parsed = FileContent::parse(text)) require(FileContent::parse(parsed->to_text()) == parsed);

  ApplyRequest console;
  console.family = OsFamily::kRhel;
  console.steps = {{StepKind::kSetKernelArguments, {"console=tty0", "console=ttyS1,115200n8"}}};
  const WritableHost host("/nonexistent", [&](const auto&, auto) -> Reading<CommandOutput> {
    return {CommandOutput{0, std::string(text), ""}, "grubby"};
  });
  for (const UndoCommand& command : undo_of(console, host)) require(is_command_of_ours(command.words));
  require(changed_kernel_arguments(console, host).find('\n') == std::string::npos);

  const auto network = json::read<NetworkState>(text);
  if (network)
    for (const auto& words : network_commands(*network, taken_back({}, *network, *network)))
      require(!words.empty() && words.front() == "ip");

  const auto request = json::read<ApplyRequest>(text);
  if (!request || !check_request(*request)) return 0;
  for (const FileEdit& edit : request->files) {
    require(edit.path.starts_with("/etc/") && edit.path.find("/../") == std::string::npos);
    require(edit.path.find('\n') == std::string::npos && (edit.mode & ~0777) == 0);
  }
  for (const NodeStep& step : request->steps)
    for (const std::string& argument : step.arguments) require(!argument.starts_with('-'));
  return 0;
}
