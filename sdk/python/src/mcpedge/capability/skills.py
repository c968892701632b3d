"""Skills of a folder. Needs PyYAML: pip install 'mcpedge-capability[skills]'."""

import hashlib
import json
import logging
import os
import re
from bisect import bisect_left
from pathlib import Path, PurePosixPath
from typing import Any, cast
from urllib.parse import quote, unquote

import yaml

from .call import Call
from .resources import DirectoryProvider, of_bytes
from .types import Resource, ResourceContents, Skill, SkillFile

__all__ = ["DIRECTORY_TYPE", "MAX_ENTRIES", "MAX_FILE_BYTES", "SkillFolder"]

MAX_ENTRIES = 10_000
"""The maximum number of files and directories of a folder."""
MAX_FILE_BYTES = 15 << 20
"""The maximum size of one file, which must fit in a message. All files of one skill should have at most 16 MiB and be at most 512."""
DIRECTORY_TYPE = "inode/directory"
_SKILL = "SKILL.md"
_TYPES = {
    ".css": "text/css",
    ".csv": "text/csv",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".py": "text/x-python",
    ".sh": "application/x-sh",
    ".svg": "image/svg+xml",
    ".ts": "text/typescript",
    ".txt": "text/plain",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


class SkillFolder(DirectoryProvider):
    """Serves the skills below a folder under a prefix of URIs, such as "skill://" or "skill://acme/": pass it to
    Server.provide with the same prefix. Each directory with a SKILL.md is a skill, at any depth, with all files below it.
    Names with a leading dot, and links, are ignored. Each request reads what has changed."""

    def __init__(self, folder: str | os.PathLike[str], prefix: str, logger: logging.Logger | None = None) -> None:
        """Raises ValueError if a skill is invalid: SKILL.md must begin with YAML between two lines of ---, with a
        description and with the directory as its name. One that becomes invalid later is left out and logged."""
        if not prefix.endswith("/"):
            raise ValueError(f"prefix {prefix!r}: it must end with a slash, as skill:// does")
        self._root = Path(folder)
        self._prefix = prefix
        self._log = logger or logging.getLogger("mcpedge.capability")
        self._digests: dict[str, tuple[tuple[int, int], bytes]] = {}
        dirs, files = self._scan()
        for skill in dirs:
            self._skill(skill, files)

    def _scan(self) -> tuple[list[str], list[str]]:
        """The directories with a SKILL.md, and the files in and below them, in lexical order."""
        found: list[str] = []
        seen = 0
        for base, dirs, files in os.walk(self._root):
            dirs[:] = sorted(d for d in dirs if not d.startswith(".") and not Path(base, d).is_symlink())
            seen += len(dirs) + len(files)
            if seen > MAX_ENTRIES:
                raise ValueError(f"{self._root} has more than {MAX_ENTRIES} files and directories; serve fewer")
            for name in files:
                path = Path(base, name)
                if not name.startswith(".") and path.is_file() and not path.is_symlink():
                    found.append(path.relative_to(self._root).as_posix())
        found.sort()
        skills = [str(PurePosixPath(f).parent) for f in found if PurePosixPath(f).name == _SKILL and "/" in f]
        within = set(skills)
        return skills, [f for f in found if any(d in within for d in _above(f))]

    def _uri(self, name: str) -> str:
        return self._prefix + quote(name)

    def _name(self, uri: str) -> str:
        """Returns the name of the file of a URI, empty if there is none. Each file has exactly one URI, because policies refer to URIs."""
        name = unquote(uri.removeprefix(self._prefix))
        return name if self._uri(name) == uri else ""

    def _bytes(self, name: str) -> bytes:
        path = self._root / name
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"{name} has more than {MAX_FILE_BYTES} bytes")
        return path.read_bytes()

    def _file(self, name: str) -> SkillFile:
        stat = (self._root / name).stat()
        known = self._digests.get(name)
        if known is None or known[0] != (stat.st_size, stat.st_mtime_ns):
            known = ((stat.st_size, stat.st_mtime_ns), hashlib.sha256(self._bytes(name)).digest())
            self._digests[name] = known
        return SkillFile(uri=self._uri(name), sha256=known[1], size=known[0][0])

    def _skill(self, skill: str, files: list[str]) -> Skill:
        front = self._front(skill)
        own = files[bisect_left(files, skill + "/") : bisect_left(files, skill + "0")]  # which comes behind the slash
        described = [self._file(f) for f in own]
        return Skill(uri=self._uri(f"{skill}/{_SKILL}"), frontmatter=json.loads(json.dumps(front, default=str)), files=described)

    def _front(self, skill: str) -> dict[str, Any]:
        """Returns the frontmatter of a SKILL.md, which is YAML."""
        text = self._bytes(f"{skill}/{_SKILL}").decode("utf-8-sig").replace("\r\n", "\n")
        head = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
        what = f"skill {skill!r}: SKILL.md"
        if head is None:
            raise ValueError(f"{what} does not begin with YAML between two lines of ---")
        try:
            members: Any = yaml.safe_load(head[1])
        except yaml.YAMLError as e:
            raise ValueError(f"{what} has front matter that is no YAML: {e}") from e
        front: dict[str, Any] = cast(dict[str, Any], members) if isinstance(members, dict) else {}
        if front.get("name") != PurePosixPath(skill).name:
            raise ValueError(f"{what} must have the name of its directory, {PurePosixPath(skill).name!r}")
        if not isinstance(front.get("description"), str) or not front["description"]:
            raise ValueError(f"{what} has no description, which must be a text")
        return front

    def skills(self) -> list[Skill]:
        dirs, files = self._scan()
        out: list[Skill] = []
        for skill in dirs:
            try:
                out.append(self._skill(skill, files))
            except (ValueError, OSError) as e:
                self._log.warning("a skill is left out: %s", e)
        return out

    def skill(self, call: Call, uri: str) -> Skill | None:
        path = PurePosixPath(self._name(uri))
        dirs, files = self._scan()
        return self._skill(str(path.parent), files) if path.name == _SKILL and str(path.parent) in dirs else None

    def list(self) -> Any:
        return [self._resource(name) for name in self._scan()[1]]

    def _resource(self, name: str) -> Resource:
        path = PurePosixPath(name)
        listed = Resource(uri=self._uri(name), name=path.name, mime_type=_TYPES.get(path.suffix, ""))
        if path.name == _SKILL:
            try:
                listed.description = self._front(str(path.parent))["description"]
                listed.name = path.parent.name
            except (ValueError, OSError):
                pass
        return listed

    def read(self, call: Call, uri: str) -> "list[ResourceContents] | None":  # type: ignore[valid-type]
        name = self._name(uri)
        if name not in self._scan()[1]:
            return None
        mime_type = _TYPES.get(PurePosixPath(name).suffix, "")
        contents = of_bytes(self._bytes(name), mime_type)
        contents.mime_type = mime_type
        return [contents]

    def directory(self, call: Call, uri: str) -> Any:
        name = self._name(uri)
        dirs, files = self._scan()
        below = [f[len(name) + 1 :] for f in files if f.startswith(name + "/")]
        if not name or not below or not any(d in dirs for d in [name, *_above(name)]):
            return None
        children: dict[str, Resource] = {}
        for rest in below:
            child, nested, _ = rest.partition("/")
            path = f"{name}/{child}"
            directory = Resource(uri=self._uri(path), name=child, mime_type=DIRECTORY_TYPE)
            children[child] = directory if nested else self._resource(path)
        return [children[child] for child in sorted(children)]


def _above(name: str) -> list[str]:
    """Returns the parent directories of a name."""
    return [name[:i] for i, c in enumerate(name) if c == "/"]
