"""The data source ``graven`` of Spark: its schema, its reader and its writer."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader

from . import frames
from .options import Options
from .reader import Reader
from .writer import Writer


class GravenDataSource(DataSource):
    """``spark.read.format("graven")`` and ``df.write.format("graven")``, after :func:`graven.spark.register`."""

    @classmethod
    def name(cls):
        """What stands in ``format()``."""
        return "graven"

    def schema(self):
        """Columns and types, from the database."""
        options = Options(self.options)
        with options.open() as database, database.connect() as connection:
            return frames.schema(connection, options)

    def reader(self, schema):
        """What reads the columns of a schema."""
        return Reader(Options(self.options), schema)

    def writer(self, schema, overwrite):
        """What loads rows of a schema into the database."""
        return Writer(Options(self.options), schema, overwrite)


def register(spark):
    """Makes ``format("graven")`` known to a session; a second time does no harm.

    From 4.1 on Spark reads nothing from a source that takes filters before its setting for them is on: it is turned on for the session.
    """
    spark.dataSource.register(GravenDataSource)
    if hasattr(DataSourceReader, "pushFilters"):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
