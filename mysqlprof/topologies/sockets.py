"""Whether something that speaks MySQL lets us in, by its socket or by TCP."""

import socket

from mysqlprof.errors import ServerFailed
from mysqlprof.model import Endpoint
from mysqlprof.topologies.login import LoginFailed, log_in

_TIMEOUT_S = 10.0


def answers(endpoint: Endpoint) -> bool:
    """True after a login; False while nothing listens. Raises ServerFailed where it is refused."""
    try:
        with _connected(endpoint) as connection:
            log_in(connection, endpoint.user, endpoint.password).close()
    except LoginFailed as error:
        if error.refused:
            raise ServerFailed(f"the login was refused: {error}") from error
        return False
    except OSError:
        return False
    return True


def _connected(endpoint: Endpoint) -> socket.socket:
    if not endpoint.socket:
        return socket.create_connection((endpoint.host, endpoint.port), _TIMEOUT_S)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_TIMEOUT_S)
    connection.connect(endpoint.socket)
    return connection
