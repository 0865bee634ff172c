"""MySQL's notation of sizes."""


def parse_size(text: str) -> int:
    """67108864, 64M, 1G -> bytes."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    unit = units.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)
