"""What the classes of this package share with those of :mod:`graven`: all that they do not define."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["Delegate"]

_Own = TypeVar("_Own", bound="Delegate")


class Delegate:
    """Has the attributes of ``_inner``, beside its own; as a context it closes at the end."""

    _inner: Any

    def __getattr__(self, name: str) -> Any:
        # Asked for before it is set, where the constructor failed.
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __enter__(self: _Own) -> _Own:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
