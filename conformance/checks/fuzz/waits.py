"""How long a campaign waits, in seconds, and how often."""

LEAST_PATIENCE = 1.0
MOST_PATIENCE = 2.0
HURRIED = 0.4
"""Patience while examples are made smaller: what is found small is put to the test with all patience."""
FULL_WAITS = 1
"""Examples that are waited for with all patience in vain, before what is put to the test again gets less."""
ENOUGH_UNANSWERED, SOON = 3, 0.1
"""After so many scripts of which a part goes unanswered, no other is waited for in vain for longer: at least so many
seconds. What is reported is waited for with all patience."""
CUT = 0.05
"""Seconds after which a connection is closed on which the rest of a request does not come."""
LATE, LISTENED = 0.02, 1.0
"""Seconds at least in which the answer to a frame may follow that to the next, and after which none is expected."""
SLOWER = 10
"""An answer may take that many times as long as the slowest so far before the target counts as hanging."""
GLANCE = 0.1
"""Seconds between two looks at whether what is waited for elsewhere has returned."""
