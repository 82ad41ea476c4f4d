"""Sends one message by SMTP, through the server that the operator configured."""

import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

from deadheat.league.config import SMTP_PORTS, Settings
from deadheat.workers.sending.webhooks import NotReached

TIMEOUT_SECONDS = 15.0
"""The time-out of each step of the conversation; the server is the operator's own."""

POLICY = SMTP.clone(max_line_length=998)
"""Lines may be as long as RFC 5322 allows. At the usual 78, a long address in List-Unsubscribe would be folded into
encoded words, where no mail program looks for it."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A plain-text message. `unsubscribe`: the address of the page that ends these messages."""

    to: str
    subject: str
    text: str
    unsubscribe: str


def send(settings: Settings, letter: Letter) -> str:
    """Hand the message to the server, and return its answer.

    Raises:
        NotReached: the server did not accept it, with the reason.
    """
    message = composed(settings, letter)
    try:
        with _connected(settings.smtp_url) as server:
            server.send_message(message)
    except smtplib.SMTPResponseException as error:
        raise NotReached(f"The mail server refused it: {error.smtp_code}.") from error
    except smtplib.SMTPRecipientsRefused as error:
        raise NotReached("The mail server refused the address.") from error
    except (smtplib.SMTPException, OSError) as error:
        raise NotReached(f"The mail server could not be used: {type(error).__name__}.") from error
    return "The mail server took it."


def composed(settings: Settings, letter: Letter) -> EmailMessage:
    """Return the e-mail. Its policy refuses a header that contains an end of line, so no text can add headers."""
    message = EmailMessage(policy=POLICY)
    message["From"] = settings.mail_from
    message["To"] = letter.to
    message["Subject"] = " ".join(letter.subject.split())
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=settings.mail_from.rpartition("@")[2].rstrip(">") or None)
    message["Auto-Submitted"] = "auto-generated"
    message["List-Unsubscribe"] = f"<{letter.unsubscribe}>"
    message.set_content(letter.text)
    return message


def _connected(url: str) -> smtplib.SMTP:
    """Open a session with the server, encrypted and authenticated as its address says."""
    parts = urlsplit(url)
    host, port, context = parts.hostname or "", parts.port or SMTP_PORTS[parts.scheme], ssl.create_default_context()
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_SECONDS, context=context)
    else:
        server = smtplib.SMTP(host, port, timeout=TIMEOUT_SECONDS)
    try:
        if parts.scheme == "smtp+starttls":
            server.starttls(context=context)
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
    except BaseException:
        server.close()
        raise
    return server
