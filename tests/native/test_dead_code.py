"""Dead code: loops, branches, calls and memory lose what no output needs."""

import jax.numpy as jnp
from jax import lax

from softground.native.dead_code import without_dead_code
from softground.native.program import Compute, Constant, Function, If, Load, LocalArray, Program, Store, Value, While

from .programs import check, operations, statements


def test_what_no_output_needs_is_dropped():
    assert operations(check(lambda x: (jnp.exp(x), jnp.sin(x))[1], 1.0)) == ["sin"]


def test_a_result_of_a_branch():
    def function(x):
        return lax.cond(x > 0, lambda x: (jnp.sin(x), jnp.exp(x)), lambda x: (jnp.cos(x), jnp.log(x)), x)[0]

    program = check(function, 1.0)
    assert sorted(operations(program)) == ["cos", "lt", "sin"]


def test_a_variable_of_a_loop_that_only_itself_needs():
    def function(x):
        return lax.while_loop(lambda c: c[0] < 9.0, lambda c: (c[0] * 2, jnp.exp(c[1])), (x, x))[0]

    program = check(function, 1.0)
    assert "exp" not in operations(program)


def test_memory_that_nothing_reads():
    index, x, read = Value("int"), Value("float"), Value("float")
    kept, dropped = LocalArray("float", 2), LocalArray("float", 2)
    stores = [Store(array, Constant("int", k), x) for array in (kept, dropped) for k in (0, 1)]
    main = Function("main", (index, x), [*stores, Load(kept, index, read)], (read,))
    program = without_dead_code(Program(64, main))
    assert statements(program) == [*stores[:2], Load(kept, index, read)]


def test_a_loop_that_stores_is_kept_with_its_condition():
    array, k, after, flag, end = LocalArray("int", 4), Value("int"), Value("int"), Value("bool"), Value("int")
    one, four, read = Constant("int", 1), Constant("int", 4), Value("int")
    loop = While(
        (k,),
        (Constant("int", 0),),
        [Compute("lt", (k, four), flag)],
        flag,
        [Store(array, k, k), Compute("add", (k, one), after)],
        (after,),
        (end,),
    )
    main = Function("main", (), [loop, Load(array, one, read)], (read,))
    assert statements(without_dead_code(Program(64, main))) == statements(Program(64, main))


def test_a_branch_without_anything_left_goes():
    flag, x, a, b, result = Value("bool"), Value("float"), Value("float"), Value("float"), Value("float")
    branch = If(flag, [Compute("exp", (x,), a)], (a,), [Compute("sin", (x,), b)], (b,), (result,))
    program = without_dead_code(Program(64, Function("main", (flag, x), [branch], (x,))))
    assert not statements(program)
