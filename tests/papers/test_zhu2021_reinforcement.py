"""PPO and TRPO of zhu2021: what decides, and that an exported policy is the model's own."""

import numpy as np
import pytest

from softground.envs import make
from softground.papers.zhu2021 import policy_training, reinforcement

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
    policy = policy_training.policy_of(model, make("robosimian"))
    seen = np.random.default_rng(0).normal(size=(5, env.observation_space.shape[0])).astype(np.float32)
    expected = np.stack([model.policy.predict(one, deterministic=True)[0] for one in seen])
    np.testing.assert_allclose(np.clip(policy(seen), -1, 1), expected, atol=1e-5)
    policy.check_fits(make("robosimian"))


def test_curves_are_means_over_bins():
    at = np.array([1.0, 2.0, reinforcement.BIN + 1.0])
    middle, means = reinforcement._binned(at, np.array([1.0, 3.0, 10.0]))
    np.testing.assert_allclose(middle, [0.5 * reinforcement.BIN, 1.5 * reinforcement.BIN])
    np.testing.assert_allclose(means, [2.0, 10.0])


def test_curves_are_of_steps_that_all_seeds_have():
    width = reinforcement.BIN
    at, rows = reinforcement.curves_of([(np.array([1.0, width + 1.0]), np.array([2.0, 4.0])), (np.ones(1), np.ones(1))])
    np.testing.assert_allclose(at, [0.5 * width])
    np.testing.assert_allclose(rows, [[2.0], [1.0]])


def test_the_planners_gait_stands_beside_them():
    paper, here = reinforcement.planned_rows()
    assert paper["Mc (1/s)"] == 14.6
    assert here["Mv (m/s)"] < 0.01
    assert here["speed (m/s)"] == pytest.approx(0.4, rel=0.01)


@pytest.mark.slow
def test_a_training_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    """Stopped after its first checkpoint it has done so many steps; the next call does the rest, a third none."""
    policy_training.check_installed()
    monkeypatch.setenv("SOFTGROUND_CACHE", str(tmp_path))
    monkeypatch.setattr(policy_training, "EVERY", 2048)
    from softground.bridges import checkpoint

    write = checkpoint.save_checkpoint

    def stop_after_the_first(path, content):
        write(path, content)
        raise KeyboardInterrupt

    with monkeypatch.context() as stopping:
        stopping.setattr(checkpoint, "save_checkpoint", stop_after_the_first)
        with pytest.raises(KeyboardInterrupt):
            policy_training.trained("PPO", 0, 2100)
    path = policy_training.checkpoint_of("PPO", 0, 2100)
    before = checkpoint.load_checkpoint(path)
    assert before["steps"] == 2048
    whole = policy_training.trained("PPO", 0, 2100)
    kept = checkpoint.load_checkpoint(path)
    assert kept["steps"] == 4096
    np.testing.assert_array_equal(kept["episodes"][: len(before["episodes"])], before["episodes"])
    again = policy_training.trained("PPO", 0, 2100)
    for (weights, _), (same, _) in zip(whole.policy.layers, again.policy.layers, strict=True):
        np.testing.assert_array_equal(weights, same)
    assert (
        np.abs(whole.policy.layers[0][0] - np.asarray(before["policy"]["mlp_extractor.policy_net.0.weight"])).max() > 0
    )
