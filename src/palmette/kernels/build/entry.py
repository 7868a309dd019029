"""Compile one kernel to an object file with a single entry point for callers outside of Numba.

    int32 palmette_NAME(const int64 *arguments, int64 *result)

A scalar argument is one word, an array a pointer and its lengths, a struct a pointer to its words. Results are words
too; an array that the kernel made is its owner (to be released), the pointer and the lengths. 0 is returned if all went
well; anything else means that memory ran out, since kernels do not raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
import numba.core.codegen
from llvmlite import ir
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock

from palmette.kernels.core.jit import PART, compiler_type, compiler_types
from palmette.kernels.core.types import BOOL, FLOAT, ArrayType, Signature, StructType, signature_of

WORD = ir.IntType(64)


_optimise = numba.core.codegen.CPUCodeLibrary._optimize_final_module


def make_no_machine_code() -> None:
    """Numba makes machine code of every function that a kernel calls, which nobody runs: make none in this process."""
    codegen: Any = numba.core.codegen
    codegen.JITCodeLibrary._finalize_specific = lambda self: None
    codegen.JITCodeLibrary.get_pointer_to_function = lambda self, name: 0
    codegen.JITCPUCodegen._add_module = lambda self, module: None
    codegen.JITCPUCodegen.set_env = lambda self, name, env: None
    codegen.CPUCodeLibrary._optimize_final_module = lambda self: None


class _Words:
    """Words behind a pointer, read or written one after the other."""

    def __init__(self, builder: Any, pointer: Any) -> None:
        self.builder, self.pointer, self.at = builder, pointer, 0

    def _next(self) -> Any:
        self.at += 1
        return self.builder.gep(self.pointer, [ir.Constant(WORD, self.at - 1)])

    def get(self) -> Any:
        return self.builder.load(self._next())

    def put(self, value: Any) -> None:
        self.builder.store(value, self._next())


class _Entry:
    """The code of one entry point."""

    def __init__(self, context: Any, builder: Any) -> None:
        self.context, self.builder = context, builder

    def argument(self, kind: Any, words: _Words) -> Any:
        builder = self.builder
        if isinstance(kind, StructType):
            values = [self.argument(own, words) for _, own in kind.fields]
            return self.context.make_tuple(builder, compiler_type(kind), values)
        if isinstance(kind, ArrayType):
            return self._array(kind, words)
        word = words.get()
        if kind == FLOAT:
            return builder.bitcast(word, ir.DoubleType())
        return builder.icmp_signed("!=", word, ir.Constant(WORD, 0)) if kind == BOOL else word

    def _array(self, kind: ArrayType, words: _Words) -> Any:
        context, builder, own = self.context, self.builder, compiler_type(kind)
        made = context.make_array(own)(context, builder)
        item = context.get_abi_sizeof(context.get_data_type(own.dtype))
        pointer, lengths = words.get(), [words.get() for _ in range(kind.ndim)]
        strides: list[Any] = []
        step = ir.Constant(WORD, item)
        for length in reversed(lengths):
            strides.insert(0, step)
            step = builder.mul(step, length)
        n_items = ir.Constant(WORD, 1)
        for length in lengths:
            n_items = builder.mul(n_items, length)
        made.data = builder.inttoptr(pointer, made.data.type)
        made.shape = cgutils.pack_array(builder, lengths)
        made.strides = cgutils.pack_array(builder, strides)
        made.itemsize, made.nitems = ir.Constant(WORD, item), n_items
        made.meminfo = cgutils.get_null_value(made.meminfo.type)  # the caller owns it: no references are counted
        made.parent = cgutils.get_null_value(made.parent.type)
        return made._getvalue()

    def result(self, kind: Any, value: Any, words: _Words) -> None:
        builder = self.builder
        if isinstance(kind, StructType):
            for k, (_, own) in enumerate(kind.fields):
                self.result(own, builder.extract_value(value, k), words)
        elif isinstance(kind, ArrayType):
            made = self.context.make_array(compiler_type(kind))(self.context, builder, value)
            words.put(builder.ptrtoint(made.meminfo, WORD))
            words.put(builder.ptrtoint(made.data, WORD))
            for d in range(kind.ndim):
                words.put(builder.extract_value(made.shape, d))
        elif kind == FLOAT:
            words.put(builder.bitcast(value, WORD))
        elif kind is not None:
            words.put(value if value.type == WORD else builder.zext(value, WORD))


def _entry_module(name: str, compiled: Any, signature: Signature) -> str:
    """The entry point as a module of its own that calls the compiled kernel."""
    context, about = compiled.target_context, compiled.fndesc
    module = context.create_module(f"entry_{name}")
    pointer = WORD.as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [pointer, pointer]), f"palmette_{name}")
    callee = ir.Function(
        module, context.call_conv.get_function_type(about.restype, about.argtypes), about.llvm_func_name
    )
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    entry, words = _Entry(context, builder), _Words(builder, function.args[0])
    arguments = []
    for _, kind in signature.arguments:
        if isinstance(kind, StructType):
            inner = _Words(builder, builder.inttoptr(words.get(), pointer))
            arguments.append(entry.argument(kind, inner))
        else:
            arguments.append(entry.argument(kind, words))
    status, out = context.call_conv.call_function(builder, callee, about.restype, about.argtypes, arguments)
    with builder.if_then(status.is_error, likely=False):
        builder.ret(ir.Constant(ir.IntType(32), 1))
    entry.result(signature.result, out, _Words(builder, function.args[1]))
    builder.ret(ir.Constant(ir.IntType(32), 0))
    return cgutils.normalize_ir_text(str(module))


def target_machine(cpu: str, features: str) -> Any:
    numba.core.codegen.initialize_llvm()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")


@global_compiler_lock
def lower_entry(py_func: Callable[..., Any]) -> bytes:
    """A kernel with its entry point as LLVM bitcode, before optimisation: the same for all processors. Functions and
    globals are named by their position, since Numba's own names contain counters of the process."""
    signature, name = signature_of(py_func), py_func.__name__
    dispatcher: Any = numba.njit(**PART)(py_func)
    compiled = dispatcher._compiler.compile(compiler_types(signature), None)
    wanted = compiler_type(signature.result)
    if compiled.signature.return_type != wanted:
        raise TypeError(f"{name} returns {compiled.signature.return_type}, its annotation says {wanted}")
    compiled.library._ensure_finalized()
    module = compiled.library._final_module.clone()
    module.link_in(llvm.parse_assembly(_entry_module(name, compiled, signature)))
    entry = f"palmette_{name}"
    module.name = entry
    own = [value for value in (*module.functions, *module.global_variables) if not value.is_declaration]
    for number, value in enumerate(value for value in own if value.name != entry):
        value.linkage = "internal"
        value.name = f"part.{number}"
    return bytes(module.as_bitcode())


@global_compiler_lock
def emit_entry(bitcode: bytes, machine: Any) -> bytes:
    """The object file of a lowered kernel, optimised for one processor."""
    codegen: Any = numba.core.codegen.JITCPUCodegen("palmette")
    codegen._tm = machine
    library = codegen.create_library("palmette")
    library._final_module = llvm.parse_bitcode(bitcode)
    _optimise(library)
    return bytes(machine.emit_object(library._final_module))
