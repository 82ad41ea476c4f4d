"""A certificate for servers of tests on this machine."""

import ssl
import subprocess
from pathlib import Path


def certified(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Make a self-signed certificate; return its file, for clients to trust, and the context of a server."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {key} -out {certificate}"
    subject = ["-subj", "/CN=league", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run([*made.split(), *subject], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return certificate, context
