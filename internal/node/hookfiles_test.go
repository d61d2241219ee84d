package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/trust"
)

// hookPlace is a home and a directory with settings files.
type hookPlace struct {
	t      *testing.T
	config Config
	files  *hookFiles
	lines  []string // of warnings
}

func newHookPlace(t *testing.T) *hookPlace {
	c := Config{Dir: t.TempDir(), Home: t.TempDir(), StateDir: t.TempDir(), Getenv: func(string) string { return "" }}
	return &hookPlace{t: t, config: c, files: newHookFiles(c)}
}

// write writes a settings file that runs a command at Stop; "" removes it.
func (p *hookPlace) write(dir, command string) {
	p.t.Helper()
	path := filepath.Join(dir, ".claude", "settings.json")
	err := os.Remove(path)
	if command != "" {
		text := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "` + command + `"}]}]}}`
		if strings.HasPrefix(command, "{") {
			text = command
		}
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *hookPlace) trust() {
	p.t.Helper()
	items, err := settings.Items(p.config.Sources(), &defs.Set{})
	if err == nil {
		err = trust.Open(p.config.StateDir).Add(p.config.Dir, items)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// check refreshes the files and compares what runs at Stop.
func (p *hookPlace) check(why, objection, want, warned string) {
	p.t.Helper()
	p.lines = nil
	for range 3 {
		p.files.refresh(func(hook.File) string { return objection }, func(text string) { p.lines = append(p.lines, text) })
	}
	set, _ := hook.Parse(p.files.load())
	var runs []string
	for _, l := range set.List() {
		runs = append(runs, l.Command)
	}
	if got := strings.Join(runs, " "); got != want {
		p.t.Errorf("%s: %q runs, want %q", why, got, want)
	}
	said := strings.Join(p.lines, "\n")
	if warned == "" && said != "" || !strings.Contains(said, warned) || len(p.lines) > 1 {
		p.t.Errorf("%s: warned %q, want %q", why, p.lines, warned)
	}
}

func TestChangedHooksOfTheUserAreTakenUp(t *testing.T) {
	p := newHookPlace(t)
	p.write(p.config.Home, "one")
	p.check("at the start", "", "one", "")
	p.write(p.config.Home, "two")
	p.check("changed", "", "two", "are in force as they are now")
	p.write(p.config.Home, "three")
	p.check("objected to", "no", "two", "a ConfigChange hook objects: no")
	p.write(p.config.Home, "{")
	p.check("broken, which the reader of the rules reports", "", "two", "")
	p.write(p.config.Home, "")
	p.check("removed", "", "", "are in force as they are now")
	p.write(p.config.Home, "four")
	p.check("made", "", "four", "are in force as they are now")
}

// A mistake that comes with a change is reported once, like one of the start.
func TestMistakesOfAChangeAreReportedOnce(t *testing.T) {
	p := newHookPlace(t)
	p.write(p.config.Home, "one")
	p.check("at the start", "", "one", "")
	p.write(p.config.Home, `{"hooks": {"Stpo": [{"hooks": [{"type": "command", "command": "two"}]}]}}`)
	var lines []string
	for range 3 {
		p.files.refresh(func(hook.File) string { return "" }, func(text string) { lines = append(lines, text) })
	}
	if len(lines) != 2 || !strings.Contains(lines[1], "not run: Stpo") {
		t.Errorf("warned of %q", lines)
	}
}

func TestNoChangeTakesAGuardOfTheDirectoryAway(t *testing.T) {
	p := newHookPlace(t)
	p.write(p.config.Dir, "one")
	p.check("untrusted", "", "", "")
	p.files = newHookFiles(p.config)
	p.trust()
	p.check("trusted", "", "one", "")
	for attack, warned := range map[string]string{"two": "stay as they were", "{": "", "": "stay as they were"} {
		p.write(p.config.Dir, attack) // the reader of the rules reports a file that cannot be read
		p.check("attack "+attack, "", "one", warned)
	}
	p.write(p.config.Dir, "two")
	p.trust()
	p.files.refresh(func(hook.File) string { return "" }, func(string) {})
	p.write(p.config.Dir, "three")
	p.trust()
	p.check("trusted anew", "", "three", "are in force as they are now")
}
