"""The gate: what a user's own service gives to sbatch in the place of the user's script.

It keeps the script's `#SBATCH` lines, waits in the allocation for the word of the service, and then becomes the script,
by exec: the arguments, exit code, signals, standard streams and `$0` are as without it. It speaks by two files in a
folder that login node and compute nodes share, whose names begin with the job's id:

    ID.told     the gate appends lines `TURN WORD ...`: ready nodes=N nodelist=LIST [locked], starting, gone; it keeps
                the file locked while it waits, where that is possible
    ID.answer   the service overwrites it: `TURN parked NUMBER`, now and then; or `TURN start AT NOW`, in seconds since
                1970 (AT 0: now), and lines NAME=VALUE for the script's environment

TURN counts how often Slurm has queued the job again. Both files are read by opening them anew, so that NFS shows what
was written last. When the answer has not changed for `patience` seconds, there is no service: the gate lets the script
start alone, or has Slurm queue the job again, as the file `patience` says (SECONDS start|requeue HOLD). Before that it
runs the script `restart` beside the folder, which starts the service again where it was.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

PATIENCE = 120  # seconds
CHOICES = ("start", "requeue")
_COMMENT = re.compile(rb"\s*(?:#.*)?")
_GATE = r"""
{
G=%(folder)s R=%(raised)d J=$SLURM_JOB_ID T=${SLURM_RESTART_COUNT:-0} P=%(patience)d W=start K= A=-30
gate_says() { echo "cosched: $*" >&2; }
gate_told() { { echo "$T $*" >> "$G/$J.told"; } 2> /dev/null; }
gate_now() { date +%%s%%6N; }
trap 'gate_told gone; exit 143' TERM
trap : USR1 USR2 HUP INT
if { : >> "$G/$J.answer"; } 2> /dev/null; then
    { read -r P W _ < "$G/patience"; } 2> /dev/null
    { exec 9>> "$G/$J.told" && flock -w 2 9 && K=locked; } 2> /dev/null
    gate_told ready "nodes=$SLURM_JOB_NUM_NODES" "nodelist=$SLURM_JOB_NODELIST" $K
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
            if [ "$W" = requeue ] && gate_told gone && scontrol requeue "$J"; then sleep 60; fi
            gate_says "no word from the service for $P s: this job starts without its mate"
            break
        fi
        sleep 0.1 9>&-
    done
    D=0
    case $now in *.*) D=$((${now/./} - $(gate_now))) ;; esac
    gate_told starting
    exec 9>&-
    R=$((R - (SECONDS + 59) / 60))
    if [ "$R" -gt 0 ]; then scontrol update "jobid=$J" "timelimit=-$R" > /dev/null 2>&1 & fi
    while read -r t; do case $t in COSCHED_*=*) export "${t?}" ;; esac; done < "$G/$J.answer"
else
    at=0 D=0
    gate_says "$(hostname) does not see $G: this job starts without its mate; compute nodes must share that folder"
fi
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
unset -f gate_says gate_told gate_now
exec "$B" "$@"
exit 126
}
"""


def gated(script: bytes, folder: Path, patience: int = PATIENCE, raised: int = 0) -> bytes:
    """Return the gate with a script that begins with `#!`; `folder` is where both sides write.

    `raised`: by how many minutes the job's time limit was raised so that it can wait; it falls again at the start.
    """
    _, *rest = script.split(b"\n")
    comments = []
    for line in rest:
        if not _COMMENT.fullmatch(line):
            break
        comments.append(line)
    head = b"\n".join([b"#!/bin/bash", *comments])
    words = {"folder": shlex.quote(str(folder)), "patience": patience, "raised": raised}
    lines = head.count(b"\n") + (_GATE % {**words, "lines": 0}).count("\n") + 1
    return head + (_GATE % {**words, "lines": lines}).encode("utf-8", "surrogateescape") + script
