package swarm

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// View is a session as one can look at it, and write to its agents, whoever runs it.
// Its methods may be called from any goroutine.
type View interface {
	// Info returns what is known of the session without opening it.
	Info() session.Info
	// Agents returns how the agents of the session are, oldest first.
	Agents(context.Context) ([]actors.Status, error)
	// Agent returns how one agent is, by name, team/name or id.
	Agent(ctx context.Context, name string) (actors.Status, error)
	// Inbox returns the unread messages of an agent, by name or id, and the last that
	// it has read, oldest first. Of long bodies it holds the beginning.
	Inbox(ctx context.Context, name string) ([]mailbox.Trace, error)
	// Message returns a message and all that became of it. The error is an
	// *UnknownMessageError if there is none.
	Message(ctx context.Context, id mailbox.ID) (mailbox.Trace, error)
	// Tasks returns the tasks of the session's list, lowest id first; of a session that
	// does not run, as they were when it last did.
	Tasks(context.Context) ([]board.Task, error)
	// Teams returns the teams of the session, its own first.
	Teams(context.Context) ([]team.Team, error)
	// Team returns how a team is, by name or id; "" is the session's own.
	Team(ctx context.Context, name string) (team.Status, error)
	// SendClass writes a message of a class from the user to an agent, or with "*" to
	// all. It returns when the message is on disk; where the session does not run, the
	// agent reads it when the session goes on.
	SendClass(ctx context.Context, to, text string, c mailbox.Class) ([]team.Posted, error)
	// Close ends the view, and never the session.
	Close() error
}

var (
	_ View = (*Remote)(nil)
	_ View = (*archive.Session)(nil)
)

// Look opens a view of a session: a *Remote if a process runs it, else one of its
// files, which keeps others from running it until the view is closed. Where a process
// has the session open and does not answer, the errors of the view wrap ErrOpen.
func Look(stateDir string, info session.Info) (View, error) {
	// Without a socket nobody answers, and asking for a connection would take longer.
	if _, err := os.Stat(info.Socket(stateDir)); err != nil {
		return atRest(info), nil
	}
	r, err := Dial(stateDir, info)
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, new(*NotRunningError)):
		return atRest(info), nil
	}
	return nil, err
}

// Notes returns what is out of order in the files of a session that nobody runs. The
// error wraps ErrOpen if a process has the session open.
func Notes(ctx context.Context, info session.Info) ([]string, error) {
	s := atRest(info)
	notes, err := s.Notes(ctx)
	return notes, errors.Join(err, s.Close())
}

// UnknownMessageError reports an id that no message of the session has.
type UnknownMessageError = mailbox.UnknownMessageError

// NoProcessError reports an agent that lives in the process of another one, which
// does not run.
type NoProcessError = agent.NoProcessError

// atRest returns a session that nobody runs, with the prices of its state directory.
func atRest(info session.Info) *archive.Session {
	return archive.New(info, archive.Options{Prices: func() (*price.Table, error) { return node.ReadPrices(info.StateDir()) }})
}

// TranscriptPath returns the file with the conversation of an agent, which is there
// once it has worked. An agent in a process of its own keeps its record apart, with
// those of all below it.
func TranscriptPath(info Info, a actors.Status) string {
	spec := a.Life.Spec
	name := filepath.Join("transcripts", string(spec.ID)+".jsonl")
	path, home := filepath.Join(info.Path, name), "*"
	if spec.Where != "" {
		home = string(spec.ID)
	} else if _, err := os.Stat(path); err == nil {
		return path
	}
	if apart, err := filepath.Glob(filepath.Join(info.Path, "nodes", home, name)); err == nil && len(apart) > 0 {
		return apart[0]
	}
	return path
}
