// A vendor's library, opened at run time, mostly in a child process.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

namespace railbed {

class Library {
 public:
  // Opens the first file that can be opened. It is never closed: driver libraries may misbehave when they
  // are.
  explicit Library(const std::vector<std::string>& files) {
    for (const auto& file : files) {
      handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) {
        file_ = file;
        return;
      }
      const char* words = dlerror();
      if (error_.empty() && words != nullptr) error_ = words;
    }
  }
  explicit operator bool() const { return handle_ != nullptr; }
  void* handle() const { return handle_; }
  const std::string& file() const { return file_; }
  const std::string& error() const { return error_; }  // the loader's message about the first file
  void* find(const char* function) const { return handle_ == nullptr ? nullptr : dlsym(handle_, function); }
  // The same, typed. The first missing function is reported in `error`.
  template <class Function>
  void bind(Function& function, const char* name, std::string& error) const {
    function = reinterpret_cast<Function>(find(name));
    if (function == nullptr && error.empty()) error = file_ + " has no " + name;
  }

 private:
  void* handle_ = nullptr;
  std::string file_;
  std::string error_;
};

}  // namespace railbed
