"""Whether something that speaks MySQL lets us in."""

from mysqlprof.errors import ServerFailed
from mysqlprof.model import Endpoint, Place
from mysqlprof.topologies.storm import storm

_ACCESS_DENIED = "1045:"


def answers(endpoint: Endpoint, place: Place) -> bool:
    """True after a login from `place`, by the socket where there is one.

    False while nobody listens. Raises ServerFailed where the login is refused.
    """
    try:
        storm(endpoint, 1, place=place, by_socket=bool(endpoint.socket))
    except ServerFailed as error:
        if _ACCESS_DENIED in error.message:
            raise
        return False
    return True
