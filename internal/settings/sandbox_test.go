package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
)

// sandboxOf reads the key from a user's file and a project's.
func sandboxOf(t *testing.T, user, project string) (s Sandbox, home, dir string) {
	t.Helper()
	home, dir = t.TempDir(), t.TempDir()
	for path, text := range map[string]string{home + "/.claude/settings.json": user, dir + "/.claude/settings.json": project} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"sandbox": `+text+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := ReadSandbox(defs.Options{Cwd: dir, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	return s, home, dir
}

// TestSandboxSettingsOfADirectoryOnlyTighten: what a project allows does not apply, what it
// denies and bounds does.
func TestSandboxSettingsOfADirectoryOnlyTighten(t *testing.T) {
	lists := `{"filesystem": {"allowRead": ["~/a"], "allowWrite": ["/b"], "denyRead": ["c"], "denyWrite": ["//d"]}, "limits": {"openFiles": 9, "fileSizeMB": 0}}`
	s, home, dir := sandboxOf(t, lists, `{"filesystem": {"allowRead": ["/x"], "denyRead": ["y"]}, "limits": {"openFiles": 5, "cpuSeconds": 7, "fileSizeMB": 0}}`)
	if !slices.Equal(s.AllowRead, []string{home + "/a"}) || !slices.Equal(s.AllowWrite, []string{"/b"}) || !slices.Equal(s.DenyWrite, []string{"/d"}) ||
		!slices.Contains(s.DenyRead, dir+"/y") || len(s.DenyRead) != 2 {
		t.Errorf("read %+v", s)
	}
	if l := s.Limits; l.OpenFiles != 5 || l.CPU != 7 || l.FileSize != 0 {
		t.Errorf("the limits are %+v", l)
	}
	if !strings.Contains(strings.Join(s.Notes, "\n"), "in your own settings only") {
		t.Errorf("the notes are %q", s.Notes)
	}
	if s, _, _ := sandboxOf(t, `{"limits": {"processes": 50}}`, `{"limits": {"processes": 80, "totalMemoryMB": 3}}`); s.Totals.Processes != 50 || s.Totals.Memory != 3<<20 {
		t.Errorf("the limits of all processes are %+v", s.Totals)
	}
	if s, _, _ := sandboxOf(t, `{"limits": {"processes": 0, "totalMemoryMB": 0}}`, `{}`); s.Totals.Processes != 0 || s.Totals.Memory != 0 {
		t.Errorf("the user does not lift the limits of all processes: %+v", s.Totals)
	}
	if s, _, _ := sandboxOf(t, `{}`, `{"limits": {"fileSizeMB": 0, "openFiles": 4}}`); s.Limits.FileSize != DefaultLimits().FileSize || s.Limits.OpenFiles != 4 {
		t.Errorf("a project lifts a limit: %+v", s.Limits)
	}
}

// TestUnknownSandboxSettingsAreNamed, and a file with a mistake loosens nothing.
func TestUnknownSandboxSettingsAreNamed(t *testing.T) {
	s, _, _ := sandboxOf(t, `{"someday": false, "filesystem": {"allowWrite": ["/b/*"], "denyRead": ["/c"], "x": 1}}`, `{}`)
	notes := strings.Join(s.Notes, "\n")
	for _, want := range []string{"sandbox.someday is not in force", "is a pattern"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in %s", want, notes)
		}
	}
	if !slices.Equal(s.DenyRead, []string{"/c"}) || !strings.Contains(notes, "filesystem.x is not in force") {
		t.Errorf("of a file with a mistake %v is denied, and the notes are %s", s.DenyRead, notes)
	}
	if len(s.AllowWrite) > 0 {
		t.Errorf("%v may be written", s.AllowWrite)
	}
}
