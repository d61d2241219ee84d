package swarm

import (
	"path/filepath"

	"github.com/actorswarm/swarm/internal/isolation"
)

// isolation returns what isolates agents of a session: settled options, the id, the
// session's directory, and the directory of the process with the agents.
func (o Options) isolation(session, root, path string, agents isolation.Agents) *isolation.Directories {
	return isolation.New(isolation.Options{
		Session: session, Root: root, Dir: o.Dir, Agents: agents, Transcripts: filepath.Join(path, "transcripts"),
		Hooks:  o.config().Hooks, // Problems tells what is wrong
		Getenv: o.Getenv, Logger: o.Logger,
	})
}

// openIsolation makes it possible to isolate agents.
func (s *Session) openIsolation() {
	path := s.Info().Path
	s.isolated = s.opts.isolation(s.Info().ID, path, path, s.store)
}
