"""Owns a running local hub: its sockets, its thread, and its end.

Refuses to serve to other machines unless told to, and to write anywhere.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gpustack_models.errors import GsmError, Reason, missing_extra
from gpustack_models.hub_server.catalog import Catalog, Progress
from gpustack_models.hub_server.faults import Fault, Faults
from gpustack_models.hub_server.huggingface import HuggingFace
from gpustack_models.hub_server.links import Links
from gpustack_models.hub_server.listening import authority, listen
from gpustack_models.hub_server.modelscope import TRUNCATED_AT, ModelScope
from gpustack_models.hub_server.record import Record, Request
from gpustack_models.hub_server.settings import Tokens
from gpustack_models.hub_server.wire import Origin

if TYPE_CHECKING:
    from gpustack_models.hub_server.app import HubApp

_KEEP_ALIVE_SECONDS = 75
#: Answers are made in threads, since one may have to wait for files to be hashed.
_ANSWERS = 32


@dataclass(frozen=True)
class ServeOptions:
    """How a local hub serves. Ports 0 are free ones; `redirect` sends LFS bytes through the second origin, as the real
    hubs do; `patience` is how long, in seconds, a request waits for files that are still being hashed; `warm` begins to
    hash every repository at once.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    cdn_port: int = 0
    tokens_file: Path | None = None
    redirect: bool = True
    page_size: int = 1000
    truncate_at: int = TRUNCATED_AT
    link_seconds: float = 3600
    patience: float = 8
    warm: bool = False
    faults: tuple[Fault, ...] = ()


class LocalHub:
    """A local hub as a context manager: it serves from `with` to its end, in a thread of its own.

    `tokens` are user names with their tokens, in place of a tokens file. Raises GsmError: NotFound (no folder),
    InvalidInput (a port in use, an unreadable tokens file), MissingExtra.
    """

    def __init__(
        self,
        options: ServeOptions | Path,
        *,
        tokens: dict[str, str] | None = None,
        listener: Callable[[Request], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.options = options if isinstance(options, ServeOptions) else ServeOptions(options)
        _check_folder(self.options.folder)
        file = self.options.tokens_file
        self._tokens = Tokens.read(file) if file else Tokens(tokens)
        self._catalog = Catalog(self.options.folder, patience=self.options.patience, progress=progress)
        self._faults = Faults(self.options.faults)
        self._record = Record(listener)
        self._sockets: list[socket.socket] = []
        self._thread: threading.Thread | None = None
        self._up = threading.Event()
        self._end: Callable[[], object] = bool
        self._pool = ThreadPoolExecutor(_ANSWERS, "hub-answer")

    @property
    def url(self) -> str:
        """The hub's address: HF_ENDPOINT and MODELSCOPE_ENDPOINT alike."""
        return f"http://{authority(self._sockets[0])}"

    @property
    def cdn_url(self) -> str:
        """The second origin's address, where LFS bytes are."""
        return f"http://{authority(self._sockets[1])}"

    @property
    def requests(self) -> list[Request]:
        """What was asked since the start, or the last `forget`."""
        return self._record.all()

    def forget(self) -> None:
        """Begin a new list of requests."""
        self._record.clear()

    def repositories(self) -> list[str]:
        """The names of the repositories that are served now."""
        return self._catalog.names()

    def rescan(self) -> None:
        """Look at the folder again at the next request; without it, a change is seen within a second or so."""
        self._catalog.rescan()

    def fault(self, kind: str, path: str = "*", **options: object) -> Fault:
        """Switch a fault on; see `Fault` for its options. Returns it, for `unfault`."""
        fault = Fault(kind, path, **options)  # type: ignore[arg-type]
        self._faults.add(fault)
        return fault

    def unfault(self, fault: Fault | None = None) -> None:
        """Switch one fault off, or all."""
        if fault:
            self._faults.remove(fault)
        else:
            self._faults.clear()

    @contextmanager
    def faulty(self, kind: str, path: str = "*", **options: object) -> Iterator[Fault]:
        """A fault that is on within `with`."""
        fault = self.fault(kind, path, **options)
        try:
            yield fault
        finally:
            self.unfault(fault)

    def wait(self) -> None:
        """Return when the hub has ended; interruptible."""
        if self._thread:
            self._thread.join()

    def __enter__(self) -> Self:
        try:
            import uvicorn  # noqa: F401 - what is missing is said before a port is taken
        except ImportError as error:
            raise missing_extra("hub", "the local hub") from error
        self._sockets = listen(self.options.host, (self.options.port, self.options.cdn_port))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="local-hub", daemon=True)
        self._thread.start()
        self._up.wait()
        if self.options.warm:
            self._catalog.warm()
        return self

    async def _serve(self) -> None:
        import uvicorn

        from gpustack_models.hub_server.protocol import HubProtocol, HubServer

        closing = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._end = lambda: loop.call_soon_threadsafe(closing.set)
        config = uvicorn.Config(
            self._app(closing),
            http=HubProtocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
        try:
            await HubServer(config, closing, self._up.set).serve(sockets=self._sockets)
        finally:
            self._up.set()

    def _app(self, closing: asyncio.Event) -> HubApp:
        from gpustack_models.hub_server.app import HubApp

        options = self.options
        hub_port, cdn_port = (bound.getsockname()[1] for bound in self._sockets)
        links = Links(secrets.token_bytes(32), cdn_port, seconds=options.link_seconds, clock=time.time)
        used = links if options.redirect else None
        faces = [
            HuggingFace(self._catalog, used, options.page_size).answer,
            ModelScope(self._catalog, self._tokens, used, options.truncate_at).answer,
        ]
        return HubApp(
            origins={hub_port: Origin.HUB, cdn_port: Origin.CDN},
            faces={Origin.HUB: faces, Origin.CDN: [links.answer]},
            tokens=self._tokens,
            faults=self._faults,
            record=self._record,
            pool=self._pool,
            changed=self._catalog.rescan,
            closing=closing,
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End: answers that are under way are cut off."""
        if self._thread is None:
            return
        self._end()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._catalog.close()
        self._thread.join(10)
        self._thread = None


def serve(
    options: ServeOptions,
    *,
    ready: Callable[[LocalHub], None] | None = None,
    listener: Callable[[Request], None] | None = None,
    progress: Progress | None = None,
) -> None:
    """Serve until interrupted. `ready` is called once the hub answers."""
    with LocalHub(options, listener=listener, progress=progress) as hub:
        if ready:
            ready(hub)
        hub.wait()


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise GsmError(
            Reason.NOT_FOUND,
            f"{folder} is not a folder",
            hint="give the folder that holds <owner>/<name>/ folders of model files",
        )
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise GsmError(Reason.INVALID_INPUT, f"{folder} cannot be read: {error.strerror}") from None
