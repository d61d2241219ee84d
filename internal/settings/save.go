package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/settings/rulefile"
	"github.com/actorswarm/swarm/internal/trust"
)

// Scope names a settings file that a person can change.
type Scope string

// The scopes.
const (
	LocalScope   Scope = "local"   // of the person in the project
	ProjectScope Scope = "project" // of all who work in the project
	UserScope    Scope = "user"    // of the person everywhere
)

// Scopes returns the names of all scopes.
func Scopes() []string { return []string{string(LocalScope), string(ProjectScope), string(UserScope)} }

// RuleFile returns the settings file of a scope.
func RuleFile(from defs.Options, s Scope) (rulefile.File, error) {
	if s == UserScope {
		if from.UserDir() == "" {
			return rulefile.File{}, fmt.Errorf("there is no home directory for rules of the scope user; set HOME, or use another scope")
		}
		return rulefile.File{Dir: from.UserDir(), Name: "settings.json"}, nil
	}
	root, err := from.Repository()
	if err != nil {
		return rulefile.File{}, err
	}
	if filepath.Join(root, ".claude") == from.UserDir() {
		return rulefile.File{}, fmt.Errorf("%s is your home, which has no rules of the scope %s; use the scope user", root, s)
	}
	switch s {
	case LocalScope:
		return rulefile.File{Dir: root, Name: ".claude/settings.local.json"}, nil
	case ProjectScope:
		return rulefile.File{Dir: root, Name: ".claude/settings.json"}, nil
	}
	return rulefile.File{}, fmt.Errorf("there is no scope %q; use %s", s, strings.Join(Scopes(), ", "))
}

// Save adds a rule to a list, such as allow, of the settings file of a scope, for a
// person, and returns its place. What the file allows stays trusted if it was.
func Save(from defs.Options, store *trust.Store, s Scope, list string, rule permission.Rule) (place string, err error) {
	f, err := RuleFile(from, s)
	if err != nil {
		return "", err
	}
	c, err := newChange(from, f.Path())
	if err != nil {
		return "", err
	}
	line, err := f.Add(list, rule.String())
	if err != nil {
		return "", err
	}
	if list == "allow" {
		c.allows = append(c.allows, LeftOut{Kind: "allow", Text: rule.String()})
	}
	return fmt.Sprintf("%s:%d", f.Path(), line), c.trust(store)
}

// Remove removes a rule from all lists of the settings file of a scope, however it is
// spelled there, and returns the file and how many rules were removed.
func Remove(from defs.Options, store *trust.Store, s Scope, rule permission.Rule) (path string, removed int, err error) {
	f, err := RuleFile(from, s)
	if err != nil {
		return "", 0, err
	}
	c, err := newChange(from, f.Path())
	if err != nil {
		return "", 0, err
	}
	removed, err = f.Remove(func(list, text string) bool {
		r, err := parseRule(list, text)
		if err != nil && r.Tool == "" {
			return false
		}
		return r.String() == rule.String() && (list == "deny" || list == "ask" || list == "allow")
	})
	if err != nil {
		return "", 0, err
	}
	c.allows = slices.DeleteFunc(c.allows, func(l LeftOut) bool { return l.Kind == "allow" && l.Text == rule.String() })
	return f.Path(), removed, c.trust(store)
}

// change is a change of a settings file that a person makes.
type change struct {
	from   defs.Options
	path   string
	before *permissionReader // nil if there was no file
	allows []LeftOut         // what the file allows afterwards
}

func newChange(from defs.Options, path string) (*change, error) {
	c := &change{from: from, path: path}
	var err error
	if c.before, err = c.read(); err == nil && c.before != nil {
		c.allows = c.before.loosening()
	}
	return c, err
}

// read reads the file, if it exists.
func (c *change) read() (*permissionReader, error) {
	files, _, err := defs.ReadSettings(c.from)
	i := slices.IndexFunc(files, func(f defs.SettingsFile) bool { return f.Path == c.path })
	if err != nil || i < 0 {
		return nil, err
	}
	return readPermissions(c.from, files[i]), nil
}

// trust records that what the file allows is trusted, if that was so before the change
// and the person has made all that differs.
func (c *change) trust(store *trust.Store) error {
	var old trust.Item
	if c.before != nil {
		item, needed := c.before.item()
		if len(c.before.wrong) > 0 || c.before.file.Broken != nil || needed && !store.Trusts(item) {
			return nil
		}
		old = item
	}
	after, err := c.read()
	if err != nil || after == nil {
		return err
	}
	now, needed := after.item()
	if !needed || now.Text != string(trustText(c.allows)) {
		return nil
	}
	return store.Replace(old, now)
}
