package team

import "github.com/actorswarm/swarm/mailbox"

// OtherSession is another session.
type OtherSession struct {
	ID      string
	Address string // uds:PATH or bridge:SESSION
	Dir     string // that it works on; "" if it is elsewhere
	Prompt  string // that it began with
}

// Everyone is the address of all members but the sender.
const Everyone = "*"

// Message is a message to send.
type Message struct {
	To      string // a name, an agent id, team/name, name@incarnation, or Everyone
	Text    string
	Summary string
	Kind    mailbox.Kind  // "" is a text, or to Everyone a broadcast
	Class   mailbox.Class // "" is the kind's
	ReplyTo mailbox.ID    // the message that this one answers
	// Stale is the subject of which the message is the latest news: the message replaces an
	// unread one with the same subject.
	Stale string
	// Key makes sending repeatable: two messages of one sender with the same key and
	// receiver are one message. Without a key each message is a new one.
	Key string
}

// SendResult is the result of a message to one receiver.
type SendResult struct {
	Name string // of the receiver
	ID   mailbox.ID
	Err  error // why it was not accepted
}
