------------------------------- MODULE Groups ------------------------------
(* Groups: one job on each of several domains, which start together. The rules are those of docs/coscheduling.md.    *)
(*                                                                                                                   *)
(* All jobs have the same size, and all groups one job on each domain. A domain's number is its rank. As in Pairs    *)
(* there are no clocks. Nothing goes wrong: each message arrives once, and a job proposes again only when nothing of *)
(* its last proposal is under way, so proposals need no numbers. Faults are in Promises.                             *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
    Order,             \* [domain -> sequence of groups]: the policy order of its queue
    Scheme,            \* [domain -> "hold" or "yield"]
    Places,            \* jobs that a machine has room for at once
    Holding,           \* the jobs <<group, domain>> that hold at the beginning: their mates came later; others queue
    CallsCross,        \* whether others propose while a proposal is under way; in simulations they do not
    (* The rules. Each can be switched off. *)
    ReleaseTimer,      \* a hold ends some time
    Jitter,            \* timers do not fire while domains are busy with each other
    LooksAgain,        \* after yields with no event to come, an iteration follows some time
    WantedAnyway,      \* while a member holds every other is wanted; else only those that were asked while they queued
    WantedReleased,    \* also those that were just released; else released jobs come last
    GivesWay,          \* no member holds while another group, which comes before its own, waits for nodes in its domain
    Rank,              \* of two that propose the lower ranked goes on; else each gives way to the other
    KeepAndAsk,        \* on "busy" a proposer keeps what it has booked, and asks again; else that counts as "no"
    Pauses             \* when a drop gives back nodes, jobs that have yielded at this instant are not looked at again yet

Domains == DOMAIN Order
Groups == {Order[d][i] : d \in Domains, i \in 1..Len(Order[1])}
Jobs == {<<g, d>> : g \in Groups, d \in Domains}
Of(d) == {j \in Jobs : j[2] = d}
Others(j) == {k \in Jobs : k[1] = j[1] /\ k # j}
Rest(j) == {k[2] : k \in Others(j)}

VARIABLES
    job,        \* what a domain knows of its job
    net,        \* the messages
    released,   \* [domain -> the jobs whose holds have ended at this instant]
    passed,     \* the jobs that have yielded at this instant
    starts      \* [job -> the proposals by which it really has started]

vars == <<job, net, released, passed, starts>>

Nobody == 0
New == [st |-> "queued",
        booked |-> Nobody,                     \* the domain whose proposal books it
        phase |-> "none",                      \* of its own proposal: asking, decided
        yes |-> {}, busy |-> {},               \* the domains that have answered so
        asked |-> FALSE]                       \* somebody asked for it while it queued, in vain

Init == /\ job = [j \in Jobs |-> IF j \in Holding THEN [New EXCEPT !.st = "holding"] ELSE New]
        /\ net = {}
        /\ released = [d \in Domains |-> {}]
        /\ passed = {}
        /\ starts = [j \in Jobs |-> {}]

IsBooked(j) == job[j].booked # Nobody
Takes(j) == job[j].st \in {"ready", "holding", "running"} \/ IsBooked(j)
Free(d) == Places - Cardinality({j \in Of(d) : Takes(j)})

NewInstant(d, jobs) == /\ released' = [released EXCEPT ![d] = jobs]
                       /\ passed' = passed \ Of(d)
SameInstant == UNCHANGED <<released, passed>>

---------------------------------------------------------------------------
(* Messages: all name the proposal, by group and proposer, and the member. *)

Msg(kind, o, d, what) == [kind |-> kind, g |-> o[1], o |-> o[2], d |-> d, what |-> what]
Sends(messages) == net' = net \cup messages
Consumes(m, messages) == net' = (net \ {m}) \cup messages

Questions(j, ds) == {Msg("propose", j, d, "") : d \in ds}
Drops(j, refusing) == {Msg("settle", j, d, "drop") : d \in Rest(j) \ refusing}

---------------------------------------------------------------------------
(* The scheduler of a domain *)

Wanted(j) == /\ \E k \in Others(j) : job[k].st = "holding"
             /\ WantedAnyway \/ job[j].asked
             /\ WantedReleased \/ j \notin released[j[2]]

Class(j) == IF released[j[2]] = {} THEN 1
            ELSE IF Wanted(j) THEN 0
            ELSE IF j \in released[j[2]] THEN 2
            ELSE 1
Position(j) == CHOOSE i \in 1..Len(Order[j[2]]) : Order[j[2]][i] = j[1]
Before(j, k) == Class(j) < Class(k) \/ (Class(j) = Class(k) /\ Position(j) <= Position(k))

Choice(d) == IF Free(d) <= 0 THEN {} ELSE {k \in Of(d) : job[k].st = "queued" /\ ~IsBooked(k) /\ k \notin passed}

(* Nothing is under way, and no iteration is to come. *)
Quiet == /\ net = {}
         /\ \A j \in Jobs : job[j].st = "ready" => IsBooked(j) \/ job[j].phase = "asking"
         /\ \A d \in Domains : Choice(d) = {}

(* RunJob, step 2. The questions of step 1 change nothing: here who has not got as far answers "no". *)
Proposes(j) ==
    /\ ~CallsCross => net = {} /\ \A k \in Jobs : job[k].phase # "asking"
    /\ \A m \in net : <<m.g, m.o>> # j
    /\ job' = [job EXCEPT ![j].st = "ready", ![j].phase = "asking"]
    /\ Sends(Questions(j, Rest(j)))
    /\ SameInstant
    /\ UNCHANGED starts

Ready(j) == /\ j \in Choice(j[2])
            /\ \A k \in Choice(j[2]) : Before(j, k)
            /\ Proposes(j)

Release(j) == /\ ReleaseTimer
              /\ job[j].st = "holding"
              /\ ~IsBooked(j)
              /\ Jitter => Quiet
              /\ job' = [job EXCEPT ![j].st = "queued"]
              /\ NewInstant(j[2], {j})
              /\ UNCHANGED <<net, starts>>

(* To have few states, a group ends as a whole. *)
End(g) == /\ \A j \in Jobs : j[1] = g => job[j].st = "running"
          /\ job' = [j \in Jobs |-> IF j[1] = g THEN [job[j] EXCEPT !.st = "ended"] ELSE job[j]]
          /\ released' = [d \in Domains |-> {}]
          /\ passed' = {}
          /\ UNCHANGED <<net, starts>>

LookAgain(d) == /\ LooksAgain
                /\ Jitter => Quiet
                /\ passed \cap Of(d) # {}
                /\ NewInstant(d, {})
                /\ UNCHANGED <<job, net, starts>>

---------------------------------------------------------------------------
(* The proposer *)

(* A job whose booking was dropped begins anew. *)
BeginsAnew(j) == job[j].st = "ready" /\ job[j].phase = "none" /\ ~IsBooked(j) /\ Proposes(j)

(* The groups' numbers are the order in which they go first. *)
MustGiveWay(j) == GivesWay /\ \E k \in Of(j[2]) : /\ k[1] < j[1]
                                                /\ job[k].st = "queued"
                                                /\ \E o \in Others(k) : job[o].st = "holding"
Holds(j) == Scheme[j[2]] = "hold" /\ ~MustGiveWay(j)

(* What the job is after its own proposal was dropped: it holds or yields. *)
Waits(j, r) == [r EXCEPT !.st = IF Holds(j) THEN "holding" ELSE "queued", !.phase = "none",
                         !.yes = {}, !.busy = {}]
PassedOver(j) == /\ passed' = IF Holds(j) THEN passed ELSE passed \cup {j}
                 /\ UNCHANGED released

(* The proposal is dropped, on record, and all are told that have not said no. *)
DropsIt(j, m, refusing) == /\ job' = [job EXCEPT ![j] = Waits(j, @)]
                           /\ Consumes(m, Drops(j, refusing))
                           /\ PassedOver(j)
                           /\ UNCHANGED starts

(* All have booked. It is decided: j starts, and all others are to. *)
Decides(j, m) == /\ job' = [job EXCEPT ![j].st = "running", ![j].phase = "decided", ![j].yes = {}]
                 /\ starts' = [starts EXCEPT ![j] = @ \cup {j[2]}]
                 /\ Consumes(m, {Msg("settle", j, d, "start") : d \in Rest(j)})
                 /\ SameInstant

Notes(j, m, record) == /\ job' = [job EXCEPT ![j] = record]
                       /\ Consumes(m, {})
                       /\ SameInstant
                       /\ UNCHANGED starts

Answered(j, m) ==
    LET counts == job[j].phase = "asking"
        yes == job[j].yes \cup {m.d}
    IN /\ m.kind = "answer"
       /\ j = <<m.g, m.o>>
       /\ CASE ~counts -> Notes(j, m, job[j])
            [] counts /\ (m.what = "no" \/ (m.what = "busy" /\ ~KeepAndAsk)) -> DropsIt(j, m, {m.d})
            [] counts /\ m.what = "busy" /\ KeepAndAsk -> Notes(j, m, [job[j] EXCEPT !.busy = @ \cup {m.d}])
            [] counts /\ m.what = "yes" /\ yes # Rest(j) -> Notes(j, m, [job[j] EXCEPT !.yes = yes])
            [] counts /\ m.what = "yes" /\ yes = Rest(j) -> Decides(j, m)

AskAgain(j) == /\ job[j].phase = "asking"
               /\ job[j].busy # {}
               /\ job' = [job EXCEPT ![j].busy = {}]
               /\ net' = net \cup Questions(j, job[j].busy)
               /\ UNCHANGED <<released, passed, starts>>

Lower(d, e) == ~Rank \/ d < e

Answer(k, o) ==
    LET r == job[k]
    IN CASE r.st \in {"running", "ended"} -> "no"
         [] r.booked = o -> "yes"
         [] IsBooked(k) -> "busy"
         [] r.st = "holding" -> "yes"
         [] r.st = "ready" -> IF r.phase = "asking" /\ ~Lower(o, k[2]) THEN "busy" ELSE "yes"
         [] r.st = "queued" -> IF Free(k[2]) > 0 THEN "yes" ELSE "no"

(* Patience is longer than any exchange of messages: to ask again would change nothing. *)
InVain(j) == /\ \A m \in net : m.kind = "propose"
             /\ \A m \in net : job[<<m.g, m.d>>].phase # "asking" /\ Answer(<<m.g, m.d>>, m.o) = "busy"
             /\ \A d \in job[j].busy : Answer(<<j[1], d>>, j[2]) = "busy"

OutOfPatience(j) == /\ job[j].phase = "asking"
                    /\ job[j].busy # {}
                    /\ Jitter => InVain(j)
                    /\ job' = [job EXCEPT ![j] = Waits(j, @)]
                    /\ net' = net \cup Drops(j, {})
                    /\ PassedOver(j)
                    /\ UNCHANGED starts

---------------------------------------------------------------------------
(* The member that is asked *)

(* A ready job that proposes itself drops its own proposal first. *)
Asked(k, m) ==
    LET answer == Answer(k, m.o)
        gives_way == answer = "yes" /\ job[k].phase = "asking"
        asked == [job[k] EXCEPT !.asked = ~WantedAnyway /\ (@ \/ (answer = "no" /\ job[k].st = "queued"))]
        booked == [job[k] EXCEPT !.booked = m.o, !.yes = {}, !.busy = {},
                                 !.phase = IF gives_way THEN "none" ELSE @]
    IN /\ m.kind = "propose"
       /\ k = <<m.g, m.d>>
       /\ job' = [job EXCEPT ![k] = IF answer = "yes" THEN booked ELSE asked]
       /\ Consumes(m, {[m EXCEPT !.kind = "answer", !.what = answer]} \cup IF gives_way THEN Drops(k, {}) ELSE {})
       /\ SameInstant
       /\ UNCHANGED starts

Overtakes(m) == \E other \in net : other.kind = "propose" /\ <<other.g, other.o, other.d>> = <<m.g, m.o, m.d>>

Settled(k, m) ==
    LET its == job[k].booked = m.o
    IN /\ m.kind = "settle"
       /\ k = <<m.g, m.d>>
       /\ ~Overtakes(m)
       /\ Consumes(m, {})
       /\ job' = [job EXCEPT ![k].st = IF m.what = "start" THEN "running" ELSE @,
                             ![k].booked = IF its THEN Nobody ELSE @]
       /\ starts' = IF m.what = "start" THEN [starts EXCEPT ![k] = @ \cup {m.o}] ELSE starts
       /\ IF m.what = "drop" /\ its /\ job[k].st = "queued" /\ ~Pauses THEN NewInstant(k[2], released[k[2]]) ELSE SameInstant

---------------------------------------------------------------------------
(* All is over: TLC takes any other state without a next one for a standstill. *)
Over == (\A j \in Jobs : job[j].st = "ended") /\ UNCHANGED vars

Next == \/ \E j \in Jobs : \/ Ready(j) \/ Release(j)
                           \/ BeginsAnew(j) \/ AskAgain(j) \/ OutOfPatience(j)
        \/ \E d \in Domains : LookAgain(d)
        \/ \E g \in Groups : End(g)
        \/ \E m \in net : \E j \in Jobs : Asked(j, m) \/ Answered(j, m) \/ Settled(j, m)
        \/ Over

(* Fair: what a domain can do it does some time, what was sent to it arrives, its jobs end, its timers fire. A message *)
(* may take any time, as long as that has a bound: the pauses of services grow with it (docs/coscheduling.md).       *)
Handles(g, o, d) == \E m \in net : /\ m.g = g /\ m.o = o /\ m.d = d
                                   /\ Asked(<<g, d>>, m) \/ Answered(<<g, o>>, m) \/ Settled(<<g, d>>, m)
Begins(d) == \E j \in Of(d) : Ready(j) \/ BeginsAnew(j)
Releases(d) == \E j \in Of(d) : Release(j)
AsksAgain(d) == \E j \in Of(d) : AskAgain(j)
LosesPatience(d) == \E j \in Of(d) : OutOfPatience(j)
Ends == \E g \in Groups : End(g)
Timers == /\ SF_vars(Ends)
          /\ \A d \in Domains : SF_vars(Releases(d)) /\ SF_vars(LookAgain(d)) /\ SF_vars(AsksAgain(d))
          /\ \A d \in Domains : SF_vars(LosesPatience(d))
Links == \A g \in Groups, o, d \in Domains : o # d => WF_vars(Handles(g, o, d))

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ Timers /\ Links /\ \A d \in Domains : WF_vars(Begins(d))

---------------------------------------------------------------------------
(* What must hold *)

NobodyStartsTwice == \A j \in Jobs : Cardinality(starts[j]) <= 1

NothingBeyondTheMachine == \A d \in Domains : Free(d) >= 0

(* A job has started by a proposal: each other member has, too, or that books it. *)
NoHalfGroup == \A j \in Jobs : \A p \in starts[j] : \A k \in Others(j) : p \in starts[k] \/ job[k].booked = p

EveryJobStarts == <>(\A j \in Jobs : starts[j] # {})
=============================================================================
