// Package buspeer holds peer.sh, a teammate that is a shell script. It takes tasks of
// a session's list, does them, and writes to the lead, with the stock nats command and jq.
//
//	swarm bus user add bob --session s1 # prints what the variables must be
//	SWARM_URL=nats://127.0.0.1:4222 SWARM_SESSION=s1 SWARM_NAME=bob SWARM_KEY=bob.nk ./peer.sh
//
// docs/bus.md describes the requests that it sends.
package buspeer
