"""The two eras of the protocol behind one seam, `conformance.era.Era`."""

from __future__ import annotations

from conformance.era import Era
from conformance.eras.handshake import Handshake
from conformance.eras.stateless import Stateless
from conformance.revisions import Revision
from conformance.session import Session

ERAS: dict[str, type[Handshake] | type[Stateless]] = {"handshake": Handshake, "stateless": Stateless}


def era_of(revision: Revision) -> Era[Session]:
    """A fresh era object for a session in `revision`."""
    return ERAS[revision.era]()
