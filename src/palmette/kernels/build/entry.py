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
from numba.core import callconv, cgutils, lowering, types
from numba.core import ir as numba_ir
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typed_passes import NativeLowering

from palmette.kernels.core.jit import PART, compiler_type, compiler_types
from palmette.kernels.core.types import BOOL, FLOAT, ArrayType, Signature, StructType, signature_of

WORD = ir.IntType(64)


class _Borrowing(lowering.Lower):
    """Numba counts a reference whenever a variable gets a value. Arguments, their other names and the fields of structs
    among them are alive in the caller for the whole call: they are borrowed, without a count."""

    def pre_lower(self) -> None:
        super().pre_lower()
        values: dict[str, list[Any]] = {}
        for block in self.blocks.values():
            for statement in block.find_insts(numba_ir.Assign):
                values.setdefault(statement.target.name, []).append(statement.value)
        once = {name: found[0] for name, found in values.items() if len(found) == 1}
        self.borrowed: set[str] = set()
        before = -1
        while before < len(self.borrowed):
            before = len(self.borrowed)
            self.borrowed |= {name for name, value in once.items() if self._is_borrowed(name, value)}

    def _is_borrowed(self, name: str, value: Any) -> bool:
        if isinstance(value, numba_ir.Arg):
            return self.typeof(f"arg.{value.name}") == self.typeof(name)
        if isinstance(value, numba_ir.Var):
            return value.name in self.borrowed and self.typeof(value.name) == self.typeof(name)
        return self._field(name, value) is not None

    def _field(self, name: str, value: Any) -> int | None:
        """The number of the field that a variable gets from a borrowed struct."""
        if not isinstance(value, numba_ir.Expr) or value.op not in ("getattr", "static_getitem"):
            return None
        kind = self.typeof(value.value.name)
        if value.value.name not in self.borrowed or not isinstance(kind, types.BaseTuple):
            return None
        wanted = value.attr if value.op == "getattr" else value.index
        for number, own in enumerate(getattr(kind, "types", ())):
            if wanted in (number, *getattr(kind, "fields", ())[number : number + 1]) and own == self.typeof(name):
                return number
        return None

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        name, value = inst.target.name, inst.value
        if name not in self.borrowed:
            return super().lower_assign(ty, inst)
        if isinstance(value, numba_ir.Arg):
            return self.fnargs[value.index]
        if isinstance(value, numba_ir.Var):
            return self.loadvar(value.name)
        return self.builder.extract_value(self.loadvar(value.value.name), self._field(name, value))

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if name in self.borrowed and name not in self._singly_assigned_vars:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))
        else:
            super().storevar(value, name, argidx)

    def delvar(self, name: str) -> None:
        if name not in self.borrowed:
            super().delvar(name)

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        """Numba makes wrappers of its own functions, through which Python would call them. Nothing does."""

    def create_cfunc_wrapper(self) -> None:
        """As above, for C."""


def prepare_compiler() -> None:
    """Numba makes machine code of every function that a kernel calls, which nobody runs: make none in this process, and
    borrow arguments. Errors are a status and nothing else: Numba would store a pickled exception for each, with the
    path of its own source file, so that builds in two folders would differ."""
    codegen: Any = numba.core.codegen
    convention: Any = callconv.CPUCallConv
    stage: Any = NativeLowering
    convention.set_static_user_exc = lambda self, builder, exc, exc_args=None, loc=None, func_name=None: None
    codegen.JITCodeLibrary._finalize_specific = lambda self: None
    codegen.JITCodeLibrary.get_pointer_to_function = lambda self, name: 0
    codegen.JITCPUCodegen._add_module = lambda self, module: None
    codegen.JITCPUCodegen.set_env = lambda self, name, env: None
    codegen.CPUCodeLibrary._optimize_final_module = lambda self: None
    stage.lowering_class = property(lambda self: _Borrowing)


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


def target_machine(triple: str, cpu: str, features: str) -> Any:
    numba.core.codegen.initialize_llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")


def _codegen(machine: Any) -> Any:
    """Numba's code generator for one processor."""
    made: Any = numba.core.codegen.JITCPUCodegen("palmette")
    made._tm = machine
    return made


def _simplify(module: Any) -> None:
    """What optimisation does alike for all platforms: functions are folded into each other, references that cancel out
    go. Loops keep their form, for the optimisation that knows the processor."""
    machine = target_machine(llvm.get_process_triple(), "", "")
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    passes.add_refprune_pass()
    passes.run(module, builder)


@global_compiler_lock
def lower_entry(py_func: Callable[..., Any]) -> bytes:
    """A kernel with its entry point as LLVM bitcode, simplified, the same for all platforms. Functions and globals are
    named by their position, since Numba's own names contain counters of the process."""
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
    _simplify(module)
    return bytes(module.as_bitcode())


@global_compiler_lock
def emit_entry(bitcode: bytes, machine: Any) -> bytes:
    """The object file of a lowered kernel, optimised for one processor."""
    module = llvm.parse_bitcode(bitcode)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if not machine.triple.startswith("x86"):  # ARM keeps the counter of cycles from programs, but not this one
        for function in module.functions:
            if function.name == "llvm.readcyclecounter":
                function.name = "llvm.readsteadycounter"
    passes, builder = _codegen(machine)._module_pass_manager()
    passes.run(module, builder)
    return bytes(machine.emit_object(module))
