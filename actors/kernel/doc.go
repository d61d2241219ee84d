// Package kernel runs actors: named, supervised mailboxes with one behavior
// each. It is the only importer of protoactor, which keeps the names, the life
// cycle and the failure routing; mailbox, workers and restart policy are ours.
//
// # Laws
//
// Order. Messages of one sender to one actor are received in the order they
// were sent. [Control] messages overtake ordinary ones and keep their own
// order; a stop overtakes both. One actor receives one message at a time.
//
// Conservation. A message to an actor ends in exactly one place: it is
// received; or it is the one that panicked, which is named in a [Panic]; or it
// was still queued at the stop and is in [Stopped].Undelivered; or it came after
// the stop and is counted by [System.Dropped].
//
// Failure. A panic (or runtime.Goexit) in Receive touches that actor only. A
// fresh behavior takes over after a back-off, with the queue as it was. Too
// many panics in the policy's window park the actor: it stops, and Parked is
// called with the reason. Nothing sleeps on the actor while it waits.
//
// Stop. A stopping actor receives [Stopping], then [Stopped], then nothing. A
// panic in either is reported and changes nothing else. The name is free again
// only after Stopped has returned, and before Done is closed. A stop waits for
// the Receive in progress: Go cannot end it.
//
// Asks. Every [Ask] resolves: with the answer, with the Panic its message
// caused, with [ErrStopped], or with the cause of its context.
//
// Cost. An idle actor has no goroutine and no queue. Workers are shared and
// parked; [System.Stop] ends them.
//
// # Callers
//
// Tell, Stop, Done, Spawn and Dropped may be called from anywhere, also from
// inside Receive, and never block, save for a first Spawn that comes while the
// System is still being prepared. Ask and System.Stop block and belong outside
// of Receive: inside, they block the actor that they may be waiting for.
//
// # Not promised
//
// Messages are not durable, and not bounded: senders must bound what they
// send. The message that panicked is not received again. There is no order
// between messages of different senders.
package kernel
