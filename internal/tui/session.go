package tui

import (
	"context"
	"os"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
)

// Lead is the id of the agent that the user talks with.
const Lead mailbox.AgentID = "lead"

// user is the sender of what the user writes.
const user mailbox.AgentID = "user"

// Session is what the terminal needs of a swarm. Its methods are called from
// several goroutines.
type Session interface {
	// Events returns a subscription to everything from now on. It ends with the
	// session.
	Events() *event.Subscription
	// Begin brings what was cut back to life. It is called once, first.
	Begin() error
	// Say gives the lead a text, at work or not, and returns when it is kept.
	Say(text string) error
	// Send writes to an agent by name or id, or with "*" to all, and returns
	// who will read it.
	Send(to, text string) ([]string, error)
	// Interrupt ends the foreground turn and reports whether there was one.
	Interrupt() bool
	// InterruptAgent ends the turn of one agent and reports whether there was one.
	InterruptAgent(name string) (bool, error)
	// Background lets what the foreground waits for go on in the background and
	// returns what was moved.
	Background() []string
	// Agents returns a look at every agent, oldest first.
	Agents() []Row
	// SetModel gives the lead another model.
	SetModel(name string) error
	// Compact shortens what an agent has in mind.
	Compact(ctx context.Context, name string) error
	// Stop ends an agent; a message wakes it again.
	Stop(ctx context.Context, name string) error
	// Questions returns what the user is asked, oldest first.
	Questions() []Question
	// Answer settles a question.
	Answer(id string, a Answer) error
}

// Row is a look at one agent.
type Row struct {
	ID    mailbox.AgentID
	Name  string // as the user writes it after an @
	Color string
	Model string
	State string // in words, such as "in tool Bash"
	Since time.Time
	Extra string // further words, such as "background"

	Working bool // a turn runs
	Ended   bool // it will not run again by itself
}

// Question is what an agent waits for.
type Question struct {
	ID      string
	Agent   string // who asks, as it is shown
	Color   string
	Text    string   // what is asked, or the call that needs consent
	Whole   string   // that call in full, if Text is not all of it
	Reason  string   // why it is asked
	Consent bool     // it wants a yes or a no
	Always  string   // what "always" would allow; "" offers none
	Choices []string // of a question that is not about consent
	Several bool     // more than one of Choices may be picked
}

// Answer settles a question.
type Answer struct {
	Allow  bool
	Always bool
	Note   string // for the agent, with a yes or a no
	// Picked are the choices of a question that is not about consent; without
	// any, Text is the answer.
	Picked []string
	Text   string
}

// Options say how the session looks. In, Out and Session are required.
type Options struct {
	Session string // its id
	In      *os.File
	Out     *os.File
	Getenv  func(string) string
	// Plain reads and writes line by line and moves no cursor.
	Plain bool
	// Paint colours the name of an agent.
	Paint func(name, color string) string
	// Lines returns what is to be shown of an event, "" for nothing. It is
	// called for one event after another, by one goroutine.
	Lines func(event.Event) string
	// Views are commands that only show something.
	Views []View
	// Hello is shown first.
	Hello string
	// Leave says what becomes of the agents when the user leaves, such as "agents
	// go on".
	Leave string
	// Mode is shown below the input.
	Mode string
	// History is the file that keeps what was typed; "" keeps nothing.
	History string
	// Interrupts are signals that count as Ctrl-C; may be nil.
	Interrupts <-chan os.Signal
}

// View is a command such as /ps, with one line of help.
type View struct {
	Name, Help string
	Show       func() string
}
