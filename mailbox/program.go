package mailbox

import "time"

// Message is a message that a program sends which is a member of a session.
type Message struct {
	To      string `json:"to"` // a name, an agent id, or * for everyone else
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
	Class   Class  `json:"class,omitempty"` // "" is steer for a text
	ReplyTo ID     `json:"reply_to,omitempty"`
	// Key makes sending repeatable: two messages with the same key and receiver are
	// one.
	Key string `json:"key,omitempty"`
}

// Received is a message to a program.
type Received struct {
	ID      ID        `json:"id"`
	From    string    `json:"from"`
	FromID  AgentID   `json:"from_id"`
	Kind    Kind      `json:"kind"`
	Class   Class     `json:"class"`
	Summary string    `json:"summary,omitempty"`
	Text    string    `json:"text"`
	ReplyTo ID        `json:"reply_to,omitempty"`
	Ref     Ref       `json:"ref,omitzero"`    // of a text of which Text is only the beginning
	Object  string    `json:"object,omitzero"` // where that is on the session's server: bucket/name
	Sent    time.Time `json:"sent"`
}

// TextPart is a part of the text of a message.
type TextPart struct {
	Text string `json:"text"`
	Size int    `json:"size"`           // of the whole text, in bytes
	Next int    `json:"next,omitempty"` // offset of what follows; 0 after the last part
}
