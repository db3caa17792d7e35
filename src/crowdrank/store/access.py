"""Annotators, tokens and invitations. Secrets have 128 random bits; the database holds only their hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, insert, select, update

from crowdrank.store.database import RefusalError
from crowdrank.store.statements import Statement
from crowdrank.store.studies import advance, count_again, locked
from crowdrank.store.tables import Record, annotator, invitation, token

_HOLDER = Statement(
    select(token, annotator.c.name, annotator.c.state, annotator.c.judgments)
    .outerjoin(annotator)
    .where(token.c.hash == bindparam("wanted"))
)


class AccessError(RefusalError):
    """Somebody may not do this, by their token, invitation or name."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a token: an annotator, or the owner of the study."""

    token_id: int
    study_id: int
    annotator_id: int | None
    name: str
    state: str  # of the annotator
    judgments: int  # of the annotator

    @property
    def is_owner(self) -> bool:
        return self.annotator_id is None

    @property
    def id(self) -> int:
        """Of the annotator."""
        assert self.annotator_id is not None
        return self.annotator_id


def hash_of(secret: str) -> bytes:
    """What the database holds of a secret; 128 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def new_token(connection: Connection, study_id: int, annotator_id: int | None, days: float) -> str:
    """A token of an annotator, or of the owner."""
    secret, now = secrets.token_urlsafe(16), time.time()
    row = {"study_id": study_id, "annotator_id": annotator_id, "hash": hash_of(secret)}
    connection.execute(insert(token).values(**row, created=now, expires=now + days * 86400))
    return secret


def holder_of(connection: Connection, study_id: int, secret: str) -> Holder:
    """Who holds this token of this study."""
    wanted = hash_of(secret)
    found = _HOLDER.first(connection, wanted=wanted)
    known = found is not None and hmac.compare_digest(bytes(found.hash), wanted)
    if found is None or not known or found.study_id != study_id or found.revoked is not None:
        raise AccessError("this token is not valid here; join the study again", "wrong_token")
    if found.expires <= time.time():
        raise AccessError("this token has expired; join the study again", "expired_token")
    name, state = found.name or "owner", found.state or "active"
    return Holder(found.id, study_id, found.annotator_id, name, state, found.judgments or 0)


def is_valid(connection: Connection, token_id: int) -> bool:
    """Whether a token that was valid before still is."""
    found = connection.execute(select(token.c.expires, token.c.revoked).where(token.c.id == token_id)).one_or_none()
    return found is not None and found.revoked is None and found.expires > time.time()


def add_annotator(connection: Connection, study_id: int, name: str | None, details: Mapping[str, Any]) -> Record:
    """A new annotator; without a name, a numbered one. The study is locked."""
    locked(connection, study_id)
    if name is None:
        count = connection.execute(select(func.count()).where(annotator.c.study_id == study_id)).scalar_one()
        name = f"annotator{count + 1}"
        while find_annotator(connection, study_id, name) is not None:
            count += 1
            name = f"annotator{count + 1}"
    elif find_annotator(connection, study_id, name) is not None:
        raise AccessError(f"the name {name!r} is taken; choose another, or go on with the token you have", "name_taken")
    row = {"study_id": study_id, "name": name, "state": "active", "details": dict(details), "judgments": 0}
    connection.execute(insert(annotator).values(**row, created=time.time()))
    found = find_annotator(connection, study_id, name)
    assert found is not None
    return found


def find_annotator(connection: Connection, study_id: int, name: str) -> Record | None:
    """The annotator of this name."""
    where = and_(annotator.c.study_id == study_id, annotator.c.name == name)
    return connection.execute(select(annotator).where(where)).one_or_none()


def read_annotators(connection: Connection, study_id: int) -> Sequence[Record]:
    """All annotators of a study."""
    return connection.execute(select(annotator).where(annotator.c.study_id == study_id).order_by(annotator.c.id)).all()


def set_annotator_state(connection: Connection, study_id: int, name: str, state: str) -> bool:
    """Void an annotator, or bring them back; whether there is such an annotator. Nothing is deleted."""
    locked(connection, study_id)
    found = find_annotator(connection, study_id, name)
    if found is None:
        return False
    connection.execute(update(annotator).where(annotator.c.id == found.id).values(state=state))
    count_again(connection, study_id)
    advance(connection, study_id, rebuild=True)
    return True


def revoke_tokens(connection: Connection, study_id: int, annotator_id: int | None, keep: int | None = None) -> int:
    """Revoke the tokens of an annotator, or those of the owner but one; how many."""
    where = [token.c.study_id == study_id, token.c.annotator_id == annotator_id, token.c.revoked.is_(None)]
    if keep is not None:
        where.append(token.c.id != keep)
    return int(connection.execute(update(token).where(*where).values(revoked=time.time())).rowcount)


def invite(connection: Connection, study_id: int, names: Sequence[str | None], days: float) -> list[tuple[int, str]]:
    """Invitations for these names; the id and the secret code of each."""
    made, now = [], time.time()
    for name in names:
        code = secrets.token_urlsafe(16)
        row = {"study_id": study_id, "name": name, "hash": hash_of(code), "created": now, "expires": now + days * 86400}
        number = connection.execute(insert(invitation).values(**row).returning(invitation.c.id)).scalar_one()
        made.append((int(number), code))
    return made


def accept(connection: Connection, study_id: int, code: str, details: Mapping[str, Any]) -> Record:
    """The annotator of an invitation; who uses it again is the same annotator."""
    locked(connection, study_id)
    where = and_(invitation.c.study_id == study_id, invitation.c.hash == hash_of(code))
    found = connection.execute(select(invitation).where(where)).one_or_none()
    if found is None or found.revoked is not None:
        raise AccessError("this invitation is not valid; ask the owner of the study for another", "wrong_invitation")
    if found.expires <= time.time():
        raise AccessError("this invitation has expired; ask the owner of the study for another", "expired_invitation")
    if found.annotator_id is not None:
        return connection.execute(select(annotator).where(annotator.c.id == found.annotator_id)).one()
    # The owner may invite somebody who has taken part before, on another device or by another link.
    known = None if found.name is None else find_annotator(connection, study_id, found.name)
    who = known or add_annotator(connection, study_id, found.name, details)
    connection.execute(update(invitation).where(invitation.c.id == found.id).values(annotator_id=who.id))
    return who


def read_invitations(connection: Connection, study_id: int) -> Sequence[Record]:
    """All invitations, without their codes."""
    columns = invitation.c.id, invitation.c.name, invitation.c.created, invitation.c.expires, invitation.c.revoked
    joined = select(*columns, annotator.c.name.label("annotator")).outerjoin(annotator)
    return connection.execute(joined.where(invitation.c.study_id == study_id).order_by(invitation.c.id)).all()


def revoke_invitation(connection: Connection, study_id: int, number: int) -> bool:
    """Revoke an invitation, and the tokens of whoever used it; whether there is such an invitation."""
    where = and_(invitation.c.study_id == study_id, invitation.c.id == number)
    found = connection.execute(select(invitation).where(where)).one_or_none()
    if found is None:
        return False
    connection.execute(update(invitation).where(where).values(revoked=time.time()))
    if found.annotator_id is not None:
        revoke_tokens(connection, study_id, found.annotator_id)
    return True
