"""The few functions of Numba's runtime that compiled kernels call, and questions to the processor, in LLVM's assembly:
no C compiler is needed.

An owner ("meminfo") is 48 bytes before its data: reference count, destructor, its argument, data, size, allocator. Only
count, data and size are used: memory comes from malloc, and an owner whose count has become 0 is freed. `reshape` is
only ever asked about contiguous arrays, for which new strides follow from the new lengths.
"""

from __future__ import annotations

import llvmlite.binding as llvm

SHIM = """
declare i8* @malloc(i64)
declare void @free(i8*)

define hidden i8* @NRT_Allocate(i64 %size) {
  %p = call i8* @malloc(i64 %size)
  ret i8* %p
}

define hidden void @NRT_Free(i8* %p) {
  call void @free(i8* %p)
  ret void
}

define hidden i8* @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %more = add i64 %wide, 48
  %too_large = icmp ugt i64 %size, 4611686018427387904
  br i1 %too_large, label %failed, label %allocate
allocate:
  %total = add i64 %size, %more
  %base = call i8* @malloc(i64 %total)
  %none = icmp eq i8* %base, null
  br i1 %none, label %failed, label %fill
fill:
  %owner = bitcast i8* %base to i64*
  store i64 1, i64* %owner
  %dtor = getelementptr i64, i64* %owner, i64 1
  store i64 0, i64* %dtor
  %info = getelementptr i64, i64* %owner, i64 2
  store i64 0, i64* %info
  %address = ptrtoint i8* %base to i64
  %after = add i64 %address, %more
  %minus = sub i64 0, %wide
  %data = and i64 %after, %minus
  %data_at = getelementptr i64, i64* %owner, i64 3
  store i64 %data, i64* %data_at
  %size_at = getelementptr i64, i64* %owner, i64 4
  store i64 %size, i64* %size_at
  %allocator = getelementptr i64, i64* %owner, i64 5
  store i64 0, i64* %allocator
  ret i8* %base
failed:
  ret i8* null
}

define hidden void @NRT_MemInfo_call_dtor(i8* %owner) {
  call void @free(i8* %owner)
  ret void
}

define void @palmette_release(i8* %owner) {
  %count = bitcast i8* %owner to i64*
  %before = atomicrmw sub i64* %count, i64 1 seq_cst
  %last = icmp eq i64 %before, 1
  br i1 %last, label %release, label %done
release:
  call void @free(i8* %owner)
  br label %done
done:
  ret void
}

define hidden i32 @numba_attempt_nocopy_reshape(
    i64 %nd, i64* %dims, i64* %strides, i64 %newnd, i64* %newdims, i64* %newstrides, i64 %itemsize, i32 %f_order) {
entry:
  br label %loop
loop:
  %k = phi i64 [ %newnd, %entry ], [ %at, %step ]
  %stride = phi i64 [ %itemsize, %entry ], [ %next, %step ]
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %step, label %done
step:
  %at = sub i64 %k, 1
  %to = getelementptr i64, i64* %newstrides, i64 %at
  store i64 %stride, i64* %to
  %from = getelementptr i64, i64* %newdims, i64 %at
  %length = load i64, i64* %from
  %next = mul i64 %stride, %length
  br label %loop
done:
  ret i32 1
}
"""


X86 = """
define void @palmette_cpuid(i32 %leaf, i32 %subleaf, i32* %out) {
  %all = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(
      i32 %leaf, i32 %subleaf)
  %a = extractvalue { i32, i32, i32, i32 } %all, 0
  store i32 %a, i32* %out
  %b = extractvalue { i32, i32, i32, i32 } %all, 1
  %b_at = getelementptr i32, i32* %out, i64 1
  store i32 %b, i32* %b_at
  %c = extractvalue { i32, i32, i32, i32 } %all, 2
  %c_at = getelementptr i32, i32* %out, i64 2
  store i32 %c, i32* %c_at
  %d = extractvalue { i32, i32, i32, i32 } %all, 3
  %d_at = getelementptr i32, i32* %out, i64 3
  store i32 %d, i32* %d_at
  ret void
}

define i32 @palmette_xcr0() {
  %both = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx}"(i32 0)
  %low = extractvalue { i32, i32 } %both, 0
  ret i32 %low
}
"""

WINDOWS = """
declare i32 @SwitchToThread()

define hidden i32 @sched_yield() {
  %switched = call i32 @SwitchToThread()
  ret i32 0
}
"""


def shim_object(triple: str) -> bytes:
    """The object file of the shim, for every processor of that kind."""
    from palmette.kernels.build.entry import target_machine

    parts = [SHIM, X86 if triple.startswith("x86_64") else "", WINDOWS if "windows" in triple else ""]
    machine = target_machine(triple, "x86-64" if triple.startswith("x86_64") else "generic", "")
    module = llvm.parse_assembly("".join(parts))
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    return bytes(machine.emit_object(module))
