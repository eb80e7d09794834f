"""Comfort in notebooks: results as tables with a drawing, and the magic ``%%cypher``.

    %load_ext graven
    %%cypher --as friends
    MATCH (:Person {id: $person})-[:KNOWS]-(f) RETURN f

The statement runs on the connection of the notebook: the variable named behind ``%%cypher``, or else ``connection``, ``conn`` or ``db``.
Parameters are the notebook's variables of their names. A statement that takes longer than a second shows how long it has been running.
"""

from __future__ import annotations

import html
import re
import threading
import time

from ._graven import Connection, Database
from .drawing import _Graph, draw

#: Rows of a table in a notebook.
ROWS = 25
#: Nodes of the drawing below it.
NODES = 60

_STYLE = "text-align:left;vertical-align:top;padding:2px 8px;border:1px solid #ddd"


def result_html(result):
    """A table of the next rows, and a drawing of the nodes in them. The rows stay the next ones."""
    names = result.get_column_names()
    rows = result.peek(ROWS + 1)
    if not names:
        return f"<p>{html.escape(_changes(result))}</p>"
    head = "".join(f'<th style="{_STYLE}">{html.escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows[:ROWS])
    more = "<p>\u2026 more rows follow; get_as_df() takes all of them</p>" if len(rows) > ROWS else ""
    table = f'<table style="border-collapse:collapse"><tr>{head}</tr>{body}</table>{more}'
    graph = _Graph(NODES)
    graph.add(rows[:ROWS])
    if not graph.nodes:
        return table
    return table + draw(rows[:ROWS], limit=NODES).svg


def _changes(result):
    counters = result.summary.get("counters", {})
    done = [f"{name.replace('_', ' ')}: {count}" for name, count in counters.items() if count]
    return ", ".join(done) or "no rows, no changes"


def _cell(value):
    text = "" if value is None else str(value)
    if len(text) > 200:
        text = text[:199] + "\u2026"
    return f'<td style="{_STYLE}">{html.escape(text)}</td>'


def _connection(names, wanted):
    """The connection among the variables of a notebook."""
    candidates = [wanted] if wanted else ["connection", "conn", "db"]
    for name in candidates:
        found = names.get(name)
        if isinstance(found, Database):
            return Connection(found)
        if hasattr(found, "execute"):
            return found
    looked = ", ".join(f"`{name}`" for name in candidates)
    raise NameError(
        f"%%cypher: {looked} is no connection or database of this notebook: "
        'write connection = graven.Connection(graven.Database("x.graven")), or %%cypher NAME'
    )


#: Text, quoted names and comments, in which a ``$`` means nothing; then a parameter.
_PARAMETER = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|//[^\n]*|/\*.*?\*/|\$([A-Za-z_]\w*)", re.DOTALL
)


def _parameters(statement, names):
    """Variables that the statement names as parameters; what is missing, the database tells."""
    found = {match.group(1) for match in _PARAMETER.finditer(statement)} - {None}
    return {name: names[name] for name in found if name in names}


class _Clock:
    """Shows how long a statement has been running, once that is more than a second."""

    def __enter__(self):
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def _run(self):
        began, handle = time.monotonic(), None
        while not self._ended.wait(1.0):
            from IPython.display import HTML, display

            bar = f"<progress></progress> running for {time.monotonic() - began:.0f} s (interrupt the cell to stop it)"
            if handle is None:
                handle = display(HTML(bar), display_id=True)
            else:
                handle.update(HTML(bar))
        if handle is not None:
            from IPython.display import HTML

            handle.update(HTML(f"<small>{time.monotonic() - began:.1f} s</small>"))

    def __exit__(self, *error):
        self._ended.set()
        self._thread.join()


def cypher(shell, line, cell=None):
    """What ``%cypher`` and ``%%cypher`` do: ``%%cypher [CONNECTION] [--as NAME] [--draw]``."""
    names = shell.user_ns
    wanted = store = None
    drawing = False
    statement = cell
    if cell is None:
        statement = line
    else:
        words = line.split()
        while words:
            word = words.pop(0)
            if word == "--as" and words:
                store = words.pop(0)
            elif word == "--draw":
                drawing = True
            elif word.startswith("-") or wanted:
                raise ValueError(f"%%cypher: `{word}` is not known: write %%cypher [CONNECTION] [--as NAME] [--draw]")
            else:
                wanted = word
    if not statement.strip():
        raise ValueError("%%cypher: there is no statement")
    connection = _connection(names, wanted)
    with _Clock():
        result = connection.execute(statement, _parameters(statement, names))
    if isinstance(result, list):
        # Several statements: the last one is shown.
        result = result[-1]
    if store:
        names[store] = result
    return draw(result) if drawing else result


def load_ipython_extension(shell):
    """What ``%load_ext graven`` does."""
    shell.register_magic_function(lambda line, cell=None: cypher(shell, line, cell), "line_cell", "cypher")
