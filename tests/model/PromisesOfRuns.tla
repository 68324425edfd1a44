---------------------------- MODULE PromisesOfRuns ----------------------------
(* Whether runs of real domains are behaviours of Promises: each event that the domain of a member has recorded is a *)
(* step of that member there. The order of events is known within each domain only.                                  *)
(*                                                                                                                   *)
(* A step needs what its own domain knows, and messages, which are never taken away. So an event that can be         *)
(* explained stays so, whatever other domains do meanwhile, and in whatever order runs are gone through, those that  *)
(* stand still are not of the model.                                                                                 *)
EXTENDS Promises, Sequences

CONSTANT Runs          \* a sequence of runs: [member -> its events]; an event names the proposal that it is about

VARIABLES run, explained    \* which one; [member -> so many of its events]

Explains(d, e) ==
    CASE e[1] = "proposes" -> e[2][1] = d /\ Proposes(d, e[2][2], Nobody, {})
      [] e[1] = "drops" -> /\ Name(d) = e[2]
                           /\ LosesPatience(d) \/ (Drop(e[2], d) \in net /\ UNCHANGED vars)  \* again after a crash
      [] e[1] = "booked" -> \E m \in net : m.p = e[2] /\ IsBooked(d, m)
      [] e[1] = "not booked" -> job[d].booked = e[2] /\ \E m \in net : m.p = e[2] /\ IsDropped(d, m)
      [] e[1] = "starts" -> IF e[2][1] = d THEN Name(d) = e[2] /\ Decides(d)
                            ELSE \E m \in net : m.p = e[2] /\ IsStarted(d, m)

InitRuns == Init /\ run \in 1..Len(Runs) /\ explained = [d \in Members |-> 0]
NextEvent(d) == /\ explained[d] < Len(Runs[run][d])
                /\ Explains(d, Runs[run][d][explained[d] + 1])
                /\ explained' = [explained EXCEPT ![d] = @ + 1]
                /\ UNCHANGED run
(* One order is enough. *)
First(d) == NextEvent(d) /\ \A k \in Members : k < d => ~ENABLED NextEvent(k)
EndOfRun == (\A d \in Members : explained[d] = Len(Runs[run][d])) /\ UNCHANGED <<vars, run, explained>>
InRuns == InitRuns /\ [][(\E d \in Members : First(d)) \/ EndOfRun]_<<vars, run, explained>>

(* Checked so that TLC looks for standstills, which are events that the model cannot explain. *)
EventsStay == [][\A d \in Members : explained[d] <= explained'[d]]_explained
=============================================================================
