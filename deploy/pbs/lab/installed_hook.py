"""cosched's hook and its resources on one cluster, installed as at a site."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from deploy.pbs.lab.cluster import PbsCluster

HOOK = Path(__file__).resolve().parents[1] / "hooks" / "cosched_hook.py"
_STRINGS = ("pair", "mate", "group", "ends_with", "if_requeued", "together_for")
_RESOURCES = (
    *(f"create resource {name} type=string,flag=m" for name in _STRINGS),
    *(f"create resource {name} type=boolean,flag=m" for name in ("or_alone", "fail_together", "adoptable")),
    "create resource cosched_holder type=string,flag=h",
)


def install_hook(cluster: PbsCluster, peers: Sequence[str] = ("eureka",), *, resources: bool = True) -> Path:
    """Install the hook, and the resources; return the socket of the service."""
    socket, settings = cluster.folder / "hooks.sock", cluster.folder / "cosched.json"
    settings.write_text(json.dumps({"socket": str(socket), "domain": cluster.name, "peers": peers}))
    cluster.qmgr(
        *(_RESOURCES if resources else ()),
        'create hook cosched event="runjob,queuejob,modifyjob,movejob,jobobit"',
        f"import hook cosched application/x-python default {HOOK}",
        f"import hook cosched application/x-config default {settings}",
        "set hook cosched alarm = 10",
    )
    known = cluster.path("mom_priv/hooks/resourcedef")
    cluster.wait_for(lambda: known.exists() and "group" in known.read_text(), "the MoM to know the resources")
    return socket
