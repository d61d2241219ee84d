package node

import (
	"cmp"
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/session"
)

// ReadPermissions reads the permissions of the settings files as they are now.
func (c Config) ReadPermissions() (settings.Permissions, error) {
	return settings.ReadPermissions(c.Sources(), c.trustState)
}

// ReadMode sets Mode from the settings unless it is set. What is wrong in the files is
// reported by Load.
func (c *Config) ReadMode() {
	if c.Mode != "" {
		return
	}
	if written, err := c.ReadPermissions(); err == nil {
		c.Mode = written.Mode.Value
	}
}

// ReadPlace sets Policy.Where, unless it is set, from mode, SWARM_TEAMMATE_MODE or the
// settings file with the highest precedence. A wrong value in a file is a note.
func (c *Config) ReadPlace(mode string) (notes []string, err error) {
	if c.Policy.Where != "" {
		return nil, nil
	}
	if mode = cmp.Or(mode, c.Getenv("SWARM_TEAMMATE_MODE")); mode == "" {
		mode, notes = c.modeOfSettings()
	}
	if c.Policy.Where, err = placeOf(mode, c.Getenv); err != nil {
		return notes, &session.OptionError{Err: fmt.Errorf("the teammate mode %w", err)}
	}
	return notes, nil
}

func (c *Config) modeOfSettings() (mode string, notes []string) {
	all, notes := settings.Values(c.Sources(), settings.TeammateMode, func(mode string) error {
		_, err := placeOf(mode, c.Getenv)
		return err
	})
	for _, m := range all {
		mode = cmp.Or(m, mode)
	}
	return mode, notes
}

// placeOf returns where teammates run in a teammate mode.
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

// ReadInbound returns the strictest of the option and the settings for messages of
// other sessions. A wrong value in a file is a note.
func (c *Config) ReadInbound(option session.Inbound) (strictest session.Inbound, notes []string) {
	all, notes := settings.Values(c.Sources(), settings.CrossSessionInbound, session.Inbound.Validate)
	for _, i := range all {
		if i.Stricter(option) {
			option = i
		}
	}
	return option, notes
}
