package swarm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/isolation"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/transcript"
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
	SendClass(ctx context.Context, to, text string, c mailbox.Class) ([]team.SendResult, error)
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
	spec := a.Record.Spec
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

// What is kept of a session; see package session.
type (
	Info            = session.Info
	NATS            = session.NATS
	Inbound         = session.Inbound
	Bridge          = session.Bridge
	NoSessionError  = session.NotFoundError
	NotRunningError = session.NotRunningError
	BacklogError    = session.BacklogError
)

// What Inbound can be.
const (
	InboundAccept = session.InboundAccept
	InboundHold   = session.InboundHold
	InboundRefuse = session.InboundRefuse
)

// Off is Options.Listen, ListenWebSocket or ListenCert for a session that has listened
// before and is not to.
const Off = session.Off

// Sessions returns every session kept in stateDir, newest first; with dir, only
// those of that working directory.
func Sessions(stateDir, dir string) ([]Info, error) { return session.List(stateDir, dir) }

// FindSession returns the session with an id, or with the one id that begins
// so. With an empty id it returns the newest session of dir.
func FindSession(stateDir, dir, id string) (Info, error) { return session.Find(stateDir, dir, id) }

// Worktree is a directory of its own that an agent of a session has or left.
type Worktree = session.Worktree

// Worktrees returns the worktrees of all sessions of dir, newest session first.
func Worktrees(ctx context.Context, stateDir, dir string) ([]Worktree, error) {
	all, err := worktreesOf(stateDir, dir)
	if err != nil {
		return nil, err
	}
	return all.List(ctx)
}

// RescueWorktree commits everything in the worktree of an agent to its rescue
// ref and returns the ref. The worktree stays as it is.
func RescueWorktree(ctx context.Context, stateDir, dir, agent string) (ref string, err error) {
	all, err := worktreesOf(stateDir, dir)
	if err != nil {
		return "", err
	}
	return all.Rescue(ctx, agent)
}

// PruneWorktrees removes the worktrees of dir's sessions that nobody holds and
// that hold nothing of their own; with rescue, also those whose content it has
// committed to a rescue ref first. What hooks made is given to the
// WorktreeRemove hooks if nothing in it has changed. What stays is returned with
// its reasons.
func PruneWorktrees(ctx context.Context, stateDir, dir string, rescue bool) ([]Worktree, error) {
	all, err := worktreesOf(stateDir, dir)
	if err != nil {
		return nil, err
	}
	return all.Prune(ctx, rescue)
}

func worktreesOf(stateDir, dir string) (isolation.Sessions, error) {
	sessions, err := Sessions(stateDir, dir)
	if err != nil {
		return isolation.Sessions{}, err
	}
	o := Options{Dir: dir, StateDir: stateDir}
	if err := o.complete(); err != nil {
		return isolation.Sessions{}, err
	}
	return isolation.Sessions{Dir: dir, All: sessions, Of: func(i Info) *isolation.Directories {
		return o.config().Isolation(i.ID, i.Path, i.Path, nil)
	}}, nil
}

// Rehearsal says what a session with some options would make of its agent
// definitions and of calls for agents. Nothing is started or written and no
// model is asked. Its methods may be called from any goroutine.
type Rehearsal struct {
	parts  node.Parts
	policy spawn.Policy
	tools  []string // that agents can be given
	lead   agent.Spec
}

// Rehearse reads what a session with these options would read. It needs no
// credentials: without a model the lead's is named by what it would default to.
func Rehearse(o Options) (*Rehearsal, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Session{opts: o, record: session.NewFile(Info{})}
	if err := s.read(); err != nil {
		return nil, err
	}
	r := &Rehearsal{parts: s.parts, policy: s.opts.config().PolicyOf(s.Info().ID, s.parts.Rules)}
	r.tools = coordinator.New(coordinator.Options{Store: new(transcript.Store), Policy: r.policy, ToolNames: node.ToolNames(), Denied: r.parts.Rules.Denies}).ToolNames()
	id, err := r.parts.Models.Default(o.Model)
	if none := (NoModelError{}); err != nil && !errors.As(err, &none) {
		return nil, err
	}
	r.lead = node.LeadSpec(id, o.Mode, o.Dir, o.MaxTurns, r.Tools())
	return r, nil
}

// Definitions returns the agent types that the session would have.
func (r *Rehearsal) Definitions() *defs.Set { return r.parts.Definitions.Set() }

// Lead returns what the lead would be, who makes the call that Plan is about.
func (r *Rehearsal) Lead() agent.Spec { return r.lead }

// Tools returns the names of the tools that agents can be given.
func (r *Rehearsal) Tools() []string { return slices.Clone(r.tools) }

// Plan returns what the session would make of a call of its lead, with the
// reason for each choice, or the error that the lead would get.
func (r *Rehearsal) Plan(c spawn.Call) (spawn.Plan, error) {
	return r.policy.Plan(r.Definitions(), c, r.lead, r.Tools())
}
