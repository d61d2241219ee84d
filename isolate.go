package swarm

import (
	"context"
	"path/filepath"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/isolation"
	"github.com/actorswarm/swarm/internal/settings"
)

// isolation returns what isolates agents of a session: settled options, the id, the
// session's directory, and the directory of the process with the agents.
func (o Options) isolation(session, root, path string, agents isolation.Agents) *isolation.Directories {
	return isolation.New(isolation.Options{
		Session: session, Root: root, Dir: o.Dir, Agents: agents, Transcripts: filepath.Join(path, "transcripts"),
		Hooks:  func() *hook.Set { set, _ := settings.Hooks(o.sources()); return set }, // Problems tells what is wrong
		Getenv: o.Getenv, Logger: o.Logger,
	})
}

// openIsolation makes it possible to isolate agents. Their directories are below the
// session, also in the process of one of its agents.
func (s *Session) openIsolation() {
	root := s.Info().Path
	if n := s.opts.node; n != nil {
		root = n.info.Path
	}
	s.isolated = s.opts.isolation(s.Info().ID, root, s.Info().Path, s.store)
}

// isolate is actors.Options.Isolate.
func (s *Session) isolate(ctx context.Context, spec agent.Spec, incarnation uint32) (*agent.Isolation, error) {
	lease, err := s.isolated.Lease(ctx, spec, incarnation)
	if err != nil {
		return nil, err
	}
	return &agent.Isolation{Dir: lease.Dir, Release: lease.Release}, nil
}
