package swarm

import (
	"fmt"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/internal/settings"
)

// placeOf returns where a teammate mode lets teammates run.
func placeOf(mode string, getenv func(string) string) (agent.Place, error) {
	switch mode {
	case "", "in-process":
		return "", nil
	case "tmux":
		return agent.InTmux, nil
	case "process":
		return agent.InProcess, nil
	case "auto":
		if getenv("TMUX") != "" {
			return agent.InTmux, nil
		}
		return "", nil
	}
	return "", fmt.Errorf("is %q; use in-process, tmux, process or auto", mode)
}

// readTeammateMode decides where teammates run: as Policy.Where, the option or
// SWARM_TEAMMATE_MODE says, and else the strongest settings file that says it. A wrong
// value in a file is a note.
func (s *Session) readTeammateMode() (err error) {
	o := &s.opts
	mode := first(o.TeammateMode, o.Getenv("SWARM_TEAMMATE_MODE"))
	if o.Policy.Where != "" {
		return nil
	}
	if mode == "" {
		mode = s.teammateModeOfSettings()
	}
	if o.Policy.Where, err = placeOf(mode, o.Getenv); err != nil {
		return &OptionError{Err: fmt.Errorf("the teammate mode %w", err)}
	}
	return nil
}

func (s *Session) teammateModeOfSettings() (mode string) {
	all, notes := settings.Values(s.opts.sources(), settings.TeammateMode, func(mode string) error {
		_, err := placeOf(mode, s.opts.Getenv)
		return err
	})
	s.notes = append(s.notes, notes...)
	for _, m := range all {
		mode = first(m, mode)
	}
	return mode
}

// readInbound takes the strictest of what the option and the settings files say of
// messages of other sessions. A wrong value in a file is a note.
func (s *Session) readInbound() {
	all, notes := settings.Values(s.opts.sources(), settings.CrossSessionInbound, Inbound.Validate)
	s.notes = append(s.notes, notes...)
	for _, i := range all {
		if i.Stricter(s.opts.Inbound) {
			s.opts.Inbound = i
		}
	}
}
