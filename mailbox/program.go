package mailbox

import "time"

// Message is a message that a program sends as a member of a session.
type Message struct {
	To      string `json:"to"` // a name, an agent id, or * for all others
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
	Class   Class  `json:"class,omitempty"` // "" is steer for a text
	ReplyTo ID     `json:"reply_to,omitempty"`
	// Key makes sending repeatable: messages with the same key and receiver are one
	// message.
	Key string `json:"key,omitempty"`
}

// Received is a message that a program receives.
type Received struct {
	ID      ID        `json:"id"`
	From    string    `json:"from"`
	FromID  AgentID   `json:"from_id"`
	Kind    Kind      `json:"kind"`
	Class   Class     `json:"class"`
	Summary string    `json:"summary,omitempty"`
	Text    string    `json:"text"`
	ReplyTo ID        `json:"reply_to,omitempty"`
	Ref     Ref       `json:"ref,omitzero"`    // of the whole text, if Text is only its beginning
	Object  string    `json:"object,omitzero"` // where the whole text is on the session's server: bucket/name
	Sent    time.Time `json:"sent"`
}

// TextPart is a part of a long text.
type TextPart struct {
	Text string `json:"text"`
	Size int    `json:"size"`           // of the whole text, in bytes
	Next int    `json:"next,omitempty"` // offset of the next part; 0 after the last one
}
