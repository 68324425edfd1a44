------------------------------ MODULE Promises ------------------------------
(* What the members of one group promise each other, whatever goes wrong. The rules are in docs/coscheduling.md.     *)
(*                                                                                                                   *)
(* A member is known by its domain's number, which is its rank. There is no clock, and there are no other jobs: a    *)
(* job is ready, fits, or loses its patience whenever it likes. A message that was sent can arrive at any later      *)
(* time, any number of times, or never: `net` only grows. So some things need no step of their own:                  *)
(*   - The answers "no" and "busy": a proposer may lose its patience at any time.                                    *)
(*   - An answer "yes" that arrives: it is counted when the proposer decides.                                        *)
(*   - The question of a member whose lease is over: it ends the patience of an undecided proposer. What that has    *)
(*     told already may arrive again.                                                                                *)
(*   - The rounds in which members look for an instant: they leave no trace. Here is only the last, which books it.  *)
(*   - To tell that a slot is kept: a slot may move, or lapse, at any time.                                          *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Members,           \* a set of numbers
    MaxNumber,         \* [member -> the proposals that it makes, and slots]
    Last,              \* slots are at the instants 1 to Last; 0: there are none
    Later,             \* the members whose windows are later than those of the others: their slots come later, too
    MayLeave,          \* the members that may be cancelled, lose their nodes, or give an unreachable proposer up
    (* The rules. Each can be switched off. *)
    BookingsStay,      \* another proposer never replaces a booking; else one of lower rank does
    Lease,             \* when it is over a member "asks" the proposer; or its booking ends by the "clock"; or "never"
    DropNamed,         \* a drop counts for the proposal, or the slot, that it names; else for any of the member
    LateRefused,       \* a proposal that was dropped, or followed by another of the same job, is refused for good
    RecordNumber,      \* the number of a proposal is on record before it is sent
    RecordBooking,     \* a booking is on record before the answer leaves
    RecordDecision,    \* the decision is on record before any member is told
    MoveNamed,         \* who moves a slot names it
    AllAsked,          \* at a slot the members are asked once more; else each starts when its own has come
    BookedKeeps,       \* a drop of its slot does not count for a member that has promised to start at it
    Lapses             \* a slot ends at which nobody starts the group

VARIABLES
    job,        \* [member -> what its domain knows of it]
    net,        \* the messages
    starts,     \* [member -> the proposals by which it really has started]
    later       \* a slot has moved to a later instant

vars == <<job, net, starts, later>>

Nobody == <<0, 0>>      \* a name is <<member, number>>
Nothing == [kind |-> "none", to |-> {}, at |-> 0, slot |-> Nobody]
New == [st |-> "waits",
        number |-> 0,                           \* of its last proposal
        asks |-> Nothing,                       \* what it proposes
        booked |-> Nobody,                      \* the proposal that books it
        slot |-> Nobody, at |-> 0,              \* its slot's name and instant
        fixed |-> FALSE,                        \* the group has begun, and it starts at its slot
        void |-> [d \in Members |-> 0],         \* the last number of each that counts no more
        left |-> {}]                            \* the proposals whose booking it has left, as its record says

Init == /\ job = [d \in Members |-> New]
        /\ net = {}
        /\ starts = [d \in Members |-> {}]
        /\ later = FALSE

Name(d) == <<d, job[d].number>>
Lost == {d \in Members : job[d].st = "lost"}
Idle(d) == job[d].st = "waits" /\ job[d].booked = Nobody /\ job[d].asks = Nothing
Max(a, b) == IF a > b THEN a ELSE b

Changes(d, r) == job' = [job EXCEPT ![d] = r]
Sends(messages) == net' = net \cup messages
Starts(d, p) == starts' = [starts EXCEPT ![d] = @ \cup {p}]
Started(r) == [r EXCEPT !.st = "started", !.asks = Nothing, !.booked = Nobody, !.slot = Nobody, !.at = 0]
(* What was dropped: a proposal, or a slot. Only its proposer makes a name void. *)
Drop(p, by) == [kind |-> "drop", p |-> p, voids |-> by = p[1]]
Dropped(d, r) == IF r.asks.kind = "start" THEN {Drop(<<d, r.number>>, d)} ELSE {}
NoSlot(r) == [r EXCEPT !.slot = Nobody, !.at = 0]
SlotDropped(d, r) == IF r.slot = Nobody THEN {} ELSE {Drop(r.slot, d)}

---------------------------------------------------------------------------
(* The proposer. Those whom it does not ask are lost, and it knows so. *)

Asks(d, n, what) == /\ n > job[d].number
                    /\ Changes(d, [job[d] EXCEPT !.number = n, !.asks = what])
                    /\ Sends({[kind |-> "ask", p |-> <<d, n>>, what |-> what]})
                    /\ UNCHANGED <<starts, later>>
Others(d, without) == Members \ (without \cup {d})

(* RunJob, or the slot has come. *)
Proposes(d, n, slot, without) ==
    /\ Idle(d)
    /\ Others(d, without) # {}
    /\ slot \in {Nobody, job[d].slot}
    /\ slot = Nobody => Later = {}
    /\ slot # Nobody => ~job[d].fixed /\ (slot[1] = d \/ Later # {})
    /\ Asks(d, n, [kind |-> "start", to |-> Others(d, without), at |-> 0, slot |-> slot])

(* All could start at this instant: they are to book it. It is before the slot that they have. *)
Agrees(d, n, at, without) ==
    /\ Idle(d)
    /\ Others(d, without) # {}
    /\ ~job[d].fixed
    /\ job[d].slot # Nobody => at < job[d].at
    /\ Asks(d, n, [kind |-> "slot", to |-> Others(d, without), at |-> at, slot |-> job[d].slot])

AllSaidYes(d, kind) == /\ job[d].asks.kind = kind
                       /\ \A k \in job[d].asks.to : [kind |-> "yes", p |-> Name(d), by |-> k] \in net

Decides(d) == /\ AllSaidYes(d, "start")
              /\ job[d].st = "waits"
              /\ Changes(d, Started(job[d]))
              /\ Starts(d, Name(d))
              /\ Sends({[kind |-> "start", p |-> Name(d)]})
              /\ UNCHANGED later

(* It has an answer no, or none in time. *)
LosesPatience(d) == /\ job[d].asks.kind = "start"
                    /\ Changes(d, [job[d] EXCEPT !.asks = Nothing])
                    /\ Sends(Dropped(d, job[d]))
                    /\ UNCHANGED <<starts, later>>

(* All have booked the instant, the proposer last. *)
HasSlot(d) == /\ AllSaidYes(d, "slot")
              /\ later' = (later \/ (job[d].slot # Nobody /\ job[d].asks.at > job[d].at))
              /\ Changes(d, [job[d] EXCEPT !.slot = Name(d), !.at = job[d].asks.at, !.asks = Nothing])
              /\ UNCHANGED <<net, starts>>

(* Some may have booked it: nobody is to keep that, nor an earlier slot. *)
FindsNoSlot(d) == /\ job[d].asks.kind = "slot"
                  /\ Changes(d, NoSlot([job[d] EXCEPT !.asks = Nothing]))
                  /\ Sends(SlotDropped(d, job[d]) \cup {Drop(Name(d), d)})
                  /\ UNCHANGED <<starts, later>>

---------------------------------------------------------------------------
(* The member that is asked *)

Refuses(k, m) ==
    LET r == job[k]
        o == m.p[1]
    IN \/ k \notin m.what.to
       \/ r.st # "waits" \/ r.fixed
       \/ LateRefused /\ (m.p[2] <= r.void[o] \/ (r.booked[1] = o /\ m.p[2] <= r.booked[2]))
       \/ r.booked # Nobody /\ r.booked[1] # o /\ (BookingsStay \/ o > r.booked[1])

Says(k, m) == [kind |-> "yes", p |-> m.p, by |-> k]

(* The first booking, or a later one by the same proposer. Who proposes a start, too, and ranks higher, drops that.  *)
(* Who has a later slot keeps it, and takes no nodes yet.                                                            *)
IsBooked(k, m) ==
    LET r == job[k]
    IN /\ m.kind = "ask" /\ m.what.kind = "start"
       /\ ~Refuses(k, m)
       /\ r.asks.kind = "start" => m.p[1] < k
       /\ m.what.slot \in {Nobody, r.slot} \/ Later = {}
       /\ Changes(k, [r EXCEPT !.booked = m.p, !.asks = Nothing])
       /\ Sends({Says(k, m)} \cup Dropped(k, r))
       /\ UNCHANGED <<starts, later>>

MayBook(k, m) == /\ m.kind = "ask" /\ m.what.kind = "slot"
                 /\ ~Refuses(k, m)
                 /\ job[k].booked = Nobody
                 /\ job[k].slot # m.p
                 /\ CASE job[k].asks.kind = "none" -> TRUE
                      [] job[k].asks.kind = "slot" -> m.p[1] < k
                      [] OTHER -> FALSE

BooksSlot(k, m) ==
    /\ MayBook(k, m)
    /\ MoveNamed => job[k].slot = m.what.slot
    /\ later' = (later \/ (job[k].slot # Nobody /\ m.what.at > job[k].at))
    /\ Changes(k, [job[k] EXCEPT !.slot = m.p, !.at = m.what.at, !.asks = Nothing,
                                 !.void[m.p[1]] = Max(@, m.p[2] - 1)])
    /\ Sends({Says(k, m)})
    /\ UNCHANGED starts

(* One of the two has not heard that a slot was dropped. *)
OutdatesSlot(k, m) == /\ MayBook(k, m)
                      /\ MoveNamed /\ job[k].slot # Nobody /\ job[k].slot # m.what.slot
                      /\ Changes(k, NoSlot([job[k] EXCEPT !.asks = Nothing]))
                      /\ Sends(SlotDropped(k, job[k]))
                      /\ UNCHANGED <<starts, later>>

(* The start is known. Who has a later slot starts at that. *)
IsStarted(k, m) ==
    /\ m.kind = "start"
    /\ job[k].booked = m.p
    /\ IF k \in Later /\ job[k].slot # Nobody
       THEN /\ Changes(k, [job[k] EXCEPT !.booked = Nobody, !.fixed = TRUE])
            /\ UNCHANGED starts
       ELSE /\ Changes(k, Started(job[k]))
            /\ Starts(k, m.p)
    /\ UNCHANGED <<net, later>>

StartsAtItsSlot(k) == /\ job[k].st = "waits"
                      /\ job[k].fixed \/ (~AllAsked /\ job[k].slot # Nobody /\ job[k].booked = Nobody)
                      /\ job[k].slot # Nobody
                      /\ Changes(k, Started(job[k]))
                      /\ Starts(k, job[k].slot)
                      /\ UNCHANGED <<net, later>>

IsDropped(k, m) ==
    LET r == job[k]
        keeps == BookedKeeps /\ Later # {} /\ (r.fixed \/ r.booked # Nobody)
        voids == [r EXCEPT !.void[m.p[1]] = IF m.voids THEN Max(@, m.p[2]) ELSE @]
        unbooked == IF r.booked = m.p \/ (r.booked # Nobody /\ ~DropNamed) THEN [voids EXCEPT !.booked = Nobody] ELSE voids
    IN /\ m.kind = "drop"
       /\ ~(m.voids /\ m.p[1] = k)
       /\ Changes(k, IF r.slot # Nobody /\ (r.slot = m.p \/ ~DropNamed) /\ ~keeps THEN NoSlot(voids)
                     ELSE unbooked)
       /\ UNCHANGED <<net, starts, later>>

LeaseEnds(k) == /\ Lease = "clock"
                /\ job[k].booked # Nobody
                /\ Changes(k, [job[k] EXCEPT !.booked = Nobody])
                /\ UNCHANGED <<net, starts, later>>

(* It cannot be kept, or it lapses. *)
DropsSlot(d) == /\ job[d].slot # Nobody
                /\ Idle(d) /\ ~job[d].fixed
                /\ Changes(d, NoSlot(job[d]))
                /\ Sends(SlotDropped(d, job[d]))
                /\ UNCHANGED <<starts, later>>

---------------------------------------------------------------------------
(* Faults *)

(* A domain that starts again drops what it has not decided. What is not on record it has forgotten. *)
Crash(d) ==
    LET r == job[d]
        forgets == ~RecordDecision /\ <<d, r.number>> \in starts[d] /\ r.st = "started"
        undecided == r.asks # Nothing
        again == [r EXCEPT !.st = IF forgets THEN "waits" ELSE @, !.asks = Nothing,
                           !.number = IF undecided /\ ~RecordNumber THEN @ - 1 ELSE @,
                           !.booked = IF RecordBooking THEN @ ELSE Nobody]
        drops == r.asks.kind = "start" \/ forgets      \* it says so, or when a member asks
    IN /\ again # r
       /\ Changes(d, again)
       /\ Sends(IF drops THEN {Drop(<<d, r.number>>, d)} ELSE {})
       /\ UNCHANGED <<starts, later>>

(* A node is lost, or the proposer counts as unreachable: the booking ends, and the record says so. *)
Leaves(d) == /\ d \in MayLeave
             /\ job[d].booked # Nobody
             /\ Changes(d, [NoSlot(job[d]) EXCEPT !.booked = Nobody, !.left = @ \cup {job[d].booked},
                                                  !.void[job[d].booked[1]] = Max(@, job[d].booked[2])])
             /\ Sends(SlotDropped(d, job[d]))
             /\ UNCHANGED <<starts, later>>

Cancelled(d) == /\ d \in MayLeave
                /\ job[d].st = "waits"
                /\ Changes(d, [NoSlot(job[d]) EXCEPT !.st = "lost", !.asks = Nothing, !.booked = Nobody, !.fixed = FALSE])
                /\ Sends(Dropped(d, job[d]) \cup SlotDropped(d, job[d]))
                /\ UNCHANGED <<starts, later>>

(* TLC takes a state without a next one for a standstill. *)
Over == UNCHANGED vars

MayAsk(d) == job[d].number < MaxNumber[d]
Next == \/ \E d \in Members : \/ MayAsk(d) /\ \E without \in SUBSET Lost, slot \in {Nobody, job[d].slot} :
                                                  Proposes(d, job[d].number + 1, slot, without)
                              \/ MayAsk(d) /\ \E without \in SUBSET Lost, at \in 1..Last :
                                                  Agrees(d, job[d].number + 1, at, without)
                              \/ Decides(d) \/ LosesPatience(d) \/ HasSlot(d) \/ FindsNoSlot(d)
                              \/ StartsAtItsSlot(d) \/ LeaseEnds(d) \/ DropsSlot(d)
                              \/ Crash(d) \/ Leaves(d) \/ Cancelled(d)
        \/ \E m \in net, k \in Members : \/ IsBooked(k, m) \/ BooksSlot(k, m) \/ OutdatesSlot(k, m)
                                         \/ IsStarted(k, m) \/ IsDropped(k, m)
        \/ Over
Spec == Init /\ [][Next]_vars

(* Patience and slots end. Of messages only the outcome is said to arrive some time: a member asks for it again. *)
Outcome(k, m) == m.p = job[k].booked /\ (IsStarted(k, m) \/ IsDropped(k, m))
Fairness == \A d \in Members : /\ WF_vars(Decides(d) \/ LosesPatience(d))
                               /\ WF_vars(Lease = "asks" /\ \E m \in net : m.kind # "ask" /\ Outcome(d, m))
                               /\ WF_vars(FindsNoSlot(d))
                               /\ WF_vars(Lapses /\ DropsSlot(d))
                               /\ WF_vars(StartsAtItsSlot(d))
FairSpec == Spec /\ Fairness

---------------------------------------------------------------------------
(* What must hold *)

NobodyStartsTwice == \A d \in Members : Cardinality(starts[d]) <= 1

(* A job has started by a proposal: each other member has, too, or is bound to. Else its record says why not. *)
Bound(k, p) == \/ p \in starts[k]
               \/ job[k].booked = p /\ (k \in Later => job[k].slot # Nobody)
               \/ job[k].fixed /\ (job[k].slot # Nobody \/ job[k].st = "started")
NoHalfGroup == \A d \in Members : \A p \in starts[d] : \A k \in Members \ Lost :
                   p \in job[k].left \/ job[d].fixed \/ Bound(k, p)

NeverLater == ~later

(* What two members have by one name is one slot. *)
OneSlot == \A d, k \in Members : job[d].slot = job[k].slot => job[d].at = job[k].at

EveryBookingEnds == \A d \in Members : job[d].booked # Nobody ~> job[d].booked = Nobody
EverySlotEnds == \A d \in Members : job[d].slot # Nobody ~> job[d].slot = Nobody
=============================================================================
