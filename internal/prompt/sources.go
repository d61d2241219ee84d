package prompt

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/actorswarm/swarm/defs"
)

// Options are the sources of instructions. The zero value finds none.
type Options struct {
	// Cwd is the session's directory. CLAUDE.md files are read there and in every
	// directory above.
	Cwd string
	// Home is the user's home directory, and ConfigDir replaces its .claude.
	Home, ConfigDir string
	// ManagedDir holds the organisation's CLAUDE.md.
	ManagedDir string
	// NoInstructions leaves out every CLAUDE.md
	// (CLAUDE_CODE_DISABLE_CLAUDE_MDS).
	NoInstructions bool
}

// Sources reads once what the prompts of all agents of a session share. Its methods may be
// called from any goroutine.
type Sources struct {
	o     Options
	files func() read

	mu      sync.Mutex
	begun   bool               // guarded by mu
	cancel  context.CancelFunc // guarded by mu; nil before Start
	stopped bool               // guarded by mu
	ready   chan struct{}      // closed when state is set, or reading has stopped
	state   string             // of git; valid after ready
	running sync.WaitGroup
}

type read struct {
	all, managed string
	notes        []string
	files        []File
}

// NewSources returns sources; it reads nothing yet.
func NewSources(o Options) *Sources {
	s := &Sources{o: o, ready: make(chan struct{})}
	s.files = sync.OnceValue(func() read { return readInstructions(o) })
	return s
}

// Start asks git about the repository, beside whatever else is done. A second
// Start, and one after Stop, do nothing.
func (s *Sources) Start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun || s.stopped {
		return
	}
	s.begun = true
	ctx, s.cancel = context.WithTimeout(ctx, gitTimeout)
	s.running.Go(func() {
		defer close(s.ready)
		s.state = gitState(ctx, s.o.Cwd)
	})
}

// Stop ends git and returns when nothing of it runs. It may be called more
// than once, and before Start.
func (s *Sources) Stop() {
	s.mu.Lock()
	s.stopped = true
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Instructions returns the CLAUDE.md files as one text, and those of the
// organisation alone.
func (s *Sources) Instructions() (all, managed string) {
	r := s.files()
	return r.all, r.managed
}

// Files returns the CLAUDE.md files, in their order.
func (s *Sources) Files() []File { return s.files().files }

// Notes returns what was found wrong with instruction files, one sentence each
// with the file.
func (s *Sources) Notes() []string { return s.files().notes }

// Git returns the state of the repository when the session began: "" outside a
// repository, or before Start. It waits for git, at most a second.
func (s *Sources) Git() string {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if !begun {
		return ""
	}
	<-s.ready
	return s.state
}

// Fill adds to in what the agent's definition lets it have.
func (s *Sources) Fill(in Input) Input {
	in.Instructions, in.Managed = s.Instructions()
	if in.Definition.Source == defs.Managed {
		in.Managed = "" // the organisation chose to leave them out
	}
	in.Git = s.Git
	in.Memory = memoryNote(in.Definition, s.memoryDir(in.Definition))
	return in
}

// memoryDir is where an agent keeps what it learns, or "".
func (s *Sources) memoryDir(d defs.Definition) string {
	name := filepath.Base(filepath.Clean("/" + sanitize(d.Name)))
	switch d.Memory {
	case "user":
		if dir := s.o.userDir(); dir != "" {
			return filepath.Join(dir, "agent-memory", name)
		}
	case "project":
		return filepath.Join(s.o.Cwd, ".claude", "agent-memory", name)
	case "local":
		return filepath.Join(s.o.Cwd, ".claude", "agent-memory-local", name)
	}
	return ""
}

func (o Options) userDir() string {
	switch {
	case o.ConfigDir != "":
		return o.ConfigDir
	case o.Home != "":
		return filepath.Join(o.Home, ".claude")
	}
	return ""
}
