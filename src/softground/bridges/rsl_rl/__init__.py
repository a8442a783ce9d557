"""rsl_rl (PPO in PyTorch) on softground's environments: its vector environment, and training (extra [rl])."""

from softground.bridges.rsl_rl.training import Settings, Training, train
from softground.bridges.rsl_rl.vec_env import RslRlEnv

__all__ = ["RslRlEnv", "Settings", "Training", "train"]
