#include "campaign/change/installer_iso.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/files.h"
#include "base/iso9660.h"
#include "base/text.h"
#include "configure/autoinstall.h"
#include "configure/installer_medium.h"
#include "os/process.h"
#include "settings/serial_console.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxMenu = 1 << 20;          // of a menu or a list; the makers' have some kilobytes
constexpr std::uint64_t kMaxPartition = 64 << 20;  // of /images/efiboot.img; RHEL's has 8 to 12 MiB
constexpr std::uint64_t kSpare = 64 << 20;         // beyond the ISO's own size
constexpr std::uint64_t kToolMemory = 4ULL << 30;  // that xorriso may use: it holds the ISO's tree
constexpr std::chrono::hours kLongestWriting{2};
constexpr std::string_view kBootPartition = "/images/efiboot.img";
constexpr std::string_view kSums = "/md5sum.txt";

// A new folder beside the output, removed with all that is in it.
class FolderBeside {
 public:
  explicit FolderBeside(const fs::path& output)
      : path_((output.parent_path() / fmt::format(".{}.XXXXXX", output.filename().string())).string()) {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;
  ~FolderBeside() {
    std::error_code ignored;
    if (made_) fs::remove_all(path_, ignored);
  }
  bool made() const { return made_; }
  fs::path path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

// The maker's ISO, recognised.
struct MakersIso {
  IsoImage image;
  Medium medium;
  MediumPaths paths;
};

// A file of the new ISO.
struct NewFile {
  std::string path;
  std::string content;
};

std::optional<std::string> text_of(const IsoImage& image, std::string_view path) {
  const auto text = image.read(path, kMaxMenu);
  return text ? std::optional(*text) : std::nullopt;
}

Result<MakersIso> open_makers_iso(const InstallerWish& wish) {
  ASSIGN_OR_RETURN(IsoImage image, IsoImage::open(wish.iso));
  auto medium = medium_of({text_of(image, "/.disk/info"), text_of(image, "/.treeinfo"),
                           text_of(image, "/.discinfo"), text_of(image, "/EFI/BOOT/grub.cfg")});
  if (!medium) return fail(std::move(medium).error(), wish.iso);
  for (const Node& node : wish.nodes) RETURN_IF_ERROR(check_medium(*medium, node));
  const MediumPaths paths = medium_paths(medium->kind);
  RETURN_IF_ERROR(image.find(paths.kernel));
  RETURN_IF_ERROR(image.find(paths.initrd));
  return MakersIso{std::move(image), *std::move(medium), paths};
}

// Returns the answers of all nodes, as files below answers_folder().
Result<std::vector<NewFile>> answers_of(const MakersIso& iso, const InstallerWish& wish) {
  std::vector<NewFile> files;
  for (Node node : wish.nodes) {
    node.expect.os = iso.medium.os;
    ASSIGN_OR_RETURN(const auto answers, install_files(node));
    for (const InstallFile& file : answers)
      files.push_back({fmt::format("/{}/{}", answers_folder(node.name), file.name), file.content});
  }
  return files;
}

MenuWish menu_wish(const MakersIso& iso, const InstallerWish& wish) {
  MenuWish menu;
  const auto first = serial_console(wish.nodes.front().configure);
  bool same = first.has_value();
  for (const Node& node : wish.nodes) {
    menu.entries.push_back({node.name, arguments_from_medium(iso.medium, iso.image.label(), node)});
    const auto console = serial_console(node.configure);
    same = same && console && console->port == first->port && console->rate == first->rate;
  }
  if (same) {
    menu.console = first->port;
    menu.console_rate = first->rate;
  }
  return menu;
}

// Returns the ISO's menus with our entries. An installer's ISO has one for each firmware, or one for both.
Result<std::vector<NewFile>> menus_of(const MakersIso& iso, const MenuWish& wish) {
  std::vector<NewFile> menus;
  for (const std::string& path : iso.paths.grub_menus) {
    if (!iso.image.holds(path)) continue;
    ASSIGN_OR_RETURN(const std::string menu, iso.image.read(path, kMaxMenu));
    ASSIGN_OR_RETURN(std::string ours, grub_with_entries(menu, iso.paths, wish));
    menus.push_back({path, std::move(ours)});
  }
  for (const std::string& path : iso.paths.isolinux_menus) {
    if (!iso.image.holds(path)) continue;
    ASSIGN_OR_RETURN(const std::string menu, iso.image.read(path, kMaxMenu));
    ASSIGN_OR_RETURN(std::string ours, isolinux_with_entries(menu, wish));
    menus.push_back({path, std::move(ours)});
  }
  if (menus.empty())
    return fail(ErrorKind::kBadInput, "the ISO holds none of the boot menus that railbed knows");
  return menus;
}

// A label goes into the kernel's arguments and a menu as it is.
Result<void> check_label(const MakersIso& iso) {
  if (iso.medium.kind == MediumKind::kUbuntuServer) return {};
  const std::string& label = iso.image.label();
  const bool plain = std::ranges::all_of(
      label, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
  if (plain && !label.empty()) return {};
  constexpr std::string_view kWhy =
      "the installer finds the ISO by this label (inst.stage2=hd:LABEL=…), so it has to be of letters, digits, \"-\", \"_\" "
      "and \".\" as the maker's is (Rocky-9-4-x86_64-dvd); take the maker's ISO, whose checksum it publishes";
  if (label.empty()) return fail(ErrorKind::kBadInput, fmt::format("the ISO has no volume label: {}", kWhy));
  return fail(ErrorKind::kBadInput,
              fmt::format("the ISO's volume label is \"{}\": {}", printable(label), kWhy));
}

Result<void> check_output(const InstallerWish& wish, const std::string& output, bool replace) {
  std::error_code error;
  if (fs::equivalent(wish.iso, output, error))
    return fail(ErrorKind::kBadInput,
                "the ISO that is read cannot be the one that is written; name another with -o");
  const fs::file_status status = fs::symlink_status(output, error);
  if (!fs::exists(status)) return check_writable(output);
  if (!fs::is_regular_file(status))
    return fail(ErrorKind::kBadInput, fmt::format("{} is no file that railbed replaces", output));
  if (!replace)
    return fail(ErrorKind::kBadInput, fmt::format("{} exists already; --force replaces it", output));
  return check_writable(output);
}

Result<void> check_room(const fs::path& folder, std::uint64_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= bytes) return {};
  return fail(ErrorKind::kUnavailable,
              fmt::format("{} has {} MB of room, and the ISO needs {} MB", folder.string(),
                          space.available / 1'000'000, bytes / 1'000'000));
}

struct Tool {
  std::string_view name;
  std::string_view package;
  std::string_view purpose;
};
constexpr Tool kXorriso{"xorriso", "xorriso", "which writes the ISO"};
constexpr Tool kMcopy{"mcopy", "mtools", "which puts the menu into the ISO's boot partition for UEFI"};

Result<void> check_tool(const Tool& tool) {
  if (!find_program(std::string(tool.name)).empty()) return {};
  return fail(
      ErrorKind::kUnavailable,
      fmt::format(
          "{}, {}, is not installed here; install it with \"apt install {}\" (Debian, Ubuntu) or \"dnf "
          "install {}\" (RHEL)",
          tool.name, tool.purpose, tool.package, tool.package));
}

// Runs a tool with upper limits of memory and of what it writes, and reports its last line if it fails. A record of the ISO
// may claim any size.
Result<void> run_tool(std::vector<std::string> words, std::uint64_t most_bytes, const Caller& caller) {
  const std::string name = words.front();
  if (!find_program("prlimit").empty())
    words.insert(words.begin(), {"prlimit", fmt::format("--as={}", kToolMemory),
                                 fmt::format("--fsize={}", most_bytes), "--"});
  const auto done = run_program(words, kLongestWriting, caller.stop);
  if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped; nothing was written");
  if (!done.ok()) return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", name, done.miss().why));
  if (done->exit_code == 0) return {};
  const auto all = lines(done->error_output.empty() ? done->output : done->error_output);
  std::string said;
  for (const std::string_view line : all)
    if (said.empty() || line.find("FAILURE") != std::string_view::npos ||
        line.find("FATAL") != std::string_view::npos)
      said = line;
  return fail(ErrorKind::kUnavailable, fmt::format("{} failed with exit code {}: {}", name, done->exit_code,
                                                   printable(trim(said).substr(0, 200))));
}

Result<void> stage(const fs::path& folder, const NewFile& file) {
  const fs::path place = folder / file.path.substr(1);
  RETURN_IF_ERROR(make_folder(place.parent_path().string()));
  return write_file(place.string(), file.content);
}

// Copies the boot partition out of the ISO and lets its copy of the menu go on with that of the ISO. Firmware that
// boots a stick reads the former, firmware that boots a CD the latter.
Result<void> stage_boot_partition(const MakersIso& iso, const fs::path& folder, const Caller& caller) {
  ASSIGN_OR_RETURN(const IsoFile inner, iso.image.find(kBootPartition));
  if (inner.size > kMaxPartition)
    return fail(ErrorKind::kBadInput,
                fmt::format("{} in the ISO is larger than any that railbed knows", kBootPartition));
  RETURN_IF_ERROR(check_tool(kMcopy));
  std::string content;
  RETURN_IF_ERROR(iso.image.pass(inner, [&](std::string_view piece) { return content.append(piece), true; }));
  RETURN_IF_ERROR(stage(folder, {std::string(kBootPartition), content}));
  RETURN_IF_ERROR(stage(folder, {"/menu", menu_of_boot_partition(iso.image.label())}));
  return run_tool({"mcopy", "-o", "-i", (folder / kBootPartition.substr(1)).string(),
                   (folder / "menu").string(), "::/EFI/BOOT/grub.cfg"},
                  2 * kMaxPartition, caller);
}

// Reports the size of a growing file until a stop is requested.
void watch_growth(const std::stop_token& done, const fs::path& file, std::uint64_t whole,
                  const std::string& what, const Caller& caller) {
  while (!done.stop_requested()) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    const auto percent =
        error ? 0 : std::min<std::uint64_t>(99, size * 100 / std::max<std::uint64_t>(1, whole));
    caller.progress(fmt::format("writing {}: {} %", what, percent));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  caller.progress("");
}

// `-indev` with `-outdev` writes a new image of the old tree and the changes. -no_rc: no start-up file of this machine
// has a say. The UUID stays, for GRUB and casper may look for it.
std::vector<std::string> xorriso_words(const MakersIso& iso, const std::string& from, const fs::path& to,
                                       const fs::path& staged, const std::vector<std::string>& paths) {
  std::vector<std::string> words = {
      "xorriso",       "-no_rc",  "-report_about",        "SORRY",       "-return_with",
      "FAILURE",       "32",      "-overwrite",           "on",          "-indev",
      "stdio:" + from, "-outdev", "stdio:" + to.string(), "-boot_image", "any",
      "replay"};
  if (is_digits(iso.image.modified()))
    words.insert(words.end(), {"-volume_date", "uuid", iso.image.modified()});
  for (const std::string& path : paths)
    words.insert(words.end(), {"-map", (staged / path.substr(1)).string(), path});
  words.insert(words.end(), {"-chown_r", "0", "/railbed", "--", "-chgrp_r", "0", "/railbed", "--"});
  return words;
}

Result<void> replace_by(const fs::path& image, const std::string& output) {
  const Fd file(open(image.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || fsync(file.get()) != 0 || chmod(image.c_str(), 0644) != 0 ||
      rename(image.c_str(), output.c_str()) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot write {}: {}", output, std::strerror(errno)));
  return {};
}

}  // namespace

Result<WrittenIso> write_installer_iso(const InstallerWish& wish, const std::string& output, bool replace,
                                       const Caller& caller) {
  RETURN_IF_ERROR(check_tool(kXorriso));
  ASSIGN_OR_RETURN(const MakersIso iso, open_makers_iso(wish));
  RETURN_IF_ERROR(check_label(iso));
  ASSIGN_OR_RETURN(std::vector<NewFile> files, answers_of(iso, wish));
  ASSIGN_OR_RETURN(const auto menus, menus_of(iso, menu_wish(iso, wish)));
  RETURN_IF_ERROR(check_output(wish, output, replace));
  const fs::path place = fs::absolute(output);
  RETURN_IF_ERROR(check_room(place.parent_path(), iso.image.size() + kSpare));

  WrittenIso written{.system = iso.medium.name, .menus = {}};
  for (const NewFile& menu : menus) written.menus.push_back(menu.path);
  files.insert(files.end(), menus.begin(), menus.end());
  if (const auto sums = text_of(iso.image, kSums))
    files.push_back({std::string(kSums), sums_without(*sums, written.menus)});

  const FolderBeside temporary(place);
  if (!temporary.made())
    return fail(ErrorKind::kUnavailable, fmt::format("cannot make a folder in {}: {}",
                                                     place.parent_path().string(), std::strerror(errno)));
  std::vector<std::string> paths;
  for (const NewFile& file : files) {
    RETURN_IF_ERROR(stage(temporary.path(), file));
    paths.push_back(file.path);
  }
  if (iso.medium.kind == MediumKind::kRhel && iso.image.holds(kBootPartition)) {
    RETURN_IF_ERROR(stage_boot_partition(iso, temporary.path(), caller));
    paths.emplace_back(kBootPartition);
  }
  const fs::path image = temporary.path() / "image.iso";
  {
    const std::jthread watch([&](const std::stop_token& done) {
      watch_growth(done, image, iso.image.size(), place.filename().string(), caller);
    });
    RETURN_IF_ERROR(
        run_tool(xorriso_words(iso, fs::absolute(wish.iso).string(), image, temporary.path(), paths),
                 iso.image.size() + kSpare, caller));
  }
  RETURN_IF_ERROR(replace_by(image, place.string()));
  return written;
}

}  // namespace railbed
