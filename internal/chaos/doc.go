// Package chaos tests that messages survive killed processes: it kills the processes of a
// session repeatedly while their agents write to each other, and counts what arrived. It
// has no product code. A short run is part of make test, and the whole is make chaos:
//
//	SWARM_CHAOS=1 go test -v -timeout 60m -run Promise1 ./internal/chaos
//
// Three processes hold ten agents. The owner has the server and four agents, a
// second node has four more with a journal of its own, and a client without a journal
// has two: it posts by request, and the owner journals before it answers. A
// supervisor kills one of the three with SIGKILL as soon as it is at work, starts
// it again on its files, and lets some more messages be sent for each kill.
//
// A second harness does the same to the program itself: swarm serve, teammates in
// tmux panes whose models are scripts, and an external program that speaks NATS. It
// compares what each agent's conversation reports as sent with what the conversations of
// the receivers contain.
//
// The law under test is the first promise: an accepted message is in the receiver's
// conversation exactly once, in its sender's order (TestPromise1_NothingIsLostWhileEveryProcessIsKilled).
package chaos
