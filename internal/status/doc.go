// Package status says how the agents of a session are at one moment: each for
// itself, with what all below it have used, and as text for another agent:
//
//	all := status.Complete(append(here, elsewhere...))
//	text := status.Facts(me, all, relations, unread)
//
// Its functions are pure.
package status
