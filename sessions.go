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

// View is the readable state of a session, and a way to write to its agents, whichever
// process runs it. Its methods may be called from any goroutine.
type View interface {
	// Info returns the record of the session.
	Info() session.Info
	// Agents returns the status of the session's agents, oldest first.
	Agents(context.Context) ([]actors.Status, error)
	// Agent returns the status of one agent, by name, team/name or id.
	Agent(ctx context.Context, name string) (actors.Status, error)
	// Inbox returns the unread messages of an agent, by name or id, and the last ones that
	// it has read, oldest first. It holds only the beginning of long bodies.
	Inbox(ctx context.Context, name string) ([]mailbox.Trace, error)
	// Message returns a message and its history. The error is an *UnknownMessageError if
	// there is none.
	Message(ctx context.Context, id mailbox.ID) (mailbox.Trace, error)
	// Tasks returns the tasks of the session's list, lowest id first; for a session that
	// does not run, as they were when it last did.
	Tasks(context.Context) ([]board.Task, error)
	// Teams returns the teams of the session, its own first.
	Teams(context.Context) ([]team.Team, error)
	// Team returns the status of a team, by name or id; "" is the session's own.
	Team(ctx context.Context, name string) (team.Status, error)
	// SendClass writes a message of a class from the user to an agent, or with "*" to all.
	// It returns when the message is on disk. If the session does not run, the agent reads
	// the message when the session continues.
	SendClass(ctx context.Context, to, text string, c mailbox.Class) ([]team.SendResult, error)
	// Close closes the view. The session continues.
	Close() error
}

var (
	_ View = (*Remote)(nil)
	_ View = (*archive.Session)(nil)
)

// Look opens a view of a session: a *Remote if a process runs it, otherwise one of its
// files, which keeps other processes from running it until the view is closed. If a process
// has the session open and does not answer, the errors of the view wrap ErrOpen.
func Look(stateDir string, info session.Info) (View, error) {
	// Without a socket nobody answers, and connecting would take longer.
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

// Notes returns the problems of the files of a session that nobody runs. The error wraps
// ErrOpen if a process has the session open.
func Notes(ctx context.Context, info session.Info) ([]string, error) {
	s := atRest(info)
	notes, err := s.Notes(ctx)
	return notes, errors.Join(err, s.Close())
}

// UnknownMessageError reports an id of no message of the session.
type UnknownMessageError = mailbox.UnknownMessageError

// NoProcessError reports an agent that lives in the process of another agent, which does
// not run.
type NoProcessError = agent.NoProcessError

// atRest returns a session that nobody runs, with the prices of its state directory.
func atRest(info session.Info) *archive.Session {
	return archive.New(info, archive.Options{Prices: func() (*price.Table, error) { return node.ReadPrices(info.StateDir()) }})
}

// TranscriptPath returns the file with the conversation of an agent, which exists once the
// agent has worked. An agent in a process of its own has its files, and those of the agents
// below it, in a directory of its own.
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

// The record of a session; see package session.
type (
	Info            = session.Info
	NATS            = session.NATS
	Inbound         = session.Inbound
	Bridge          = session.Bridge
	NoSessionError  = session.NotFoundError
	NotRunningError = session.NotRunningError
	BacklogError    = session.BacklogError
)

// The values of Inbound.
const (
	InboundAccept = session.InboundAccept
	InboundHold   = session.InboundHold
	InboundRefuse = session.InboundRefuse
)

// Off is the value of Options.Listen, ListenWebSocket and ListenCert for a session that has
// listened before and must not listen again.
const Off = session.Off

// Sessions returns every session in stateDir, newest first; with dir, only those of that
// working directory.
func Sessions(stateDir, dir string) ([]Info, error) { return session.List(stateDir, dir) }

// FindSession returns the session with an id or with a unique beginning of one. With an
// empty id it returns the newest session of dir.
func FindSession(stateDir, dir, id string) (Info, error) { return session.Find(stateDir, dir, id) }

// Worktree is a git worktree that an agent of a session has or left.
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

// PruneWorktrees removes the worktrees of dir's sessions that no agent has and that contain
// nothing of their own; with rescue, also those whose content it has committed to a rescue
// ref first. Directories that hooks have made are given to the WorktreeRemove hooks if
// nothing in them has changed. PruneWorktrees returns the worktrees that remain, with the
// reasons.
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

// Rehearsal shows what a session with some options would make of its agent definitions and
// of calls for agents. It starts nothing, writes nothing and asks no model. Its methods may
// be called from any goroutine.
type Rehearsal struct {
	parts  node.Parts
	policy spawn.Policy
	tools  []string // that agents can be given
	lead   agent.Spec
}

// Rehearse reads what a session with these options would read. It needs no credentials:
// without a model, the lead has the name of the default one.
func Rehearse(o Options) (*Rehearsal, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Session{opts: o, record: session.NewFile(Info{})}
	if err := s.read(); err != nil {
		return nil, err
	}
	r := &Rehearsal{parts: s.parts, policy: s.opts.config().PolicyOf(s.Info().ID, s.parts.Rules)}
	r.tools = coordinator.New(coordinator.Options{Store: new(transcript.Store), Policy: r.policy, ToolNames: s.parts.ToolNames, Denied: r.parts.Rules.Denies}).ToolNames()
	id, err := r.parts.Models.Default(o.Model)
	if none := (NoModelError{}); err != nil && !errors.As(err, &none) {
		return nil, err
	}
	r.lead = node.LeadSpec(id, o.Mode, o.Dir, o.MaxTurns, r.Tools())
	return r, nil
}

// Definitions returns the agent types that the session would have.
func (r *Rehearsal) Definitions() *defs.Set { return r.parts.Definitions.Set() }

// Lead returns the specification of the lead, which makes the call of Plan.
func (r *Rehearsal) Lead() agent.Spec { return r.lead }

// Tools returns the names of the tools that agents can be given.
func (r *Rehearsal) Tools() []string { return slices.Clone(r.tools) }

// Plan returns the plan of an agent that a call of the lead would start, with the reason
// for each choice, or the error that the lead would get.
func (r *Rehearsal) Plan(c spawn.Call) (spawn.Plan, error) {
	all, tools := r.Definitions(), r.Tools()
	if def, ok := all.Lookup(c.Type); ok {
		tools = append(tools, r.parts.ListedTools(def)...)
	}
	return r.policy.Plan(all, c, r.lead, tools)
}
