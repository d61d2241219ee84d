package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/trust"
)

// Follower reads the permissions of the settings files, and reads them again when these
// files or the record of what is trusted have changed. Its methods may be called from any
// goroutine.
type Follower struct {
	from   defs.Options
	trusts func(trust.Item) trust.State
	more   []string // further files that count

	mu    sync.Mutex
	stamp defs.SettingsStamp // guarded by mu
	now   Permissions        // guarded by mu
}

// Follow reads the permissions, with the errors of ReadPermissions. stateDir is where the
// record of what is trusted is.
func Follow(from defs.Options, stateDir string, trusts func(trust.Item) trust.State) (*Follower, error) {
	f := &Follower{from: from, trusts: trusts, more: []string{filepath.Join(stateDir, trust.FileName), filepath.Join(from.Home, ".claude.json")}}
	return f, f.read()
}

// read reads the files. f.mu is held, or nobody else has f yet.
func (f *Follower) read() error {
	stamped := f.from
	stamped.Simple = false
	stamp, err := defs.StampSettings(stamped, f.more...) // before reading, so that a change in between is noticed
	if err != nil {
		return err
	}
	f.stamp = stamp
	f.now, err = ReadPermissions(f.from, f.trusts)
	return err
}

// Permissions returns the permissions as they are now, and whether they were read again.
// Rules of the directory's own files that deny or ask stay in force when they are removed,
// as an agent could do that. While files cannot be read, nothing in them loosens, and
// while managed settings cannot be read, everything is denied.
func (f *Follower) Permissions() (now Permissions, again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stamp.Changed() {
		return f.now, false
	}
	before := f.now
	if err := f.read(); err != nil {
		f.now = before.withoutLoosening(err)
	} else {
		f.now.hold(before)
	}
	return f.now, true
}

// withoutLoosening returns what remains of permissions that cannot be read any more.
func (p Permissions) withoutLoosening(err error) Permissions {
	p.Allow, p.Dirs, p.LeftOut, p.Notes = nil, nil, nil, []string{err.Error()}
	all := permission.Rule{Tool: "*", Source: err.Error()}
	if errors.As(err, new(*ManagedError)) && !slices.Contains(p.Deny, all) {
		p.Deny = append(slices.Clip(p.Deny), all)
	}
	return p
}

// hold adds the rules of before that deny or ask, are of a directory's own files, and are
// missing.
func (p *Permissions) hold(before Permissions) {
	p.Held.Deny = p.holdList("deny", &p.Deny, &p.owned.deny, before.owned.deny)
	p.Held.Ask = p.holdList("ask", &p.Ask, &p.owned.ask, before.owned.ask)
}

func (p *Permissions) holdList(name string, rules, owned *[]permission.Rule, before []permission.Rule) (held []permission.Rule) {
	for _, rule := range before {
		if slices.ContainsFunc(*rules, func(r permission.Rule) bool { return r.String() == rule.String() && r.Base == rule.Base }) {
			continue
		}
		*rules, *owned, held = append(*rules, rule), append(*owned, rule), append(held, rule)
		p.Notes = append(p.Notes, fmt.Sprintf("%s: the %s rule %s was removed, and holds until the session is opened again", rule.Source, name, rule))
	}
	return held
}

// Held are rules that were removed and are still in force.
type Held struct {
	Deny []permission.Rule `json:"deny,omitempty"`
	Ask  []permission.Rule `json:"ask,omitempty"`
}

// owned are the rules of a directory's own files that deny or ask.
type owned struct{ deny, ask []permission.Rule }
