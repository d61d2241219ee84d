package cli

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/spf13/cobra"
)

// Sessions finds the sessions in the state directory that the environment selects.
type Sessions struct{ getenv func(string) string }

// List returns the sessions of a directory, newest first.
func (s Sessions) List(dir string) ([]swarm.Info, error) {
	state, err := s.StateDir()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	return swarm.Sessions(state, dir)
}

// Dial connects to the process that runs a session. The error is a
// *swarm.NotRunningError if there is none.
func (s Sessions) Dial(info swarm.Info) (*swarm.Remote, error) {
	state, err := s.StateDir()
	if err != nil {
		return nil, err
	}
	// Without a socket no process answers, and a request over NATS would take longer.
	if _, err := os.Stat(info.Socket(state)); err != nil {
		return nil, &swarm.NotRunningError{ID: info.ID}
	}
	return swarm.Dial(state, info)
}

// Find returns the session with an id, or the newest one of dir.
func (s Sessions) Find(dir, id string) (swarm.Info, error) {
	state, err := s.StateDir()
	if err != nil {
		return swarm.Info{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return swarm.Info{}, err
	}
	return swarm.FindSession(state, dir, id)
}

// Choose returns the session for a command: the one with the id, or the only one of the
// directory that runs, or the newest one.
func (s Sessions) Choose(dir, id string) (swarm.Info, error) {
	if id != "" {
		return s.Find(dir, id)
	}
	all, err := s.List(dir)
	if err != nil {
		return swarm.Info{}, err
	}
	running := s.Running(all)
	switch {
	case len(running) == 1:
		return running[0], nil
	case len(running) > 1:
		return swarm.Info{}, Usagef("%d sessions run here; name one of: %s", len(running), strings.Join(IDs(running), ", "))
	}
	return s.Find(dir, "")
}

// Running returns the sessions that a process runs.
func (s Sessions) Running(all []swarm.Info) []swarm.Info {
	var running []swarm.Info
	for _, info := range all {
		if r, err := s.Dial(info); err == nil {
			r.Close()
			running = append(running, info)
		}
	}
	return running
}

// Directories returns the state directory, and dir made absolute.
func (s Sessions) Directories(dir string) (state, abs string, err error) {
	if state, err = s.StateDir(); err != nil {
		return "", "", err
	}
	abs, err = filepath.Abs(dir)
	return state, abs, err
}

// IDs returns the ids of sessions.
func IDs(all []swarm.Info) []string {
	var out []string
	for _, info := range all {
		out = append(out, info.ID)
	}
	return out
}

// NotRunning reports whether an error means that no process runs the session.
func NotRunning(err error) bool {
	var none *swarm.NotRunningError
	return errors.As(err, &none)
}

// StateDir returns the directory of all sessions.
func (s Sessions) StateDir() (string, error) { return swarm.StateDir(s.getenv) }

// SessionFlags select the session of a command: --session, and --dir for sessions of
// another directory.
type SessionFlags struct{ Dir, Session string }

// The defaults of --session, for its help.
const (
	RunningOnly     = "the one that runs"
	RunningOrNewest = RunningOnly + ", or the newest"
)

// Add adds the flags to a command. without describes the default of --session.
func (f *SessionFlags) Add(c *cobra.Command, without string) {
	c.Flags().StringVar(&f.Session, "session", "", "the session's `id` (default: "+without+")")
	c.Flags().StringVar(&f.Dir, "dir", "", "the `directory` whose session is meant (default: the working directory)")
}

// SetSession lets the only argument of a command select the session, as --session does.
func (f *SessionFlags) SetSession(args []string, use string) error {
	if err := NoMoreArgs(args, 1, use); err != nil {
		return err
	}
	if len(args) > 0 && f.Session != "" {
		return Usagef("%s and --session %s name a session each; give one of them", args[0], f.Session)
	}
	f.Session = cmp.Or(f.Session, Arg(args, 0))
	return nil
}

// Choose returns the session that the flags select.
func (f *SessionFlags) Choose(c *Console) (swarm.Info, error) {
	return c.Sessions().Choose(f.Dir, f.Session)
}
