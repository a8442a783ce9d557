"""A small model for each row of docs/model_files.md on URDF: a trunk, a leg on a hinge, a foot on a further joint."""

from .mjcf_cases import Kept, Refused, WithoutEffect


def inertial(mass: float, xyz: str = "0.01 0.02 -0.1", rpy: str = "0.1 0.2 0.3") -> str:
    return f"""<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>
      <inertia ixx="0.1" iyy="0.12" izz="0.08" ixy="0.01" ixz="-0.01" iyz="0.02"/></inertial>"""


BALL = '<collision><origin xyz="0 0 -0.05"/><geometry><sphere radius="0.03"/></geometry></collision>'
LIMIT = '<limit lower="-1" upper="2" effort="40" velocity="3"/>'


def urdf(
    base: str = "world",
    kind: str = "revolute",
    limit: str = LIMIT,
    knee: str = "",
    inertia: str = inertial(1.0),
    foot: str = BALL,
    leg: str = "",
    tail: str = "",
) -> str:
    """The robot, with elements put in these places; a base called world cannot move."""
    trunk = "" if base == "world" else inertial(5.0)
    return f"""
<robot name="hopper">
  <link name="{base}">{trunk}</link>
  <link name="leg">{inertial(2.0)}{leg}</link>
  <link name="foot">{inertia}{foot}</link>
  <joint name="hip" type="revolute"><parent link="{base}"/><child link="leg"/>
    <origin xyz="0.1 0 0.5" rpy="0.2 0.1 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="3"/></joint>
  <joint name="knee" type="{kind}"><parent link="leg"/><child link="foot"/>
    <origin xyz="0.02 0.01 -0.3" rpy="0.3 0.2 0.1"/><axis xyz="0 0.6 0.8"/>{limit}{knee}</joint>
  {tail}
</robot>"""


_MESH = '<collision><geometry><mesh filename="{}"/></geometry></collision>'
_PASSIVE = '<dynamics damping="0.3" friction="0.2"/>'
_PAD = """<link name="pad">{}</link><joint name="weld" type="fixed"><parent link="foot"/><child link="pad"/>
  <origin xyz="0 0.1 -0.1" rpy="0.3 0 0"/></joint>"""

URDF_CASES: dict[str, list[Kept | Refused | WithoutEffect]] = {
    "Links": [Kept({}), Kept(dict(inertia=inertial(3.0, "0.1 0 0.1", "1 0 0")))],
    "Hinges and slides": [
        Kept(dict(kind="prismatic")),
        Kept(dict(kind="continuous", limit='<limit effort="40" velocity="3"/>')),
    ],
    "Fixed joints": [Kept(dict(tail=_PAD.format(inertial(1.5))))],
    "Free base": [Kept(dict(base="trunk"), check="mujoco")],
    "Spherical joints": [Kept(dict(kind="spherical", limit="", base="trunk"), check="mujoco")],
    "Damping and dry friction": [Kept(dict(knee=_PASSIVE))],
    "Position limits": [
        Kept({}, check="limits"),
        Kept(dict(kind="prismatic"), check="limits"),
        Kept(dict(kind="continuous"), check="limits"),
    ],
    "Effort limits": [
        Kept({}, check="efforts"),
        Kept(dict(limit='<limit lower="-1" upper="1" effort="0" velocity="1"/>'), check="efforts"),
        Kept(dict(limit='<limit lower="-1" upper="1" effort="7.5" velocity="1"/>'), check="efforts"),
    ],
    "Primitive feet": [
        Kept({}, check="feet"),
        Kept(dict(foot='<collision><geometry><box size="0.2 0.1 0.04"/></geometry></collision>'), check="feet"),
    ],
    "Mesh feet": [
        Kept(dict(foot=_MESH.format("foot.stl")), check="feet"),
        Kept(dict(foot=_MESH.format("package://hopper/foot.stl")), check="feet"),
        Kept(dict(foot=_MESH.format('foot.stl" scale="0.5 -2 1')), check="feet"),
        Kept(
            dict(
                foot=_MESH.format("foot.obj").replace(
                    "<geometry>", '<origin xyz="0.1 0.2 -0.3" rpy="0 0 0.4"/><geometry>'
                )
            ),
            check="feet",
        ),
    ],
    "Extension for MuJoCo": [
        Kept(dict(tail='<mujoco><option gravity="1 2 -3"/><compiler fusestatic="true"/></mujoco>'), check="mujoco")
    ],
    "Missing mesh of a foot": [
        Refused(dict(foot=_MESH.format("nowhere.stl")), r"foot 'foot' is the mesh 'nowhere.stl'.*not there.*feet="),
        Refused(dict(foot=_MESH.format("broken.stl")), r"'broken.stl', which (cannot be read|is empty).*Box\(length"),
        Refused(dict(foot=_MESH.format("foot.dae")), r"'foot.dae', which cannot be read.*<collision>"),
        Refused(dict(foot=""), r"foot 'foot' has no shape.*feet=\{'foot': Box\("),
    ],
    "Missing inertia": [Refused(dict(inertia=""), "no mass or inertia on moving links foot")],
    "Mimic": [Refused(dict(knee='<mimic joint="hip" multiplier="2"/>'), r"joint knee-hip.*lock", "equality")],
    "Planar joints": [Refused(dict(kind="planar", limit=""), r"'knee' is planar.*planar=True")],
    "Floating joints inside": [Refused(dict(kind="floating", limit=""), "free joint can only be used on top level")],
    "Unknown joints": [Refused(dict(kind="screw"), "invalid joint type")],
    "Velocity limits": [WithoutEffect(dict(limit=LIMIT.replace('velocity="3"', 'velocity="0.1"')))],
    "Controllers and hardware": [
        WithoutEffect(dict(knee='<safety_controller k_velocity="10" k_position="1"/><calibration rising="0.1"/>')),
        WithoutEffect(
            dict(
                tail='<transmission name="t"><type>SimpleTransmission</type><joint name="knee"/><actuator name="a">'
                "<mechanicalReduction>50</mechanicalReduction></actuator></transmission>"
            )
        ),
    ],
    "Visuals": [
        WithoutEffect(
            dict(
                leg='<visual><geometry><mesh filename="nowhere.dae"/></geometry><material name="red"/></visual>',
                tail='<material name="red"><color rgba="1 0 0 1"/></material>',
            )
        )
    ],
    "Collisions of other links": [
        WithoutEffect(dict(leg=_MESH.format("nowhere.stl"))),
        WithoutEffect(dict(leg='<collision><geometry><box size="1 1 1"/></geometry></collision>')),
    ],
    "Other programs": [
        WithoutEffect(
            dict(tail='<gazebo reference="leg"><mu1>0.9</mu1></gazebo><ros2_control name="c" type="system"/>')
        )
    ],
}
