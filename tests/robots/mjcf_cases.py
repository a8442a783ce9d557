"""A small model for each row of docs/model_files.md on MJCF.

Every case is the same robot (a trunk on a free joint, a leg on a hinge, a ball joint below it) with the feature and
without it.
"""

from dataclasses import dataclass, field

FEET = ("sole",)


def model(
    head: str = "",
    option: str = "",
    trunk: str = "",
    leg: str = "",
    hinge: str = "",
    ball: str = "",
    shank: str = "",
    inside: str = "",
    world: str = "",
    tail: str = "",
) -> str:
    """The robot with attributes, or elements, put in these places."""
    return f"""
<mujoco>{head}
  <option {option}</option>
  <worldbody>{world}
    <body name="trunk" pos="0 0 1" {trunk}><freejoint name="root"/>
      <geom name="box" type="box" size="0.2 0.1 0.05" pos="0.02 0.01 0"/>
      <body name="leg" pos="0.1 0.05 -0.1" {leg}>
        <joint name="knee" axis="0 1 0.1" pos="0 0 0.02" {hinge}/>
        <geom name="shank" type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" {shank}/>
        <site name="sole" type="box" size="0.1 0.05 0.01" pos="0 0 -0.33"/>{inside}
        <body name="toe" pos="0 0 -0.3">
          <joint name="ankle" type="ball" {ball}/>
          <geom name="pad" type="box" size="0.06 0.04 0.01" pos="0.02 0 -0.02"/>
        </body>
      </body>
    </body>
  </worldbody>{tail}
</mujoco>"""


def _actuator(text: str) -> str:
    return f"<actuator>{text}</actuator>"


def flags(text: str) -> str:
    return f"><flag {text}/>"


PLAIN_OPTION = ">"
SPRUNG = 'stiffness="3" damping="0.5" springref="20"'
BOUND = 'range="-30 40" limited="true" frictionloss="0.7"'
TETRAHEDRON = '<asset><mesh name="wedge" vertex="0 0 0  0.3 0 0  0 0.2 0  0.05 0.05 0.1"/></asset>'
WEDGE = '<geom name="wedge" type="mesh" mesh="wedge" pos="0 0 -0.2" euler="10 20 30"/>'


@dataclass(frozen=True)
class Kept:
    """A feature that the robot has: `check` names what is compared with MuJoCo."""

    having: dict
    lacking: dict = field(default_factory=dict)
    check: str = "acceleration"


@dataclass(frozen=True)
class Refused:
    """A feature that is refused, with what the message says; `ignore` leaves it out."""

    having: dict
    message: str
    ignore: str | None = None
    lacking: dict = field(default_factory=dict)


@dataclass(frozen=True)
class WithoutEffect:
    """A feature that changes nothing; `in_mujoco` as well, unless MuJoCo has what we leave to run time."""

    having: dict
    lacking: dict = field(default_factory=dict)
    in_mujoco: bool = True


_MOTOR = '<motor joint="knee" name="m"/>'

CASES: dict[str, list[Kept | Refused | WithoutEffect]] = {
    "Poses": [
        Kept(dict(leg='euler="10 20 30"')),
        Kept(dict(leg='quat="1 0.3 0 0"'), dict(leg='axisangle="0 1 0 40"')),
        Kept(dict(leg='xyaxes="1 0.1 0 0 1 0"'), dict(leg='zaxis="0.1 0 1"')),
    ],
    "Mass and inertia": [
        Kept(dict(shank='density="3000"')),
        Kept(dict(shank='mass="1.5"')),
        Kept(dict(inside='<inertial pos="0 0 -0.1" mass="2" fullinertia="0.1 0.2 0.15 0.01 0.02 0.03"/>')),
        Kept(dict(inside='<body pos="0 0.1 0" euler="0 30 0"><geom size="0.05 0.02 0.1" type="box"/></body>')),
    ],
    "Joints": [
        Kept(dict(inside='<joint name="slide" type="slide" axis="1 2 3"/>'), check="acceleration of more joints"),
        Kept(
            dict(inside='<joint name="more" axis="1 0 0" pos="0 0.1 0" ref="20"/>'), check="acceleration of more joints"
        ),
        Kept(
            dict(world='<body name="two" pos="2 0 0"><freejoint/><geom size="0.1 0.2 0.1" type="box"/></body>'),
            check="acceleration of more joints",
        ),
    ],
    "Rotor inertia": [Kept(dict(hinge='armature="0.2"')), Kept(dict(ball='armature="0.2"'))],
    "Damping": [Kept(dict(hinge='damping="0.7"')), Kept(dict(ball='damping="0.7"'))],
    "Springs": [
        Kept(dict(hinge='stiffness="9"')),
        Kept(dict(hinge='stiffness="9" springref="30"')),
        Kept(dict(hinge='stiffness="9" ref="15" springref="30"')),
        Kept(dict(hinge='springdamper="0.2 0.7"')),
    ],
    "Joint limits": [
        Kept(dict(hinge='range="-20 30"'), check="limits"),
        Kept(dict(hinge='range="-20 30" margin="0.05"'), check="limits"),
        Kept(dict(hinge='range="-20 30" limited="false"'), check="limits"),
    ],
    "Dry friction": [Kept(dict(hinge='frictionloss="2"', ball='frictionloss="0.3"'), check="friction")],
    "Gravity": [Kept(dict(option='gravity="1 2 -3">'))],
    "Flag gravity": [Kept(dict(option=flags('gravity="disable"')))],
    "Flag spring": [Kept(dict(hinge=SPRUNG, option=flags('spring="disable"')), dict(hinge=SPRUNG))],
    "Flag damper": [Kept(dict(hinge=SPRUNG, option=flags('damper="disable"')), dict(hinge=SPRUNG))],
    "Flag limit": [Kept(dict(hinge=BOUND, option=flags('limit="disable"')), check="limits")],
    "Flag frictionloss": [Kept(dict(hinge=BOUND, option=flags('frictionloss="disable"')), check="friction")],
    "Flag constraint": [
        Kept(dict(hinge=BOUND, option=flags('constraint="disable"')), check="limits"),
        Kept(dict(hinge=BOUND, option=flags('constraint="disable"')), check="friction"),
    ],
    "Flag equality": [
        Kept(
            dict(tail='<equality><weld body1="toe"/></equality>', option=flags('equality="disable"')),
            dict(tail='<equality><weld body1="toe"/></equality>'),
        )
    ],
    "Flag actuation": [
        Kept(dict(tail=_actuator(_MOTOR), option=flags('actuation="disable"')), check="effort"),
        Kept(
            dict(
                tail=_actuator('<motor joint="knee" group="2"/><motor joint="knee" gear="3" ctrlrange="-1 1"/>'),
                option='actuatorgroupdisable="2">',
            ),
            check="effort",
        ),
    ],
    "Flag clampctrl": [
        Kept(
            dict(tail=_actuator('<motor joint="knee" ctrlrange="-1 1"/>'), option=flags('clampctrl="disable"')),
            check="effort",
        )
    ],
    "Motors": [
        Kept(dict(tail=_actuator(text)), check="effort")
        for text in (
            '<motor joint="knee"/>',
            '<motor joint="knee" gear="3 5 7 1 1 1" ctrlrange="-2 2"/>',
            '<motor joint="knee" gear="-3" ctrlrange="-2 2" forcerange="-1 1"/>',
            '<general joint="knee" gainprm="4" ctrlrange="-2 2" ctrllimited="false" forcerange="-9 9"/>',
            '<general joint="knee" gainprm="-4" ctrlrange="-2 2"/>',
            '<motor jointinparent="knee" ctrlrange="-2 2"/>',
            '<position joint="knee" kp="50" ctrlrange="-1 2" forcerange="-20 20" gear="2"/>',
            '<velocity joint="knee" kv="5" forcerange="-20 20"/>',
            '<pid joint="knee" kp="50" forcerange="-20 20"/>',
            '<motor joint="knee" ctrlrange="-2 2"/><motor joint="knee" gear="5" ctrlrange="-1 1"/>',
            '<motor joint="knee" ctrlrange="-2 3"/><motor joint="knee" gear="-1" ctrlrange="-2 3"/>',
        )
    ],
    "Effort limits of joints": [
        Kept(dict(hinge='actuatorfrcrange="-7 7"', tail=_actuator('<motor joint="knee" gear="3"/>')), check="effort"),
        Kept(
            dict(
                hinge='actuatorfrcrange="-7 7"',
                tail=_actuator('<motor joint="knee" gear="3" ctrlrange="-2 2"/><motor joint="knee" ctrlrange="-3 3"/>'),
            ),
            check="effort",
        ),
    ],
    "Rotors of actuators": [
        Kept(dict(tail=_actuator('<motor joint="knee" gear="3" armature="0.02"/>'))),
        Kept(dict(tail=_actuator('<motor joint="knee" gear="3" damping="0.2"/>'))),
        Kept(
            dict(
                tail=_actuator('<motor joint="knee" gear="3" armature="0.1" damping="0.2"/>'),
                option=flags('actuation="disable"'),
            )
        ),
    ],
    "Posture": [
        Kept(dict(tail='<keyframe><key name="home" qpos="0 0 2 1 0 0 0 0.3 1 0 0 0"/></keyframe>'), check="posture")
    ],
    "Names of feet": [Kept(dict(head='<custom><text name="softground_feet" data="pad sole"/></custom>'), check="feet")],
    "Shapes of feet": [Kept(dict(head='<custom><text name="softground_feet" data="toe"/></custom>'), check="feet")],
    "Meshes": [Kept(dict(head=TETRAHEDRON, inside=WEDGE))],
    "Macros": [
        Kept(dict(head='<default><joint damping="0.4" armature="0.1"/></default>')),
        Kept(dict(inside='<frame pos="0.1 0 0" euler="0 0 20"><geom size="0.1 0.02 0.02" type="box"/></frame>')),
        Kept(dict(inside='<replicate count="2" offset="0.1 0 0"><geom size="0.05"/></replicate>')),
    ],
    "Compiler": [
        Kept(dict(head='<compiler eulerseq="zyx"/>', leg='euler="10 20 30"'), dict(leg='euler="10 20 30"')),
        Kept(
            dict(head='<compiler angle="radian"/>', hinge='stiffness="9" springref="0.5"'),
            dict(hinge='stiffness="9" springref="0.5"'),
        ),
        Kept(dict(head='<compiler inertiafromgeom="true" boundmass="5"/>')),
    ],
    "Gravity compensation": [Refused(dict(leg='gravcomp="0.5"'), r"weight \(leg\).*bias_force", "gravcomp")],
    "Fluid": [
        Refused(dict(option='density="1.2">'), r"a fluid.*density 1.2", "fluid"),
        Refused(dict(option='viscosity="0.1" wind="1 0 0">'), r"viscosity 0.1", "fluid", dict(option='wind="1 0 0">')),
    ],
    "Equalities": [
        Refused(dict(tail=f"<equality>{text}</equality>"), message, "equality")
        for text, message in (
            ('<joint joint1="knee"/>', r"joint knee.*lock"),
            ('<weld name="w" body1="trunk" body2="toe"/>', "weld w"),
            ('<connect body1="toe" anchor="0 0 0"/>', "connect toe"),
        )
    ],
    "Tendons": [
        Refused(
            dict(tail=f'<tendon><fixed name="t" {text}><joint joint="knee" coef="2"/></fixed></tendon>'),
            r"\(t\)",
            "tendon",
        )
        for text in ('stiffness="1"', 'damping="1"', 'frictionloss="1"', 'range="0 1"', 'armature="1"')
    ]
    + [
        Refused(
            dict(
                tail='<tendon><spatial name="s" stiffness="2"><site site="sole"/><site site="hip"/></spatial></tendon>',
                inside='<site name="hip" pos="0 0 0.2"/>',
            ),
            r"\(s\)",
            "tendon",
            dict(inside='<site name="hip" pos="0 0 0.2"/>'),
        ),
    ],
    "Other actuators": [
        Refused(
            dict(tail=_actuator(_MOTOR + text)), r"actuators other than.*x\)", "actuator", dict(tail=_actuator(_MOTOR))
        )
        for text in (
            '<motor name="x" site="sole" gear="1 0 0 0 0 0"/>',
            '<motor name="x" joint="ankle" gear="1 0 0"/>',
            '<motor name="x" joint="root" gear="0 0 1 0 0 0"/>',
            '<damper name="x" joint="knee" kv="1" ctrlrange="0 1"/>',
            '<adhesion name="x" body="toe" ctrlrange="0 1" gain="1"/>',
            '<orientation name="x" joint="ankle" kp="1"/>',
        )
    ]
    + [
        Refused(
            dict(tail=_actuator('<muscle name="x" joint="knee" lengthrange="-1 1"/>')), r"actuators other than.*x\)"
        ),
        Refused(dict(tail=_actuator('<dcmotor name="x" joint="knee" motorconst="1" resistance="1"/>')), r"x\)"),
        Refused(
            dict(
                tail='<tendon><fixed name="t"><joint joint="knee" coef="2"/></fixed></tendon>'
                + _actuator(_MOTOR + '<motor name="x" tendon="t"/>')
            ),
            r"actuators other than.*x\)",
            "tendon",
            dict(tail=_actuator(_MOTOR)),
        ),
        Refused(
            dict(
                tail=_actuator(_MOTOR + '<motor name="x" cranksite="hip" slidersite="sole" cranklength="0.5"/>'),
                inside='<site name="hip" pos="0 0 0.2"/>',
            ),
            r"actuators other than.*x\)",
            "actuator",
            dict(tail=_actuator(_MOTOR), inside='<site name="hip" pos="0 0 0.2"/>'),
        ),
    ],
    "Activation": [
        Refused(
            dict(tail=_actuator(text)),
            r"state of their own \(x\).*controller",
            "activation",
            dict(tail=_actuator(_MOTOR)),
        )
        for text in (
            '<general name="x" joint="knee" dyntype="filter" dynprm="0.1"/>',
            '<position name="x" joint="knee" kp="5" timeconst="0.1"/>',
            '<intvelocity name="x" joint="knee" kp="5" actrange="-1 1"/>',
            '<cylinder name="x" joint="knee" timeconst="0.1"/>',
        )
    ]
    + [Refused(dict(tail=_actuator('<pid name="x" joint="knee" kp="1" ki="1"/>')), r"state of their own \(x\)")],
    "Delay of actuators": [
        Refused(
            dict(tail=_actuator('<motor name="x" joint="knee" delay="0.01" nsample="6"/>')),
            r"with a delay \(x\)",
            "delay",
            dict(tail=_actuator(_MOTOR)),
        )
    ],
    "Polynomials": [
        Refused(dict(hinge='stiffness="3 1"'), "not linear.*joint knee", "polynomial", dict(hinge='stiffness="3"')),
        Refused(dict(hinge='damping="3 0 1"'), "joint knee", "polynomial", dict(hinge='damping="3"')),
        Refused(dict(ball='damping="3 1"'), "joint ankle", "polynomial", dict(ball='damping="3"')),
        Refused(
            dict(tail=_actuator('<motor name="x" joint="knee" damping="1 2"/>')),
            "actuator x",
            "polynomial",
            dict(tail=_actuator('<motor name="x" joint="knee" damping="1"/>')),
        ),
    ],
    "Springs of ball and free joints": [Refused(dict(ball='stiffness="3"'), r"\(ankle\)", "ball_spring")],
    "Limits of ball joints": [Refused(dict(ball='range="0 50"'), r"limits of ball joints \(ankle\)", "ball_limit")],
    "One-sided motors": [
        Refused(dict(tail=_actuator('<motor joint="knee" ctrlrange="0 5"/>')), "'knee' can exert 0 to 5"),
        Refused(dict(tail=_actuator('<motor joint="knee" gear="-2" ctrlrange="0 5"/>')), "can exert -10 to 0"),
        Refused(dict(tail=_actuator('<motor joint="knee" forcerange="-1 2"/>')), "can exert -1 to 2"),
        Refused(dict(tail=_actuator('<position joint="knee" kp="1" forcerange="-1 2"/>')), "can exert -1 to 2"),
        Refused(dict(tail=_actuator('<motor joint="knee"/>'), hinge='actuatorfrcrange="-1 2"'), "can exert -1 to 2"),
    ],
    "Sticky geoms": [
        Refused(dict(shank='adhesion="0.3"'), "geom shank", "adhesion"),
        Refused(
            dict(
                tail='<contact><pair name="p" geom1="shank" geom2="floor" adhesion="1"/></contact>',
                world="<geom name='floor' type='plane' size='1 1 1'/>",
            ),
            "pair p",
            "adhesion",
            dict(
                tail='<contact><pair name="p" geom1="shank" geom2="floor"/></contact>',
                world="<geom name='floor' type='plane' size='1 1 1'/>",
            ),
        ),
    ],
    "Moving surfaces": [Refused(dict(shank='surfacevel="1 0 0 0 0 0"'), "geom shank", "surfacevel")],
    "Deformables": [
        Refused(
            dict(
                world='<flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" mass="1" dim="2">'
                '<edge equality="true"/></flexcomp>'
            ),
            "deformable bodies .cloth",
        )
    ],
    "Plugins": [
        Refused(
            dict(
                head='<extension><plugin plugin="mujoco.elasticity.cable"/></extension>',
                world='<composite prefix="c" type="cable" curve="s" count="4 1 1" size="1" initial="none">'
                '<plugin plugin="mujoco.elasticity.cable"/><geom type="capsule" size="0.01"/></composite>',
            ),
            "forces of plugins",
        )
    ],
    "Equalities that are not active": [
        WithoutEffect(dict(tail='<equality><joint joint1="knee" active="false"/></equality>'))
    ],
    "Tendons that do nothing": [
        WithoutEffect(
            dict(tail='<tendon><fixed name="t" springlength="0.1"><joint joint="knee" coef="2"/></fixed></tendon>')
        )
    ],
    "Servo gains": [
        WithoutEffect(
            dict(tail=_actuator('<position joint="knee" kp="7" kv="2"/>')),
            dict(tail=_actuator(_MOTOR)),
            in_mujoco=False,
        ),
        WithoutEffect(
            dict(tail=_actuator('<velocity joint="knee" kv="7"/>')), dict(tail=_actuator(_MOTOR)), in_mujoco=False
        ),
    ],
    "Length ranges": [
        WithoutEffect(dict(tail=_actuator('<motor joint="knee" lengthrange="0 1"/>')), dict(tail=_actuator(_MOTOR)))
    ],
    "Wind": [WithoutEffect(dict(option='wind="3 0 0">'))],
    "Softness of limits and dry friction": [
        WithoutEffect(
            dict(hinge=BOUND + ' solreflimit="0.2 1" solimplimit="0.5 0.9 0.1" solreffriction="0.2 1"'),
            dict(hinge=BOUND),
            in_mujoco=False,
        )
    ],
    "Compensation by actuators": [
        WithoutEffect(dict(hinge='actuatorgravcomp="true"', tail=_actuator(_MOTOR)), dict(tail=_actuator(_MOTOR)))
    ],
    "Contact": [
        WithoutEffect(
            dict(shank='friction="2 0.1 0.1" condim="6" solref="0.1 1" margin="0.1" gap="0.05" priority="1"')
        ),
        WithoutEffect(
            dict(tail='<contact><exclude body1="trunk" body2="toe"/><pair geom1="box" geom2="pad"/></contact>')
        ),
        WithoutEffect(dict(option=flags('contact="disable" filterparent="disable" override="enable"'))),
    ],
    "Geoms of the world": [
        WithoutEffect(dict(world="<geom type='plane' size='1 1 1'/><geom type='box' size='0.1 0.1 0.1' pos='5 0 0'/>"))
    ],
    "Shapes in a fluid": [WithoutEffect(dict(shank='fluidshape="ellipsoid"'))],
    "Solver": [
        WithoutEffect(dict(option='timestep="0.001" integrator="RK4" solver="CG" cone="elliptic" iterations="7">')),
        WithoutEffect(dict(option=flags('warmstart="disable" eulerdamp="disable" energy="enable" refsafe="disable"'))),
    ],
    "Magnetic field": [WithoutEffect(dict(option='magnetic="1 2 3">'))],
    "Mocap bodies": [WithoutEffect(dict(world='<body mocap="true" pos="3 0 0"><geom size="0.1"/></body>'))],
    "Rest of keyframes": [
        WithoutEffect(
            dict(
                tail='<keyframe><key name="home" time="3" qvel="1 2 3 4 5 6 7 8 9 1" qpos="0 0 2 1 0 0 0 0.3 1 0 0 0"/>'
                "</keyframe>"
            ),
            dict(tail='<keyframe><key name="home" qpos="0 0 2 1 0 0 0 0.3 1 0 0 0"/></keyframe>'),
        )
    ],
    "Sensors": [WithoutEffect(dict(tail='<sensor><jointpos joint="knee" noise="0.1"/><gyro site="sole"/></sensor>'))],
    "Looks": [
        WithoutEffect(
            dict(
                head='<visual><global fovy="30"/></visual><asset><material name="red" rgba="1 0 0 1"/></asset>',
                shank='material="red" group="3"',
                inside='<camera pos="1 0 0"/><light pos="0 0 3"/>',
            )
        )
    ],
    "Notes": [
        WithoutEffect(dict(head='<size memory="1M" nuser_body="2"/><statistic extent="3"/>', leg='user="1 2"')),
        WithoutEffect(dict(head='<custom><numeric name="n" data="1 2"/></custom>')),
    ],
}
