// Package buspeer holds peer.sh, a shell script that is a teammate: it speaks to
// a session with the stock nats command. docs/bus.md tells what it can ask.
package buspeer
