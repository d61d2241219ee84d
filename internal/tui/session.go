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

// Session is what the terminal needs of a session. Its methods are called from several
// goroutines.
type Session interface {
	// Events returns a subscription to all events from now on. It ends with the session.
	Events() *event.Subscription
	// Begin continues turns that were cut off. It is called once, before all others.
	Begin() error
	// Say sends a text to the lead, whether it works or not, and returns when the text
	// is on disk.
	Say(text string) error
	// Send sends a text to an agent by name or id, or to all with "*", and returns the
	// names of the receivers.
	Send(to, text string) ([]string, error)
	// Interrupt ends the foreground turn and reports whether there was one.
	Interrupt() bool
	// InterruptAgent ends the turn of one agent and reports whether there was one.
	InterruptAgent(name string) (bool, error)
	// Background moves the calls that the lead waits for to the background and returns
	// them.
	Background() []string
	// Agents returns the state of all agents, oldest first.
	Agents() []Row
	// SetModel changes the lead's model.
	SetModel(name string) error
	// Compact compacts the conversation of an agent.
	Compact(ctx context.Context, name string) error
	// Stop stops an agent; a message wakes it again.
	Stop(ctx context.Context, name string) error
	// Questions returns the open questions to the user, oldest first.
	Questions() []Question
	// Answer answers a question.
	Answer(id string, a Answer) error
}

// Row is the state of one agent.
type Row struct {
	ID    mailbox.AgentID
	Name  string // as the user writes it after an @
	Color string
	Model string
	State string // in words, such as "in tool Bash"
	Since time.Time
	Extra string // further words, such as "background"

	Working bool // a turn is running
	Ended   bool // it only runs again if it gets a message
}

// Question is an open question of an agent to the user.
type Question struct {
	ID       string
	Agent    string // the name of the agent, as it is shown
	Color    string
	Text     string   // the question, or the call that needs consent
	FullText string   // the whole call, if Text is not all of it
	Reason   string   // why the question is asked
	Consent  bool     // the answer is yes or no
	Always   string   // the rules by which "always" would allow; "" offers none
	Means    string   // Always in words
	Choices  []string // of a question that is not about consent
	Several  bool     // more than one of Choices may be picked
}

// Answer is the user's answer to a question.
type Answer struct {
	Allow  bool
	Always bool
	Scope  string // the settings file where Always is saved: local, project or user; "" is the session
	Note   string // for the agent, with a yes or a no
	// Picked are the chosen answers to a question that is not about consent. If there
	// are none, Text is the answer.
	Picked []string
	Text   string
}

// Options configure Run. In, Out and Session are required.
type Options struct {
	Session string // its id
	In      *os.File
	Out     *os.File
	Getenv  func(string) string
	// Plain reads and writes line by line and moves no cursor.
	Plain bool
	// Paint colours the name of an agent.
	Paint func(name, color string) string
	// Lines returns the text to show for an event, or "". It is called by one goroutine,
	// in the order of events.
	Lines func(event.Event) string
	// Views are commands that only show something.
	Views []View
	// Hello is shown first.
	Hello string
	// Leave is what happens to the agents when the user leaves, such as "agents
	// continue".
	Leave string
	// Mode is shown below the input.
	Mode string
	// History is the file of typed lines; if it is "", they are not stored.
	History string
	// Interrupts are signals that count as Ctrl-C; may be nil.
	Interrupts <-chan os.Signal
}

// View is a command such as /ps, with one line of help.
type View struct {
	Name, Help string
	Arg        string // what may follow the name, for the help, such as " [NAME]"
	Show       func(arg string) string
}
