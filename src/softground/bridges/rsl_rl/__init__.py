"""rsl_rl (PPO in PyTorch) on softground's environments."""
from softground.bridges.rsl_rl.vec_env import RslRlEnv
