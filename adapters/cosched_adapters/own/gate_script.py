"""The gate: what a user's own service gives to sbatch or qsub in the place of the user's script.

It keeps the script's `#SBATCH` or `#PBS` lines, waits in the allocation for the word of the service, and then becomes
the script, by exec: the arguments, exit code, signals, standard streams and `$0` are as without it. It speaks by two
files in a folder that login node and compute nodes share, whose names begin with the job's id:

    ID.told     the gate appends lines `TURN WORD ...`: ready nodes=N nodelist=LIST [locked], `starting soon` at an
                answer, `started` right before its script begins, gone; it keeps the file locked while it waits for
                an answer, where that is possible
    ID.answer   the service overwrites it: `TURN parked NUMBER`, now and then; or `TURN start AT NOW`, in seconds since
                1970 (AT 0: now), and lines NAME=VALUE for the script's environment

TURN grows when the batch system has queued the job again. Both files are read by opening them anew, so that NFS shows
what was written last. When the answer has not changed for `patience` seconds, there is no service: the gate lets the
script start alone, or has the job queued again, as the file `patience` says. Before that it runs the script `restart`
beside the folder, which starts the service again where it was. The file `patience` is one line, which `cosched submit`
reads too: SECONDS start|requeue HOLD_TIME [HOST:PORT], the last for nodes that do not see the folder (gate_relay).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 120  # seconds
_COMMENT = re.compile(rb"\s*(?:#.*)?")
_TCP = r"""
H=%(host)s Q=%(port)d I='%(inner)s' O='%(outer)s'
gate_mac() {
    local inner
    inner=$({ printf "$I"; printf %%s "$1"; } | sha256sum)
    { printf "$O"; printf "$(sed 's/../\\x&/g' <<< "${inner%%%% *}")"; } | sha256sum | cut -c1-64
}
gate_tcp() {
    local c n m t w line L=$SECONDS
    while [ $((SECONDS - L)) -lt "$P" ]; do
        if { exec 8<> "/dev/tcp/$H/$Q"; } 2> /dev/null && read -r -t 10 n <&8; then
            c=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
            m="$J $T ready $M"
            echo "$c $(gate_mac "$n $c $m") $m" >&8
            while read -r -t 30 m line <&8 && [ "$m" = "$(gate_mac "$c $n $line")" ]; do
                L=$SECONDS
                read -r t w at now <<< "${line%%%%$'\x1f'*}"
                [ "$t $w" = "$T start" ] || continue
                E=${line//$'\x1f'/$'\n'}
                D=0
                case $now in *.*) D=$((${now/./} - $(gate_now))) ;; esac
                echo "$(gate_mac "$n $c starting") starting" >&8
                exec 8>&-
                return 0
            done
        fi
        sleep 1
    done
    return 1
}
"""
_GATE = r"""
{
G=%(folder)s R=%(raised)d P=%(patience)d W=start K= A=-30
%(job)s
gate_says() { echo "cosched: $*" >&2; }
gate_told() { { echo "$T $*" >> "$G/$J.told"; } 2> /dev/null; }
gate_now() { date +%%s%%6N; }
gate_tcp() { P=0; return 1; }
%(tcp)strap 'gate_told gone; exit 143' TERM
trap : USR1 USR2 HUP INT
if { : >> "$G/$J.answer"; } 2> /dev/null; then
    { read -r P W _ < "$G/patience"; } 2> /dev/null
    { exec 9>> "$G/$J.told" && flock -w 2 9 && K=locked; } 2> /dev/null
    gate_told ready "$M" $K
    L=$SECONDS S=
    while :; do
        { read -r t w at now < "$G/$J.answer"; } 2> /dev/null
        [ "$t $w" = "$T start" ] && break
        [ "$t $w $at" = "$S" ] || { S="$t $w $at"; L=$SECONDS; }
        if [ $((SECONDS - L)) -ge $((P / 4)) ] && [ $((SECONDS - A)) -ge 30 ] && [ -f "$G/../restart" ]; then
            A=$SECONDS
            sh "$G/../restart" < /dev/null > /dev/null 2>&1 9>&- &
        fi
        if [ $((SECONDS - L)) -ge "$P" ]; then
            at=0 now=
            if [ "$W" = requeue ] && gate_told gone && %(requeue)s; then sleep 60; fi
            gate_says "no word from the service for $P s: this job starts without its mate"
            break
        fi
        sleep 0.1 9>&-
    done
    D=0
    case $now in *.*) D=$((${now/./} - $(gate_now))) ;; esac
    gate_told starting soon
    exec 9>&-
    R=$((R - (SECONDS + 59) / 60))
    if [ "$R" -gt 0 ]; then %(trim)s > /dev/null 2>&1 & fi
    E=$(< "$G/$J.answer")
elif ! gate_tcp; then
    at=0 D=0 E=
    gate_says "$(hostname) does not see $G: this job starts without its mate; compute nodes must share that folder"
    [ "$P" = 0 ] || gate_says "nor has the service answered at $H:$Q for $P s"
fi
while read -r t; do case $t in COSCHED_*=*) export "${t?}" ;; esac; done <<< "$E"
B=$G/$J.script
[ -w "$G" ] || B=$(mktemp)
tail -n +%(lines)d "$0" > "$B"
if { chmod u+rwx "$0" && cat "$B" > "$0"; } 2> /dev/null; then rm -f "$B"; B=$0; else chmod 700 "$B"; fi
case $at in *.*) N=$((${at/./} - $(gate_now))) ;; *) N=0 ;; esac
if [ "$D" -gt 1000000 ]; then
    N=$((N - D))
    gate_says "the clock of $(hostname) is $((D / 1000000)) s behind the service's: tell the site"
fi
if [ "$N" -gt 0 ]; then sleep "$(printf '%%d.%%06d' $((N / 1000000)) $((N %% 1000000)))"; fi
gate_told started
unset -f gate_says gate_told gate_now gate_tcp
exec "$B" "$@"
exit 126
}
"""


@dataclass(frozen=True, slots=True)
class GateWords:
    """What a batch system's gates say in its own way, in bash: lines that set J, T and M, and commands."""

    job: str  # J is the job's id, T the turn, M nodes=N nodelist=LIST; G is the folder
    requeue: str = "false"  # queues job J again
    trim: str = ":"  # lowers its time limit by R minutes


def over_tcp(host: str, port: int, key: bytes) -> str:
    """Return the part of a gate that reaches the service where its folder is not seen (gate_relay)."""
    padded = key.ljust(64, b"\0")  # a block of SHA-256
    inner, outer = ("".join(f"\\x{byte ^ pad:02x}" for byte in padded) for pad in (0x36, 0x5C))
    return _TCP % {"host": shlex.quote(host), "port": port, "inner": inner, "outer": outer}


def gated(
    script: bytes, folder: Path, system: GateWords, patience: int = PATIENCE, raised: int = 0, tcp: str = ""
) -> bytes:
    """Return the gate with a script that begins with `#!`; `folder` is where both sides write.

    `raised`: by how many minutes the job's time limit was raised so that it can wait; it falls again at the start.
    `tcp`: from `over_tcp`.
    """
    _, *rest = script.split(b"\n")
    comments = []
    for line in rest:
        if not _COMMENT.fullmatch(line):
            break
        comments.append(line)
    head = b"\n".join([b"#!/bin/bash", *comments])
    words: dict[str, object] = {
        "folder": shlex.quote(str(folder)), "patience": patience, "raised": raised, "tcp": tcp,
        "job": system.job, "requeue": system.requeue, "trim": system.trim,
    }  # fmt: skip
    lines = head.count(b"\n") + (_GATE % {**words, "lines": 0}).count("\n") + 1
    return head + (_GATE % {**words, "lines": lines}).encode("utf-8", "surrogateescape") + script
