package settings

import (
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/trust"
)

// Permissions are the permission rules of the settings files, those of the strongest
// file first. The source of a rule is its file and line.
type Permissions struct {
	Deny, Ask, Allow []permission.Rule
	Dirs             []Placed // further working directories, absolute
	Mode             Placed   // in which a lead starts; the zero value if no file has one
	// NoBypass is where the mode bypassPermissions is disabled; "" is nowhere.
	NoBypass string
	NoAuto   string    // the same for the mode auto
	LeftOut  []LeftOut // what would loosen and does not apply
	Notes    []string  // what does not apply, one line each
	Unused   []string  // keys without effect on which nobody relies, one line for each file

	Held  Held // part of Deny and Ask
	owned owned
}

// Placed is a value of a settings file and its place there, as in "settings.json:4".
type Placed struct {
	Value string `json:"value"`
	From  string `json:"from"`
}

// ManagedError reports managed settings that cannot be read. As they may hold denials,
// nothing may run without them.
type ManagedError struct{ Problem error }

func (e *ManagedError) Error() string {
	return fmt.Sprintf("the managed settings may deny something and cannot be read, so nothing is started: %v; correct the file", e.Problem)
}

func (e *ManagedError) Unwrap() error { return e.Problem }

// ReadPermissions reads the permissions of all settings files as they are now. What a
// directory's own files loosen applies only if trusts covers it; without trusts that is
// never. The error is a *ManagedError, or is about --settings.
func ReadPermissions(from defs.Options, trusts func(trust.Item) trust.State) (Permissions, error) {
	simple := from.Simple
	from.Simple = false // rules hold in simple mode too
	files, problems, err := defs.ReadSettings(from)
	if err != nil {
		return Permissions{}, err
	}
	for _, p := range problems {
		if p.Fatal && p.Source == defs.Managed {
			return Permissions{}, &ManagedError{p}
		}
		if p.Fatal && p.Source == defs.Flag {
			return Permissions{}, fmt.Errorf("--settings cannot be used: %w", p)
		}
	}
	var all Permissions
	for _, p := range problems {
		if simple { // otherwise reported where the definitions are read
			all.Notes = append(all.Notes, p.String())
		}
	}
	unguarded := changedHooks(files, trusts)
	for _, f := range slices.Backward(files) {
		r := readPermissions(from, f)
		r.unguarded = unguarded
		if item, needed := r.item(); needed {
			r.untrusted = r.untrusted || trusts == nil || trusts(item) != trust.Trusted
		}
		if err := r.firstError(); err != nil && f.Source == defs.Managed {
			return Permissions{}, &ManagedError{err}
		} else if err != nil && f.Source == defs.Flag {
			return Permissions{}, fmt.Errorf("--settings cannot be used: %w", err)
		}
		all.add(r)
	}
	return all, nil
}

// changedHooks returns the file of a directory whose hooks have changed since the user
// trusted them, or "". They do not run, and may have guarded what the directory allows.
func changedHooks(files []defs.SettingsFile, trusts func(trust.Item) trust.State) string {
	for _, f := range files {
		if stateOf(f, hooksKey, trusts) == trust.Changed {
			return f.Path
		}
	}
	return ""
}

// add adds the values of a file that is weaker than those before.
func (p *Permissions) add(r *permissionReader) {
	p.Notes, p.LeftOut = append(p.Notes, r.notes()...), append(p.LeftOut, r.leftOut()...)
	if line := r.unusedLine(); line != "" {
		p.Unused = append(p.Unused, line)
	}
	p.Deny, p.Ask = append(p.Deny, r.deny...), append(p.Ask, r.ask...)
	if r.ofDirectory() {
		p.owned.deny, p.owned.ask = append(p.owned.deny, r.deny...), append(p.owned.ask, r.ask...)
	}
	if p.NoBypass == "" {
		p.NoBypass = r.noBypass
	}
	if p.NoAuto == "" {
		p.NoAuto = r.noAuto
	}
	mode, loose := r.mode, r.isLoose()
	if loose {
		p.Allow, p.Dirs = append(p.Allow, r.allow...), append(p.Dirs, r.dirs...)
	}
	if p.Mode.Value == "" && (loose || !widens(mode.Value)) {
		p.Mode = mode
	}
}
