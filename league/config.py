"""Every setting of a deployment, and the only place where the environment is read.

Each field is set by an environment variable of the same name in capitals with the prefix ``DEADHEAT_`` (for
instance ``DEADHEAT_DATABASE_URL``). The defaults run everything embedded, below one directory, on one machine.
"""

import socket
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from deadheat.engine.referee import MATCH_ATTEMPTS
from deadheat.sandbox.images import own_image

MIB = 1024 * 1024

HEARTBEAT_SECONDS = 7
"""How often a worker renews its lease and a machine's keeper reports. A lease lasts more than three such intervals."""

REFIT_SECONDS = 10
"""The shortest time between two rankings of a season with open series. After the last series, it is ranked at once."""

SETTLED_SECONDS = 600
"""How long the ladder plans nothing while its order is settled; then it plays a series, which may unsettle it."""

MOST_UNSETTLING = 3
"""How many uploads of one author in a day and a season may end the rest of a settled ladder. Later ones are placed by
the series that it plays meanwhile, within a few hours.
"""

SMTP_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
"""The schemes of a mail server's URL, each with its default port."""


class Settings(BaseSettings):
    """One deployment's settings. Durations are in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="DEADHEAT_", frozen=True, env_ignore_empty=True)

    environment: Literal["development", "production"] = Field(
        default="development", description="`production` refuses to start with unsafe settings."
    )
    data_dir: Path = Field(
        default=Path("data"), description="Directory for everything that the embedded defaults store."
    )
    database_url: str = Field(
        default="",
        repr=False,
        description="SQLAlchemy URL; empty: an SQLite file in the data directory. PostgreSQL in production.",
    )
    broker_url: str = Field(
        default="",
        repr=False,
        description="Celery broker; empty: files in the data directory, no server. Redis in production.",
    )
    blob_url: str = Field(
        default="",
        repr=False,
        description="Store for uploads, programs and transcripts; empty: a folder in the data directory.",
    )

    backup_key: str = Field(
        default="",
        repr=False,
        description="Key that signs back-ups, a long random text; empty: the file `backup.key` in the data directory, "
        "which the first back-up makes.",
    )

    host: str = Field(default="127.0.0.1", description="Address the API listens on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port the API listens on.")
    token_days: int = Field(default=90, ge=1, le=3650, description="Days until an access token expires.")
    session_days: int = Field(default=14, ge=1, le=365, description="Days until a browser must sign in again.")
    site_url: str = Field(
        default="",
        description="Public address of the site, e.g. `https://league.example`; empty: taken from each request.",
    )
    plain_hosts: str = Field(
        default="",
        description="Hosts that are reached in plain text because nobody can listen on the way, separated by commas: a "
        "database, broker or mail server on a network of its own, or the site itself, if its address is `http://`.",
    )
    embed_origins: str = Field(
        default="",
        pattern=r"^(\*|https?://[A-Za-z0-9.*-]+(:[0-9]+)?( https?://[A-Za-z0-9.*-]+(:[0-9]+)?)*)?$",
        description="Sites that may show matches in a frame (`/matches/N/embed`), separated by spaces, e.g. "
        "`https://blog.example https://*.example.org`, or `*` for all; empty: none.",
    )
    smtp_url: str = Field(
        default="",
        repr=False,
        description="Mail server, e.g. `smtp+starttls://user:password@host:587`, `smtps://host` (TLS from the start), "
        "`smtp://host` (without TLS); empty: no mail. It needs the sender and the site's address.",
    )
    mail_from: str = Field(default="", description="Sender of mail, e.g. `Deadheat <league@league.example>`.")
    openid_issuer: str = Field(
        default="",
        description="OpenID Connect provider through which people may sign in, e.g. `https://id.example`; empty: none. "
        "It needs the client's id and the site's address, and sends people back to `/sign-in/openid/callback` there.",
    )
    openid_client_id: str = Field(default="", description="This league's client id at the provider.")
    openid_client_secret: str = Field(
        default="", repr=False, description="The provider's secret for this league; empty: a public client."
    )
    webhooks_inside: bool = Field(
        default=False,
        description="Let authors' webhooks reach private and loopback addresses; for a league in a closed network.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Addresses or networks of proxies whose X-Forwarded-For and -Proto are trusted, e.g. `10.0.0.2`; "
        "separate them with commas.",
    )
    reads_per_minute: int = Field(
        default=3000,
        ge=1,
        description="Read requests per address per minute, counted by each API process; answers from memory do not "
        "count. An address, or a user, may make a fifth as many requests that change something.",
    )
    sign_ins_per_minute: int = Field(default=20, ge=1, description="Sign-in attempts per address per minute.")
    sign_ups_per_hour: int = Field(default=60, ge=1, description="New accounts per address per hour.")

    connections: int = Field(
        default=4096,
        ge=1,
        description="Connections per API process, if there are enough file descriptors; a quarter of them for one "
        "address, except for trusted proxies.",
    )
    upload_limit_bytes: int = Field(
        default=16 * MIB,
        ge=1024,
        description="Largest upload, as sent; unpacked, and as a built program, it may be four times as large.",
    )
    uploads_per_hour: int = Field(default=60, ge=1, description="Uploads per author per hour.")
    versions_per_day: int = Field(default=200, ge=1, description="Versions per bot per day.")
    rejoin_seconds: float = Field(
        default=3600,
        ge=0,
        description="Pause in an open season before a withdrawn bot may return, or another version may be chosen.",
    )

    lease_seconds: float = Field(
        default=30, ge=3 * HEARTBEAT_SECONDS, description="A worker that is silent for this long counts as dead."
    )
    requeue_seconds: float = Field(
        default=60,
        gt=0,
        description="A queued job is sent again if no worker has taken it for this long. After a failure of the "
        "service, a job waits a twelfth of this time, and twice as long after each further failure.",
    )
    match_attempts: int = Field(
        default=MATCH_ATTEMPTS, ge=1, description="Void attempts at a match after which an organiser decides."
    )

    sandbox: Literal["docker", "local"] = Field(
        default="docker", description="What runs the bots. `local` isolates nothing and is for development only."
    )
    image: str = Field(
        default="deadheat/judge:core",
        validate_default=True,
        description="Image in which bots are built and run. `deadheat/judge:core` and `deadheat/judge:full` mean the "
        "one that this version's `deploy/images/build` made; any other name is that of an image.",
    )
    runtime: str = Field(default="", description="The engine's runtime for bots, e.g. `runsc`; empty: its default.")
    worker_name: str = Field(
        default="", max_length=100, description="This machine's unique name in the league; empty: its host name."
    )
    slots: str = Field(default="", description="CPUs for bots, e.g. `2,3;4,5` (two slots); empty: as memory allows.")
    only_plays: bool = Field(
        default=False,
        description="This machine only plays and builds: while all slots play, bots outweigh its other processes 16 to "
        "1. Otherwise 4 to 1.",
    )
    lock_dir: Path | None = Field(
        default=None,
        description="Folder with a lock for each processor, shared by everybody who runs bots here; empty: the "
        "machine's own.",
    )

    games: str = Field(
        default="",
        description="Folders of further games, or folders that contain them, separated by colons. Rules run in all "
        "processes, with their rights; every machine must have the same games.",
    )

    exhibitions: int = Field(default=4, ge=0, description="How many people may play against bots at a time; 0: nobody.")
    exhibition_move_seconds: float = Field(
        default=300, gt=0, description="A person's time for one move; a whole match may take twelve times as long."
    )

    judge_unfit: bool = Field(
        default=False, description="Let unfit machines judge anyway; each of their attempts then says so."
    )

    metrics_dir: Path | None = Field(
        default=None,
        description="Directory in which the processes of one host combine their metrics; empty: one process.",
    )
    metrics_networks: str = Field(
        default="127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7",
        description="Networks that may read `/metrics` and a worker's `--metrics-port`.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="Lowest level that is logged."
    )
    log_format: Literal["text", "json"] = Field(
        default="text",
        description="Logs as sentences, or as one JSON object per line with the ids of match and version.",
    )
    traces_url: str = Field(
        default="", description="OTLP address for traces, e.g. http://host:4318/v1/traces; empty: no traces."
    )

    @field_validator("image")
    @classmethod
    def _is_of_this_version(cls, value: str) -> str:
        return own_image(value)

    @field_validator("site_url")
    @classmethod
    def _has_no_slash_at_its_end(cls, value: str) -> str:
        return value.rstrip("/")

    @field_validator("metrics_networks")
    @classmethod
    def _are_networks(cls, value: str) -> str:
        for part in value.split(","):
            ip_network(part.strip())
        return value

    @model_validator(mode="after")
    def _can_send_mail(self) -> Self:
        parts = urlsplit(self.smtp_url)
        if self.smtp_url and (parts.scheme not in SMTP_PORTS or not parts.hostname or parts.port == 0):
            raise ValueError(f"smtp_url must name a host after {', '.join(f'{scheme}://' for scheme in SMTP_PORTS)}")
        if self.smtp_url and not (self.mail_from.isprintable() and "@" in self.mail_from and self.site_url):
            raise ValueError("smtp_url needs mail_from, and site_url for the links in messages")
        return self

    @model_validator(mode="after")
    def _can_reach_the_provider(self) -> Self:
        parts = urlsplit(self.openid_issuer)
        by_http = parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1", "::1"}
        if self.openid_issuer and not (parts.hostname and (parts.scheme == "https" or by_http)):
            raise ValueError("openid_issuer must be an https:// address")
        if self.openid_issuer and (parts.query or parts.fragment or "@" in parts.netloc):
            raise ValueError("openid_issuer must be an address without a user, a query or a fragment")
        if self.openid_issuer and not (self.openid_client_id and self.site_url):
            raise ValueError("openid_issuer needs openid_client_id, and site_url, to which it sends people back")
        return self

    @property
    def metrics_from(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of `metrics_networks`, parsed."""
        return tuple(ip_network(part.strip()) for part in self.metrics_networks.split(","))

    @property
    def plain_text_at(self) -> frozenset[str]:
        """The hosts of `plain_hosts`."""
        return frozenset(host.strip().lower() for host in self.plain_hosts.split(",") if host.strip())

    def may_measure(self, address: str) -> bool:
        """Return whether this address may read the metrics."""
        try:
            ip = ip_address(address)
        except ValueError:  # a Unix socket: a proxy that is not trusted
            return False
        known = getattr(ip, "ipv4_mapped", None) or ip
        return any(known in network for network in self.metrics_from)

    @property
    def writes_per_minute(self) -> int:
        """The most changing requests per minute, per address and per user."""
        return max(1, self.reads_per_minute // 5)

    @property
    def unpacked_limit_bytes(self) -> int:
        """The largest total size of an archive's files, and of a built program as a tar."""
        return 4 * self.upload_limit_bytes

    @property
    def machine(self) -> str:
        """This machine's name in the league."""
        return self.worker_name or socket.gethostname()

    @property
    def retry_seconds(self) -> float:
        """The wait before a job is tried again after a failure of the service; it doubles with each failure."""
        return self.requeue_seconds / 12

    @property
    def exhibition_seconds(self) -> float:
        """A person's time for a whole match."""
        return 12 * self.exhibition_move_seconds

    @property
    def database(self) -> str:
        """The database's URL with the default filled in."""
        return self.database_url or f"sqlite:///{self.data_dir.absolute() / 'deadheat.sqlite3'}"

    @property
    def broker(self) -> str:
        """The broker's URL with the default filled in."""
        return self.broker_url or "filesystem://localhost//"

    @property
    def blobs(self) -> str:
        """The blob store's URL with the default filled in."""
        return self.blob_url or (self.data_dir.absolute() / "blobs").as_uri()
