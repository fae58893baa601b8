"""Broker classes for PanDA's JEDI that ask Yardmaster: those of `brokers`."""

__version__ = "0.1.0"
