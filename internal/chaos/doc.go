// Package chaos tests that messages survive killed processes: it kills the processes of a
// session repeatedly while their agents write to each other, and counts what arrived. It
// has no product code. Its tests are the harness: a short run in make test, and the whole
// in make chaos.
//
// Three processes hold ten agents. The owner has the server and four agents, a
// second node four more with a journal of its own, and a client that is no node
// has two: it posts by request, and the owner journals before it answers. A
// supervisor kills one of the three with SIGKILL as soon as it is at work, starts
// it again on its files, and lets some more messages be sent for each kill.
//
// A second harness does the same to the program itself: swarm serve, teammates in
// tmux panes whose models are scripts, and a program outside that speaks NATS. It
// reads from each agent's conversation what it was told was sent, and from the
// others' what came.
//
// The law that is tested is the first promise: an accepted message is in the receiver's
// conversation exactly once, in its sender's order.
package chaos
