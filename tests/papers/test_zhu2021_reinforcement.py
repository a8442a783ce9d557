"""PPO and TRPO of zhu2021: what decides, and that an exported policy is the model's own."""

import numpy as np
import pytest

from softground.envs import make
from softground.papers.zhu2021 import reinforcement

STANDING = {"steps, median": 1800.0, "survive 9 s": 1.0, "Mv (m/s)": 0.4}
FALLING = {"steps, median": 40.0, "survive 9 s": 0.0, "Mv (m/s)": 0.3}
WALKING = {"steps, median": 1800.0, "survive 9 s": 1.0, "Mv (m/s)": 0.001}


@pytest.mark.parametrize(
    ("rows", "passed"),
    [
        ({"a": FALLING, "b": FALLING}, [True, True, True]),
        ({"a": FALLING, "b": STANDING}, [False, True, True]),
        ({"a": FALLING, "b": WALKING}, [False, False, False]),
    ],
)
def test_checks_say_what_became_of_the_policies(rows, passed):
    assert [check.passed for check in reinforcement.checks(rows)] == passed


def test_an_exported_policy_is_the_models_own():
    gymnasium = pytest.importorskip("gymnasium")
    sb3 = pytest.importorskip("stable_baselines3")
    import softground.bridges.gymnasium  # noqa: F401 - registers the environment

    env = gymnasium.make("softground/RoboSimian-v0")
    model = sb3.PPO("MlpPolicy", env, seed=0, device="cpu")
    policy = reinforcement.policy_of(model, make("robosimian"))
    seen = np.random.default_rng(0).normal(size=(5, env.observation_space.shape[0])).astype(np.float32)
    expected = np.stack([model.policy.predict(one, deterministic=True)[0] for one in seen])
    np.testing.assert_allclose(np.clip(policy(seen), -1, 1), expected, atol=1e-5)
    policy.check_fits(make("robosimian"))


def test_curves_are_means_over_bins():
    at = np.array([1.0, 2.0, reinforcement.BIN + 1.0])
    middle, means = reinforcement._binned(at, np.array([1.0, 3.0, 10.0]))
    np.testing.assert_allclose(middle, [0.5 * reinforcement.BIN, 1.5 * reinforcement.BIN])
    np.testing.assert_allclose(means, [2.0, 10.0])
