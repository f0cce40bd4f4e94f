"""Tables of what can be chosen by name: each row says in which module it is, which is imported when it is asked for.

Probes, invariants, campaigns and reporters are registered like that, in the `__init__` of their package.
"""

from importlib import import_module
from typing import Any


def registered(package: str, place: str) -> Any:
    """What `place`, `module.name`, stands for within `package`."""
    module, _, name = place.partition(".")
    return getattr(import_module(f"{package}.{module}"), name)
