"""Random MJCF models for hypothesis: trees of bodies with any joints, welded bodies, offsets, springs, rotors."""

import re

from hypothesis import strategies as st

_length = st.floats(-0.5, 0.5)
_angle = st.integers(-180, 180)  # degrees; below about 1e-4 MuJoCo takes an inertial frame for its body's
_size = st.floats(0.02, 0.3)


def _numbers(values) -> str:
    return " ".join(f"{value:.4f}" for value in values)


@st.composite
def vectors(draw, element=_length) -> str:
    return _numbers([draw(element) for _ in range(3)])


@st.composite
def axes(draw) -> str:
    """A direction: at least one component of a size that can be normalised."""
    components = [draw(st.floats(-1.0, 1.0)) for _ in range(3)]
    components[draw(st.integers(0, 2))] = draw(st.sampled_from([-1.0, 1.0]))
    return _numbers(components)


@st.composite
def inertias(draw) -> str:
    """Geometry with a mass, or an inertial frame of any orientation whose moments obey the triangle inequality."""
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["box", "ellipsoid", "capsule", "cylinder"]))
        sizes = _numbers(draw(st.lists(_size, min_size=3, max_size=3))[: 3 if kind in ("box", "ellipsoid") else 2])
        place = f'pos="{draw(vectors())}" euler="{draw(vectors(_angle))}"'
        return f'<geom type="{kind}" size="{sizes}" mass="{draw(st.floats(0.1, 5.0)):.4f}" {place}/>'
    a, b, c = (draw(st.floats(0.001, 0.1)) for _ in range(3))
    return (
        f'<inertial pos="{draw(vectors())}" euler="{draw(vectors(_angle))}" mass="{draw(st.floats(0.1, 5.0)):.4f}" '
        f'diaginertia="{_numbers([b + c, c + a, a + b])}"/>'
    )


@st.composite
def joints(draw, name: str, kinds: tuple[str, ...], rotor: bool = False) -> str:
    """A joint with an axis, a spring, a damper; with a rotor if it could be in line with another of its body."""
    kind = draw(st.sampled_from(kinds))
    if kind == "free":
        return f'<freejoint name="{name}"/>'
    text = f'<joint name="{name}" type="{kind}" pos="{draw(vectors())}" damping="{draw(st.floats(0.0, 2.0)):.4f}"'
    if rotor or draw(st.booleans()):
        text += f' armature="{draw(st.floats(0.01, 0.3)):.4f}"'
    if kind != "ball":
        place = _angle if kind == "hinge" else _length
        text += f' axis="{draw(axes())}" ref="{draw(place):.4f}"'
        if draw(st.booleans()):
            text += f' stiffness="{draw(st.floats(0.0, 20.0)):.4f}" springref="{draw(place):.4f}"'
    return text + "/>"


@st.composite
def bodies(draw, depth: int, path: str = "b") -> str:
    """A body with no, one or several joints, and bodies on it."""
    count = draw(st.integers(0, 3))
    own = [draw(joints(f"{path}_j{k}", ("hinge", "slide"), rotor=count > 1)) for k in range(count)]
    if draw(st.integers(0, 3)) == 0:
        own = [draw(joints(f"{path}_ball", ("ball",)))]
    inside = ""
    if depth > 0:
        inside = "".join(draw(bodies(depth - 1, f"{path}{k}")) for k in range(draw(st.integers(0, 2))))
    return (
        f'<body name="{path}" pos="{draw(vectors())}" euler="{draw(vectors(_angle))}">'
        f"{''.join(own)}{draw(inertias())}{inside}</body>"
    )


@st.composite
def models(draw) -> str:
    """One or two trees on a free, ball, hinge or slide joint each; gravity in any direction."""
    trees = []
    for k in range(draw(st.integers(1, 2))):
        base = draw(joints(f"base{k}", ("free", "ball", "hinge", "slide")))
        limbs = "".join(draw(bodies(draw(st.integers(0, 2)), f"t{k}{i}")) for i in range(draw(st.integers(0, 2))))
        site = '<site name="sole" type="box" size="0.1 0.1 0.1"/>' if k == 0 else ""
        trees.append(f'<body name="t{k}" pos="{draw(vectors())}">{base}{draw(inertias())}{site}{limbs}</body>')
    rotors = "".join(
        f'<motor joint="{name}" gear="{draw(st.floats(-3, 3)):.4f}" armature="{draw(st.floats(0, 0.1)):.4f}"/>'
        for name in _scalar_joints("".join(trees))[:2]
    )
    return f"""<mujoco><option gravity="{draw(vectors(st.floats(-10.0, 10.0)))}"/>
      <worldbody>{"".join(trees)}</worldbody><actuator>{rotors}</actuator></mujoco>"""


def _scalar_joints(text: str) -> list[str]:
    return re.findall(r'<joint name="(\w+)" type="(?:hinge|slide)"', text)
