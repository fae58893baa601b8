"""PanDA's server as installed, with a configuration of its own, and a Kafka.

The Kafka is the one that YARDMASTER_TEST_KAFKA names; without one librdkafka's mock, which knows no
transactions, stands in.
"""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

COMMON = """\
[logger]
loghost = localhost
monport-apache = 80
method = GET
encoding = url
loghost_new = localhost
monport-apache_new = 8081
method_new = POST
encoding_new = json
monurlprefix = /logger
logdir = {home}/log
nemitters = 1
migrated = True
log_level = DEBUG
rotating_policy = none
"""

SERVER = """\
[server]
backend = postgres
dbhost = localhost
dbport = 5432
dbuser = none
dbpasswd = none
dbname = none
schemaPANDA = panda
schemaPANDAARCH = panda
schemaMETA = panda
schemaJEDI = panda
schemaDEFT = panda
schemaGRISLI = panda
schemaEI = panda
logdir = {home}/log
pserverhost = localhost
pserverport = 25443
pserverhosthttp = localhost
pserverporthttp = 25080
"""

JEDI = """\
[jobbroker]
modConfig = atlas:any:yardmaster_jedi.brokers:YardmasterProdJobBroker,\
atlas:user:yardmaster_jedi.brokers:YardmasterAnalJobBroker,\
wlcg:any:yardmaster_jedi.brokers:YardmasterGenJobBroker
[taskbroker]
modConfig = atlas:any:yardmaster_jedi.brokers:YardmasterProdTaskBroker
[ddm]
modConfig = atlas:1:pandajedi.jediddm.AtlasDDMClient:AtlasDDMClient
"""


def _panda_home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="panda-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "log").mkdir()
    folder = home / "etc" / "panda"
    folder.mkdir(parents=True)
    for name, text in (("common", COMMON), ("server", SERVER), ("jedi", JEDI)):
        (folder / f"panda_{name}.cfg").write_text(text.replace("{home}", str(home)))
    return home


# Before anything of PanDA is imported: it reads its configuration then.
os.environ["PANDA_HOME"] = str(_panda_home())

import pandacommon.liveconfigparser  # noqa: E402
import pandacommon.liveconfigparser.LiveConfigParser as LiveConfigParser  # noqa: E402

# pandajedi names a package of old, which panda-common has inside of itself now.
sys.modules.setdefault("liveconfigparser", pandacommon.liveconfigparser)
sys.modules.setdefault("liveconfigparser.LiveConfigParser", LiveConfigParser)


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """Address of a Kafka."""
    named = os.environ.get("YARDMASTER_TEST_KAFKA")
    if named:
        yield named
        return
    mock = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1})
    broker = next(iter(mock.list_topics(timeout=10).brokers.values()))
    yield f"{broker.host}:{broker.port}"


@pytest.fixture(autouse=True)
def rucio() -> None:
    """Rucio that knows nothing and was asked nothing."""
    from rucio_stub import use_fake_rucio

    use_fake_rucio()


@pytest.fixture
def place(tmp_path: Path, bootstrap: str) -> Iterator[Any]:
    """A place where brokers run, in mode lead."""
    from place import Place

    made = Place(tmp_path, bootstrap)
    made.configure()
    yield made
    made.close()
