"""The two eras of the protocol behind one seam, `conformance.session.Era`."""

from __future__ import annotations

from conformance.eras.handshake import Handshake
from conformance.eras.stateless import Stateless
from conformance.revisions import Revision
from conformance.session import Era

ERAS: dict[str, type[Handshake] | type[Stateless]] = {"handshake": Handshake, "stateless": Stateless}


def era_of(revision: Revision) -> Era:
    """A fresh era object for a session in `revision`."""
    return ERAS[revision.era]()
