// {fmt} compiled once. Its header-only form costs every file that formats anything two to five seconds of compiling,
// and Debian ships the compiled form as a shared library only, which the release binary may not need
// (docs/decisions/0002).
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// What fmt/format.h declares as `extern template`.
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>, locale_ref);
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
// What fmt/chrono.h needs.
template locale_ref::locale_ref(const std::locale& loc);
template auto locale_ref::get<std::locale>() const -> std::locale;
}  // namespace detail
FMT_END_NAMESPACE
