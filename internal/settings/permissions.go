package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	Notes    []string // what does not apply, one line each
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
// never. The error is a *ManagedError, or says what is wrong with --settings.
func ReadPermissions(from defs.Options, trusts func(trust.Item) bool) (Permissions, error) {
	simple := from.Simple
	from.Simple = false // rules hold in simple mode too
	files, problems, err := defs.ReadSettings(from)
	if err != nil {
		return Permissions{}, err
	}
	for _, p := range problems {
		if p.Source == defs.Managed {
			return Permissions{}, &ManagedError{p}
		}
		if p.Source == defs.Flag {
			return Permissions{}, fmt.Errorf("--settings cannot be used: %w", p)
		}
	}
	var all Permissions
	for _, p := range problems {
		if simple { // otherwise reported where the definitions are read
			all.Notes = append(all.Notes, p.String())
		}
	}
	for _, f := range slices.Backward(files) {
		r := readPermissions(from, f)
		if item, needed := r.item(); needed {
			r.untrusted = r.untrusted || trusts == nil || !trusts(item)
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

// add adds what a file says that is weaker than those before.
func (p *Permissions) add(r *permissionReader) {
	p.Notes = append(p.Notes, r.notes()...)
	p.Deny, p.Ask = append(p.Deny, r.deny...), append(p.Ask, r.ask...)
	if p.NoBypass == "" {
		p.NoBypass = r.noBypass
	}
	mode, loose := r.mode, r.isLoose()
	if loose {
		p.Allow, p.Dirs = append(p.Allow, r.allow...), append(p.Dirs, r.dirs...)
	}
	if p.Mode.Value == "" && (loose || !widens(mode.Value)) {
		p.Mode = mode
	}
}

// permissionReader reads the permissions of one file.
type permissionReader struct {
	file      defs.SettingsFile
	cwd, home string
	untrusted bool

	deny, ask, allow []permission.Rule
	dirs             []Placed
	mode             Placed
	noBypass         string
	wrong            []error  // for which the file loses all that loosens
	remarks          []string // about single values
}

// firstError returns the first mistake in the file, or nil.
func (r *permissionReader) firstError() error {
	if len(r.wrong) == 0 {
		return nil
	}
	return r.wrong[0]
}

// isLoose reports whether the file may loosen: whether it is trusted and has no mistake.
func (r *permissionReader) isLoose() bool {
	return !r.untrusted && r.file.Broken == nil && len(r.wrong) == 0
}

// readPermissions reads the permissions of one file.
func readPermissions(from defs.Options, f defs.SettingsFile) *permissionReader {
	r := &permissionReader{file: f, cwd: from.Cwd, home: from.Home, untrusted: f.Untrusted}
	r.read()
	return r
}

// item returns what the file loosens, if it loosens anything and belongs to a directory
// that the user must trust first.
func (r *permissionReader) item() (item trust.Item, needed bool) {
	text := r.loosening()
	if text == "" || len(r.wrong) > 0 || r.file.Source != defs.Project && r.file.Source != defs.Local {
		return item, false
	}
	return itemOf(r.file.Path, "permissions", []byte(text)), true
}

func (r *permissionReader) read() {
	entries, err := r.file.Entries("permissions")
	if err != nil {
		r.wrong = append(r.wrong, err)
	}
	for _, e := range entries {
		if r.file.Broken != nil && (!e.Listed || e.Key != "deny" && e.Key != "ask") {
			continue
		}
		if err := r.entry(e); err != nil && r.file.Broken == nil {
			r.wrong = append(r.wrong, fmt.Errorf("%s: permissions.%s: %w", r.place(e.Line), e.Key, err))
		}
	}
}

func (r *permissionReader) place(line int) string { return fmt.Sprintf("%s:%d", r.file.Path, line) }

// entry takes one value.
func (r *permissionReader) entry(e defs.SettingsEntry) error {
	switch e.Key {
	case "deny":
		return r.rule(e, &r.deny)
	case "ask":
		return r.rule(e, &r.ask)
	case "allow":
		return r.rule(e, &r.allow)
	case "additionalDirectories":
		text, err := listedText(e)
		if err == nil {
			r.directory(text, r.place(e.Line))
		}
		return err
	case "defaultMode":
		return r.defaultMode(e)
	case "disableBypassPermissionsMode":
		text, err := plainText(e)
		if err == nil && text != "disable" {
			err = fmt.Errorf("%q is not known; write \"disable\", or leave it out", text)
		}
		r.noBypass = r.place(e.Line) // also if it is misspelled
		return err
	case "disableAutoMode":
		return nil // there is no such mode
	}
	r.remarks = append(r.remarks, fmt.Sprintf("%s: permissions.%s is not in force: it is not known here", r.place(e.Line), e.Key))
	return nil
}

func (r *permissionReader) rule(e defs.SettingsEntry, into *[]permission.Rule) error {
	text, wrong := listedText(e)
	rule, err := permission.ParseRule(text)
	if err == nil {
		rule.Source, rule.Base = r.place(e.Line), r.base()
		*into = append(*into, rule)
	}
	return cmp.Or(wrong, err)
}

// base returns the directory that patterns of the file with one leading slash start
// from: that of the user's settings, or the one that has the .claude of the file.
func (r *permissionReader) base() string {
	switch r.file.Source {
	case defs.User:
		return filepath.Dir(r.file.Path)
	case defs.Project, defs.Local:
		return filepath.Dir(filepath.Dir(r.file.Path))
	}
	return r.cwd
}

func (r *permissionReader) directory(text, place string) {
	dir := text
	if rest, ok := strings.CutPrefix(text, "~/"); ok || text == "~" {
		dir = filepath.Join(r.home, rest)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.base(), dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		r.remarks = append(r.remarks, fmt.Sprintf("%s: permissions.additionalDirectories: %s is not a directory", place, text))
		return
	}
	r.dirs = append(r.dirs, Placed{filepath.Clean(dir), place})
}

func (r *permissionReader) defaultMode(e defs.SettingsEntry) error {
	text, err := plainText(e)
	if err != nil {
		return err
	}
	mode, err := permission.ParseMode(text)
	if err != nil {
		return err
	}
	if mode == permission.Bypass && (r.file.Source == defs.Project || r.file.Source == defs.Local) {
		r.remarks = append(r.remarks, fmt.Sprintf("%s: permissions.defaultMode is not in force: a project cannot set %s", r.place(e.Line), text))
		return nil
	}
	r.mode = Placed{string(mode), r.place(e.Line)}
	return nil
}

// widens reports a mode in which more is allowed than by default.
func widens(mode string) bool {
	return mode != "" && permission.Narrower(permission.Mode(mode), permission.Default) != permission.Mode(mode)
}

// notes returns what of the file does not apply.
func (r *permissionReader) notes() []string {
	notes := slices.Clone(r.remarks)
	for _, err := range r.wrong {
		notes = append(notes, err.Error())
	}
	left := r.loosening()
	switch {
	case r.isLoose() || left == "":
	case r.untrusted:
		notes = append(notes, fmt.Sprintf("%s: these are left out until you trust the directory (swarm trust): %s; its deny and ask rules hold", r.file.Path, left))
	default:
		notes = append(notes, fmt.Sprintf("%s: these are left out until the file is corrected: %s; its deny and ask rules hold", r.file.Path, left))
	}
	return notes
}

// loosening names what the file would allow.
func (r *permissionReader) loosening() string {
	var parts []string
	if n := len(r.allow); n > 0 {
		texts := make([]string, n)
		for i, rule := range r.allow {
			texts[i] = rule.String()
		}
		parts = append(parts, "allow "+strings.Join(texts, ", "))
	}
	for _, d := range r.dirs {
		parts = append(parts, "additionalDirectories "+d.Value)
	}
	if widens(r.mode.Value) {
		parts = append(parts, "defaultMode "+r.mode.Value)
	}
	return strings.Join(parts, "; ")
}

// listedText returns the text of an entry that must be a string in a list. A string
// alone is returned with an error.
func listedText(e defs.SettingsEntry) (string, error) {
	var text string
	if json.Unmarshal(e.Value, &text) != nil || !e.Listed {
		return text, fmt.Errorf("%.80s is not a list of strings", e.Value)
	}
	return text, nil
}

// plainText returns the text of an entry that must be a string.
func plainText(e defs.SettingsEntry) (string, error) {
	var text string
	if e.Listed || json.Unmarshal(e.Value, &text) != nil {
		return "", fmt.Errorf("%.80s is not a string", e.Value)
	}
	return text, nil
}
