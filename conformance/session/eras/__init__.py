"""The two eras of the protocol behind one seam, `conformance.session.era.Era`."""

from __future__ import annotations

from conformance.revisions import Revision
from conformance.session.era import Era
from conformance.session.eras.handshake import Handshake
from conformance.session.eras.stateless import Stateless
from conformance.session.session import Session

ERAS: dict[str, type[Handshake] | type[Stateless]] = {"handshake": Handshake, "stateless": Stateless}


def era_of(revision: Revision) -> Era[Session]:
    """A fresh era object for a session in `revision`."""
    return ERAS[revision.era]()
