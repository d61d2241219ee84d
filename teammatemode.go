package swarm

import (
	"fmt"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/defs"
)

// teammateModeSetting is the key of the settings files.
const teammateModeSetting = "teammateMode"

// placeOf returns where a teammate mode lets teammates run.
func placeOf(mode string, getenv func(string) string) (p actors.Place, ok bool) {
	switch mode {
	case "", "in-process":
		return "", true
	case "tmux":
		return actors.InTmux, true
	case "process":
		return actors.InProcess, true
	case "auto":
		if getenv("TMUX") != "" {
			return actors.InTmux, true
		}
		return "", true
	}
	return "", false
}

// settleTeammates says where teammates run: as Policy.Where, the option or
// SWARM_TEAMMATE_MODE says, and else the strongest settings file that says it. What
// a file says wrong is a note: the rest of the file counts.
func (s *Session) settleTeammates() error {
	o := &s.opts
	mode := first(o.TeammateMode, o.Getenv("SWARM_TEAMMATE_MODE"))
	if o.node != nil || o.Policy.Where != "" {
		return nil
	}
	if mode == "" {
		o.Policy.Where = s.teammatesBySettings()
		return nil
	}
	place, ok := placeOf(mode, o.Getenv)
	if !ok {
		return &OptionError{fmt.Errorf("unknown teammate mode %q; use in-process, tmux, process or auto", mode)}
	}
	o.Policy.Where = place
	return nil
}

func (s *Session) teammatesBySettings() (where actors.Place) {
	files, _, err := defs.ReadSettings(s.opts.sources())
	if err != nil {
		return "" // told where the definitions are read
	}
	for _, f := range files {
		mode := ""
		if f.Untrusted {
			continue
		}
		if err := setting(f, teammateModeSetting, &mode); err != nil {
			s.notes = append(s.notes, err.Error())
			continue
		}
		place, ok := placeOf(mode, s.opts.Getenv)
		switch {
		case !ok:
			s.notes = append(s.notes, fmt.Sprintf("%s: %s is %q; use in-process, tmux, process or auto", f.Path, teammateModeSetting, mode))
		case mode != "":
			where = place
		}
	}
	return where
}
