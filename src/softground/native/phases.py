"""A straight piece of a program, shared out among the warps that work on the same rows.

A warp has the registers of 32 threads, one for each of 32 rows. Several warps that work on the same rows hold as many
numbers of a row as they have registers together, and each runs its own part of the code. What one makes and another
needs goes through memory that all of them reach; it may be read after the next barrier. A *phase* lies between two
barriers.

Statements whose only user is another one go with it, as one tree. In each phase the warp that has done least so far
takes a tree next: one whose needs were made in earlier phases, or in this one by itself. Among the first that can come
next it takes one that needs little of others; they are in the order of the program, which is one with few numbers
alive (`frugal.py`). Loops over arrays (`ForEach`) are taken by all warps together, each its own rounds; how their
results are joined is a statement (`Join`) as others are.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from softground.native.program import Call, Compute, ForEach, Load, LocalArray, Operand, Statement, Store, Value
from softground.native.traversal import all_used, made, memory

#: Instructions of a warp in a phase, after which it takes nothing new.
BUDGET = 80
#: Of how many trees that could come next a warp takes the one that needs least of others.
CHOICE = 12
#: How many statements later a tree may come for each number that it spares to bring.
SPARED = 12
#: Instructions of the largest tree.
LARGEST = 48
#: Instructions of operations that take more than one.
_COSTS = {
    **dict.fromkeys(("div", "sqrt", "rsqrt", "exp", "log"), 6),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "tanh", "pow", "log1p", "expm1"), 30),
}


@dataclass(frozen=True, eq=False)
class Join:
    """result = the sum, or the greatest, of what the rounds of each warp gave."""

    joint: str
    partial: Value
    result: Value


Step = Statement | Join


@dataclass
class Phase:
    """What happens between two barriers: loops that all warps share, then statements of each warp."""

    together: list[ForEach]
    of_warp: list[list[Step]]
    number: int = -1  # in the order of the text


@dataclass
class _Tree:
    """Statements that one warp does, one after the other."""

    number: int
    members: list[Step] = field(default_factory=list)
    cost: int = 0
    needs: tuple[Value, ...] = ()  # from outside
    earlier: set[int] = field(default_factory=set)
    later: set[int] = field(default_factory=set)
    waits: set[int] = field(default_factory=set)  # of the earlier ones, those that are not done
    place: int = 0  # of its last statement among all

    @property
    def loop(self) -> bool:
        return isinstance(self.members[0], ForEach)


def phases(piece: Sequence[Statement], ends: Iterable[Operand], warps: int, owner: dict[Value, int]) -> list[Phase]:
    """Phases of a piece. ends: operands that are needed after it. owner: the warp that makes a value, added to."""
    steps = list(_with_joins(piece))
    sharing = _Sharing(_trees(steps, set(ends), warps), warps, owner)
    found = []
    while sharing.left:
        found.append(sharing.phase())
    return found


class _Sharing:
    """Trees that are not done yet."""

    def __init__(self, trees: list[_Tree], warps: int, owner: dict[Value, int]):
        self.trees, self.warps, self.owner = trees, warps, owner
        self._of_loops: set[int] = set()  # trees that wait for a loop of this phase
        self.left = len(trees)
        self.ready = sorted((tree.place, tree.number) for tree in trees if not tree.waits)

    def phase(self) -> Phase:
        """The next phase."""
        phase = Phase([], [[] for _ in range(self.warps)])
        held = self._loops(phase)  # trees that the next phase can begin with
        taken_by: dict[int, int] = {}
        own: list[list[tuple[int, int]]] = [[] for _ in range(self.warps)]  # what only this warp can take now
        loads = [(0, warp) for warp in range(self.warps)]
        while loads:
            load, warp = heappop(loads)
            tree = self._choice(own[warp], warp)
            if tree is None:
                continue  # what others do makes nothing ready for it
            taken_by[tree.number] = warp
            phase.of_warp[warp] += tree.members
            load += tree.cost + self._received(tree, warp)
            self.owner.update((value, warp) for step in tree.members for value in _made(step))
            for after in self._released(tree):
                makers = {taken_by[k] for k in after.earlier if k in taken_by}
                if len(makers) == 1 and not after.loop and after.number not in self._of_loops:
                    insort(own[warp], (after.place, after.number))
                else:
                    held.append(after)
            if load < BUDGET:
                heappush(loads, (load, warp))
        self.ready += (one for waiting in own for one in waiting)
        self.ready += ((tree.place, tree.number) for tree in held)
        self.ready.sort()
        return phase

    def _loops(self, phase: Phase) -> list[_Tree]:
        """Take all loops that are ready, and those that follow on them in memory; what else they made ready."""
        pending = [self.trees[k] for _, k in self.ready if self.trees[k].loop]
        self.ready = [one for one in self.ready if not self.trees[one[1]].loop]
        held: list[_Tree] = []
        while pending:
            tree = pending.pop(0)
            phase.together += tree.members  # type: ignore[arg-type]
            for after in self._released(tree):
                (pending if after.loop else held).append(after)
        self._of_loops = {one.number for one in held}
        return held

    def _released(self, tree: _Tree) -> Iterator[_Tree]:
        """A tree is done: those that waited for nothing else."""
        self.left -= 1
        for k in sorted(tree.later):
            after = self.trees[k]
            after.waits.discard(tree.number)
            if not after.waits:
                yield after

    def _choice(self, own: list[tuple[int, int]], warp: int) -> _Tree | None:
        """The tree that a warp takes next."""
        candidates = [*self.ready[:CHOICE], *own[:CHOICE]]
        if not candidates:
            return None
        best = min(candidates, key=lambda one: (one[0] + SPARED * self._received(self.trees[one[1]], warp), one[1]))
        (own if best in own[:CHOICE] else self.ready).remove(best)
        return self.trees[best[1]]

    def _received(self, tree: _Tree, warp: int) -> int:
        """Numbers that must be brought to a warp for a tree."""
        return sum(self.owner.get(value, warp) != warp for value in tree.needs)


def _with_joins(piece: Sequence[Statement]) -> Iterator[Step]:
    for statement in piece:
        if not isinstance(statement, ForEach):
            yield statement
            continue
        partials = tuple(Value("float") for _ in statement.results)
        yield replace(statement, results=partials)
        yield from map(Join, statement.joints, partials, statement.results)


def _trees(steps: Sequence[Step], ends: set[Operand], warps: int) -> list[_Tree]:
    root = _roots(steps, ends, warps)
    number = {k: n for n, k in enumerate(sorted(set(root)))}
    trees = [_Tree(n) for n in number.values()]
    of = [number[k] for k in root]
    for place, (step, needs, n) in enumerate(zip(steps, _earlier(steps), of, strict=True)):
        trees[n].place = place
        trees[n].members.append(step)
        trees[n].cost += cost(step, warps)
        trees[n].earlier |= {of[other] for other in needs} - {n}
    for tree in trees:
        inside = {value for step in tree.members for value in _made(step)}
        needed = (x for step in tree.members for x in used(step) if isinstance(x, Value))
        tree.needs = tuple(dict.fromkeys(x for x in needed if x not in inside))
        tree.waits = set(tree.earlier)
        for other in tree.earlier:
            trees[other].later.add(tree.number)
    return trees


def _roots(steps: Sequence[Step], ends: set[Operand], warps: int) -> list[int]:
    """For every step the one that it goes with: the one that uses it, if no other does."""
    users: dict[Value, set[int]] = defaultdict(set)
    for k, step in enumerate(steps):
        for x in used(step):
            if isinstance(x, Value):
                users[x].add(k)
    root = list(range(len(steps)))
    sizes = Counter({k: cost(step, warps) for k, step in enumerate(steps)})
    for k in reversed(range(len(steps))):
        step = steps[k]
        if not isinstance(step, Compute | Load) or step.result in ends:
            continue
        roots = {root[other] for other in users[step.result]}
        if len(roots) != 1:
            continue
        (other,) = roots
        size = cost(step, warps) + sizes[other]
        if isinstance(steps[other], Compute | Load | Store) and size <= LARGEST:
            root[k], sizes[other] = other, size
    return root


def _earlier(steps: Sequence[Step]) -> list[set[int]]:
    """For each step those that it must follow: makers of its operands, and accesses to the same memory."""
    makers = {value: k for k, step in enumerate(steps) for value in _made(step)}
    writers: dict[LocalArray, list[int]] = defaultdict(list)
    readers: dict[LocalArray, list[int]] = defaultdict(list)
    found = []
    for k, step in enumerate(steps):
        needs = {makers[x] for x in used(step) if x in makers}
        reads, writes = (set(), set()) if isinstance(step, Join) else memory(step)
        for array in reads:
            needs.update(writers[array])
        for array in writes:
            needs.update(writers[array][-1:] + readers[array])
        for array in reads:
            readers[array].append(k)
        for array in writes:
            writers[array].append(k)
        found.append(needs - {k})
    return found


def _made(step: Step) -> tuple[Value, ...]:
    return (step.result,) if isinstance(step, Join) else made(step)


def used(step: Step) -> Iterable[Operand]:
    """Operands that a step uses, also inside."""
    return (step.partial,) if isinstance(step, Join) else all_used(step)


def cost(step: Step, warps: int) -> int:
    """Instructions of a step, roughly."""
    match step:
        case Join():
            return 2 * warps
        case Compute(operation=operation):
            return _COSTS.get(operation, 1)
        case ForEach():
            return -(-step.count // warps) * len(step.body)
        case Call(function=function):
            return len(function.body)
        case _:
            return 1
