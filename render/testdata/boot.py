"""Boots the user-data in each root below a folder, as one instance, with cloud-init's own code."""
import glob
import json
import os
import stat
import sys

from cloudinit import helpers, subp, util
from cloudinit.config import cc_write_files
from cloudinit.settings import PER_INSTANCE

cloud = "/var/lib/cloud"


def folders():
    found = {}
    for top in ("/etc", "/opt", "/var", "/home", "/srv"):
        for path, _, _ in os.walk(top):
            found[path] = stat.S_IMODE(os.stat(path).st_mode)
    return found


def boot(root, instance):
    os.chroot(root)
    os.chdir("/")
    with open("/user-data") as f:
        config = util.load_yaml(f.read())
    os.makedirs(cloud + "/instances/" + instance, exist_ok=True)
    if os.path.lexists(cloud + "/instance"):
        os.remove(cloud + "/instance")
    os.symlink("instances/" + instance, cloud + "/instance")
    with open("/run/bootcmd", "wb") as f:
        f.write(util.encode_text(util.shellify(config["bootcmd"])))
    subp.subp(["/bin/sh", "/run/bootcmd"], capture=False)
    with open("/folders.json", "w") as f:
        json.dump(folders(), f)
    semaphores = helpers.FileSemaphores(cloud + "/instance/sem")
    with semaphores.lock("config-write_files", PER_INSTANCE) as lock:
        if lock:
            cc_write_files.write_files(
                "write_files", config.get("write_files", []), "root:root"
            )


os.umask(0o022)
for root in sorted(glob.glob(sys.argv[1] + "/root-*")):
    child = os.fork()
    if child == 0:
        boot(root, sys.argv[2])
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("%s: it did not boot" % root)
