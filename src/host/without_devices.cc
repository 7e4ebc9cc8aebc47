#include "host/without_devices.h"

#include <algorithm>
#include <array>

namespace railbed {
namespace {

class WithoutDevices final : public Host {
 public:
  WithoutDevices(std::unique_ptr<Host> machine, std::vector<std::string> devices)
      : machine_(std::move(machine)), devices_(std::move(devices)) {}

  Reading<std::string> read(std::string_view path, std::size_t limit) override {
    if (is_hidden(path)) return {hidden(), std::string(path)};
    return machine_->read(path, limit);
  }
  Reading<std::vector<std::string>> list(std::string_view path) override {
    if (is_hidden(path)) return {hidden(), std::string(path)};
    const bool is_class = std::ranges::find(kClasses, path) != kClasses.end();
    auto names = machine_->list(path);
    if (!is_class || !names) return names;
    return names.parsed([&](std::vector<std::string> all) {
      std::erase_if(all, [&](const std::string& name) { return is_one(name); });
      return std::optional(std::move(all));
    });
  }
  Reading<std::string> resolve(std::string_view path) override {
    if (is_hidden(path)) return {hidden(), std::string(path)};
    return machine_->resolve(path);
  }
  Reading<CommandOutput> run(const std::vector<std::string>& words,
                             std::chrono::milliseconds deadline) override {
    return machine_->run(words, deadline);
  }
  Reading<std::string> call(std::string_view name) override {
    if (name == "verbs") return machine_->call("verbs except " + joined());
    if (name.starts_with("verbs except ")) return machine_->call(std::string(name) + "," + joined());
    const auto space = name.rfind(' ');
    const bool is_about_one = space != std::string_view::npos && is_one(name.substr(space + 1));
    if (is_about_one) return {hidden(), std::string(name)};
    return machine_->call(name);
  }

 private:
  static constexpr std::array<std::string_view, 2> kClasses = {"/sys/class/infiniband", "/sys/class/net"};

  static Miss hidden() { return {Missing::kAbsent, "railbed was told to leave it out"}; }
  bool is_one(std::string_view name) const { return std::ranges::find(devices_, name) != devices_.end(); }
  bool is_hidden(std::string_view path) const {
    for (const std::string_view folder : kClasses) {
      if (!path.starts_with(folder) || path.size() <= folder.size() + 1 || path[folder.size()] != '/')
        continue;
      const auto rest = path.substr(folder.size() + 1);
      return is_one(rest.substr(0, rest.find('/')));
    }
    return false;
  }
  std::string joined() const {
    std::string all;
    for (const std::string& device : devices_) all += (all.empty() ? "" : ",") + device;
    return all;
  }

  std::unique_ptr<Host> machine_;
  std::vector<std::string> devices_;
};

}  // namespace

std::unique_ptr<Host> without_devices(std::unique_ptr<Host> machine, std::vector<std::string> devices) {
  if (devices.empty()) return machine;
  return std::make_unique<WithoutDevices>(std::move(machine), std::move(devices));
}

}  // namespace railbed
