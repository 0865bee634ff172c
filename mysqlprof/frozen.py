"""The base of all types that live in files."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, and unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
