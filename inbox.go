package swarm

import (
	"path/filepath"

	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/object"
	"github.com/actorswarm/swarm/mailbox"
)

// Trace is a message and what became of it.
type Trace = mailbox.Trace

// tree is all agents of the session, those in processes of their own included.
func (s *Session) tree() archive.Tree {
	if s.nodes == nil {
		return archive.Tree{Record: s.node.Record()}
	}
	return s.nodes.Tree()
}

// Inbox returns the unread messages of an agent, by name or id, and the last
// that it has read, oldest first. Of long bodies it holds the beginning.
func (s *Session) Inbox(name string) ([]Trace, error) { return s.tree().Inbox(name) }

// Message returns a message of the session and all that became of it. The error
// is an *UnknownMessageError if there is none.
func (s *Session) Message(id mailbox.ID) (Trace, error) { return s.tree().Message(id) }

// WholeBody returns the whole body of a message of a session, also of one that
// is kept in a file of its own.
func WholeBody(info Info, e mailbox.Envelope) (string, error) {
	if e.Ref == "" {
		return e.Body, nil
	}
	body, err := object.New(filepath.Join(info.Path, "objects")).Get(e.Ref)
	return string(body), err
}
