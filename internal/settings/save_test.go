package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/trust"
)

func rule(t *testing.T, text string) permission.Rule {
	t.Helper()
	r, err := permission.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWhatAPersonSavesStaysTrusted(t *testing.T) {
	home, dir, from := places(t)
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	from.Cwd = filepath.Join(dir, "sub")
	if err := os.Mkdir(from.Cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	store := trust.Open(t.TempDir())
	for s, want := range map[Scope]string{
		LocalScope: dir + "/.claude/settings.local.json:4", ProjectScope: dir + "/.claude/settings.json:4", UserScope: home + "/.claude/settings.json:4",
	} {
		if place, err := Save(from, store, s, "allow", rule(t, "Bash(make)")); err != nil || place != want {
			t.Errorf("%s: %s, %v; want %s", s, place, err, want)
		}
	}
	if p, err := ReadPermissions(from, store.State); err != nil || texts(p.Allow) != "Bash(make) Bash(make) Bash(make)" {
		t.Errorf("in force are %s, %v", texts(p.Allow), err)
	}
	path, n, err := Remove(from, store, LocalScope, rule(t, "Bash(make)"))
	if p, readErr := ReadPermissions(from, store.State); err != nil || n != 1 || !strings.HasSuffix(path, "local.json") || readErr != nil || texts(p.Allow) != "Bash(make) Bash(make)" {
		t.Errorf("removed %d from %s, %v; in force are %s, %v", n, path, err, texts(p.Allow), readErr)
	}
}

func TestSavingTrustsNothingElse(t *testing.T) {
	_, dir, from := places(t)
	for _, text := range []string{`{"permissions": {"allow": ["Bash(evil)"]}}`, `{"permissions": {"allow": ["Bash(evil)"], "defaultMode": "brave"}}`} {
		store := trust.Open(t.TempDir())
		write(t, dir, "settings.local.json", text)
		if _, err := Save(from, store, LocalScope, "allow", rule(t, "Bash(make)")); err != nil {
			t.Fatal(err)
		}
		if p, err := ReadPermissions(from, store.State); err != nil || p.Allow != nil {
			t.Errorf("%s: in force are %s, %v", text, texts(p.Allow), err)
		}
	}
	// Somebody else writes while the person does.
	store := trust.Open(t.TempDir())
	write(t, dir, "settings.local.json", `{"permissions": {"allow": ["Bash(make)"]}}`)
	c, err := newChange(from, filepath.Join(dir, ".claude", "settings.local.json"))
	if err != nil {
		t.Fatal(err)
	}
	item, _ := c.before.item()
	if err := store.Add(dir, []trust.Item{item}); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "settings.local.json", `{"permissions": {"allow": ["Bash(make)", "Bash(evil)"]}}`)
	if err := c.trust(store); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadPermissions(from, store.State); err != nil || p.Allow != nil {
		t.Errorf("in force are %s, %v", texts(p.Allow), err)
	}
}

func TestScopesAreNamed(t *testing.T) {
	home, _, from := places(t)
	if _, err := RuleFile(from, "global"); err == nil || !strings.Contains(err.Error(), "use local, project, user") {
		t.Error(err)
	}
	from.Cwd = home
	if _, err := RuleFile(from, LocalScope); err == nil || !strings.Contains(err.Error(), "use the scope user") {
		t.Error(err)
	}
	from.Home = ""
	if _, err := RuleFile(from, UserScope); err == nil || !strings.Contains(err.Error(), "set HOME") {
		t.Error(err)
	}
}
