"""The name ``kuzu`` for :mod:`graven.kuzu`: with this folder on the path, programs and tests for Kuzu run as they stand."""

import sys

import graven.kuzu

sys.modules[__name__] = graven.kuzu
