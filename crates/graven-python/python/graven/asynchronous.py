"""Statements for programs that run an event loop: each on a thread of a pool, so that the loop goes on."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ._graven import Connection

__all__ = ["AsyncConnection"]


class AsyncConnection:
    """Runs up to ``max_concurrent_queries`` statements at a time; others wait for their turn.

    Rows behind the first ones are read as they are asked for, from the loop's own thread; ``await`` :meth:`execute_all` where that would keep it
    waiting for long.
    """

    _connection_class: Any = Connection

    def __init__(self, database, max_concurrent_queries=4, max_threads_per_query=0, **options):
        # Threads are those of the database.
        self._new = lambda: self._connection_class(database, **options)
        self._connections = [self._new() for _ in range(max_concurrent_queries)]
        self._free = list(self._connections)
        self._functions = {}
        self._pool = ThreadPoolExecutor(max_concurrent_queries, thread_name_prefix="graven")

    async def _run(self, work):
        running = []

        def on_free_connection():
            # As many threads as connections: a thread that runs finds a free one. Lists are safe to
            # share.
            connection = self._free.pop()
            running.append(connection)
            try:
                return work(connection)
            finally:
                self._free.append(connection)

        job = self._pool.submit(on_free_connection)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            # It may be about to begin, and forget that it was asked to stop.
            while not job.done():
                for connection in running:
                    connection.interrupt()
                await asyncio.sleep(0.005)
            raise

    async def execute(self, query, parameters=None):
        """As ``Connection.execute``."""
        return await self._run(lambda connection: connection.execute(query, parameters))

    async def execute_all(self, query, parameters=None):
        """All rows of a statement, read on the thread that runs it."""
        return await self._run(lambda connection: connection.execute(query, parameters).get_all())

    async def prepare(self, query, parameters=None):
        """As ``Connection.prepare``."""
        return await self._run(lambda connection: connection.prepare(query, parameters))

    def acquire_connection(self):
        """A connection of one's own, beside those that :meth:`execute` uses: give it to :meth:`release_connection`."""
        connection = self._new()
        for name, udf, params_type, return_type, options in list(self._functions.values()):
            connection.create_function(name, udf, params_type, return_type, **options)
        return connection

    def release_connection(self, connection):
        """Closes a connection of :meth:`acquire_connection`."""
        connection.close()

    def create_function(self, name, udf, params_type=None, return_type=None, **options):
        """As ``Connection.create_function``, for all its connections."""
        for connection in self._connections:
            connection.create_function(name, udf, params_type, return_type, **options)
        self._functions[name.lower()] = (name, udf, params_type, return_type, options)

    def remove_function(self, name):
        """As ``Connection.remove_function``, for all its connections."""
        for connection in self._connections:
            connection.remove_function(name)
        self._functions.pop(name.lower(), None)

    def set_query_timeout(self, timeout_in_ms):
        """How long a statement may take from now on; 0: as long as it takes."""
        for connection in self._connections:
            connection.set_query_timeout(timeout_in_ms)

    def interrupt(self):
        """Stops all statements that run."""
        for connection in self._connections:
            connection.interrupt()

    def close(self):
        """Waits for what runs, and takes no more."""
        self._pool.shutdown()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await asyncio.get_running_loop().run_in_executor(None, self.close)
