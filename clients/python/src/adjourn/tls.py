"""TLS with servers: whom a client believes, and what it shows."""

from __future__ import annotations

import os
import ssl

from .errors import UsageError

Path = str | os.PathLike[str]


def make_context(
    context: ssl.SSLContext | None, ca: Path | None, certificate: Path | None, key: Path | None
) -> ssl.SSLContext:
    """What the options of `connect` say. The host's name is checked, and only TLS 1.3 is spoken, unless `context` says otherwise."""
    if context is not None:
        if ca or certificate or key:
            raise UsageError("tls has all that tls_ca, tls_cert and tls_key say: use one or the other")
        return context
    if bool(certificate) != bool(key):
        raise UsageError("tls_cert needs tls_key, and tls_key needs tls_cert")
    try:
        context = ssl.create_default_context(cafile=ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        if certificate:
            context.load_cert_chain(certificate, key)
    except OSError as error:
        named = ", ".join(str(path) for path in (ca, certificate, key) if path)
        raise UsageError(f"the certificates cannot be used ({named}): {error}") from error
    return context
