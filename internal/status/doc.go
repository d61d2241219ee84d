// Package status completes the status of a session's agents with what all below each
// have used, and writes it as text for another agent:
//
//	all := status.Complete(append(here, elsewhere...))
//	text := status.Facts(me, all, relations, unread)
//
// Its functions are pure.
package status
