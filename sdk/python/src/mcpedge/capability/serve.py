"""Serves a Server, as a complete program or in an event loop."""

import argparse
import asyncio
import atexit
import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from .offer import Offer
from .server import Server, offer_of

LISTEN = "127.0.0.1:50051"

# gRPC's servers are in cycles. One that is freed while the interpreter ends prints errors, or waits for ever for a thread that is gone.
atexit.register(gc.collect)


async def serve(
    server: Server,
    address: str = LISTEN,
    *,
    credentials: grpc.ServerCredentials | None = None,
    stop: asyncio.Event | None = None,
    started: Callable[[int], object] = lambda port: None,
) -> None:
    """Serves on host:port or unix:/path until stop is set: then health reports NOT_SERVING, change feeds end, and running
    calls have the server's grace to finish. It has the standard health service, reflection and messages up to server.message_bytes, and
    permits pings every five seconds. started is called with the port. Raises OSError if it cannot listen on the address. The lifespan of the server begins before it serves, and ends after the last call."""
    offer = offer_of(server)
    async with offer.living():
        await _serve(server, offer, address, credentials, stop or asyncio.Event(), started)


async def _serve(
    server: Server, offer: Offer, address: str, credentials: grpc.ServerCredentials | None, stop: asyncio.Event, started: Callable[[int], object]
) -> None:
    on = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", server.message_bytes),
            ("grpc.max_send_message_length", server.message_bytes),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 5000),
            ("grpc.so_reuseport", 0),
        ]
    )
    names = (*server.add_to(on), health.SERVICE_NAME, reflection.SERVICE_NAME)
    serving: Any = vars(health)["aio"].HealthServicer()  # of its types, none has it
    vars(health_pb2_grpc)["add_HealthServicer_to_server"](serving, on)
    reflection.enable_server_reflection(names, on)
    for name in ("", *names):
        await serving.set(name, health_pb2.HealthCheckResponse.SERVING)
    try:
        _check_unserved(address)
        port = on.add_secure_port(address, credentials) if credentials else on.add_insecure_port(address)
    except (OSError, RuntimeError) as e:
        raise OSError(f"cannot listen on {address}: {e}") from e
    if port == 0 and not address.startswith("unix:"):
        raise OSError(f"cannot listen on {address}: the address is in use, or is none of this machine")
    await on.start()
    try:
        started(port)
        await stop.wait()
    finally:
        await serving.enter_graceful_shutdown()
        offer.close()
        await on.stop(offer.grace)


def _check_unserved(address: str) -> None:
    """Raises OSError if another process serves a Unix socket, which gRPC would silently replace, or if the path is another kind of file."""
    if address.startswith("unix:"):
        path = Path(address.removeprefix("unix:"))
        if path.exists() and not path.is_socket():
            raise OSError("a file is there that is no socket; remove it, or choose another path")
        with socket.socket(socket.AF_UNIX) as probe:
            probe.setblocking(False)
            if probe.connect_ex(str(path)) in (0, errno.EAGAIN):  # EAGAIN: too many wait to be accepted
                raise OSError("another process serves it; stop that one, or choose another path")


def run(server: Server, argv: Sequence[str] | None = None) -> None:
    """A complete main program: it parses the command line (--listen, and TLS by --tls-cert, --tls-key and --tls-client-ca),
    logs to standard error, serves until SIGTERM or SIGINT, and stops gracefully. It exits with status 1 if serving fails.
    """
    parser = argparse.ArgumentParser(description=f"Serves {offer_of(server).info.name} to MCP Edge.")
    parser.add_argument("--listen", default=LISTEN, metavar="ADDR", help="serve gRPC on host:port or unix:/path (default: %(default)s)")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate chain in PEM, with --tls-key")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="its key in PEM")
    parser.add_argument("--tls-client-ca", type=Path, metavar="FILE", help="CA in PEM that clients need a certificate of")
    flags = parser.parse_args(argv)
    if bool(flags.tls_cert) != bool(flags.tls_key) or (flags.tls_client_ca and not flags.tls_cert):
        parser.error("--tls-cert and --tls-key go together, and --tls-client-ca with them")
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        credentials = _credentials(flags.tls_cert, flags.tls_key, flags.tls_client_ca)
        asyncio.run(_until_signalled(server, flags.listen, credentials))
    except OSError as e:
        offer_of(server).log.error("%s failed: %s", offer_of(server).info.name, e)
    else:
        return _leave(offer_of(server))
    sys.exit(1)


def _leave(offer: Offer) -> None:
    """Gives plain handlers a second to end, and logs the names of those that do not. The interpreter waits for their threads; a thread that
    prints during the interpreter's end would abort it. A second signal ends the process without waiting."""
    left = offer.runner.end(1)
    if left:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        say = "have them look at Call.cancelled, or at remaining() of a hook; a second signal ends the process now"
        offer.log.warning("%s waits for plain handlers that still run: %s; %s", offer.info.name, ", ".join(left), say)


async def _until_signalled(server: Server, address: str, credentials: grpc.ServerCredentials | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda _number, _frame: loop.call_soon_threadsafe(stop.set))

    def started(port: int) -> None:
        at = address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"
        offer_of(server).log.info("%s serves on %s%s", offer_of(server).info.name, at, " with TLS" if credentials else "")

    await serve(server, address, credentials=credentials, stop=stop, started=started)


def _credentials(cert: Path | None, key: Path | None, client_ca: Path | None) -> grpc.ServerCredentials | None:
    if cert is None or key is None:
        return None
    ca = client_ca.read_bytes() if client_ca else None
    # gRPC says of bad files only that it cannot listen.
    for what, file, text in (("certificate", cert, cert.read_bytes()), ("key", key, key.read_bytes()), ("CA", client_ca, ca)):
        if text is not None and b"-----BEGIN " not in text:
            raise OSError(f"the {what} {file} is not in PEM; give a file that has -----BEGIN")
    return grpc.ssl_server_credentials([(key.read_bytes(), cert.read_bytes())], ca, require_client_auth=ca is not None)
