"""A server's address as it may be shown: without the password in it."""

from __future__ import annotations

import re

HIDDEN = "…"
# scheme://user:password@host; a password may hold anything but the @ that ends it, and libpq takes
# the last one before the host.
_IN_URL = re.compile(r"(?<=://)(?P<user>[^:@/?#]*):(?P<password>.*)@(?=[^@]*$)", re.DOTALL)
# … password=x as a parameter of an address, or in a string of key=value pairs.
_PARAMETER = re.compile(r"((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", re.IGNORECASE)


def without_password(url: str) -> str:
    """``url`` with every password in it replaced by ``…``; the user's name stays."""
    shown = _IN_URL.sub(lambda found: f"{found['user']}:{HIDDEN}@", url)
    return _PARAMETER.sub(rf"\1{HIDDEN}", shown)
