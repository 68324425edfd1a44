------------------------------- MODULE Slots -------------------------------
(* The slots of one pair of jobs: instants at which both start, by agreement. The rules are those of docs/meet.md.    *)
(*                                                                                                                   *)
(* There is no clock, and there are no other jobs. When a job fits, and what the earliest instant is, is whatever a  *)
(* scheduler may say; a timer may fire whenever its slot is in force; a message is late if it arrives after the      *)
(* instant that it names. Both jobs have been ready once, and neither holds. Of RunJob there is only TryStartMate.   *)
(*                                                                                                                   *)
(* As in Pairs, with Faults a message that was sent can arrive at any later time, any number of times, or never.     *)
(* Without Faults each message arrives once, and nothing begins while one is under way, as in simulations.           *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Last,              \* slots are at the instants 1 to Last; 0 is now
    Faults,            \* whether messages get lost, doubled and late, and domains crash
    Unreachable,       \* what a job does that gives up a call: "start" or "yield"
    MaxCalls,          \* [domain -> after so many calls a job begins nothing anew]
    (* The rules. Each can be switched off. *)
    Generations,       \* a call about a slot counts for the slot that it names
    DropTold,          \* who drops a slot tells the other domain
    Lapses,            \* a slot ends that was not confirmed in time, or at which its proposer does not start the job
    OnlyBefore,        \* a move is booked only before the present slot, however late the call comes
    Keep,              \* its proposer tells that a slot is kept; before it is confirmed so, the slot does not move
    ProposerStarts,    \* at its slot only the job starts whose domain has proposed it; the mate starts when it is told
    FirstAnswer,       \* a copy of a call gets the answer of the first, or a refusal if a later call has come
    PersistFirst,      \* what changed is on record before anything is sent
    Voids              \* a call that was given up is followed by one that only has a later number, until that is answered

Domains == {"A", "B"}
Other(d) == IF d = "A" THEN "B" ELSE "A"
None == Last + 1       \* later than any slot

VARIABLES
    job,        \* [domain -> what it knows of its job]
    disk,       \* what it has on record of it
    net,        \* the messages
    starts,     \* [domain -> how often its job really has been started]
    broken,     \* the domains that gave up a call that may still be carried out: no later one has been answered
    alone,      \* a job has started alone by a fault, and its record says so
    later,      \* a slot was moved to a later instant
    lapsed      \* a slot has ended by the clock alone

vars == <<job, disk, net, starts, broken, alone, later, lapsed>>
history == <<broken, alone, later, lapsed>>

NoCall == [kind |-> "none"]
Nothing == [at |-> None, booked |-> FALSE, gen |-> 0, yes |-> FALSE, why |-> ""]  \* an answer
New == [st |-> "queued",
        slot |-> None, gen |-> 0,               \* its slot, and the generation of that
        proposes |-> FALSE, confirmed |-> FALSE,
        call |-> NoCall, number |-> 0,          \* the call whose answer it awaits; the number of its last call
        void |-> 0,                             \* the number of the call that makes one void that was given up
        last |-> 0, said |-> Nothing]           \* the last changing call of its mate, and the answer to it

Init == /\ job = [d \in Domains |-> New]
        /\ disk = job
        /\ net = {}
        /\ starts = [d \in Domains |-> 0]
        /\ broken = {}
        /\ alone = FALSE /\ later = FALSE /\ lapsed = FALSE

---------------------------------------------------------------------------
(* The network, and the record *)

Changes(d, r) == /\ job' = [job EXCEPT ![d] = r]
                 /\ \/ disk' = job'
                    \/ ~PersistFirst /\ disk' = disk
Sends(messages) == net' = net \cup messages
Consumes(m, messages) == net' = IF Faults THEN net \cup messages ELSE (net \ {m}) \cup messages

(* Without Faults, nothing begins while something is under way. *)
Undisturbed == Faults \/ (net = {} /\ \A d \in Domains : job[d].call.kind = "none")

MayCall(d) == job[d].number < MaxCalls[d]
Call(d, r, fields) == [to |-> Other(d), number |-> r.number + 1] @@ fields
Calling(r, call) == [r EXCEPT !.call = call, !.number = call.number]
Answer(m, said) == [kind |-> "answer", to |-> Other(m.to), of |-> m.kind, number |-> m.number, said |-> said]
Says(yes) == [Nothing EXCEPT !.yes = yes]
Refuses(why) == [Nothing EXCEPT !.why = why]

---------------------------------------------------------------------------
(* Slots *)

HasSlot(r) == r.slot # None
IsCurrent(r, gen) == HasSlot(r) /\ (r.gen = gen \/ ~Generations)
Untold(r) == IF r.call.kind = "keep" THEN [r EXCEPT !.call = NoCall] ELSE r

Given(r, at, gen, proposes) == Untold([r EXCEPT !.slot = at, !.gen = gen, !.proposes = proposes, !.confirmed = FALSE])
Without(r) == IF HasSlot(r)
              THEN Untold([r EXCEPT !.slot = None, !.gen = @ + 1, !.proposes = FALSE, !.confirmed = FALSE])
              ELSE r
Started(r) == [Without(r) EXCEPT !.st = "running", !.call = NoCall]
Idle(r) == [r EXCEPT !.st = "queued", !.call = NoCall]      \* it yields, or its turn ends
(* A job that awaits whether its mate has started at a slot goes on to wait, though the slot is gone. *)
Abandons(r) == IF r.st = "queued" /\ r.call.kind = "propose" THEN [r EXCEPT !.call = NoCall] ELSE r

(* The job has no slot any more, and its mate's domain is told. *)
Drops(d, r) == [Without(r) EXCEPT !.number = IF DropTold THEN @ + 1 ELSE @]
TellsDrop(d, r, gen) == IF DropTold THEN {Call(d, r, [kind |-> "drop", gen |-> gen])} ELSE {}

(* A proposal that knows of no slot is no move. *)
Moves(r, at, gen) == later' = (later \/ (gen > 0 /\ HasSlot(r) /\ at > r.slot))

---------------------------------------------------------------------------
(* A domain's scheduler *)

(* RunJob: the job fits now. *)
Ready(d) ==
    LET r == job[d]
        call == Call(d, r, [kind |-> "try"])
    IN /\ Undisturbed
       /\ r.st = "queued"
       /\ MayCall(d)
       /\ Changes(d, [Calling(r, call) EXCEPT !.st = "ready"])
       /\ Sends({call})
       /\ UNCHANGED <<starts, history>>

(* The job's earliest instant from `first` on is proposed if that is before its slot. Else its turn ends. *)
Proposes(d, r, first, Leaves(_)) ==
    \/ /\ Changes(d, Idle(r))
       /\ Leaves({})
    \/ \E at \in first..Last :
        LET call == Call(d, r, [kind |-> "propose", at |-> at, before |-> r.slot,
                                gen |-> IF HasSlot(r) THEN r.gen ELSE 0])
        IN /\ MayCall(d)
           /\ at < r.slot
           /\ Changes(d, Calling(r, call))
           /\ Leaves({call})

(* A job that has a slot does not fit now. *)
MayBeEarlier(d) == /\ Undisturbed
                   /\ job[d].st = "queued" /\ job[d].call.kind = "none"
                   /\ HasSlot(job[d])
                   /\ Keep => job[d].confirmed
                   /\ Proposes(d, job[d], 0, Sends)
                   /\ job'[d].call.kind = "propose"
                   /\ UNCHANGED <<starts, history>>

(* The proposer tells that the slot is kept, until it is told that this is known. *)
Keeps(d) ==
    LET r == job[d]
        call == Call(d, r, [kind |-> "keep", gen |-> r.gen])
    IN /\ Keep
       /\ r.st = "queued" /\ r.call.kind = "none"
       /\ HasSlot(r) /\ r.proposes /\ ~r.confirmed
       /\ MayCall(d)
       /\ Changes(d, Calling(r, call))
       /\ Sends({call})
       /\ UNCHANGED <<starts, history>>

StartsBoth(d, r, Leaves(_)) ==
    LET call == Call(d, r, [kind |-> "start", gen |-> r.gen])
    IN /\ Changes(d, [Calling(r, call) EXCEPT !.st = "ready", !.confirmed = TRUE])
       /\ Leaves({call})

(* The slot has come, and the job's nodes are free. *)
Due(d) == /\ Undisturbed
          /\ HasSlot(job[d])
          /\ job[d].st = "queued"
          /\ IF job[d].proposes
             THEN /\ MayCall(d)
                  /\ StartsBoth(d, Abandons(job[d]), Sends)
                  /\ UNCHANGED starts
             ELSE /\ ~ProposerStarts
                  /\ Changes(d, Started(job[d]))
                  /\ starts' = [starts EXCEPT ![d] = @ + 1]
                  /\ UNCHANGED net
          /\ UNCHANGED history

EndsSlot(d) == /\ Changes(d, Drops(d, Abandons(job[d])))
               /\ Sends(TellsDrop(d, job[d], job[d].gen))
               /\ UNCHANGED <<starts, broken, alone, later>>

(* A node is lost, or the slot cannot be kept since nodes are not free for too long after it. *)
CannotKeep(d) == /\ Undisturbed
                 /\ HasSlot(job[d])
                 /\ job[d].st = "queued" \/ job[d].proposes
                 /\ EndsSlot(d)
                 /\ UNCHANGED lapsed

(* Only one domain has the slot, or knows that it is kept. *)
Forsaken(d) == \/ ~HasSlot(job[Other(d)]) \/ job[d].gen # job[Other(d)].gen
               \/ ~job[d].confirmed /\ ~Keep

(* The clock says so: the slot was not confirmed, or not started. *)
Lapse(d) == /\ Lapses
            /\ Undisturbed
            /\ HasSlot(job[d])
            /\ ~(job[d].proposes /\ job[d].confirmed)
            /\ Faults \/ Forsaken(d)
            /\ EndsSlot(d)
            /\ lapsed' = TRUE

---------------------------------------------------------------------------
(* What the mate's domain asks *)

(* The answer to a call, and what is noted of it. *)
Replies(d, m, r, said) == /\ Changes(d, [r EXCEPT !.last = m.number, !.said = said])
                          /\ Consumes(m, {Answer(m, said)})

Refusal(d, m) ==
    LET r == job[d]
        proposing == r.call.kind = "propose" /\ r.st \in {"queued", "ready"}
    IN CASE proposing /\ d = "A" -> "crossing"
         [] ~(proposing \/ r.st = "queued") -> "not queuing"
         [] m.gen > 0 /\ ~IsCurrent(r, m.gen) -> "outdated"
         [] m.gen = 0 /\ r.proposes /\ ~r.confirmed -> "crossing"
         [] OTHER -> ""

(* The job's earliest instant. If the call is late, one that is now is booked though it is later than the one named. *)
AskedWhen(d, m) ==
    LET r == Idle(job[d])
        gen == 1 + IF r.gen > m.gen THEN r.gen ELSE m.gen
    IN IF Refusal(d, m) # ""
       THEN Replies(d, m, job[d], Refuses(Refusal(d, m))) /\ UNCHANGED <<starts, history>>
       ELSE \E at \in m.at..Last :
              \/ /\ at = m.at \/ Faults
                 /\ OnlyBefore => at < m.before
                 /\ Replies(d, m, Given(r, at, gen, FALSE), [Nothing EXCEPT !.at = at, !.booked = TRUE, !.gen = gen])
                 /\ Moves(r, at, m.gen)
                 /\ UNCHANGED <<starts, broken, alone, lapsed>>
              \/ /\ at > m.at
                 /\ Replies(d, m, r, [Nothing EXCEPT !.at = at])
                 /\ UNCHANGED <<starts, history>>

(* TryStartMate, and StartJob at a slot: the job fits, or it does not. *)
AskedToStart(d, m) ==
    LET r == job[d]
        may == CASE m.kind = "try" -> r.st \in {"queued", "ready"}
                 [] m.kind = "start" -> IsCurrent(r, m.gen) /\ r.st \in {"queued", "ready"}
        kept == IF m.kind = "start" /\ may THEN Abandons(r) ELSE r
    IN \/ /\ may
          /\ Replies(d, m, Started(kept), Says(TRUE))
          /\ starts' = [starts EXCEPT ![d] = @ + 1]
          /\ UNCHANGED history
       \/ /\ ~may \/ r.st = "queued"
          /\ Replies(d, m, kept, Says(m.kind = "try" /\ r.st = "running"))
          /\ UNCHANGED <<starts, history>>

(* It names a hold that never was, so it changes nothing, but for the number. *)
AskedForNothing(d, m) == /\ Replies(d, m, job[d], Says(job[d].st = "running"))
                         /\ UNCHANGED <<starts, history>>

(* To do so twice is to do it once: the answers are not kept. *)
AskedToKeep(d, m) ==
    LET current == IsCurrent(job[d], m.gen)
    IN /\ Changes(d, IF current THEN [job[d] EXCEPT !.confirmed = TRUE] ELSE job[d])
       /\ Consumes(m, {Answer(m, Says(current))})
       /\ UNCHANGED <<starts, history>>
AskedToDrop(d, m) ==
    LET dropped == HasSlot(job[d]) /\ (job[d].gen <= m.gen \/ ~Generations)
    IN /\ Changes(d, IF dropped THEN Without(job[d]) ELSE job[d])
       /\ Consumes(m, {})
       /\ UNCHANGED <<starts, history>>

Asked(d, m) ==
    LET known == FirstAnswer /\ m.kind # "keep" /\ m.number <= job[d].last
        copy == m.number = job[d].last /\ m.kind # "drop"
    IN /\ m.to = d
       /\ m.kind # "answer"
       /\ CASE known -> /\ Consumes(m, {Answer(m, IF copy THEN job[d].said ELSE Nothing)})
                        /\ UNCHANGED <<job, disk, starts, history>>
            [] ~known /\ m.kind = "propose" -> AskedWhen(d, m)
            [] ~known /\ m.kind \in {"try", "start"} -> AskedToStart(d, m)
            [] ~known /\ m.kind = "void" -> AskedForNothing(d, m)
            [] m.kind = "keep" -> AskedToKeep(d, m)
            [] ~known /\ m.kind = "drop" -> AskedToDrop(d, m)

---------------------------------------------------------------------------
(* The answers *)

Starts(d, r) == Changes(d, Started(r)) /\ starts' = [starts EXCEPT ![d] = @ + 1]
(* A later call has been answered, so none before it is carried out any more. *)
FaultEnds(d) == broken' = broken \ {d}

WhenAnswered(d, m, Leaves(_)) ==
    LET r == job[d]
        said == m.said
    IN \/ /\ said.booked
          /\ \/ /\ Moves(r, said.at, r.call.gen)                              \* it is booked here, too
                /\ LET given == Given(r, said.at, said.gen, TRUE)
                   IN IF said.at = 0 /\ r.st = "ready" THEN StartsBoth(d, given, Leaves)
                      ELSE Changes(d, Idle(given)) /\ Leaves({})
             \/ /\ Changes(d, [Idle(Without(r)) EXCEPT !.number = IF DropTold THEN @ + 1 ELSE @])
                /\ Leaves(TellsDrop(d, r, said.gen))
                /\ UNCHANGED later
       \/ /\ ~said.booked
          /\ UNCHANGED later
          /\ IF said.why = "outdated" /\ IsCurrent(r, r.call.gen) THEN Changes(d, Idle(Without(r))) /\ Leaves({})
             ELSE IF said.at >= r.call.before THEN Changes(d, Idle(r)) /\ Leaves({})
             ELSE Proposes(d, r, said.at, Leaves)

(* Without agreement the job stays as it is. A refused one looks for a slot, or for an earlier one. *)
TriedAnswered(d, m, Leaves(_)) ==
    LET r == job[d]
    IN IF m.said.yes THEN Starts(d, r) /\ Leaves({}) /\ FaultEnds(d)
       ELSE /\ UNCHANGED starts
            /\ FaultEnds(d)
            /\ IF HasSlot(r) /\ Keep /\ ~r.confirmed THEN Changes(d, Idle(r)) /\ Leaves({})
               ELSE Proposes(d, r, 0, Leaves)

Answered(d, m) ==
    LET r == job[d]
        awaited == r.call.kind = m.of /\ r.call.number = m.number
        Leaves(messages) == Consumes(m, messages)
    IN /\ m.to = d
       /\ m.kind = "answer"
       /\ CASE m.of = "void" ->
                 LET its == m.number = r.void
                 IN /\ Changes(d, IF its THEN [r EXCEPT !.void = 0] ELSE r)
                    /\ Leaves({})
                    /\ broken' = IF its THEN broken \ {d} ELSE broken
                    /\ alone' = (alone \/ (its /\ m.said.yes))  \* it will start late, and its record will say so
                    /\ UNCHANGED <<starts, later, lapsed>>
            [] m.of # "void" /\ ~awaited -> Consumes(m, {}) /\ UNCHANGED <<job, disk, starts, history>>
            [] awaited /\ m.of = "try" -> TriedAnswered(d, m, Leaves) /\ UNCHANGED <<alone, later, lapsed>>
            [] awaited /\ m.of = "propose" ->
                 WhenAnswered(d, m, Leaves) /\ FaultEnds(d) /\ UNCHANGED <<starts, alone, lapsed>>
            [] awaited /\ m.of = "keep" ->
                 /\ Changes(d, IF m.said.yes THEN [r EXCEPT !.confirmed = TRUE, !.call = NoCall] ELSE Without(r))
                 /\ Leaves({})
                 /\ UNCHANGED <<starts, history>>
            [] awaited /\ m.of = "start" ->
                 /\ IF m.said.yes THEN Starts(d, r) ELSE Changes(d, Idle(r)) /\ UNCHANGED starts
                 /\ Leaves({})
                 /\ FaultEnds(d)
                 /\ UNCHANGED <<alone, later, lapsed>>

---------------------------------------------------------------------------
(* Faults *)

(* No answer about a slot: the turn ends. *)
EndsTurn(d) == /\ Faults
               /\ job[d].call.kind = "propose"
               /\ Changes(d, Idle(job[d]))
               /\ UNCHANGED <<net, starts, history>>

(* No answer for so long that the peer counts as unreachable. A slot at which the mate was to start is dropped. *)
GivesUp(d) ==
    LET r == job[d]
        void == Call(d, r, [kind |-> "void"])
        yields == [Idle(r) EXCEPT !.number = IF Voids THEN @ + 1 ELSE @, !.void = IF Voids THEN void.number ELSE 0]
        left == IF Unreachable = "start" THEN r ELSE yields
        drops == r.call.kind = "start" /\ HasSlot(r)
        dropped == IF drops THEN Drops(d, left) ELSE left
    IN /\ Faults
       /\ r.call.kind \in {"try", "start"}
       /\ Sends((IF drops THEN TellsDrop(d, left, r.gen) ELSE {})
                 \cup (IF Voids /\ Unreachable # "start" THEN {void} ELSE {}))
       /\ IF Unreachable = "start"
          THEN Starts(d, dropped) /\ alone' = TRUE /\ UNCHANGED broken
          ELSE Changes(d, dropped) /\ broken' = broken \cup {d} /\ UNCHANGED <<alone, starts>>
       /\ UNCHANGED <<later, lapsed>>

Crash(d) == /\ Faults
            /\ job' = [job EXCEPT ![d] = disk[d]]
            /\ UNCHANGED <<disk, net, starts, history>>

Next == \/ \E d \in Domains : \/ Ready(d) \/ MayBeEarlier(d) \/ Keeps(d) \/ Due(d) \/ CannotKeep(d) \/ Lapse(d)
                              \/ EndsTurn(d) \/ GivesUp(d) \/ Crash(d)
        \/ \E m \in net : Asked(m.to, m) \/ Answered(m.to, m)

(* Clocks are fair. Only of calls that make others void is it said that they arrive some time: they are repeated. *)
Clock(d) == \/ Lapse(d)
            \/ CannotKeep(d) /\ job[d].proposes /\ job[d].confirmed
Fairness == \A d \in Domains : /\ WF_vars(Clock(d))
                               /\ WF_vars(\E m \in net : m.kind = "void" /\ Asked(d, m))
                               /\ WF_vars(\E m \in net : m.kind = "answer" /\ m.of = "void" /\ Answered(d, m))
FairSpec == Init /\ [][Next]_vars /\ Fairness
Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------
(* What must hold *)

NobodyStartsTwice == \A d \in Domains : starts[d] <= 1

(* A job has started: so has its mate, or it asks, and will learn of it. Else there was a fault. *)
NoHalfPair == \A d \in Domains : starts[d] > 0 => \/ starts[Other(d)] > 0
                                                  \/ job[Other(d)].st = "ready"
                                                  \/ alone
                                                  \/ broken # {}

NeverLater == ~later

(* Without faults no clock has to end a slot that only one domain has. *)
NothingLapses == ~Faults => ~lapsed

EveryFaultEnds == \A d \in Domains : d \in broken ~> d \notin broken

EverySlotEnds == \A d \in Domains : HasSlot(job[d]) ~> ~HasSlot(job[d])
=============================================================================
