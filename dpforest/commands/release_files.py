"""The files of a release: their names are reserved before ε is spent, and the files are written afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dpforest.book.account import write_whole

ENDINGS: Final[Mapping[str, str]] = {"forest": ".json.gz", "record": "_record.json", "page": "_record.html"}


class ReleaseFiles:
    """New files of a release. Use this class in a `with` block, which removes the reserved names that were not written.

    Parameters
    ----------
    folder : Path
        Folder of the files. Their names are reserved at once, with empty files.
    stem : str
        Start of the names.
    second_folder : Path
        Folder of a file that cannot be written into `folder`.

    Raises
    ------
    OSError
        If the names cannot be reserved.
    """

    def __init__(self, folder: Path, stem: str, second_folder: Path) -> None:
        self.written: dict[str, Path] = {}
        self._stem, self._second_folder = stem, second_folder
        self._reserved = reserve(folder, stem)
        self._second_names: dict[str, Path] = {}
        self._empty = set(self._reserved.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for path in self._empty:
            with suppress(OSError):
                path.unlink()

    def write(self, kind: str, data: bytes) -> None:
        """Write a file: "forest", "record" or "page". Raise OSError if it cannot be written into either folder."""
        try:
            self._write(self._reserved[kind], data, kind)
        except (OSError, KeyboardInterrupt):  # the ε of the file is spent, so an interrupt must not lose the file
            self._write(self._second(kind), data, kind)

    def _second(self, kind: str) -> Path:
        """Return the path of a file in the second folder, and reserve the names there at the first call."""
        if not self._second_names:
            self._second_names = reserve(self._second_folder, self._stem)
            self._empty.update(self._second_names.values())
        return self._second_names[kind]

    def _write(self, path: Path, data: bytes, kind: str) -> None:
        write_whole(path, data)
        self._empty.discard(path)
        self.written[kind] = path


def reserve(folder: Path, stem: str) -> dict[str, Path]:
    """Create an empty file for each file of a release, under the smallest number that is free, and return the paths."""
    for number in count(1):
        paths = {kind: folder / f"{stem}_release_{number}{ending}" for kind, ending in ENDINGS.items()}
        created: list[Path] = []
        try:
            for path in paths.values():
                path.open("xb").close()
                created.append(path)
            return paths
        except OSError as problem:
            for path in created:
                path.unlink()
            if not isinstance(problem, FileExistsError):
                raise
    raise AssertionError("there is always a next number")
