"""The compiled part of the package: types and what they do."""

from os import PathLike
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, Union

__version__: str
storage_version: int

_Isolation = Literal["snapshot", "serializable"]
_Durability = Literal["full", "relaxed", "off"]

class Database:
    """A database file with its page cache. May be shared by threads; several processes may open one file."""

    def __init__(
        self,
        database_path: Union[str, "PathLike[str]"] = "",
        buffer_pool_size: int = 0,
        max_num_threads: int = 0,
        compression: bool = True,
        lazy_init: bool = False,
        read_only: bool = False,
        max_db_size: Optional[int] = None,
        auto_checkpoint: bool = True,
        checkpoint_threshold: Optional[int] = None,
        throw_on_wal_replay_failure: bool = True,
        enable_checksums: bool = True,
        *,
        memory: Union[int, str, None] = None,
        threads: Optional[int] = None,
        policy: Optional[str] = None,
        io: Optional[Literal["direct", "buffered"]] = None,
        create: bool = True,
        timeout: Optional[float] = None,
        disk_cache: Union[str, "PathLike[str]", None] = None,
        disk_budget: Union[int, str, None] = None,
    ) -> None:
        """Opens the file, or makes an empty database where there is none (unless ``create=False`` or ``read_only``).

        ``memory``: the whole budget, pages, operators and results, in bytes or as "64MiB"; ``buffer_pool_size`` is the same in
        bytes. Without a path, or with ":memory:", the database is a file in the folder for temporary files, and is removed when
        the object and all that was made of it are gone. ``compression``, ``lazy_init`` and the other
        arguments of Kuzu are accepted and have no meaning; ``enable_checksums=False`` is refused. ``threads``, or ``max_num_threads``: of one statement. ``policy``: of the page cache, such as "gclock:max=7".
        ``timeout``: seconds a statement may take. A path such as ``"s3://bucket/graph/"`` opens a published snapshot for
        reading; ``disk_cache``, a folder, keeps what was read of it, in ``disk_budget`` bytes at most ("10GiB").
        """
    def connect(self) -> "Connection": ...
    def close(self) -> None:
        """Makes everything durable and notes that the database was closed cleanly. Later commits fail."""
    @property
    def is_closed(self) -> bool: ...
    @staticmethod
    def get_storage_version() -> int:
        """The format of data files, also ``graven.storage_version``."""
    def checkpoint(self) -> bool:
        """Folds the log into the file; whether there was anything to do."""
    def backup(
        self, path: Union[str, "PathLike[str]"], *, since: Union[str, "PathLike[str]", None] = None
    ) -> int:
        """Copies the database while it is used, and checks the copy; its length. ``since``: an earlier copy to start from."""
    def publish(self, url: str, *, chunk: Union[int, str, None] = None) -> Dict[str, Any]:
        """Publishes a snapshot at a URL such as ``s3://bucket/graph/``; what it holds, and what had to be sent."""
    def refresh(self) -> bool:
        """Goes on with the newest snapshot, where the database was opened by a URL; whether there was a newer one."""
    def set_memory(self, size: Union[int, str]) -> None: ...
    def set_policy(self, policy: str) -> None: ...
    @property
    def memory(self) -> int: ...
    @property
    def path(self) -> Any: ...
    @property
    def attached_to(self) -> Optional[int]:
        """The process that has the file and runs the statements, if it is another one."""
    def __enter__(self) -> "Database": ...
    def __exit__(self, *error: Any) -> None: ...

class Connection:
    """Where statements are run. One a thread is usual; it may be shared."""

    def __init__(
        self,
        database: Database,
        num_threads: int = 0,
        *,
        isolation: Optional[_Isolation] = None,
        durability: Optional[_Durability] = None,
        relaxed_ms: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> None:
        """``num_threads`` is taken for programs that give it: threads are set for the database."""
    def execute(
        self, query: Union[str, "PreparedStatement"], parameters: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Runs a statement up to its first rows; a ``QueryResult``. One that writes is committed, and as durable as asked for, when this returns.

        Several statements, with semicolons between them, give a list of results. Each has a transaction of its own; after one
        that fails no other one runs.
        """
    @property
    def is_closed(self) -> bool: ...
    def set_max_threads_for_exec(self, num_threads: int) -> None:
        """Accepted, and has no meaning: threads are set for the database."""
    def prepare(self, query: str, parameters: Optional[Dict[str, Any]] = None) -> "PreparedStatement":
        """Checks and plans a statement whose parameters come with each run."""
    def begin(
        self,
        *,
        isolation: Optional[_Isolation] = None,
        durability: Optional[_Durability] = None,
        relaxed_ms: Optional[int] = None,
        read_only: bool = False,
    ) -> "Transaction":
        """Begins a transaction; ``with connection.begin() as transaction`` commits it at the end, or rolls it back.

        With ``read_only`` its statements may not write.
        """
    def create_function(
        self,
        name: str,
        udf: Callable[..., Any],
        params_type: Optional[List[Any]] = None,
        return_type: Any = None,
        *,
        default_null_handling: bool = True,
        catch_exceptions: bool = False,
    ) -> None:
        """Adds a function to the language, for the statements of this connection.

        Types are members of ``graven.Type``, text or annotations; without them those of the callable are taken. Without
        ``default_null_handling`` it is called with ``None``, too. With ``catch_exceptions`` an exception makes a null. It
        cannot run statements itself.
        """
    def remove_function(self, name: str) -> None:
        """Removes a function of ``create_function``."""
    def set_query_timeout(self, timeout_in_ms: int) -> None:
        """How long a statement may take from now on; 0: as long as it takes."""
    def interrupt(self) -> None:
        """Stops the statements that run, from any thread."""
    def close(self) -> None: ...
    def __enter__(self) -> "Connection": ...
    def __exit__(self, *error: Any) -> None: ...

class PreparedStatement:
    """A statement that is checked and planned."""

    def execute(self, parameters: Optional[Dict[str, Any]] = None) -> "QueryResult": ...
    def is_success(self) -> bool:
        """Always true: what cannot be prepared raises."""
    def get_error_message(self) -> str: ...

class Transaction:
    """Statements that see each other's changes and become visible together, or not at all."""

    def execute(self, query: str, parameters: Optional[Dict[str, Any]] = None) -> "QueryResult": ...
    def commit(self) -> None:
        """Raises ``Error`` with ``retryable`` where another transaction was in the way: run it all again."""
    def rollback(self) -> None: ...
    def __enter__(self) -> "Transaction": ...
    def __exit__(self, *error: Any) -> None: ...

class QueryResult:
    """Rows, those behind the first ones read as they are asked for. Closing or dropping it ends the statement."""

    def get_column_names(self) -> List[str]: ...
    @property
    def declared_types(self) -> List[Optional[str]]:
        """For each column the type that a table or a cast in the statement declares, as it is written there, or ``None``.

        A parameter has its name, as ``$name``, and the column of a frame ``$frame.column``. No row is read for it.
        """
    def has_next(self) -> bool: ...
    def get_next(self) -> Union[List[Any], Dict[str, Any]]: ...
    def get_all(self) -> List[Any]: ...
    def get_n(self, count: int) -> List[Any]: ...
    def peek(self, count: int) -> List[List[Any]]:
        """The next rows, each as a list, which stay the next rows."""
    def get_columns(self) -> List[List[Any]]:
        """The rows that are left, a list for each column."""
    def rows_as_dict(self, state: bool = True) -> "QueryResult": ...
    def get_num_tuples(self) -> int:
        """All rows, those handed out included. Reads ahead to the end and keeps what it reads."""
    def get_column_data_types(self) -> List[str]:
        """What the values of each column are: ``INT64``, ``STRING[]``, ``NODE``; ``ANY`` for several types, or none but nulls.

        Reads ahead to the end and keeps what it reads. Raises after more than 10,000 rows were handed out.
        """
    def get_schema(self) -> Dict[str, str]:
        """The types of ``get_column_data_types`` by the names of the columns."""
    def reset_iterator(self) -> None:
        """The next row is the first one again. Raises after more than 10,000 rows were handed out: these are gone."""
    def has_next_query_result(self) -> bool:
        """Always false: ``execute`` gives a list of results for several statements."""
    def get_next_query_result(self) -> Any:
        """Raises: there is none."""
    @property
    def is_closed(self) -> bool: ...
    def get_execution_time(self) -> float:
        """Milliseconds from the start to the last row, or to now."""
    def get_compiling_time(self) -> float:
        """Milliseconds from the text to the plan; 0 for a prepared statement that has its plan."""
    def get_as_df(self) -> Any: ...
    def get_as_pl(self) -> Any: ...
    def get_as_arrow(self, chunk_size: Optional[int] = None) -> Any: ...
    def get_as_networkx(self, directed: bool = True) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """For packages that take Arrow streams; needs pyarrow."""
    @property
    def summary(self) -> Dict[str, Any]:
        """Rows, milliseconds, notices, counters of changes, pages of each kind, and the plan of EXPLAIN and PROFILE."""
    def close(self) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def __enter__(self) -> "QueryResult": ...
    def __exit__(self, *error: Any) -> None: ...
