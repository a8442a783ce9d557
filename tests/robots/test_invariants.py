"""What must hold of every robot whatever its numbers: derivatives, inverses, precisions, transformations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.robots import Robot

from .robot_cases import assert_close, compiled, everything

STEP = 1e-5
# Central differences: error of order STEP^2 = 1e-10 from the third derivative, and round-off / STEP = 1e-10.
DIFFERENCE_TOLERANCE = 1e-7


def moved(case, q, v, a, time):
    """State reached from (q, v) at constant acceleration, to second order in time."""
    velocity = v + a * time
    q = case.robot.integrate(q, v, time)
    return case.robot.integrate(q, a, 0.5 * time * time), velocity


def test_foot_bias_acceleration_is_the_rate_of_the_jacobian(case):
    q, v, a = case.random_state(3)
    ahead, behind = (
        case.evaluate(np.asarray(case.robot.integrate(q, v, s)), v, a)["foot_jacobians"] for s in (STEP, -STEP)
    )
    rate = (ahead - behind) / (2 * STEP)
    assert_close(case.evaluate(q, v, a)["foot_bias_accelerations"], rate @ v, DIFFERENCE_TOLERANCE)


def test_momentum_rate_is_the_rate_of_momentum(case):
    q, v, a = case.random_state(4)
    momenta = []
    for time in (STEP, -STEP):
        q_then, v_then = moved(case, q, v, a, time)
        momenta.append(case.evaluate(np.asarray(q_then), np.asarray(v_then), a)["centroidal_momentum"])
    rate = (momenta[0] - momenta[1]) / (2 * STEP)
    assert_close(case.evaluate(q, v, a)["centroidal_momentum_rate"], rate, DIFFERENCE_TOLERANCE)


def test_forward_dynamics_inverts_inverse_dynamics(case):
    q, v, a = case.random_state(5)
    # Round-off grows with the condition number of M.
    assert_close(case.evaluate(q, v, a)["forward_dynamics"], a, 1e-9)


def test_difference_inverts_integrate(case):
    q, v, a = case.random_state(6)
    assert_close(case.evaluate(q, v, a)["returned"], 0.3 * v, 1e-12)


def test_external_momentum_balance(case):
    """With no force but gravity on the free dofs, the base rows of inverse dynamics are the momentum rate."""
    if case.robot.tree.joint_type[0] != 0:
        pytest.skip("fixed or planar base")
    q, v, a = case.random_state(8)
    ours = case.evaluate(q, v, a)
    weight = float(case.robot.total_mass) * np.asarray(case.robot.gravity)
    assert_close(ours["inverse_dynamics"][:3] + weight, ours["centroidal_momentum_rate"][:3])


@pytest.mark.parametrize("name", ["robosimian", "anymal"])
def test_single_precision_follows_q(name):
    case = compiled(name)
    state = case.random_state(9)
    double = case.evaluate(*state)
    single = case.evaluate(*(x.astype(np.float32) for x in state))
    for key, value in single.items():
        for leaf, reference in zip(jax.tree.leaves(value), jax.tree.leaves(double[key]), strict=True):
            assert leaf.dtype == jnp.float32, key
            # Forward dynamics loses the condition number of M; the rest keeps single-precision round-off.
            assert_close(leaf, reference, 2e-2 if key == "forward_dynamics" else 2e-5)


def test_batches_equal_single_calls():
    case = compiled("anymal")
    states = [case.random_state(seed) for seed in (10, 11)]
    batch = jax.jit(jax.vmap(lambda q, v, a: everything(case.robot, q, v, a)))(
        *map(np.stack, zip(*states, strict=True))
    )
    for k, state in enumerate(states):
        single = case.evaluate(*state)
        jax.tree.map(lambda b, s, k=k: assert_close(b[k], s, 1e-11), batch, single)


def test_bias_force_has_the_gradient_of_potential_energy():
    robot = compiled("anymal").robot
    q, _, _ = compiled("anymal").random_state(12)

    def energy(step):
        return robot.potential_energy(robot.integrate(q, step, 1.0))

    slope = jax.jit(jax.grad(energy))(jnp.zeros(robot.nv))
    assert_close(slope, robot.bias_force(q, jnp.zeros(robot.nv)), 1e-10)


def test_derivative_with_respect_to_a_mass():
    """Parameters are leaves: dM/dm of one body equals its finite change (M is linear in the masses)."""
    robot = compiled("robosimian").robot
    q, _, _ = compiled("robosimian").random_state(13)

    def matrix(mass):
        return eqx.tree_at(lambda r: r.parameters.mass, robot, mass).mass_matrix(q)

    mass = jnp.asarray(robot.parameters.mass)
    unit = jnp.zeros_like(mass).at[3].set(1.0)
    _, slope = jax.jit(lambda m: jax.jvp(matrix, (m,), (unit,)))(mass)
    assert_close(slope, matrix(mass + unit) - matrix(mass), 1e-11)


def test_robot_can_be_passed_through_filter_jit():
    case = compiled("foot")
    q, _, _ = case.random_state(14)
    assert_close(eqx.filter_jit(Robot.mass_matrix)(case.robot, q), case.robot.mass_matrix(q), 1e-14)


def test_quaternion_length_does_not_matter():
    case = compiled("anymal")
    q, v, a = case.random_state(15)
    stretched = q.copy()
    stretched[3:7] *= 3.0
    assert_close(case.evaluate(stretched, v, a)["mass_matrix"], case.evaluate(q, v, a)["mass_matrix"], 1e-12)
