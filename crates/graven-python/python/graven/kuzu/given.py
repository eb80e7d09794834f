"""Parameters and frames as programs for Kuzu give them."""

from __future__ import annotations

import datetime
import uuid
from typing import Any, Dict, List

from ..values import Error
from .kinds import ANY, Kind

__all__ = ["columns", "frame", "is_frame", "kind", "parameter"]

_KEYS = {bool: "BOOL", int: "INT64", float: "DOUBLE", str: "STRING", datetime.date: "DATE", datetime.datetime: "TIMESTAMP"}
_INT64 = range(-(2**63), 2**63)


def _is_map(value: Any) -> bool:
    """Whether a dictionary is a map of two lists."""
    if not isinstance(value, dict) or list(value) != ["key", "value"]:
        return False
    keys, values = value["key"], value["value"]
    return isinstance(keys, list) and isinstance(values, list) and len(keys) == len(values)


def parameter(value: Any) -> Any:
    """A parameter with its maps of two lists as dictionaries, whose keys are text; a frame as it can be read."""
    if is_frame(value):
        return frame(value)
    if _is_map(value):
        return {str(key): parameter(item) for key, item in zip(value["key"], value["value"])}
    if isinstance(value, dict):
        return {key: parameter(item) for key, item in value.items()}
    if isinstance(value, list):
        return [parameter(item) for item in value]
    return value


def kind(value: Any) -> Kind:
    """The type of a parameter that is a map of two lists, so that its keys are what they were."""
    if not _is_map(value):
        return ANY
    kinds = {_KEYS.get(type(key), "ANY") for key in value["key"]}
    if kinds == {"INT64", "DOUBLE"}:
        kinds = {"DOUBLE"}
    return Kind("MAP", (("key", Kind(kinds.pop() if len(kinds) == 1 else "ANY")), ("value", ANY)))


def _module(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def is_frame(value: Any) -> bool:
    """Whether it is a table that can be read: a DataFrame, or what hands out Arrow's batches. A column alone is a list."""
    if any(hasattr(value, name) for name in ("tolist", "to_list")):
        return False
    return any(hasattr(value, name) for name in ("__arrow_c_stream__", "scanner"))


def frame(value: Any) -> Any:
    """A table as it can be read: in a DataFrame a column with values of several types is text, maps of two lists are maps."""
    if _module(value) not in ("pandas", "polars"):
        return value
    try:
        import pyarrow
    except ImportError:
        return value
    if _module(value) == "polars":
        return value.to_arrow()
    if type(value).__name__ != "DataFrame":
        return value
    objects = [str(dtype) == "object" for dtype in value.dtypes]
    if not any(objects):
        return value
    columns = [value.iloc[:, at] for at in range(len(objects))]
    arrays = [
        _column(pyarrow, list(column)) if is_object else pyarrow.Array.from_pandas(column)
        for column, is_object in zip(columns, objects)
    ]
    return pyarrow.table(arrays, names=[str(name) for name in value.columns])


def columns(name: str, value: Any, given: Any) -> Dict[str, Kind]:
    """The types of the columns of a frame that Graven has in another form, by their names in declared types.

    ``value`` is the frame as it can be read, ``given`` as the program gave it.
    """
    schema = getattr(value, "schema", None)
    if _module(value) == "pandas" and type(value).__name__ == "DataFrame":
        schema = _schema(value)
    elif _module(value) != "pyarrow":
        schema = None
    if schema is None:
        return {}
    kinds = {f"{name}.{field.name}": _of_arrow(field.type) for field in schema}
    if _module(given) == "pandas":
        for at, column in enumerate(given.columns):
            there = [it for it in given.iloc[:, at] if it is not None] if str(given.dtypes.iloc[at]) == "object" else []
            if there and all(isinstance(it, uuid.UUID) for it in there):
                kinds[f"{name}.{column}"] = Kind("UUID")
    return kinds


def _schema(frame: Any) -> Any:
    """The types of the columns of a DataFrame; None without pyarrow."""
    try:
        import pyarrow
    except ImportError:
        return None
    return pyarrow.Schema.from_pandas(frame, preserve_index=False)


def _of_arrow(of: Any) -> Kind:
    """A type of Arrow; those whose values are the same in Graven tell themselves."""
    import pyarrow

    if pyarrow.types.is_decimal(of):
        return Kind("DECIMAL", precision=of.precision, scale=of.scale)
    if pyarrow.types.is_map(of):
        return Kind("MAP", (("key", _of_arrow(of.key_type)), ("value", _of_arrow(of.item_type))))
    if pyarrow.types.is_list(of) or pyarrow.types.is_large_list(of):
        return Kind("LIST", (("", _of_arrow(of.value_type)),))
    if pyarrow.types.is_struct(of):
        return Kind("STRUCT", tuple((field.name, _of_arrow(field.type)) for field in of))
    if pyarrow.types.is_integer(of):
        return Kind(str(of).upper())
    return ANY


def _column(pyarrow: Any, values: List[Any]) -> Any:
    values = [None if _is_missing(value) else value for value in values]
    there = [value for value in values if value is not None]
    beyond = next((value for value in there if type(value) is int and value not in _INT64), None)
    if beyond is not None and all(type(value) is int for value in there):
        message = f"Conversion exception: Failed to cast value: Python value '{beyond}' to INT64"
        raise Error("ArgumentError.InvalidArgumentValue", message)
    if there and all(_is_map(value) for value in there):
        pairs = [value and list(zip(value["key"], value["value"])) for value in values]
        keys = pyarrow.array([key for pair in pairs for key, _ in pair or []]).type
        items = pyarrow.array([item for pair in pairs for _, item in pair or []]).type
        return pyarrow.array(pairs, pyarrow.map_(keys, items))
    if _have_one_shape(there):
        try:
            return pyarrow.array(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
            pass
    return pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string())


def _is_missing(value: Any) -> bool:
    """Null, and the NaN and NaT that stand for it in a column of objects."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return False


def _have_one_shape(values: List[Any]) -> bool:
    """Whether dictionaries have the same keys; what else they are, Arrow says."""
    if any(isinstance(value, dict) for value in values):
        return all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values)
    numbers = {bool, int, float}
    kinds = {type(value) for value in values}
    return not (bool in kinds and kinds & numbers != {bool})
