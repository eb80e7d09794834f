"""Graven's graphs in Apache Spark 4: frames of nodes and relationships, and the same Cypher on
Spark's own operators.

    import graven.spark

    graven.spark.register(spark)
    people = spark.read.format("graven").option("path", "social.graven").option("label", "Person").load()

Needs the packages pyspark (4.0 or later), pyarrow and pandas: ``pip install 'graven[spark]'``.
"""

try:
    import pyarrow  # noqa: F401
    import pyspark.sql.datasource  # noqa: F401
except ImportError as error:
    raise ImportError(f"graven.spark needs pyspark 4.0 or later and pyarrow ({error}): pip install 'graven[spark]'") from error

from .graph import Graph
from .kinds import NotTranslated
from .source import GravenDataSource, register

__all__ = ["GravenDataSource", "Graph", "NotTranslated", "cypher", "register"]


def cypher(spark, snapshot, text, parameters=None, **options):
    """The rows of a statement that only reads, computed by Spark's own operators on the frames of a database.

    ``snapshot`` is a database file or the URL of a published snapshot, ``options`` are those of :class:`Graph`. Values are those that
    Graven gives. Raises :class:`NotTranslated` with the name of the operator or function that has no equal on Spark.
    """
    return Graph(spark, snapshot, **options).cypher(text, parameters)
