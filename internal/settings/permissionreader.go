package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/trust"
)

// permissionReader reads the permissions of one file.
type permissionReader struct {
	file      defs.SettingsFile
	cwd, home string
	untrusted bool
	unguarded string // the file of a directory whose hooks have changed since they were trusted, or ""

	deny, ask, allow []permission.Rule
	dirs             []Placed
	mode             Placed
	noBypass, noAuto string
	wrong            []error  // for which the file loses all that loosens
	remarks          []string // about single values
	unused           []string // keys that have no effect
}

// firstError returns the first mistake in the file, or nil.
func (r *permissionReader) firstError() error {
	if len(r.wrong) == 0 {
		return nil
	}
	return r.wrong[0]
}

// isLoose reports whether the file may loosen: whether it is trusted, nobody else writes
// it, and it has no mistake.
func (r *permissionReader) isLoose() bool {
	return !r.untrusted && (r.unguarded == "" || !r.ofDirectory()) && r.file.Unsafe == "" && r.file.Broken == nil && len(r.wrong) == 0
}

// readPermissions reads the permissions of one file.
func readPermissions(from defs.Options, f defs.SettingsFile) *permissionReader {
	r := &permissionReader{file: f, cwd: from.Cwd, home: from.Home, untrusted: f.Untrusted}
	r.read()
	r.readKeys()
	return r
}

// ofDirectory reports a file of a directory, which agents may have written.
func (r *permissionReader) ofDirectory() bool {
	return r.file.Source == defs.Project || r.file.Source == defs.Local
}

// item returns what the file loosens, if it loosens anything and belongs to a directory
// that the user must trust first.
func (r *permissionReader) item() (item trust.Item, needed bool) {
	if len(r.loosening()) == 0 || r.file.Unsafe != "" || len(r.wrong) > 0 || !r.ofDirectory() {
		return item, false
	}
	return itemOf(r.file.Path, "permissions", trustText(r.loosening())), true
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

// readKeys takes the keys of the file itself.
func (r *permissionReader) readKeys() {
	if r.file.Broken != nil {
		return
	}
	entries, _ := r.file.Entries("") // a value that cannot be read is reported where it is used
	for i, e := range entries {
		if i > 0 && entries[i-1].Key == e.Key {
			continue // another element of the same list
		}
		if err := r.otherKey(e); err != nil {
			r.wrong = append(r.wrong, fmt.Errorf("%s: %s: %w", r.place(e.Line), e.Key, err))
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
		return r.disable(e, &r.noBypass)
	case "disableAutoMode":
		return r.disable(e, &r.noAuto)
	}
	r.remarks = append(r.remarks, fmt.Sprintf("%s: permissions.%s is not in force: it is not known here", r.place(e.Line), e.Key))
	return nil
}

// disable sets the place where a mode is disabled, also if the value is misspelled.
func (r *permissionReader) disable(e defs.SettingsEntry, place *string) error {
	text, err := plainText(e)
	if err == nil && text != "disable" {
		err = fmt.Errorf("%q is not known; write \"disable\", or leave it out", text)
	}
	*place = r.place(e.Line)
	return err
}

// parseRule returns a rule of a list. One that restricts may count although there is an error;
// a rule without a tool does not count.
func parseRule(list, text string) (permission.Rule, error) {
	if list == "allow" {
		return permission.ParseRule(text)
	}
	return permission.ParseRestriction(text)
}

func (r *permissionReader) rule(e defs.SettingsEntry, into *[]permission.Rule) error {
	text, wrong := listedText(e)
	rule, err := parseRule(e.Key, text)
	if err == nil || rule.Tool != "" {
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
	if (mode == permission.Bypass || mode.Judged()) && r.ofDirectory() {
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
