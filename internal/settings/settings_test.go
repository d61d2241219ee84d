package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/trust"
)

// write puts a settings file below dir and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, ".claude", name)
	writeFile(t, path, text)
	return path
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// places returns where settings are read in a test: a home and a directory in it.
func places(t *testing.T) (home, dir string, from defs.Options) {
	t.Helper()
	home, dir = t.TempDir(), t.TempDir()
	return home, dir, defs.Options{Home: home, Cwd: dir}
}

func small(n int) error {
	if n > 5 {
		return fmt.Errorf("is %d; use 1 to 5", n)
	}
	return nil
}

func TestAWrongValueIsANote(t *testing.T) {
	home, dir, from := places(t)
	write(t, home, "settings.json", `{"n": 1}`)
	project := write(t, dir, "settings.json", `{"n": 7}`)
	local := write(t, dir, "settings.local.json", `{"n": "many"}`)
	values, notes := Values(from, "n", small)
	if !slices.Equal(values, []int{1}) {
		t.Errorf("the values are %v, want the one that is right", values)
	}
	if len(notes) != 2 || notes[0] != project+": n is 7; use 1 to 5" || !strings.HasPrefix(notes[1], local+": n: ") {
		t.Errorf("the notes are %q", notes)
	}
}

func TestValuesComeFromTheWeakestFileFirst(t *testing.T) {
	home, dir, from := places(t)
	write(t, dir, "settings.local.json", `{"n": 3}`)
	write(t, home, "settings.json", `{"n": 1}`)
	write(t, dir, "settings.json", `{"other": 2}`)
	if values, notes := Values(from, "n", small); !slices.Equal(values, []int{1, 3}) || len(notes) > 0 {
		t.Errorf("the values are %v, %q", values, notes)
	}
}

func TestValuesOfUntrustedFilesDoNotCount(t *testing.T) {
	home, dir, from := places(t)
	write(t, home, "settings.json", `{"n": 1}`)
	write(t, dir, "settings.json", `{"n": 2}`)
	from.Trusted = func(string) bool { return false }
	if values, notes := Values(from, "n", small); !slices.Equal(values, []int{1}) || len(notes) > 0 {
		t.Errorf("the values are %v, %q", values, notes)
	}
}

func TestHooksOfADirectoryNeedTrust(t *testing.T) {
	home, dir, from := places(t)
	const hooks = `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}`
	path, store := write(t, dir, "settings.json", hooks), trust.Open(t.TempDir())
	set, problems := Hooks(from, store.State)
	if set.Listens("Stop") || len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), path+": its hooks are not run") {
		t.Fatalf("the hooks run, or nothing is said of them: %v", problems)
	}
	items, err := Items(from, &defs.Set{})
	if err != nil || len(items) != 1 || items[0].Name != ".claude/settings.json hooks" || items[0].Dir != dir {
		t.Fatalf("the items are %+v, %v", items, err)
	}
	if err := store.Add(dir, items); err != nil {
		t.Fatal(err)
	}
	if set, problems := Hooks(from, store.State); !set.Listens("Stop") || len(problems) > 0 {
		t.Errorf("the hooks of a trusted directory do not run: %v", problems)
	}
	write(t, dir, "settings.json", strings.Replace(hooks, "true", "false", 1))
	if set, _ := Hooks(from, store.State); set.Listens("Stop") {
		t.Error("hooks that have changed run unasked")
	}
	write(t, home, "settings.json", hooks)
	if set, _ := Hooks(from, nil); !set.Listens("Stop") {
		t.Error("the user's own hooks need trust")
	}
}

func TestHooksAreReadAnew(t *testing.T) {
	_, dir, from := places(t)
	if set, problems := Hooks(from, trustAll); set.Has("WorktreeCreate", "") || len(problems) > 0 {
		t.Fatalf("without files there are hooks, or problems: %v", problems)
	}
	write(t, dir, "settings.json", `{"hooks": {"WorktreeCreate": [{"hooks": [{"type": "command", "command": "true"}]}]}}`)
	if set, problems := Hooks(from, trustAll); !set.Has("WorktreeCreate", "") || len(problems) > 0 {
		t.Fatalf("the hook of a new file is not there: %v", problems)
	}
	write(t, dir, "settings.local.json", `{"disableAllHooks": "yes"}`)
	if set, problems := Hooks(from, trustAll); !set.Has("WorktreeCreate", "") || len(problems) != 1 || !strings.Contains(problems[0].Error(), "disableAllHooks") {
		t.Errorf("a wrong value costs more than itself, or there is no note of it: %v", problems)
	}
}

func TestADirectoryDoesNotTurnTheUsersHooksOff(t *testing.T) {
	home, dir, from := places(t)
	write(t, home, "settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}, "allowedHttpHookUrls": ["https://a"]}`)
	write(t, dir, "settings.json", `{"disableAllHooks": true, "allowedHttpHookUrls": ["*"], "httpHookAllowedEnvVars": ["KEY"]}`)
	files, problems := HookFiles(from, func(trust.Item) trust.State { return trust.Untrusted })
	if len(problems) != 3 || files[1].DisableAll != nil || files[1].URLs != nil || files[1].Env != nil {
		t.Errorf("%+v, problems %v", files[1], problems)
	}
	if set, _ := Hooks(from, nil); !set.Listens("Stop") {
		t.Error("a directory that nobody trusts has turned hooks off")
	}
	if items, err := Items(from, &defs.Set{}); err != nil || len(items) != 3 {
		t.Errorf("what swarm trust shows is %+v, %v", items, err)
	}
	if set, problems := Hooks(from, trustAll); set.Listens("Stop") || len(problems) > 0 {
		t.Errorf("trusted, it does not hold: %v", problems)
	}
}
