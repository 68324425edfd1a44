------------------------------- MODULE Pairs -------------------------------
(* Pairs of jobs on two policy domains, with the four calls and the rules of docs/coscheduling.md.                   *)
(*                                                                                                                   *)
(* All jobs have the same size, so a machine is a number of places. There are no clocks: a release timer may fire    *)
(* whenever its hold is in force, a message may arrive whenever it is under way.                                     *)
(*                                                                                                                   *)
(* With Faults a message that was sent can arrive at any later time, any number of times, or never: so `net` only    *)
(* grows, and to repeat a call changes nothing. Without Faults each message arrives once, and calls need no numbers. *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
    Order,             \* [domain -> sequence of pairs]: the policy order of its queue
    Scheme,            \* [domain -> "hold" or "yield"]
    Places,            \* jobs that a machine has room for at once
    Submitted,         \* whether all jobs are there at the beginning; else each is submitted some time
    Others,            \* the domains in which a job without a mate, of one place, comes and goes
    CallsCross,        \* whether others call while a call is under way; in simulations they do not
    Faults,            \* whether messages get lost, doubled and late, and domains crash
    Unreachable,       \* what a job does that gives up asking: "start" or "yield"
    Cancels,           \* the domains whose jobs their owners may cancel before they start
    MaxCalls,          \* [domain -> after so many calls, RunJobs included, a job does not ask anew], with Faults
    MaxRuns,           \* a pair that runs may be queued again until its jobs have begun so many runs
    TakenAlone,        \* so may a job that has started alone, before its mate has run
    (* The rules. Each can be switched off. *)
    ReleaseTimer,      \* a hold ends some time
    WantedFirst,       \* after a release wanted jobs come first; else only: released jobs come last
    Jitter,            \* holds of the two domains do not end within one and the same exchange of calls
    LooksAgain,        \* after yields with no event to come, an iteration follows some time
    Generations,       \* StartJob starts only the hold that it names
    FirstAnswer,       \* a copy of a call gets the answer of the first, or a refusal if a later call has come
    PersistFirst,      \* what changed is on record before anything is sent
    News,              \* a job that is cancelled tells its mate so, until that is acknowledged (docs/life.md)
    Check,             \* a job that holds asks now and then whether its mate still waits
    Voids,             \* a call that was given up is followed by one that only has a later number, until that is answered
    VoidsAtRequeue,    \* so is that of a job which has started alone, once this one is queued again
    SayRuns            \* the calls that say how many runs of the called job their caller knows: {"start", "try"}

Domains == DOMAIN Order
PairsOf(d) == {Order[d][i] : i \in 1..Len(Order[d])}
Jobs == {<<d, p>> : d \in Domains, p \in UNION {PairsOf(e) : e \in Domains}}
Of(d) == {j \in Jobs : j[1] = d}
Mate(j) == CHOOSE k \in Jobs : k[2] = j[2] /\ k[1] # j[1]

VARIABLES
    job,        \* what a domain knows of its job
    disk,       \* what it has on record of it
    net,        \* the messages
    released,   \* [domain -> the jobs whose holds have ended at this instant]
    passed,     \* the jobs that have yielded at this instant
    taken,      \* the domains in which a job without a mate runs
    starts,     \* [job -> how often it really has been started since its pair was queued again]
    broken,     \* jobs of pairs of which a StartJob was given up, until they ask anew and are answered
    doubt,      \* jobs whose TryStartMate was given up, and may still be carried out: no later call has been answered
    alone       \* pairs of which a job has started alone by a fault, and its record says so

vars == <<job, disk, net, released, passed, taken, starts, broken, doubt, alone>>

NoCall == [kind |-> "none"]
New == [st |-> IF Submitted THEN "queued" ELSE "absent",
        gen |-> 0,           \* the number of its holds
        shown |-> FALSE,     \* the mate's domain was told that it has nodes
        call |-> NoCall,     \* the call whose answer it awaits
        number |-> 0,        \* of its last call
        void |-> 0,          \* the number of the call that makes one void that was given up
        open |-> FALSE,      \* it has started alone, and its call may still be carried out
        wanted |-> FALSE,    \* its mate's TryStartMate was refused, and the mate has said that it will hold
        last |-> 0,          \* the last changing call of its mate
        said |-> FALSE,      \* and the answer to that
        runs |-> 0,          \* how many it has begun
        heard |-> FALSE]     \* it has heard that its mate was cancelled

Init == /\ job = [j \in Jobs |-> New]
        /\ disk = job
        /\ net = {}
        /\ released = [d \in Domains |-> {}]
        /\ passed = {}
        /\ taken = {}
        /\ starts = [j \in Jobs |-> 0]
        /\ broken = {}
        /\ doubt = {}
        /\ alone = {}

Started(j) == job[j].st \in {"running", "ended"}
HasNodes(j) == job[j].st \in {"ready", "holding", "running"}
Free(d) == Places - Cardinality({j \in Of(d) : HasNodes(j)})
           - IF d \in taken THEN 1 ELSE 0
(* What was said by the clock: the caller of TryStartMate names the instant at which its hold will end. *)
Wanted(k) == /\ job[k].wanted
             /\ \/ job[Mate(k)].st = "holding"
                \/ job[Mate(k)].st = "ready" /\ job[Mate(k)].call.kind = "try" /\ job[Mate(k)].call.hold

---------------------------------------------------------------------------
(* The network, and the record *)

Numbered(n) == IF Faults THEN n + 1 ELSE 0
Sends(messages) == net' = net \cup messages
Replies(m, messages) == net' = IF Faults THEN net \cup messages ELSE (net \ {m}) \cup messages

(* What has changed of jobs is on record at once, or some time later. *)
Changes(new) == /\ job' = new
                /\ \/ disk' = new
                   \/ ~PersistFirst /\ disk' = disk

NewInstant(d, jobs) == /\ released' = [released EXCEPT ![d] = jobs]
                       /\ passed' = passed \ Of(d)
SameInstant == UNCHANGED <<released, passed>>

---------------------------------------------------------------------------
(* The life of a job *)

Undisturbed == ~CallsCross => \A j \in Jobs : job[j].st # "ready"

Submit(j) == /\ Undisturbed
             /\ job[j].st = "absent"
             /\ Changes([job EXCEPT ![j].st = "queued"])
             /\ NewInstant(j[1], {})
             /\ UNCHANGED <<net, starts, broken, doubt, alone>>

Position(d, p) == CHOOSE i \in 1..Len(Order[d]) : Order[d][i] = p

(* Its class in the order of an iteration: wanted jobs, then others, then released ones. *)
Class(j) == IF released[j[1]] = {} THEN 1
            ELSE IF WantedFirst /\ Wanted(j) THEN 0
            ELSE IF j \in released[j[1]] THEN 2
            ELSE 1
Before(j, k) == \/ Class(j) < Class(k)
                \/ Class(j) = Class(k) /\ Position(j[1], j[2]) <= Position(k[1], k[2])

Choice(d) == IF Free(d) = 0 THEN {} ELSE {k \in Of(d) : job[k].st = "queued" /\ k \notin passed}

(* Nobody calls, and no iteration is to come. *)
Quiet == /\ \A j \in Jobs : job[j].st # "ready"
         /\ \A d \in Domains : Choice(d) = {}

(* RunJob: the scheduler has chosen the job. It asks which job its mate is. *)
Ready(j) ==
    LET n == Numbered(job[j].number)
    IN /\ Undisturbed
       /\ j \in Choice(j[1])
       /\ \A k \in Choice(j[1]) : Before(j, k)
       /\ Faults => job[j].number < MaxCalls[j[1]]
       /\ Changes([job EXCEPT ![j].st = "ready", ![j].number = n, ![j].shown = FALSE,
                              ![j].call = [kind |-> "mate", number |-> n]])
       /\ Sends({[kind |-> "mate", to |-> Mate(j), number |-> n]})
       /\ SameInstant
       /\ broken' = broken \ {j}
       /\ UNCHANGED <<starts, doubt, alone>>

Started_(j) == [job[j] EXCEPT !.st = "running", !.call = NoCall, !.wanted = FALSE, !.runs = @ + 1]
Holds_(j) == [job[j] EXCEPT !.st = "holding", !.call = NoCall, !.gen = Numbered(@)]
Yields_(j) == [job[j] EXCEPT !.st = "queued", !.call = NoCall, !.gen = IF job[j].shown THEN Numbered(@) ELSE @]

Starts(j) == Changes([job EXCEPT ![j] = Started_(j)]) /\ starts' = [starts EXCEPT ![j] = @ + 1] /\ SameInstant
Holds(j) == Changes([job EXCEPT ![j] = Holds_(j)]) /\ UNCHANGED starts /\ SameInstant
Yields(j) == /\ Changes([job EXCEPT ![j] = Yields_(j)])
             /\ passed' = passed \cup {j}
             /\ UNCHANGED <<starts, released>>
Waits(j) == IF Scheme[j[1]] = "hold" THEN Holds(j) ELSE Yields(j)

Release(j) == /\ ReleaseTimer
              /\ job[j].st = "holding"
              /\ Undisturbed
              /\ Jitter => Quiet
              /\ Changes([job EXCEPT ![j].st = "queued"])
              /\ NewInstant(j[1], {j})
              /\ UNCHANGED <<net, starts, broken, doubt, alone>>

End(j) == /\ Undisturbed
          /\ job[j].st = "running"
          /\ Changes([job EXCEPT ![j].st = "ended"])
          /\ NewInstant(j[1], {})
          /\ UNCHANGED <<net, starts, broken, doubt, alone>>

(* Both jobs of a pair are queued again, one because of the other, and all news of that is acknowledged. *)
QueuedAgain(p) ==
    LET both == {j \in Jobs : j[2] = p}
    IN /\ Undisturbed
       /\ \A j \in both : job[j].st = "running" /\ job[j].runs < MaxRuns
       /\ Changes([j \in Jobs |-> IF j \in both THEN [job[j] EXCEPT !.st = "queued"] ELSE job[j]])
       /\ starts' = [j \in Jobs |-> IF j \in both THEN 0 ELSE starts[j]]
       /\ released' = [d \in Domains |-> {}]
       /\ passed' = {}
       /\ broken' = broken \ both
       /\ doubt' = doubt \ both
       /\ alone' = alone \ {p}
       /\ UNCHANGED net

(* A job that has started alone is queued again before its mate has run. *)
AloneAgain(j) ==
    LET void == job[j].number + 1
        again == [job[j] EXCEPT !.st = "queued", !.open = FALSE]
        voids == VoidsAtRequeue /\ job[j].open
    IN /\ TakenAlone
       /\ Undisturbed
       /\ job[j].st = "running" /\ job[j].runs < MaxRuns
       /\ j[2] \in alone
       /\ job[Mate(j)].runs = 0 /\ job[Mate(j)].st \in {"queued", "holding"}
       /\ Changes([job EXCEPT ![j] = IF voids THEN [again EXCEPT !.number = void, !.void = void] ELSE again])
       /\ Sends(IF voids THEN {[kind |-> "void", to |-> Mate(j), number |-> void]} ELSE {})
       /\ starts' = [starts EXCEPT ![j] = 0]
       /\ doubt' = IF job[j].open THEN doubt \cup {j} ELSE doubt
       /\ alone' = alone \ {j[2]}
       /\ NewInstant(j[1], {})
       /\ UNCHANGED broken

(* Its owner cancels it before it has started, and while nothing that may start it is under way. *)
Cancel(j) == /\ Undisturbed
             /\ j[1] \in Cancels
             /\ job[j].st \in {"queued", "holding"}
             /\ Changes([job EXCEPT ![j].st = "cancelled"])
             /\ Sends(IF News THEN {[kind |-> "news", to |-> Mate(j), number |-> 0]} ELSE {})
             /\ NewInstant(j[1], {})
             /\ UNCHANGED <<starts, broken, doubt, alone>>

(* A job that holds is ready again on the nodes that it has, and asks. *)
AsksAgain(j, heard) ==
    LET n == Numbered(job[j].number)
    IN /\ Changes([job EXCEPT ![j].st = "ready", ![j].number = n, ![j].shown = FALSE, ![j].heard = heard,
                              ![j].call = [kind |-> "mate", number |-> n]])
       /\ Sends({[kind |-> "mate", to |-> Mate(j), number |-> n]})
       /\ SameInstant
       /\ broken' = broken \ {j}
       /\ UNCHANGED <<starts, doubt, alone>>

(* It hears the news: a hint. A ready job hears it once its call is answered; a queued one asks at its turn. *)
Hears(k, m) == /\ m.kind = "news"
               /\ m.to = k
               /\ Undisturbed
               /\ job[k].st # "ready"
               /\ ~job[k].heard
               /\ IF job[k].st = "holding" THEN AsksAgain(k, TRUE)
                  ELSE /\ Changes([job EXCEPT ![k].heard = TRUE])
                       /\ NewInstant(k[1], {})
                       /\ UNCHANGED <<net, starts, broken, doubt, alone>>

(* It asks how its mate stands: any answer but that it waits has it ask as the news does. *)
Checks(j) == /\ Check
             /\ Undisturbed
             /\ job[j].st = "holding"
             /\ job[Mate(j)].st = "cancelled"
             /\ AsksAgain(j, job[j].heard)

(* No event would come by itself. At random moments, so some time it does not meet a look of the other domain. *)
LookAgain(d) == /\ LooksAgain
                /\ Quiet
                /\ passed \cap Of(d) # {}
                /\ NewInstant(d, {})
                /\ UNCHANGED <<job, disk, net, starts, broken, doubt, alone>>

OtherComes(d) == /\ d \in Others
                 /\ Free(d) > 0
                 /\ taken' = taken \cup {d}
                 /\ UNCHANGED <<job, disk, net, released, passed, starts, broken, doubt, alone>>
OtherEnds(d) == /\ d \in taken
                /\ taken' = taken \ {d}
                /\ NewInstant(d, {})
                /\ UNCHANGED <<job, disk, net, starts, broken, doubt, alone>>

---------------------------------------------------------------------------
(* What peers ask *)

Reply(j, m, answer, gen) == [kind |-> "answer", of |-> m.kind, to |-> Mate(j), number |-> m.number,
                             answer |-> answer, gen |-> gen, runs |-> IF m.kind = "status" THEN job[j].runs ELSE 0]

AskedForMate(k, m) ==
    /\ Replies(m, {Reply(k, m, IF job[k].st = "absent" THEN "unsubmitted" ELSE "found", 0)})
    /\ UNCHANGED <<job, disk, released, passed, starts, broken, doubt, alone>>

(* A job that has nodes, if only for its own RunJob, counts as holding. *)
AskedForStatus(k, m) ==
    LET ready == job[k].st = "ready"
        gen == IF ready THEN Numbered(job[k].gen) ELSE job[k].gen
        answer == CASE job[k].st \in {"ready", "holding"} -> "holding"
                    [] Started(k) -> "started"
                    [] job[k].st = "cancelled" -> "lost"
                    [] OTHER -> "queuing"
    IN /\ Replies(m, {Reply(k, m, answer, gen)})
       /\ Changes([job EXCEPT ![k].shown = @ \/ ready])
       /\ UNCHANGED <<released, passed, starts, broken, doubt, alone>>

(* The call is not of a run that is over: its caller knows of all runs that the job has begun. *)
OfThisRun(k, m) == m.kind \in SayRuns => job[k].runs <= m.runs

MayStart(k, m) ==
    CASE m.kind = "start" -> /\ job[k].st \in {"ready", "holding"}
                             /\ Generations => m.gen = IF job[k].st = "ready" THEN Numbered(job[k].gen) ELSE job[k].gen
      [] m.kind = "try" -> \/ job[k].st \in {"ready", "holding"}
                           \/ job[k].st = "queued" /\ Free(k[1]) > 0
      [] m.kind = "void" -> FALSE

(* StartJob and TryStartMate: calls that change something; or a StartJob for a hold that never was. *)
AskedToStart(k, m) ==
    LET repeated == Faults /\ FirstAnswer /\ m.number = job[k].last
        late == Faults /\ FirstAnswer /\ m.number < job[k].last
        may == ~repeated /\ ~late /\ OfThisRun(k, m) /\ MayStart(k, m)
        yes == IF repeated THEN job[k].said ELSE ~late /\ (may \/ Started(k))
        noted(r) == IF repeated \/ late THEN r
                    ELSE [r EXCEPT !.last = m.number, !.said = yes,
                                   !.wanted = ~yes /\ (@ \/ (m.kind = "try" /\ m.hold))]
    IN /\ Changes([job EXCEPT ![k] = noted(IF may THEN Started_(k) ELSE @)])
       /\ starts' = IF may THEN [starts EXCEPT ![k] = @ + 1] ELSE starts
       /\ Replies(m, {Reply(k, m, IF yes THEN "yes" ELSE "no", 0)})
       /\ UNCHANGED <<released, passed, broken, doubt, alone>>

Asked(k, m) == /\ m.to = k
               /\ CASE m.kind = "mate" -> AskedForMate(k, m)
                    [] m.kind = "status" -> AskedForStatus(k, m)
                    [] m.kind \in {"start", "try", "void"} -> AskedToStart(k, m)
                    [] OTHER -> FALSE

---------------------------------------------------------------------------
(* The answers *)

Calls(j, m, call) == /\ Changes([job EXCEPT ![j].call = call, ![j].number = call.number])
                     /\ Replies(m, {[to |-> Mate(j)] @@ call})
                     /\ UNCHANGED <<released, passed, starts, broken, doubt, alone>>

Tries(j, m, runs) == Calls(j, m, [kind |-> "try", number |-> Numbered(job[j].number), runs |-> runs,
                                  hold |-> Scheme[j[1]] = "hold"])

Gets(j, m) == Replies(m, {}) /\ UNCHANGED alone
FaultEnds(j) == /\ broken' = IF j \in broken THEN broken ELSE broken \ {Mate(j)}
                /\ doubt' = doubt \ {j}

MateAnswered(j, m) ==
    IF m.answer = "found" THEN Calls(j, m, [kind |-> "status", number |-> job[j].number])
    ELSE Waits(j) /\ Gets(j, m) /\ UNCHANGED <<broken, doubt>>

StatusAnswered(j, m) ==
    CASE m.answer = "holding" -> Calls(j, m, [kind |-> "start", number |-> Numbered(job[j].number), runs |-> m.runs,
                                              gen |-> m.gen])
      [] m.answer = "queuing" -> Tries(j, m, m.runs)
      [] m.answer = "started" -> Starts(j) /\ Gets(j, m) /\ UNCHANGED <<broken, doubt>>
      [] m.answer = "lost" -> /\ Starts(j)
                              /\ Replies(m, {})
                              /\ alone' = alone \cup {j[2]}
                              /\ UNCHANGED <<broken, doubt>>

StartAnswered(j, m) ==
    CASE m.answer = "yes" -> Starts(j) /\ Gets(j, m) /\ FaultEnds(j)
      [] m.answer = "no" /\ m.of = "start" -> Tries(j, m, job[j].call.runs)
      [] OTHER -> /\ IF job[j].call.hold THEN Holds(j) ELSE Yields(j)
                  /\ Gets(j, m)
                  /\ FaultEnds(j)

(* If the mate has started, the job will start late, and its record will say so. *)
VoidAnswered(j, m) ==
    LET its == m.number = job[j].void
    IN /\ Changes(IF its THEN [job EXCEPT ![j].void = 0] ELSE job)
       /\ Replies(m, {})
       /\ doubt' = IF its THEN doubt \ {j} ELSE doubt
       /\ alone' = IF its /\ m.answer = "yes" THEN alone \cup {j[2]} ELSE alone
       /\ UNCHANGED <<released, passed, starts, broken>>

(* An answer counts if the job still awaits it. *)
Answered(j, m) ==
    LET awaited == job[j].st = "ready" /\ job[j].call.kind = m.of /\ job[j].call.number = m.number
    IN /\ m.to = j
       /\ m.kind = "answer"
       /\ IF m.of = "void" THEN VoidAnswered(j, m)
          ELSE IF awaited
          THEN CASE m.of = "mate" -> MateAnswered(j, m)
                 [] m.of = "status" -> StatusAnswered(j, m)
                 [] OTHER -> StartAnswered(j, m)
          ELSE Replies(m, {}) /\ UNCHANGED <<job, disk, released, passed, starts, broken, doubt, alone>>

---------------------------------------------------------------------------
(* Faults *)

(* No answer for so long that the peer counts as unreachable. (A question that is given up has changed nothing.) *)
GivesUp(j) ==
    LET void == job[j].number + 1
        tried == job[j].call.kind = "try"
        yields == [Yields_(j) EXCEPT !.number = IF Voids THEN void ELSE @, !.void = IF Voids THEN void ELSE 0]
    IN /\ Faults
       /\ job[j].st = "ready"
       /\ job[j].call.kind \in {"start", "try"}
       /\ IF Unreachable = "start"
          THEN /\ Changes([job EXCEPT ![j] = [Started_(j) EXCEPT !.open = TRUE]])
               /\ starts' = [starts EXCEPT ![j] = @ + 1]
               /\ alone' = alone \cup {j[2]}
               /\ UNCHANGED <<net, broken, doubt, released, passed>>
          ELSE /\ Changes([job EXCEPT ![j] = yields])
               /\ passed' = passed \cup {j}
               /\ Sends(IF Voids THEN {[kind |-> "void", to |-> Mate(j), number |-> void]} ELSE {})
               /\ broken' = IF tried THEN broken ELSE broken \cup {j, Mate(j)}
               /\ doubt' = IF tried THEN doubt \cup {j} ELSE doubt
               /\ UNCHANGED <<starts, released, alone>>

(* The domain goes on with what is on record. A job that was ready repeats its call: that message is still there. *)
Crash(d) == /\ Faults
            /\ job' = [j \in Jobs |-> IF j[1] = d THEN disk[j] ELSE job[j]]
            /\ NewInstant(d, {})
            /\ UNCHANGED <<disk, net, starts, broken, doubt, alone>>

Step == \/ \E j \in Jobs : Submit(j) \/ Ready(j) \/ Release(j) \/ End(j) \/ GivesUp(j) \/ Cancel(j) \/ Checks(j)
                           \/ AloneAgain(j)
        \/ \E d \in Domains : LookAgain(d) \/ Crash(d)
        \/ \E p \in UNION {PairsOf(d) : d \in Domains} : QueuedAgain(p)
        \/ \E m \in net : Asked(m.to, m) \/ Answered(m.to, m) \/ Hears(m.to, m)

(* All is over: TLC takes any other state without a next one for a standstill. *)
Over == (\A j \in Jobs : job[j].st \in {"ended", "cancelled"}) /\ UNCHANGED vars

Next == \/ Step /\ UNCHANGED taken
        \/ (\E d \in Domains : OtherComes(d) \/ OtherEnds(d))
        \/ Over

(* Fair: what a domain can do it does some time, what was sent to it arrives, its jobs end, its timers fire. *)
Submits(d) == \E j \in Of(d) : Submit(j)
Works(d) == \/ \E j \in Of(d) : Ready(j)
            \/ \E m \in net : m.to \in Of(d) /\ (Asked(m.to, m) \/ Answered(m.to, m))
Ends(d) == \E j \in Of(d) : End(j)
Releases(d) == \E j \in Of(d) : Release(j)
Hears_(d) == \E m \in net : m.to \in Of(d) /\ Hears(m.to, m)
Checks_(d) == \E j \in Of(d) : Checks(j)
Fairness == \A d \in Domains : /\ SF_vars(Submits(d) /\ UNCHANGED taken)
                               /\ WF_vars(Works(d) /\ UNCHANGED taken)
                               /\ SF_vars(Ends(d) /\ UNCHANGED taken)
                               /\ SF_vars(Releases(d) /\ UNCHANGED taken)
                               /\ SF_vars(LookAgain(d) /\ UNCHANGED taken)
                               /\ SF_vars(Hears_(d) /\ UNCHANGED taken)
                               /\ SF_vars(Checks_(d) /\ UNCHANGED taken)
(* With Faults, only of calls that make others void is it said that they arrive: they are repeated. *)
Repeats == \A j \in Jobs : /\ WF_vars((\E m \in net : m.kind = "void" /\ Asked(j, m)) /\ UNCHANGED taken)
                           /\ WF_vars((\E m \in net : m.kind = "answer" /\ m.of = "void" /\ Answered(j, m))
                                      /\ UNCHANGED taken)

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ IF Faults THEN Repeats ELSE Fairness
(* With Faults news may get lost again and again, but it is told until it is acknowledged; and checks go on. *)
NewsSpec == Spec /\ Repeats /\ \A d \in Domains : /\ SF_vars(Hears_(d) /\ UNCHANGED taken)
                                                /\ SF_vars(Checks_(d) /\ UNCHANGED taken)
                                                /\ WF_vars(Works(d) /\ UNCHANGED taken)

---------------------------------------------------------------------------
(* What must hold *)

NobodyStartsTwice == \A j \in Jobs : starts[j] <= 1

NothingBeyondTheMachine == \A d \in Domains : Free(d) >= 0

(* A job has started: so has its mate, or it asks, and will learn of it. Else there was a fault. *)
NoHalfPair ==
    \A j \in Jobs : starts[j] > 0 => \/ starts[Mate(j)] > 0
                                    \/ job[Mate(j)].st = "ready"
                                    \/ j[2] \in alone
                                    \/ {j, Mate(j)} \cap (broken \cup doubt) # {}

EveryFaultEnds == \A j \in Jobs : j \in doubt ~> j \notin doubt

EveryJobStarts == <>(\A j \in Jobs : Started(j) \/ job[j].st = "cancelled")

(* Nobody holds for one that was cancelled: who holds starts, or gives up. *)
NobodyHoldsForTheDead ==
    \A j \in Jobs : (job[j].st = "holding" /\ job[Mate(j)].st = "cancelled") ~> job[j].st # "holding"
=============================================================================
