"""From a target to events: detection, plan, playing, confirmation, verdicts. There is no other engine."""
