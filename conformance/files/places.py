"""Where `cases/` and `schemas/` are: inside the installed package, or beside it in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_INSTALLED = _PACKAGE / "_data"
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent

CASES = _ROOT / "cases"
SCHEMAS = _ROOT / "schemas"
REQUIREMENTS = CASES / "requirements"
