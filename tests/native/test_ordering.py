"""Order of statements: near to their users, and memory as it was."""

from softground.native.interpreter import interpret
from softground.native.ordering import ordered
from softground.native.program import Buffer, Compute, Constant, Function, Load, LocalArray, Program, Store, Value


def test_operands_come_right_before_their_user():
    x = Value("float")
    roots, squares = [[Value("float") for _ in range(3)] for _ in range(2)]
    statements = [Compute("sqrt", (x,), roots[0]), Compute("exp", (x,), roots[1]), Compute("sin", (x,), roots[2])]
    statements += [Compute("mul", (a, a), b) for a, b in zip(roots, squares, strict=True)]
    program = ordered(Program(64, Function("main", (x,), statements, tuple(squares))))
    assert [s.operation for s in program.main.body] == ["sqrt", "mul", "exp", "mul", "sin", "mul"]


def test_memory_is_read_and_written_in_turn():
    """The first number that is asked for was read last: what was read and stored before it must stay before it."""
    x, y, first, second = (Value("float") for _ in range(4))
    array, zero = LocalArray("float", 1), Constant("int", 0)
    statements = [Store(array, zero, x), Load(array, zero, first), Store(array, zero, y), Load(array, zero, second)]
    buffers = (Buffer("float", 1), Buffer("float", 1))
    program = Program(64, Function("main", (x, y), statements, (second, first)), (), buffers, buffers)
    assert list(ordered(program).main.body) == statements
    assert interpret(ordered(program), 1.0, 2.0) == [2.0, 1.0]
