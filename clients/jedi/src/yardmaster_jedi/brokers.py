"""The classes that `panda_jedi.cfg` names."""

from yardmaster_jedi.job_brokers import YardmasterAnalJobBroker, YardmasterProdJobBroker
from yardmaster_jedi.task_brokers import YardmasterProdTaskBroker

__all__ = ["YardmasterAnalJobBroker", "YardmasterProdJobBroker", "YardmasterProdTaskBroker"]
