package rpc

import (
	"strings"
	"time"
)

// Method is a request that a server answers. In is what it takes and Out, which
// encodes to a JSON object, what it returns.
type Method[In, Out any] struct {
	Name   string        // the last part of its subject
	Within time.Duration // bounds the handler; 0 leaves it to the life of the server
	Class  Class         // who may ask
}

// Class says what a request does, and so who may make it.
type Class uint8

// The classes of methods. The zero value is the one that fewest may use.
const (
	Control     Class = iota // acts for the person who owns the server
	Participate              // acts as a member, in the name of whoever asks
	Observe                  // changes nothing
)

// None is the input or output of a method that has none.
type None = struct{}

// Raw is the input of a method that decodes its requests itself.
type Raw []byte

// Subject is a NATS subject in which {method} stands for the name of a method and
// {caller} for who asks. Each is one whole token of the subject.
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

// pattern returns what a server subscribes to.
func (s Subject) pattern() string {
	return strings.NewReplacer(callerToken, "*", methodToken, "*").Replace(string(s))
}

// parse takes caller and method out of a subject that matches the pattern.
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
