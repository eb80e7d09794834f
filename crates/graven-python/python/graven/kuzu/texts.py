"""Texts of ``STRUCT``, ``MAP`` and lists, as columns of these types hold them."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

__all__ = ["entries", "items", "split"]

_OPEN, _CLOSE = "([{", ")]}"


def split(text: str, separators: str = ",", most: int = -1) -> List[str]:
    """The parts between separators that stand outside of brackets and quotes.

    A quote counts only where a part begins with it, so that an apostrophe within a word does not.
    """
    parts: List[str] = []
    depth, begin, quote = 0, 0, None
    begins, escaped = True, False
    for at, c in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif c == "\\" and quote != "`":
                escaped = True
            elif c == quote == "`" and text[at + 1 : at + 2] == "`":
                escaped = True
            elif c == quote:
                quote = None
            continue
        if c in "'\"`" and begins:
            quote = c
        elif c in _OPEN:
            depth += 1
        elif c in _CLOSE:
            depth -= 1
        elif c in separators and depth == 0 and len(parts) != most:
            parts.append(text[begin:at])
            begin = at + 1
        begins = c in _OPEN or c in ",:=" or (begins and c.isspace())
    parts.append(text[begin:])
    return parts


def _inside(text: str, brackets: str) -> Optional[str]:
    text = text.strip()
    if len(text) < 2 or text[0] != brackets[0] or text[-1] != brackets[1]:
        raise ValueError(f"{text} does not stand between {brackets[0]} and {brackets[1]}")
    return text[1:-1].strip() or None


def _value(text: str) -> Optional[str]:
    text = text.strip()
    return None if text in ("", "null", "NULL") else _unquoted(text)


def _unquoted(text: str) -> str:
    """A text as it was before Graven wrote it into another one: within backquotes if it needs them."""
    is_quoted = len(text) > 1 and text[0] == text[-1] == "`"
    return text[1:-1].replace("``", "`") if is_quoted else text


def items(text: str) -> List[Optional[str]]:
    """The elements of a list, each as it stands there."""
    inside = _inside(text, "[]")
    return [] if inside is None else [_value(item) for item in split(inside)]


def entries(text: str, quoted_keys: bool = True) -> Iterator[Tuple[str, Optional[str]]]:
    """The entries of a map or a struct, each value as it stands there; keys without quotes if these are no part of them."""
    inside = _inside(text, "{}")
    for part in split(inside) if inside is not None else []:
        found = split(part, ":=", 1)
        if len(found) != 2:
            raise ValueError(f"{part} is no entry")
        key = found[0].strip()
        if not quoted_keys and key[:1] in "'\"`" and key[-1:] == key[:1] and len(key) > 1:
            key = key[1:-1]
        yield _unquoted(key), _value(found[1])
