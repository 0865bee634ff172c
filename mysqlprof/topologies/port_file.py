"""How a program of ours says on which port it listens."""

import os


def write_port(path: str, port: int) -> None:
    """The file is there when it is whole."""
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(str(port))
    os.replace(f"{path}.new", path)
