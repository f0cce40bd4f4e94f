"""The warning of its own, for -W."""


class ConformanceWarning(UserWarning):
    """The server breaks a requirement that does not fail it: a SHOULD, most often."""


ConformanceWarning.__module__ = "conformance.pytest_plugin"
