// Package agent is the turn loop: it takes what an agent has to work on from
// its transcript, asks the model, runs the tools the model calls, and goes on
// until there is nothing left to do. It knows no actors, no NATS and no
// terminal.
//
// Laws:
//
//   - Recorded before acted on. An answer is on disk before one of its calls
//     runs; a call with outside effects is on disk as started before it runs,
//     and its result before the loop goes on.
//   - Mail enters at step boundaries. Whatever arrived while the model thought
//     or a tool ran is part of the very next request, not of the next turn.
//   - Results in call order. Parallel calls may end in any order; the model
//     sees their results in the order of its calls, one for each.
//   - Never run again in silence. A call that was started and has no result
//     after a crash is told to the model as in doubt, unless it only reads or
//     its effect is a record of its own.
//   - Asked before it leaves. A request that is not admitted is not sent, and
//     the turn ends as over budget; a limit of steps counts the answers in the
//     transcript, so that a crash gives no more of them
//     (TestARequestThatIsNotAdmittedIsNotSent, TestTheLimitOfStepsCountsOverACrash).
//   - The cause decides. A turn cancelled with ErrShutdown is left open and
//     goes on after a restart; any other cause closes it with a note.
package agent
