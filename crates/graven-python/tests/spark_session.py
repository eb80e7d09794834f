"""A session of Spark with executors in processes of their own, for the tests; or why there is none."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys


def missing():
    """What keeps Spark from being tested here; None where nothing does."""
    for package in ("pyspark", "pyarrow", "pandas"):
        if importlib.util.find_spec(package) is None:
            return f"the package {package} is not installed"
    if importlib.util.find_spec("pyspark.sql.datasource") is None:
        return "pyspark is older than 4.0"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no java"
    return None


def session(master="local-cluster[2,1,1024]"):
    """The session; executors import what this process imports."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # A class of the tests travels with its module.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("graven")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        # The tables are small: to compile each question would take longer than to answer it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.executor.memory": "1024m",
        "spark.log.level": "ERROR",
        "spark.task.maxFailures": "1",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
