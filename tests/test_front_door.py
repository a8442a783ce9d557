"""What `import softground as sg` gives: every name, lazily, and the README's program in single and double precision."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import softground as sg

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_every_name_is_there_once_and_explains_itself():
    objects = [getattr(sg, name) for name in sg.__all__]
    assert len({id(one) for one in objects}) == len(objects)
    assert all(one.__doc__ for one in objects)
    assert set(sg.__all__) <= set(dir(sg))
    with pytest.raises(AttributeError, match="no attribute 'quicksand'"):
        _ = sg.quicksand


def test_nothing_is_imported_before_it_is_used():
    program = "import softground, sys; print([name for name in ('jax', 'numpy', 'mujoco') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_programme_of_the_readme(precision):
    """As printed, without a flag and with double precision: RoboSimian stands 74 mm deep, every step converged."""
    printed = re.search(r"```python\n(import softground as sg\n.*?)```", README, re.DOTALL).group(1)
    double = 'import jax; jax.config.update("jax_enable_x64", True)\n' if precision == "double" else ""
    check = (
        "\nimport numpy as np"
        "\nassert np.allclose(1000 * run['depth'][-1], 74.4, atol=0.1)"
        "\nassert run.attrs['steps_not_converged'] == 0 and run.attrs['mean_iterations'] < 0.5"
        f"\nassert run.attrs['precision'] == '{'float32' if precision == 'single' else 'float64'}'"
    )
    plain = {key: value for key, value in os.environ.items() if key != "JAX_ENABLE_X64"}  # commands set it
    ran = subprocess.run([sys.executable, "-c", double + printed + check], capture_output=True, text=True, env=plain)
    assert ran.returncode == 0, ran.stderr[-2000:]
