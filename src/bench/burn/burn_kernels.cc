#include "bench/burn/burn_kernels.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {
namespace {

constexpr unsigned kBurnThreads = 256;
constexpr unsigned kBurnBlocksEach = 16;  // for each multiprocessor

// Each thread handles pairs of words, 16 bytes in one access.
//
// burn_words(buffer, pairs, seed, mask, bits, found): writes the words; or, if `found` is not null, compares them
// and adds to the difference there.
// burn_compare(a, b, pairs, shift, found): compares elements of 1 << shift bytes, 2 to 8.
// burn_digest(a, pairs, found): adds a hash of each word and its place to the first number there.
constexpr const char* kBurnPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry burn_words(
  .param .u64 p_buffer, .param .u64 p_pairs, .param .u64 p_seed, .param .u64 p_mask, .param .u64 p_bits,
  .param .u64 p_found)
{
  .reg .pred %compare;
  .reg .pred %p<4>;
  .reg .b32 %r<5>;
  .reg .b64 %d<24>;
  ld.param.u64 %d1, [p_buffer];
  cvta.to.global.u64 %d1, %d1;
  ld.param.u64 %d2, [p_pairs];
  ld.param.u64 %d3, [p_seed];
  ld.param.u64 %d4, [p_mask];
  ld.param.u64 %d5, [p_bits];
  ld.param.u64 %d6, [p_found];
  setp.ne.u64 %compare, %d6, 0;
  cvta.to.global.u64 %d6, %d6;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %d7, %r1, %r2;
  cvt.u64.u32 %d8, %r3;
  add.u64 %d7, %d7, %d8;
  mul.wide.u32 %d8, %r4, %r2;
  mov.u64 %d20, 0x9E3779B97F4A7C15;
  mov.u64 %d21, 0xBF58476D1CE4E5B9;
  mov.u64 %d22, 1;
WORDS_NEXT:
  setp.ge.u64 %p1, %d7, %d2;
  @%p1 bra WORDS_END;
  shl.b64 %d9, %d7, 1;
  mad.lo.u64 %d10, %d9, %d20, %d3;
  add.u64 %d11, %d10, %d20;
  shr.u64 %d12, %d10, 32;
  xor.b64 %d10, %d10, %d12;
  mul.lo.u64 %d10, %d10, %d21;
  shr.u64 %d12, %d10, 29;
  xor.b64 %d10, %d10, %d12;
  and.b64 %d10, %d10, %d4;
  xor.b64 %d10, %d10, %d5;
  shr.u64 %d12, %d11, 32;
  xor.b64 %d11, %d11, %d12;
  mul.lo.u64 %d11, %d11, %d21;
  shr.u64 %d12, %d11, 29;
  xor.b64 %d11, %d11, %d12;
  and.b64 %d11, %d11, %d4;
  xor.b64 %d11, %d11, %d5;
  shl.b64 %d13, %d7, 4;
  add.u64 %d13, %d1, %d13;
  @!%compare st.global.v2.u64 [%d13], {%d10, %d11};
  @!%compare bra WORDS_STEP;
  ld.global.v2.u64 {%d14, %d15}, [%d13];
  xor.b64 %d14, %d14, %d10;
  xor.b64 %d15, %d15, %d11;
  or.b64 %d16, %d14, %d15;
  setp.eq.u64 %p2, %d16, 0;
  @%p2 bra WORDS_STEP;
  red.global.or.b64 [%d6+16], %d16;
  setp.eq.u64 %p2, %d14, 0;
  @%p2 bra WORDS_SECOND;
  red.global.add.u64 [%d6], %d22;
  red.global.min.u64 [%d6+8], %d9;
WORDS_SECOND:
  setp.eq.u64 %p2, %d15, 0;
  @%p2 bra WORDS_STEP;
  add.u64 %d17, %d9, %d22;
  red.global.add.u64 [%d6], %d22;
  red.global.min.u64 [%d6+8], %d17;
WORDS_STEP:
  add.u64 %d7, %d7, %d8;
  bra WORDS_NEXT;
WORDS_END:
  ret;
}
.visible .entry burn_compare(
  .param .u64 p_a, .param .u64 p_b, .param .u64 p_pairs, .param .u32 p_shift, .param .u64 p_found)
{
  .reg .pred %second;
  .reg .pred %p<4>;
  .reg .b32 %r<12>;
  .reg .b64 %d<28>;
  ld.param.u64 %d1, [p_a];
  cvta.to.global.u64 %d1, %d1;
  ld.param.u64 %d2, [p_b];
  cvta.to.global.u64 %d2, %d2;
  ld.param.u64 %d3, [p_pairs];
  ld.param.u32 %r1, [p_shift];
  ld.param.u64 %d4, [p_found];
  cvta.to.global.u64 %d4, %d4;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mov.u32 %r5, %nctaid.x;
  mul.wide.u32 %d5, %r2, %r3;
  cvt.u64.u32 %d6, %r4;
  add.u64 %d5, %d5, %d6;
  mul.wide.u32 %d6, %r5, %r3;
  mov.u32 %r6, 8;
  shl.b32 %r7, %r6, %r1;
  shr.u32 %r8, %r6, %r1;
  cvt.u64.u32 %d7, %r8;
  mov.u32 %r9, 64;
  sub.u32 %r9, %r9, %r7;
  mov.u64 %d8, 0xFFFFFFFFFFFFFFFF;
  shr.u64 %d8, %d8, %r9;
  mov.u64 %d9, 1;
COMPARE_NEXT:
  setp.ge.u64 %p1, %d5, %d3;
  @%p1 bra COMPARE_END;
  shl.b64 %d10, %d5, 4;
  add.u64 %d11, %d1, %d10;
  add.u64 %d12, %d2, %d10;
  ld.global.v2.u64 {%d13, %d14}, [%d11];
  ld.global.v2.u64 {%d15, %d16}, [%d12];
  xor.b64 %d13, %d13, %d15;
  xor.b64 %d14, %d14, %d16;
  or.b64 %d17, %d13, %d14;
  setp.eq.u64 %p1, %d17, 0;
  @%p1 bra COMPARE_STEP;
  red.global.or.b64 [%d4+16], %d17;
  shl.b64 %d18, %d5, 1;
  mul.lo.u64 %d18, %d18, %d7;
  add.u64 %d19, %d18, %d7;
  setp.ne.u64 %second, %d9, %d9;
COMPARE_ELEMENT:
  setp.eq.u64 %p1, %d13, 0;
  @%p1 bra COMPARE_WORD;
  and.b64 %d20, %d13, %d8;
  setp.eq.u64 %p2, %d20, 0;
  @%p2 bra COMPARE_SAME;
  red.global.add.u64 [%d4], %d9;
  red.global.min.u64 [%d4+8], %d18;
COMPARE_SAME:
  shr.u64 %d13, %d13, %r7;
  add.u64 %d18, %d18, 1;
  bra COMPARE_ELEMENT;
COMPARE_WORD:
  @%second bra COMPARE_STEP;
  setp.eq.u64 %second, %d9, %d9;
  mov.u64 %d13, %d14;
  mov.u64 %d18, %d19;
  bra COMPARE_ELEMENT;
COMPARE_STEP:
  add.u64 %d5, %d5, %d6;
  bra COMPARE_NEXT;
COMPARE_END:
  ret;
}
.visible .entry burn_digest(.param .u64 p_a, .param .u64 p_pairs, .param .u64 p_found)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %d<20>;
  ld.param.u64 %d1, [p_a];
  cvta.to.global.u64 %d1, %d1;
  ld.param.u64 %d2, [p_pairs];
  ld.param.u64 %d3, [p_found];
  cvta.to.global.u64 %d3, %d3;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %d4, %r1, %r2;
  cvt.u64.u32 %d5, %r3;
  add.u64 %d4, %d4, %d5;
  mul.wide.u32 %d5, %r4, %r2;
  mov.u64 %d6, 0x9E3779B97F4A7C15;
  mov.u64 %d7, 0xBF58476D1CE4E5B9;
  mov.u64 %d8, 0;
DIGEST_NEXT:
  setp.ge.u64 %p1, %d4, %d2;
  @%p1 bra DIGEST_END;
  shl.b64 %d9, %d4, 4;
  add.u64 %d9, %d1, %d9;
  ld.global.v2.u64 {%d10, %d11}, [%d9];
  shl.b64 %d12, %d4, 1;
  mul.lo.u64 %d12, %d12, %d6;
  xor.b64 %d10, %d10, %d12;
  add.u64 %d12, %d12, %d6;
  xor.b64 %d11, %d11, %d12;
  shr.u64 %d13, %d10, 32;
  xor.b64 %d10, %d10, %d13;
  mul.lo.u64 %d10, %d10, %d7;
  shr.u64 %d13, %d10, 29;
  xor.b64 %d10, %d10, %d13;
  add.u64 %d8, %d8, %d10;
  shr.u64 %d13, %d11, 32;
  xor.b64 %d11, %d11, %d13;
  mul.lo.u64 %d11, %d11, %d7;
  shr.u64 %d13, %d11, 29;
  xor.b64 %d11, %d11, %d13;
  add.u64 %d8, %d8, %d11;
  add.u64 %d4, %d4, %d5;
  bra DIGEST_NEXT;
DIGEST_END:
  red.global.add.u64 [%d3], %d8;
  ret;
}
)";

std::uint32_t shift_of(int width) { return width == 8 ? 3 : width == 4 ? 2 : 1; }

}  // namespace

BurnWords burn_pattern(std::uint64_t pass) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  switch (pass % 6) {
    case 0:
      return {pass + 1, kAll, 0};
    case 1:
      return {pass, kAll, kAll};
    case 2:
      return {0, 0, 0x5555555555555555U};
    case 3:
      return {0, 0, 0xAAAAAAAAAAAAAAAAU};
    case 4:
      return {0, 0, kAll};
    default:
      return {0, 0, 0};
  }
}

BurnFault fault_of(BurnPhase phase, std::string of, double at, const BurnDifference& difference,
                   bool flipped) {
  return {.phase = phase,
          .at = at,
          .elements = difference.elements,
          .first = difference.first,
          .bits = fmt::format("{:016x}", difference.bits),
          .of = std::move(of),
          .injected = flipped && difference.elements == 1 && difference.bits == kDrillBit};
}

BurnKernels::BurnKernels(cuda::Cuda& cuda, cuda::Stream stream) : cuda_(cuda), stream_(stream) {
  cuda::Module module = nullptr;
  cuda.call("cuModuleLoadData", &module, static_cast<const void*>(kBurnPtx));
  cuda.call("cuModuleGetFunction", &words_, module, "burn_words");
  cuda.call("cuModuleGetFunction", &compare_, module, "burn_compare");
  cuda.call("cuModuleGetFunction", &digest_, module, "burn_digest");
  cuda.call("cuMemAlloc_v2", &found_, sizeof(BurnDifference));
  blocks_ = static_cast<unsigned>(cuda.attribute(cuda::kMultiprocessors).value_or(1)) * kBurnBlocksEach;
  clear();
}

void BurnKernels::clear() {
  cuda_.quick("cuMemsetD8Async", found_, static_cast<unsigned char>(0), sizeof(BurnDifference), stream_);
  cuda_.quick("cuMemsetD8Async", found_ + offsetof(BurnDifference, first), static_cast<unsigned char>(0xff),
              sizeof(std::uint64_t), stream_);
}

void BurnKernels::launch(cuda::Function kernel, std::uint64_t pairs, void** arguments) {
  const std::uint64_t needed = (pairs + kBurnThreads - 1) / kBurnThreads;
  cuda_.launch(kernel, static_cast<unsigned>(std::clamp<std::uint64_t>(needed, 1, blocks_)), kBurnThreads,
               stream_, arguments);
}

void BurnKernels::fill(cuda::DevicePointer buffer, std::uint64_t bytes, const BurnWords& words) {
  BurnWords w = words;
  std::uint64_t pairs = bytes / 16;
  cuda::DevicePointer none = 0;
  void* arguments[] = {&buffer, &pairs, &w.seed, &w.mask, &w.bits, &none};
  launch(words_, pairs, arguments);
}

void BurnKernels::check(cuda::DevicePointer buffer, std::uint64_t bytes, const BurnWords& words) {
  BurnWords w = words;
  std::uint64_t pairs = bytes / 16;
  void* arguments[] = {&buffer, &pairs, &w.seed, &w.mask, &w.bits, &found_};
  launch(words_, pairs, arguments);
}

void BurnKernels::compare(cuda::DevicePointer a, cuda::DevicePointer b, std::uint64_t bytes, int width) {
  std::uint64_t pairs = bytes / 16;
  std::uint32_t shift = shift_of(width);
  void* arguments[] = {&a, &b, &pairs, &shift, &found_};
  launch(compare_, pairs, arguments);
}

BurnDifference BurnKernels::read() {
  BurnDifference difference;
  cuda_.quick("cuStreamSynchronize", stream_);
  cuda_.quick("cuMemcpyDtoH_v2", static_cast<void*>(&difference), found_, sizeof difference);
  if (difference.elements != 0) clear();
  return difference;
}

void BurnKernels::flip(cuda::DevicePointer buffer, std::uint64_t bytes) {
  std::uint64_t word = 0;
  const cuda::DevicePointer middle = buffer + bytes / 2;
  cuda_.quick("cuStreamSynchronize", stream_);
  cuda_.quick("cuMemcpyDtoH_v2", static_cast<void*>(&word), middle, sizeof word);
  word ^= kDrillBit;
  cuda_.quick("cuMemcpyHtoDAsync_v2", middle, static_cast<const void*>(&word), sizeof word, stream_);
  cuda_.quick("cuStreamSynchronize", stream_);
}

std::uint64_t BurnKernels::digest(cuda::DevicePointer buffer, std::uint64_t bytes) {
  std::uint64_t pairs = bytes / 16;
  void* arguments[] = {&buffer, &pairs, &found_};
  clear();
  launch(digest_, pairs, arguments);
  const BurnDifference sum = read();
  clear();
  return sum.elements;
}

}  // namespace railbed
