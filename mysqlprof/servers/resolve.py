"""From a version or a reference to an image on this host: there already, pulled, or built.

Another version than the one asked for is never taken in silence: ResolvedImage.substitution says
what was asked for, why it could not be had, and what is used instead.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import requests
from docker import DockerClient
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.images import Image
from docker.utils import parse_repository_tag

from mysqlprof.errors import EnvironmentLacks, ServerFailed, UsageError
from mysqlprof.model import LaunchSpec
from mysqlprof.servers import catalog
from mysqlprof.servers.archives import Installation, installation
from mysqlprof.servers.catalog import CatalogEntry
from mysqlprof.servers.engine import connect, explanation, speaking_to_engine
from mysqlprof.servers.image import build_image

_REGISTRY_TIMEOUT_S = 20
"""How long a registry may take to say what a reference means, before it counts as absent."""

_failed_pulls: dict[str, str] = {}
"""Reference -> why it could not be pulled. A registry is asked once per process."""


@dataclass(frozen=True)
class Reference:
    """`repository[:tag][@digest]`, as given."""

    repository: str
    tag: str
    digest: str = ""

    @classmethod
    def parse(cls, text: str, digest: str = "") -> "Reference":
        name, _, own_digest = text.partition("@")
        repository, tag = parse_repository_tag(name)
        if own_digest and digest and own_digest != digest:
            raise UsageError(f"{text} is pinned to {digest}, which is another digest")
        return cls(repository, tag or "latest", own_digest or digest)

    @property
    def by_tag(self) -> str:
        return f"{self.repository}:{self.tag}"

    @property
    def exact(self) -> str:
        """What is asked for: the digest where there is one, since a tag can be moved."""
        return f"{self.repository}@{self.digest}" if self.digest else self.by_tag


@dataclass(frozen=True)
class ResolvedImage:
    """An image on this host and where it came from."""

    id: str
    source: str
    digest: str
    version_prefix: str
    """What the server's version must begin with; empty where only the server can tell."""
    sha256: str = ""
    substitution: str = ""
    made_of: Installation | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What mysqld needs besides what the user gives."""
        return self.made_of.environment if self.made_of else {}


class _CannotPull(Exception):
    """One clause: why an image cannot be had from its registry."""


class ImageResolver:
    """Finds the image of a launch spec; each registry reference is tried once."""

    def __init__(
        self,
        client: DockerClient,
        progress: Callable[[str], None] = lambda _: None,
        *,
        find: Callable[[str], CatalogEntry] = catalog.find,
        nearest: Callable[[str], CatalogEntry] = catalog.nearest_with_archive,
        install: Callable[[CatalogEntry, Callable[[str], None]], Installation] = installation,
        failed_pulls: dict[str, str] | None = None,
    ) -> None:
        self._client = client
        self._progress = progress
        self._find = find
        self._nearest = nearest
        self._install = install
        self._failed = _failed_pulls if failed_pulls is None else failed_pulls

    def resolve(self, spec: LaunchSpec) -> ResolvedImage:
        return self._own(spec.image) if spec.image else self._of_version(spec.requested)

    def provides(self, version: str) -> bool:
        """Whether exactly this version can be had: from an archive, or by its image."""
        entry = self._find(version)
        if entry.archive is not None:
            return True
        try:
            self._obtain(Reference.parse(entry.image, entry.digest))
        except _CannotPull:
            return False
        return True

    def _own(self, text: str) -> ResolvedImage:
        """The user's own reference: never replaced by anything."""
        reference = Reference.parse(text)
        try:
            image = self._obtain(reference)
        except _CannotPull as error:
            raise EnvironmentLacks(
                f"the image {text} is not on this host and cannot be pulled: {error}",
                "check its name and the network, or load it with docker load",
            ) from error
        return ResolvedImage(_id(image), text, digest_of(image, reference), "")

    def _of_version(self, version: str) -> ResolvedImage:
        entry = self._find(version)
        if not entry.image:
            return self._built(version, entry, "")
        reference = Reference.parse(entry.image, entry.digest)
        try:
            image = self._obtain(reference)
        except _CannotPull as error:
            return self._built(version, entry, str(error))
        return ResolvedImage(_id(image), entry.image, digest_of(image, reference), version)

    def _built(self, version: str, entry: CatalogEntry, why: str) -> ResolvedImage:
        made_of = self._install(entry if entry.archive else self._nearest(version), self._progress)
        with speaking_to_engine(f"the image of MySQL {made_of.version} cannot be built"):
            image = self._client.images.get(build_image(self._client, made_of, self._progress))
        return ResolvedImage(
            id=_id(image),
            source=made_of.source,
            digest=_id(image),
            version_prefix=made_of.version,
            sha256=made_of.sha256,
            substitution=substitution(version, entry.image, why, made_of.version),
            made_of=made_of,
        )

    def _obtain(self, reference: Reference) -> Image:
        """The image from this host, or pulled; raises _CannotPull."""
        with speaking_to_engine(f"the image {reference.exact} cannot be looked for"):
            try:
                return self._client.images.get(reference.exact)
            except ImageNotFound:
                pass
        if reference.exact in self._failed:
            raise _CannotPull(self._failed[reference.exact])
        try:
            return self._pull(reference)
        except _CannotPull as error:
            self._failed[reference.exact] = str(error)
            raise

    def _pull(self, reference: Reference) -> Image:
        self._ask_registry(reference)
        self._progress(f"pulling {reference.exact}")
        try:
            pulled = self._client.images.pull(
                reference.repository, tag=reference.digest or reference.tag
            )
        except (DockerException, requests.RequestException) as error:
            raise _CannotPull(_why(error)) from error
        if reference.digest and digest_of(pulled, reference) != reference.digest:
            raise _wrong_digest(reference, digest_of(pulled, reference))
        return pulled

    def _ask_registry(self, reference: Reference) -> None:
        """Fail fast, and before anything is downloaded, where the registry cannot serve it.

        The pull itself knows no timeout; this question does.
        """
        try:
            self._registry_digest(reference.exact)
        except NotFound as error:
            if reference.digest:
                raise _wrong_digest(reference, self._digest_of_tag(reference)) from error
            raise _CannotPull(f"its registry does not hold it ({explanation(error)})") from error
        except (DockerException, requests.RequestException) as error:
            raise _CannotPull(_why(error)) from error

    def _registry_digest(self, name: str) -> str:
        with closing(connect(timeout_s=_REGISTRY_TIMEOUT_S)) as asking:
            about = asking.api.inspect_distribution(name)  # type: ignore[no-untyped-call]
            return str(about["Descriptor"]["digest"])

    def _digest_of_tag(self, reference: Reference) -> str:
        try:
            return self._registry_digest(reference.by_tag)
        except (DockerException, requests.RequestException):
            return ""


def digest_of(image: Image, reference: Reference) -> str:
    """The digest by which its repository knows the image; its id where it was never in one."""
    known = [str(entry).partition("@") for entry in image.attrs.get("RepoDigests") or []]
    own = [digest for repository, _, digest in known if repository == reference.repository]
    if reference.digest in own:
        return reference.digest
    return own[0] if own else _id(image)


def substitution(requested: str, image: str, why: str, version: str) -> str:
    """The sentence that the report prints; empty where the version is the one asked for."""
    if requested == version:
        return ""
    return (
        f"MySQL {requested} was asked for, but the image {image} could not be pulled ({why}); "
        f"an image built from the package archive of {version} is used instead"
    )


def _wrong_digest(reference: Reference, found: str) -> ServerFailed:
    what = f"the registry has {found} for {reference.by_tag}" if found else "it was not found"
    return ServerFailed(
        f"{reference.repository} is pinned to {reference.digest}, but {what}",
        "correct the pinned digest, if the other image is the one you mean",
    )


def _id(image: Image) -> str:
    return str(image.id)


#   Get "https://registry.example/v2/": dial tcp: lookup registry.example on 10.0.0.53:53: no such
#   host
#   Get "http://localhost:5001/v2/": dial tcp [::1]:5001: connect: connection refused
#   Get "https://registry.example/v2/": net/http: request canceled (Client.Timeout exceeded ...)
_PLAIN_REASONS = {
    "no such host": "the name of its registry does not resolve on this host",
    "server misbehaving": "the name of its registry does not resolve on this host",
    "connection refused": "its registry refuses connections",
    "network is unreachable": "this host has no way to its registry",
    "no route to host": "this host has no way to its registry",
    "i/o timeout": "its registry does not answer",
    "Client.Timeout exceeded": "its registry does not answer",
    "toomanyrequests": "its registry allows no more pulls for now",
}


def _why(error: Exception) -> str:
    """One clause, without this host's addresses: it is printed in reports."""
    if isinstance(error, requests.Timeout):
        return f"its registry did not answer within {_REGISTRY_TIMEOUT_S} s"
    words = explanation(error) if isinstance(error, APIError) else str(error)
    plain = (reason for sign, reason in _PLAIN_REASONS.items() if sign in words)
    return next(plain, words)
