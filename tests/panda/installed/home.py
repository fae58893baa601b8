"""An installed panda-server on a PostgreSQL: the configuration that it reads as it is imported."""

import os
import sys
from pathlib import Path

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
dbhost = 127.0.0.1
dbport = {port}
dbuser = {user}
dbpasswd = {password}
dbname = {database}
nDBConnection = 1
useJEDI = True
schemaPANDA = doma_panda
schemaPANDAARCH = doma_pandaarch
schemaMETA = doma_pandameta
schemaJEDI = doma_panda
schemaDEFT = doma_deft
schemaGRISLI = doma_panda
schemaEI = doma_panda
logdir = {home}/log
cache_dir = {home}/cache
pserverhost = localhost
pserverport = 25443
pserverhosthttp = localhost
pserverporthttp = 25080
setupper_plugins = any:plugins:Setupper
adder_plugins = any:plugins:Adder
"""

JEDI = """\
[master]
loggername = prod
[db]
dbhost = 127.0.0.1
dbport = {port}
dbuser = {user}
dbpasswd = {password}
dbname = {database}
nWorkers = 1
[ddm]
modConfig = any:1:none:None::off
voWithScope = atlas
user_scope_in_lowercase = True
[taskrefine]
modConfig = any:any:pandajedi.jedirefine.GenTaskRefiner:GenTaskRefiner
nWorkers = 1
[confeeder]
nWorkers = 1
checkInterval = 1
[jobbroker]
modConfig = {broker}
[jobthrottle]
modConfig = any:any:pandajedi.jedithrottle.GenJobThrottler:GenJobThrottler
[jobgen]
nWorkers = 1
lockInterval = 1
nFiles = 1000
nTasks = 100
typicalNumFile = any:any:any:100
touchSandbox = False
[tasksetup]
modConfig = any:any:pandajedi.jedisetup.SimpleTaskSetupper:SimpleTaskSetupper
[postprocessor]
modConfig = any:any:pandajedi.jedipprocess.GenPostProcessor:GenPostProcessor
nWorkers = 1
nTasks = 100
"""


def prepare(home: Path, **settings: object) -> None:
    """Writes the configuration and makes it the one that PanDA reads; before anything of PanDA is
    imported."""
    folder = home / "etc" / "panda"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("log", "cache"):
        (home / name).mkdir(exist_ok=True)
    for name, text in (("common", COMMON), ("server", SERVER), ("jedi", JEDI)):
        (folder / f"panda_{name}.cfg").write_text(text.format(home=home, **settings))
    os.environ["PANDA_HOME"] = str(home)
    import pandacommon.liveconfigparser
    import pandacommon.liveconfigparser.LiveConfigParser as parser

    # pandajedi names a package of old, which panda-common has inside of itself now.
    sys.modules.setdefault("liveconfigparser", pandacommon.liveconfigparser)
    sys.modules.setdefault("liveconfigparser.LiveConfigParser", parser)
    import pandaserver

    # As PanDA's own set-up of the environment has it: pandajedi names a package inside of
    # pandaserver.
    sys.path.extend(pandaserver.__path__)
