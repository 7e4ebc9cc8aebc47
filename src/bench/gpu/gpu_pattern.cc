#include "bench/gpu/gpu_pattern.h"

#include <algorithm>

namespace railbed {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksEach = 16;  // for each multiprocessor

// pattern(buffer, elements, type, seed, modulus, first, ranks, offset, block, wrong): writes the expected
// numbers; or, if `wrong` is not null, adds the number of elements that differ to it. Types have the numbers
// of DataType.
constexpr const char* kPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry pattern(
  .param .u64 p_buffer, .param .u64 p_elements, .param .u32 p_type, .param .u32 p_seed, .param .u32 p_modulus,
  .param .u32 p_first, .param .u32 p_ranks, .param .u64 p_offset, .param .u64 p_block, .param .u64 p_wrong)
{
  .reg .pred %compare;
  .reg .pred %p<8>;
  .reg .b16 %h<3>;
  .reg .b32 %r<24>;
  .reg .b64 %d<20>;
  .reg .f32 %f<2>;
  .reg .f64 %g<2>;
  ld.param.u64 %d1, [p_buffer];
  cvta.to.global.u64 %d1, %d1;
  ld.param.u64 %d2, [p_elements];
  ld.param.u32 %r1, [p_type];
  ld.param.u32 %r2, [p_seed];
  ld.param.u32 %r3, [p_modulus];
  ld.param.u32 %r4, [p_first];
  ld.param.u32 %r5, [p_ranks];
  ld.param.u64 %d3, [p_offset];
  ld.param.u64 %d4, [p_block];
  ld.param.u64 %d5, [p_wrong];
  setp.ne.u64 %compare, %d5, 0;
  cvta.to.global.u64 %d5, %d5;
  mov.u32 %r6, %ctaid.x;
  mov.u32 %r7, %ntid.x;
  mov.u32 %r8, %tid.x;
  mov.u32 %r9, %nctaid.x;
  mul.wide.u32 %d6, %r6, %r7;
  cvt.u64.u32 %d7, %r8;
  add.u64 %d6, %d6, %d7;
  mul.wide.u32 %d8, %r9, %r7;
  mov.u64 %d9, 0;
NEXT:
  setp.ge.u64 %p1, %d6, %d2;
  @%p1 bra DONE;
  mov.u32 %r10, %r4;
  mov.u32 %r11, %r5;
  mov.u64 %d10, %d6;
  setp.ne.u32 %p2, %r5, 0;
  @%p2 bra PLACED;
  div.u64 %d11, %d6, %d4;
  mul.lo.u64 %d12, %d11, %d4;
  sub.u64 %d10, %d6, %d12;
  cvt.u32.u64 %r10, %d11;
  mov.u32 %r11, 1;
PLACED:
  add.u64 %d10, %d10, %d3;
  cvt.u32.u64 %r12, %d10;
  shr.u64 %d13, %d10, 32;
  cvt.u32.u64 %r13, %d13;
  mul.lo.u32 %r14, %r12, 0x9E3779B1;
  mad.lo.u32 %r14, %r13, 0x85EBCA77, %r14;
  add.u32 %r14, %r14, %r2;
  mov.u32 %r15, 0;
RANK:
  mad.lo.u32 %r16, %r10, 0xC2B2AE3D, %r14;
  shr.u32 %r17, %r16, 15;
  xor.b32 %r16, %r16, %r17;
  mul.lo.u32 %r16, %r16, 0x2C1B3C6D;
  shr.u32 %r17, %r16, 12;
  xor.b32 %r16, %r16, %r17;
  mul.hi.u32 %r18, %r16, %r3;
  add.u32 %r15, %r15, %r18;
  add.u32 %r10, %r10, 1;
  sub.u32 %r11, %r11, 1;
  setp.ne.u32 %p3, %r11, 0;
  @%p3 bra RANK;
  cvt.rn.f32.u32 %f1, %r15;
  mov.b32 %r19, %f1;
  setp.eq.u32 %p4, %r1, 0;
  @%p4 bra ONE;
  setp.le.u32 %p4, %r1, 2;
  @%p4 bra TWO;
  setp.le.u32 %p4, %r1, 4;
  @%p4 bra FOUR;
  cvt.u64.u32 %d14, %r15;
  cvt.rn.f64.u32 %g1, %r15;
  mov.b64 %d15, %g1;
  setp.eq.u32 %p4, %r1, 6;
  selp.b64 %d14, %d15, %d14, %p4;
  shl.b64 %d16, %d6, 3;
  add.u64 %d16, %d1, %d16;
  @!%compare st.global.u64 [%d16], %d14;
  @!%compare bra STEP;
  ld.global.u64 %d17, [%d16];
  setp.ne.u64 %p5, %d17, %d14;
  bra COUNT;
ONE:
  and.b32 %r20, %r15, 255;
  add.u64 %d16, %d1, %d6;
  @!%compare st.global.u8 [%d16], %r20;
  @!%compare bra STEP;
  ld.global.u8 %r21, [%d16];
  setp.ne.u32 %p5, %r21, %r20;
  bra COUNT;
TWO:
  cvt.rn.f16.f32 %h1, %f1;
  cvt.u32.u16 %r20, %h1;
  shr.u32 %r22, %r19, 16;
  setp.eq.u32 %p4, %r1, 2;
  selp.b32 %r20, %r22, %r20, %p4;
  shl.b64 %d16, %d6, 1;
  add.u64 %d16, %d1, %d16;
  @!%compare st.global.u16 [%d16], %r20;
  @!%compare bra STEP;
  ld.global.u16 %r21, [%d16];
  setp.ne.u32 %p5, %r21, %r20;
  bra COUNT;
FOUR:
  setp.eq.u32 %p4, %r1, 4;
  selp.b32 %r20, %r19, %r15, %p4;
  shl.b64 %d16, %d6, 2;
  add.u64 %d16, %d1, %d16;
  @!%compare st.global.u32 [%d16], %r20;
  @!%compare bra STEP;
  ld.global.u32 %r21, [%d16];
  setp.ne.u32 %p5, %r21, %r20;
COUNT:
  @%p5 add.u64 %d9, %d9, 1;
STEP:
  add.u64 %d6, %d6, %d8;
  bra NEXT;
DONE:
  setp.eq.u64 %p6, %d9, 0;
  @%p6 bra END;
  red.global.add.u64 [%d5], %d9;
END:
  ret;
}
)";

// Returns the bound up to which the type has every whole number (IEEE 754; bfloat16 has 8 bits of
// significand).
std::uint32_t exact_below(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return 127;
    case DataType::kFloat16:
      return 2048;
    case DataType::kBfloat16:
      return 256;
    default:
      return 1 << 24;
  }
}

}  // namespace

std::uint32_t pattern_number(const Pattern& pattern, std::uint32_t rank, std::uint64_t index) {
  std::uint32_t x = static_cast<std::uint32_t>(index) * 0x9E3779B1U +
                    static_cast<std::uint32_t>(index >> 32) * 0x85EBCA77U + pattern.seed + rank * 0xC2B2AE3DU;
  x ^= x >> 15;
  x *= 0x2C1B3C6DU;
  x ^= x >> 12;
  return static_cast<std::uint32_t>((std::uint64_t{x} * pattern.modulus) >> 32);
}

std::uint32_t modulus_for(DataType type, int ranks) {
  constexpr std::uint32_t kMost = 4096;
  return std::clamp(exact_below(type) / static_cast<std::uint32_t>(std::max(ranks, 1)), 1U, kMost);
}

PatternKernel::PatternKernel(cuda::Cuda& cuda) : cuda_(&cuda), kernel_(cuda.load(kPtx, "pattern")) {
  cuda.call("cuMemAlloc_v2", &wrong_, sizeof(std::uint64_t));
  blocks_ = static_cast<unsigned>(cuda.attribute(cuda::kMultiprocessors).value_or(1)) * kBlocksEach;
}

void PatternKernel::launch(cuda::DevicePointer buffer, std::uint64_t elements, const Pattern& pattern,
                           const Expected& expected, cuda::DevicePointer wrong, cuda::Stream stream) {
  auto type = static_cast<std::uint32_t>(pattern.type);
  Pattern p = pattern;
  Expected e = expected;
  void* arguments[] = {&buffer,  &elements, &type,     &p.seed,  &p.modulus,
                       &e.first, &e.ranks,  &e.offset, &e.block, &wrong};
  const std::uint64_t needed = (elements + kThreads - 1) / kThreads;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(needed, 1, blocks_));
  cuda_->launch(kernel_, blocks, kThreads, stream, arguments);
}

void PatternKernel::fill(cuda::DevicePointer buffer, std::uint64_t elements, const Pattern& pattern,
                         const Expected& expected, cuda::Stream stream) {
  launch(buffer, elements, pattern, expected, 0, stream);
}

std::uint64_t PatternKernel::count_wrong(cuda::DevicePointer buffer, std::uint64_t elements,
                                         const Pattern& pattern, const Expected& expected,
                                         cuda::Stream stream) {
  std::uint64_t wrong = 0;
  cuda_->quick("cuMemsetD8Async", wrong_, static_cast<unsigned char>(0), sizeof wrong, stream);
  launch(buffer, elements, pattern, expected, wrong_, stream);
  cuda_->quick("cuStreamSynchronize", stream);
  cuda_->quick("cuMemcpyDtoH_v2", static_cast<void*>(&wrong), wrong_, sizeof wrong);
  return wrong;
}

}  // namespace railbed
