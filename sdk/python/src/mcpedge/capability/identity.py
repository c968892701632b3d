"""Signed identities: a verified caller. Needs PyJWT: pip install 'mcpedge-capability[identity]'."""

import asyncio
import math
import urllib.error
import urllib.request
from collections.abc import Iterable
from time import monotonic
from typing import Any

import grpc
import jwt

from .failure import DefinitionError, StatusError
from .types import Principal

__all__ = ["Identities"]

METADATA = "mcp-identity"
TYPE = "mcp-identity+jwt"
ALGORITHMS = ("EdDSA", "ES256", "ES384", "RS256")
SKEW = 30
"""The tolerated difference between the clocks of the edge and of the service, in seconds."""
REFRESH = 300
"""The interval at which keys are fetched again while calls arrive, in seconds."""
AGAIN = 1
"""The minimum interval between two fetches because of an unknown key or a failed fetch, in seconds."""
KEPT = 3600
"""How long keys are used if they cannot be fetched again, in seconds."""
TIMEOUT = 5
BYTES = 1 << 20
"""The maximum size of a JWK Set, in bytes."""


class Identities:
    """Verifies the caller, for Server(identity=…): work without an identity signed by the edge is refused with
    UNAUTHENTICATED, and Call.principal is the signed identity, whatever the connection is. Lists and watches need none."""

    def __init__(self, jwks_url: str, audience: str) -> None:
        """jwks_url is the URL of the edge's public keys: /.well-known/jwks.json on its admin address. audience is the
        backend's name in the edge's settings, which have identity: signed. Keys are used for an hour if they cannot be
        fetched again; without keys, work is UNAVAILABLE."""
        if not jwks_url or not audience:
            raise DefinitionError("Identities needs the URL of the edge's keys and the backend's name; give both")
        self._url = jwks_url
        self._audience = audience
        self._fetching: asyncio.Task[None] | None = None
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._tried = -math.inf
        self._failed: Exception | None = None
        self._refreshing: asyncio.Task[None] | None = None

    async def verify(self, metadata: Iterable[tuple[str, Any]] | None, call: str) -> Principal:
        """Returns the caller of the call with this id. metadata is gRPC's. Raises StatusError if the identity cannot be verified."""
        sent = [value for name, value in metadata or () if name == METADATA]
        if len(sent) != 1:
            raise _refused(f"the call has {len(sent)} identities (metadata {METADATA}): have the edge sign one, with identity: signed of this backend")
        try:
            header = jwt.get_unverified_header(sent[0])
            if str(header.get("typ")).lower() != TYPE:
                raise jwt.InvalidTokenError(f"its type is {header.get('typ')!r:.40}, not {TYPE}")
            key = await self._key(str(header.get("kid")))
            claims = jwt.decode(sent[0], key, ALGORITHMS, {"require": ["exp"]}, audience=self._audience, leeway=SKEW)
        except jwt.PyJWTError as e:
            raise _refused(f"the identity of the call is not accepted: {e}") from e
        if not claims.get("txn") or claims["txn"] != call:
            raise _refused("the identity is another call's: its txn is not the call_id")
        return Principal(
            subject=claims.get("sub") or "",
            issuer=claims.get("sub_id", {}).get("iss") or "",
            scopes=claims.get("scope", "").split(),
            roles=claims.get("roles") or (),
            client_id=claims.get("client_id") or "",
            actor=claims.get("act", {}).get("sub") or "",
            subject_is_client=claims.get("subject_is_client", False),
            claims=claims.get("claims", {}),
        )

    async def _key(self, name: str) -> jwt.PyJWK:
        """Returns the key with an id, and fetches the keys if it is unknown. Known keys are used while they are fetched again, unless the
        last attempt is too long ago, because they may have been withdrawn."""
        age = monotonic() - self._fetched
        if name not in self._keys or age >= KEPT or monotonic() - self._tried >= 2 * REFRESH:
            await self._fetch()
        elif age >= REFRESH:
            self._refreshing = asyncio.ensure_future(self._fetch())
        if monotonic() - self._fetched >= KEPT:
            message = f"the keys of the edge, by which callers are known, cannot be read: {self._failed}"
            raise StatusError(grpc.StatusCode.UNAVAILABLE, message)
        if name not in self._keys:
            raise jwt.InvalidKeyError(f"it is signed with the key {name!r:.60}, which is not among those of {self._url}")
        return self._keys[name]

    async def _fetch(self) -> None:
        """Fetches the keys, unless that was tried a moment ago. Concurrent callers share one fetch, which the cancellation of a caller does
        not end."""
        if self._fetching is None or self._fetching.done():
            if monotonic() - self._tried < AGAIN:
                return
            self._tried = monotonic()
            self._fetching = asyncio.ensure_future(self._read_keys())
        await asyncio.shield(self._fetching)

    async def _read_keys(self) -> None:
        """Reads the JWK Set (RFC 7517, section 5)."""
        try:
            keys = jwt.PyJWKSet.from_json(await asyncio.to_thread(self._read)).keys
        except (OSError, ValueError, jwt.PyJWTError) as e:
            self._failed = e
            return
        self._keys = {key.key_id: key for key in keys if key.key_id}
        self._fetched = monotonic()

    def _read(self) -> str:
        try:
            with _opener.open(self._url, timeout=TIMEOUT) as response:
                text: bytes = response.read(BYTES + 1)
        except urllib.error.HTTPError as e:
            e.close()
            raise OSError(f"{self._url} answers {e.code}") from None
        if len(text) > BYTES:
            raise ValueError(f"{self._url} answers more than {BYTES} bytes")
        return text.decode()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, because their target could supply keys of its own."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


def _refused(message: str) -> StatusError:
    return StatusError(grpc.StatusCode.UNAUTHENTICATED, message)
