"""Every attribute that MuJoCo's parser knows, read from the schema that it prints of itself."""

import mujoco

NAME_WIDTH = 30  # columns of the printed schema that hold the elements' names, indented by their depth
INDENT = 3


def attributes() -> list[str]:
    """All attributes of MJCF as "element.attribute", the element with its parents: "body/joint.damping"."""
    found, path = [], []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        heading, words = line[:NAME_WIDTH], line[NAME_WIDTH:].split()
        if heading.strip():
            depth = (len(heading) - len(heading.lstrip())) // INDENT
            path = [*path[:depth], heading.split()[0].replace("(world)", "")]
        found += [f"{'/'.join(path[1:]) or path[0]}.{word}" for word in words]
    return found
