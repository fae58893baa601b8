"""The classes that `panda_jedi.cfg` names."""

from yardmaster_jedi.job_brokers import (
    YardmasterAnalJobBroker,
    YardmasterGenJobBroker,
    YardmasterProdJobBroker,
)
from yardmaster_jedi.task_brokers import YardmasterProdTaskBroker

__all__ = [
    "YardmasterAnalJobBroker",
    "YardmasterGenJobBroker",
    "YardmasterProdJobBroker",
    "YardmasterProdTaskBroker",
]
