"""Steps among the contacts' twists: the same minimum as in the robot's velocity, and as quadratic programming finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.bench.motions import swaying
from softground.contact import BatchNewton, Contacts, Newton, StepProblem
from softground.contact.guess import Guess, steady
from softground.contact.joints import JointLaw
from softground.contact.reduction import reduced, worthwhile
from softground.contact.reference import solve_velocity_qp
from softground.contact.solve import solve
from softground.media.wrench_space import SupportFunction
from softground.robots import Robot
from softground.simulation import Simulator

from .instances import DT as LONG_DT
from .instances import EPS, instances

DT = 0.002


class Whole(Newton):
    """In the robot's velocity, whatever the sizes."""

    def _reduces(self, problem):
        return False


class Reduced(Newton):
    """Among the twists, whatever the sizes."""

    def _reduces(self, problem):
        return True


def contacts(random, feet, size, nv, vertices=20) -> Contacts:
    """Feet on sets about a push from below, of tens of newtons; each is moved by the root and by some of the joints."""
    moved = random.uniform(size=(feet, 1, nv)) < 0.5
    moved[..., :6] = True
    corners = 30.0 * random.normal(size=(feet, vertices, size)) + 20.0 * np.eye(size)[-1]
    law = SupportFunction(jnp.asarray(np.concatenate([corners, 0 * corners[:, :1]], 1)), jnp.full(feet, EPS))
    return Contacts(jnp.asarray(moved * random.normal(size=(feet, size, nv))), law)


def problem(seed: int, nv: int, groups, joints: str = "none") -> StepProblem:
    """A robot made of random numbers: `groups` says how many feet with how many components each."""
    random = np.random.default_rng(seed)
    half = random.normal(size=(nv, nv))
    metric = half @ half.T / nv + 0.1 * np.eye(nv)
    momentum = metric @ random.normal(size=nv) * 0.3
    each = tuple(contacts(random, feet, size, nv) for feet, size in groups)
    law = None
    if joints != "none":
        joint = np.arange(nv) >= 6
        near = {"servos": 1.0, "saturated": 1.0, "at their stops": 2e-4}[joints]
        bound = {"servos": 1e3, "saturated": 3.0, "at their stops": 1e3}[joints]
        law = JointLaw(
            below=jnp.asarray(-near * random.uniform(size=nv)),
            above=jnp.asarray(-near * random.uniform(size=nv)),
            spring=jnp.asarray(joint * 10 * np.diag(metric) / DT**2),
            pd_offset=jnp.asarray(joint * 5 * random.normal(size=nv)),
            pd_slope=jnp.asarray(joint * 20.0),
            pd_bound=jnp.asarray(joint * bound),
            friction_bound=jnp.asarray(joint * 0.5 * (joints != "servos")),
            friction_slope=jnp.asarray(joint * 10 * np.diag(metric) / DT),
            dt=jnp.asarray(DT),
        )
    return StepProblem(jnp.asarray(metric), jnp.asarray(momentum), each, law, jnp.asarray(DT))


def at_rest(given: StepProblem) -> Guess:
    v = jnp.zeros_like(given.momentum)
    return steady(v, given.twists(v))


@jax.jit
def both(given: StepProblem):
    whole, small = (solver(given, at_rest(given)) for solver in (Whole(tolerance=1e-20), Reduced(tolerance=1e-20)))
    kept = reduced(given, jnp.zeros_like(given.momentum)).holds(given, small.velocity)
    return whole, small, kept, given.gradient(small.velocity, small.wrenches, small.joint_force)


CASES = {
    "two feet": (26, ((2, 6),), "none"),
    "servos": (26, ((2, 6),), "servos"),
    "saturated servos": (26, ((2, 6),), "saturated"),
    "end stops": (26, ((2, 6),), "at their stops"),
    "feet of two kinds": (26, ((1, 6), (2, 3)), "saturated"),
    "more components than unknowns": (8, ((2, 6),), "servos"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_minimum_is_the_same(case):
    """To 1e-9 m/s and rad/s, both solved to a decrement of 1e-20 J; forces balance momentum and obey their laws.

    Twists err by up to 1e-10 m/s then, and wrenches by p^2 / eps times that with p = 100 N, 1e-3 N.
    In some of the cases with joints the pieces of their laws at rest are those of the solution, in others not.
    """
    kept = []
    for seed in range(12):
        given = problem(seed, *CASES[case])
        whole, small, same, balance = both(given)
        assert whole.converged
        assert small.converged
        np.testing.assert_allclose(small.velocity, whole.velocity, atol=1e-9)
        np.testing.assert_allclose(balance, 0, atol=1e-12)
        wrenches, joint_force = given.forces(small.velocity)
        np.testing.assert_allclose(joint_force, small.joint_force, atol=1e-6)
        for found, twists, wrench, u in zip(
            small.wrenches, small.twists, wrenches, given.twists(small.velocity), strict=True
        ):
            np.testing.assert_allclose(found, wrench, atol=1e-3)
            np.testing.assert_allclose(twists, u, atol=1e-9)
        kept.append(bool(same))
    print(f"\n{case}: joints kept to their pieces in {np.mean(kept):.0%}")
    if case in ("saturated servos", "end stops", "feet of two kinds"):
        assert not all(kept)
    else:
        assert all(kept)


@pytest.mark.parametrize("iterations", [0, 1, 2])
def test_iterates_are_the_same(iterations):
    """Newton's method does not see coordinates: where it is stopped it is at the same velocity."""
    solvers = [kind(max_iterations=iterations) for kind in (Whole, Reduced)]
    for seed in range(4):
        given = problem(seed, *CASES["servos"])
        whole, small = (jax.jit(solver)(given, at_rest(given)) for solver in solvers)
        assert not whole.converged
        assert not small.converged
        np.testing.assert_allclose(small.velocity, whole.velocity, atol=1e-8)


def test_quadratic_programming_finds_the_same():
    """RoboSimian in sand: as far from the exact solution as the step in its velocity is, to a thousandth of that."""
    count = 100
    batch = type(instances())(*(part[:count] for part in instances()))
    problems = batch.problems(EPS)

    def solved(solver):
        return jax.jit(lambda p: jax.lax.map(lambda one: solve(one, at_rest(one), solver), p))(problems)

    whole, small = solved(Whole()), solved(Reduced())
    assert small.converged.all()
    np.testing.assert_allclose(small.velocity, whole.velocity, atol=1e-6)
    exact = np.array([solve_velocity_qp(*one, LONG_DT) for one in zip(*batch, strict=True)])
    change, between = np.asarray(small.velocity) - exact, np.asarray(small.velocity - whole.velocity)
    off, apart = (np.sqrt(np.einsum("bi,bij,bj->b", x, batch.mass, x) / 99.888) for x in (change, between))
    print(f"\n|dv| to the QP: median {np.median(off):.1e}, greatest {off.max():.1e} m/s; between {apart.max():.1e}")
    assert off.max() < 1e-3
    assert apart.max() < 1e-3 * off.max()


def test_stretched_legs_leave_a_direction_stiff():
    """Both feet on one rigid body: the compliance among twelve components has rank six."""
    given = problem(0, *CASES["two feet"])
    jacobian = np.repeat(given.contacts[0].jacobian[:1], 2, axis=0)
    law = given.contacts[0].laws
    given = StepProblem(given.metric, given.momentum, (Contacts(jnp.asarray(jacobian), law),), None, given.dt)
    whole, small, _, balance = both(given)
    assert small.converged
    np.testing.assert_allclose(small.velocity, whole.velocity, atol=1e-9)
    np.testing.assert_allclose(balance, 0, atol=1e-12)


def test_derivatives_are_those_of_the_minimum():
    """The implicit rule does not see how the minimum was found: by the momentum, against differences."""
    given = problem(3, *CASES["servos"])
    assert worthwhile(given)

    @jax.jit
    def velocity(momentum):
        moved = StepProblem(given.metric, momentum, given.contacts, given.joints, given.dt)
        return solve(moved, at_rest(moved), Newton()).velocity

    direction, step = jnp.asarray(np.random.default_rng(0).normal(size=26)), 1e-7
    found = jax.jvp(velocity, (given.momentum,), (direction,))[1]
    ahead, behind = (velocity(given.momentum + sign * step * direction) for sign in (1, -1))
    np.testing.assert_allclose(found, (ahead - behind) / (2 * step), atol=1e-5 * np.abs(found).max())


def test_sizes_decide():
    for name, expected in (("g1", True), ("anymal", False)):
        simulator = Simulator(Robot.load(name), media.sand())
        state = simulator.initial_state()
        shapes = jax.eval_shape(lambda state, s=simulator: s.problem(state, swaying(s.robot.name).policy(state)), state)
        assert worthwhile(shapes) is expected
        assert Newton()._reduces(shapes) is expected
        assert not BatchNewton()._reduces(shapes)


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_a_humanoid_takes_the_same_steps(dtype):
    """G1 comes down on sand and sways: every step converges, in single precision with hardly more iterations.

    Steps in all unknowns are XLA's, whose code is made in less time.
    """
    motion = swaying("g1")
    ways = ((Whole(), "xla"), (Newton(), "native"))
    simulators = [Simulator(motion.robot, media.sand(), DT, solver=s, backend=backend) for s, backend in ways]
    records = [
        jax.jit(lambda state, s=s: s.rollout(state, motion.policy, 150)[1])(s.initial_state(height=0.01, dtype=dtype))
        for s in simulators
    ]
    whole, small = records
    iterations = [float(np.mean(record.iterations)) for record in records]
    print(f"\n{np.dtype(dtype)}: iterations {iterations[0]:.2f} in 35 unknowns, {iterations[1]:.2f} in 12")
    assert whole.converged.all()
    assert small.converged.all()
    assert iterations[1] < 1.1 * iterations[0] + 0.2
    if dtype == jnp.float64:
        np.testing.assert_allclose(small.v, whole.v, atol=1e-7)
