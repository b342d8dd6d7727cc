"""Sixteen float64 at a time, for compiled loops over columns.

LLVM cannot rule out that arrays overlap and leaves loops of sixteen scalar, so it is
handed vectors, which it cuts to the width of the processor's registers.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending, types
from numba.core import cgutils

from unaligned.kernels.compiling import compiling

__all__ = [
    "WIDTH",
    "Lanes",
    "at_least",
    "compiled",
    "fma",
    "fused",
    "inlined",
    "largest",
    "load",
    "lowest_bit",
    "smaller",
    "spread",
    "store",
]

Lanes: TypeAlias = Any  # sixteen float64 in vector registers

WIDTH = 16

compiled = compiling()
inlined = compiling(forceinline=True)

_numba: Any = extending  # what follows is not covered by numba's annotations,
_tools: Any = cgutils  # nor are these helpers
_double, _vector = ir.DoubleType(), ir.VectorType(ir.DoubleType(), WIDTH)


class _LanesType(types.Type):
    """The numba type of sixteen float64."""


_numba.register_model(_LanesType)(
    lambda manager, kind: _numba.models.PrimitiveModel(manager, kind, _vector)
)
_lanes, _f8, _i8 = _LanesType("Lanes"), types.float64, types.int64


def _pointer(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Address of lane 0 of ``array[index]``, the first two of the values."""
    array = context.make_array(kinds[0])(context, builder, values[0])
    index = [*_tools.unpack_tuple(builder, values[1]), ir.IntType(64)(0)]
    item = _tools.get_item_pointer(context, builder, kinds[0], array, index)
    return builder.bitcast(item, _vector.as_pointer())


@_numba.intrinsic
def load(_: Any, array: Any, index: Any) -> tuple[Any, Any]:
    """Return the lanes ``array[index]``; the index names all axes but the last."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args, values), align=8)

    return _lanes(array, index), emit


@_numba.intrinsic
def store(_: Any, array: Any, index: Any, lanes: Any) -> tuple[Any, Any]:
    """Write lanes to ``array[index]``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _pointer(context, builder, signature.args, values)
        builder.store(values[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, index, lanes), emit


def _primitive(kind: Any, emit: Callable[..., Any]) -> Any:
    """Make a numba function from its signature and the LLVM code it stands for."""
    made = kind, lambda _, builder, __, values: emit(builder, *values)
    # numba counts the parameters, so *args would not do.
    one, two, three = lambda _, a: made, lambda _, a, b: made, lambda _, a, b, c: made
    return _numba.intrinsic((one, two, three)[len(kind.args) - 1])


def _broadcast(builder: Any, scalar: Any) -> Any:
    """Copy a scalar to every lane."""
    lanes = ir.Constant(_vector, ir.Undefined)
    for lane in range(WIDTH):
        lanes = builder.insert_element(lanes, scalar, ir.IntType(32)(lane))
    return lanes


def _call(builder: Any, name: str, result: Any, values: Any) -> Any:
    """Call one of LLVM's own functions; the flags say that nothing is NaN."""
    kind = ir.FunctionType(result, [value.type for value in values])
    function = _tools.get_or_insert_function(builder.module, kind, f"llvm.{name}")
    return builder.call(function, values, fastmath=("nnan", "nsz"))


def _compare(builder: Any, lanes: Any, scalar: Any) -> Any:
    """``lanes >= scalar`` as a bit mask with lane 0 lowest."""
    bits = builder.fcmp_ordered(">=", lanes, _broadcast(builder, scalar))
    return builder.zext(builder.bitcast(bits, ir.IntType(WIDTH)), ir.IntType(64))


spread = _primitive(_lanes(_f8), _broadcast)
smaller = _primitive(
    _lanes(_lanes, _lanes), lambda b, x, y: b.select(b.fcmp_ordered("<", x, y), x, y)
)
# x * y + z, rounded once: of lanes, and of single numbers.
fma = _primitive(
    _lanes(_lanes, _lanes, _lanes), lambda b, *xyz: _call(b, "fma.v16f64", _vector, xyz)
)
fused = _primitive(
    _f8(_f8, _f8, _f8), lambda b, *xyz: _call(b, "fma.f64", _double, xyz)
)
largest = _primitive(
    _f8(_lanes), lambda b, x: _call(b, "vector.reduce.fmax.v16f64", _double, [x])
)
at_least = _primitive(_i8(_lanes, _f8), _compare)
lowest_bit = _primitive(_i8(_i8), lambda b, x: b.cttz(x, ir.IntType(1)(1)))
