"""Change the code in small ways, one at a time, and see whether a test notices.

    python tools/mutants.py --sample 8 src/unaligned/kernels src/unaligned/pavuc

A mutant is killed if a test that belongs to its file fails, or finds no end. Survivors
are printed: each is a test that is missing, or a change that makes no difference. So is
what found no end, which may be a test that takes too long. The checkout stays as it is:
mutants live in a copy, and every one of them in a process of its own, forked from one
that has imported the libraries already.
"""

import argparse
import ast
import compileall
import contextlib
import copy
import importlib
import os
import py_compile
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "unaligned"
SECONDS = 60  # of processor time, after which a mutant counts as one without end
LIBRARIES = ["hypothesis", "numba", "ot", "pytest", "scipy.optimize", "sklearn.cluster"]

ITERATION = [
    "pavuc/test_golden.py",
    "pavuc/test_iteration.py",
    "pavuc/test_safeguard.py",
    "pavuc/test_where_it_computes.py",
    "pavuc/test_estimator.py",
]
# Tests of a file beside the one that is named after it.
TESTS = {
    "alignment/correspondence.py": ["test_alignment.py"],
    "alignment/parts.py": ["test_alignment.py"],
    "alignment/tables.py": ["test_alignment.py"],
    "alignment/text.py": ["test_alignment.py"],
    "kernels/lanes.py": ["kernels/test_matching.py"],
    "kernels/anchor_graphs.py": ["baselines/test_fdagf.py", "baselines/test_rcagl.py"],
    "kernels/matching_tree.py": ["kernels/test_matching.py"],
    "kernels/gpu.py": ["kernels/test_devices.py"],
    "kernels/graph_matching_loops.py": ["kernels/test_graph_matching.py"],
    "kernels/neighbors_select.py": ["kernels/test_neighbors.py"],
    "kernels/blocks.py": ["pavuc/test_where_it_computes.py"],
    "pavuc/estimator.py": ["pavuc/test_golden.py", "pavuc/test_where_it_computes.py"],
    "pavuc/iteration.py": ITERATION,
    "pavuc/outcome.py": ["pavuc/test_golden.py", "pavuc/test_estimator.py"],
    "pavuc/problem.py": ITERATION,
    "pavuc/solver.py": ["pavuc/test_golden.py", "pavuc/test_estimator.py"],
    "pavuc/start.py": ["pavuc/test_estimator.py"],
    "pavuc/sweep.py": ITERATION,
    "pavuc/updates.py": ["pavuc/test_golden.py", "pavuc/test_estimator.py"],
    "persistence/packing.py": [
        "persistence/test_saving.py",
        "persistence/test_restored.py",
    ],
    "persistence/saved_classes.py": [
        "persistence/test_saving.py",
        "persistence/test_packing.py",
    ],
    "persistence/saving.py": ["persistence/test_packing.py"],
    "savuc/bridge_clusters.py": ["savuc/test_bridge.py"],
    "savuc/bridge_partitions.py": ["savuc/test_bridge.py"],
    "savuc/bridge_regression.py": ["savuc/test_bridge.py"],
    "savuc/graph_coordinates.py": ["savuc/test_bridge.py"],
    "savuc/joint_space.py": ["savuc/test_bridge.py"],
    "savuc/translation.py": ["savuc/test_bridge.py"],
    "savuc/wrong_pairs.py": ["savuc/test_bridge.py"],
    "savuc/estimator.py": ["savuc/test_savuc.py"],
    "savuc/outcome.py": ["savuc/test_savuc.py"],
}
# They run on a GPU or its imitation, which tests of another kind look after.
LEFT_OUT = ("matching_cuda.py", "nvrtc.py", "__init__.py")

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
SUMS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin"}
NAMES |= {"any": "all", "all": "any", "sqrt": "abs", "minimum": "maximum"}


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Small changes of one node, each with what it is called."""
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in COMPARISONS:
            other = copy.deepcopy(node)
            other.ops[0] = COMPARISONS[type(op)]()
            yield f"{type(op).__name__} for {type(other.ops[0]).__name__}", other
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SUMS:
            other = copy.deepcopy(node)
            other.op = SUMS[type(op)]()
            yield f"{type(op).__name__} for {type(other.op).__name__}", other
        case ast.BoolOp(op=op):
            other = copy.deepcopy(node)
            other.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and for or", other
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield "a sign left out", operand
        case ast.Constant(value=bool() as value):
            yield "true for false", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield f"{value} + 1", ast.Constant(value + 1)
        case ast.Name(id=name) if name in NAMES:
            yield f"{name} for {NAMES[name]}", ast.Name(NAMES[name], node.ctx)
        case ast.Attribute(attr=name) if name in NAMES:
            other = copy.deepcopy(node)
            other.attr = NAMES[name]
            yield f"{name} for {NAMES[name]}", other
        case ast.IfExp(body=body, orelse=orelse):
            yield "always", body
            yield "never", orelse
        case ast.Expr(value=ast.Call()):
            yield "a call left out", ast.Pass()


def code_nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Every place of a node that computes: its parent, the field, and the position.

    Imports, docstrings, annotations, complaints and the named constants of a module,
    which are mostly sizes of blocks, stay as they are.
    """
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for at, node in (
            enumerate(value) if isinstance(value, list) else [(None, value)]
        ):
            if not isinstance(node, ast.AST) or isinstance(
                node, ast.Import | ast.ImportFrom | ast.Raise | ast.JoinedStr
            ):
                continue
            if isinstance(node, ast.keyword) and node.arg == "strict":
                continue  # a complaint of zip's
            if isinstance(tree, ast.Module) and isinstance(
                node, ast.Assign | ast.AnnAssign | ast.Expr
            ):
                continue
            yield tree, field, at
            yield from code_nodes(node)


def mutants(source: str) -> list[tuple[int, str, str]]:
    """All mutants of a file: the line, what was changed, and the whole text."""
    tree = ast.parse(source)
    found = []
    for parent, field, at in list(code_nodes(tree)):
        siblings = getattr(parent, field)
        node = siblings if at is None else siblings[at]
        for name, other in changes(node):
            ast.copy_location(other, node)
            _put(parent, field, at, other)
            text = ast.unparse(ast.fix_missing_locations(tree))
            _put(parent, field, at, node)
            found.append((getattr(node, "lineno", 0), name, text))
    return found


def _put(parent: ast.AST, field: str, at: int | None, node: ast.AST) -> None:
    if at is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[at] = node


def tests_of(file: Path) -> list[str]:
    """Tests that are to notice a change of a file, the quickest first."""
    inside = file.relative_to(PACKAGE)
    own = Path("tests", inside.parent, f"test_{inside.name}")
    found = [own] if (ROOT / own).exists() else []
    found += [Path("tests", name) for name in TESTS.get(inside.as_posix(), [])]
    doctests = Path("src", "unaligned", inside)
    return [str(path) for path in [*found, doctests]]


def fate(copied: Path, tests: list[str], options: list[str]) -> str:
    """Run the tests on a copy of the library, in a process of their own."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        ending = os.waitstatus_to_exitcode(status)
        if ending in (-signal.SIGXCPU, -signal.SIGKILL):
            return "without end"
        return "killed" if ending else "survived"
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        os.chdir(copied)
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # saves most of the time
        sys.path[:0] = [str(copied), str(copied / "src")]
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            pytest = importlib.import_module("pytest")
            quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
            # A function of the library may be called `tested_…`, which is no test.
            only = ["-o", "python_functions=test_*"]
            code = int(pytest.main([*quiet, *only, *options, *tests]))
    finally:
        os._exit(code)


def main() -> None:
    """Try mutants of some files, and tell which survived."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=8, help="mutants of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--quick", action="store_true", help="without the tests that are marked slow"
    )
    options = parser.parse_args()
    chosen = ["-m", "not slow"] if options.quick else []
    files = sorted(
        file.resolve()
        for path in options.paths
        for file in (path.rglob("*.py") if path.is_dir() else [path])
        if file.name not in LEFT_OUT
    )
    for library in LIBRARIES:
        importlib.import_module(library)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "copy")
        for name in ("src", "tests", "benchmarks", "docs"):
            shutil.copytree(
                ROOT / name,
                copied / name,
                ignore=shutil.ignore_patterns("out", "_build", "gallery", "*.pyc"),
            )
        shutil.copy(ROOT / "pyproject.toml", copied)
        # By content: times tell a mutant from the next one only by the second.
        by_content = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(copied / "src", quiet=2, invalidation_mode=by_content)
        for file in files:
            target = copied / file.relative_to(ROOT)
            source, tests = file.read_text(encoding="utf-8"), tests_of(file)
            if fate(copied, tests, chosen) != "survived":
                raise SystemExit(f"The tests of {file} fail without any change.")
            every = mutants(source)
            chance = random.Random(f"{options.seed} {file.name}")
            some = chance.sample(every, min(options.sample, len(every)))
            for line, name, text in sorted(some):
                target.write_text(text, encoding="utf-8")
                if file.name == "lanes.py":  # inlined elsewhere, and cached there
                    for compiled in target.parent.glob("__pycache__/*.nb[ci]"):
                        compiled.unlink()
                ending = fate(copied, tests, chosen)
                counts[ending] += 1
                if ending != "killed":
                    where = file.relative_to(ROOT)
                    print(f"{ending}: {where}:{line}: {name}", flush=True)
            target.write_text(source, encoding="utf-8")
            print(f"{file.relative_to(ROOT)}: {len(some)} of {len(every)}", flush=True)
    killed = counts.total() - counts["survived"]
    share = killed / max(counts.total(), 1)
    print(f"{killed} of {counts.total()} mutants killed ({share:.1%})")


if __name__ == "__main__":
    main()
