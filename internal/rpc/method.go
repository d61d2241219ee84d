package rpc

import (
	"strings"
	"time"
)

// Method is a request that a server handles. In is its input and Out, which encodes to a
// JSON object, its output.
type Method[In, Out any] struct {
	Name   string        // the last part of its subject
	Within time.Duration // time limit of the handler; 0 is none
	Class  Class         // who may call it
}

// Class is the effect of a method, and so who may call it.
type Class uint8

// The classes of methods. The zero value is the most restricted one.
const (
	Control     Class = iota // acts for the person who owns the server
	Participate              // acts as a member, in the name of the caller
	Observe                  // changes nothing
)

// None is the input or output of a method that has none.
type None = struct{}

// Raw is the input of a method that decodes its requests itself.
type Raw []byte

// Subject is a NATS subject with {method} for the name of a method and {caller} for that of
// the caller. Each is one whole token of the subject.
type Subject string

const (
	callerToken = "{caller}"
	methodToken = "{method}"
)

// From returns the subject that a caller uses.
func (s Subject) From(caller string) Subject {
	return Subject(strings.Replace(string(s), callerToken, caller, 1))
}

// To returns the subject of a method.
func (s Subject) To(method string) string {
	return strings.Replace(string(s), methodToken, method, 1)
}

// pattern returns the subject to which a server subscribes.
func (s Subject) pattern() string {
	return strings.NewReplacer(callerToken, "*", methodToken, "*").Replace(string(s))
}

// parse returns caller and method of a subject that matches the pattern.
func (s Subject) parse(subject string) (caller, method string) {
	parts := strings.Split(subject, ".")
	for i, token := range strings.Split(string(s), ".") {
		switch {
		case i >= len(parts):
		case token == callerToken:
			caller = parts[i]
		case token == methodToken:
			method = parts[i]
		}
	}
	return caller, method
}
