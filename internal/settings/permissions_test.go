package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/trust"
)

func trustAll(trust.Item) trust.State { return trust.Trusted }

// texts returns rules as text.
func texts(rules []permission.Rule) string {
	var all []string
	for _, r := range rules {
		all = append(all, r.String())
	}
	return strings.Join(all, " ")
}

func TestPermissionsAddUpFromTheStrongest(t *testing.T) {
	home, dir, from := places(t)
	from.Settings = `{"permissions": {"deny": ["B"], "defaultMode": "plan"}}`
	write(t, home, "settings.json", `{"permissions": {"deny": ["E"], "ask": ["F"], "allow": ["G"], "defaultMode": "acceptEdits", "additionalDirectories": ["~/", "nowhere"]}}`)
	write(t, dir, "settings.json", `{"permissions": {"deny": ["D(/x)"], "disableBypassPermissionsMode": "disable"}}`)
	local := write(t, dir, "settings.local.json", "{\"permissions\": {\n\"deny\": [\"C\"], \"defaultMode\": \"bypassPermissions\"}}")
	p, err := ReadPermissions(from, trustAll)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(p.Deny) + "|" + texts(p.Ask) + "|" + texts(p.Allow); got != "B C D(/x) E|F|G" {
		t.Errorf("the rules are %s", got)
	}
	if p.Mode != (Placed{"plan", "--settings:1"}) || !strings.HasSuffix(p.NoBypass, "settings.json:1") || len(p.Dirs) != 1 || p.Dirs[0].Value != home {
		t.Errorf("the mode is %v, bypassing is disabled by %q, directories %v", p.Mode, p.NoBypass, p.Dirs)
	}
	if p.Deny[1].Source != local+":2" || p.Deny[2].Base != dir || p.Deny[3].Base != filepath.Join(home, ".claude") {
		t.Errorf("the places are %+v", p.Deny)
	}
	if len(p.Notes) != 2 || !strings.Contains(p.Notes[0], "a project cannot set bypassPermissions") || !strings.Contains(p.Notes[1], "nowhere is not a directory") {
		t.Errorf("the notes are %q", p.Notes)
	}
}

// A hook that the user has trusted may guard what the directory allows: when its text has
// changed it does not run, and the directory allows nothing.
func TestADirectoryAllowsNothingWhenItsHooksHaveChanged(t *testing.T) {
	_, dir, from := places(t)
	write(t, dir, "settings.json", `{"permissions": {"deny": ["A"], "allow": ["C"]}}`)
	write(t, dir, "settings.local.json", `{"hooks": {"PreToolUse": []}}`)
	for state, want := range map[trust.State]string{trust.Trusted: "C", trust.Changed: "", trust.Untrusted: "C"} {
		p, err := ReadPermissions(from, func(i trust.Item) trust.State {
			if strings.HasSuffix(i.Name, " hooks") {
				return state
			}
			return trust.Trusted
		})
		if err != nil || texts(p.Allow) != want || texts(p.Deny) != "A" {
			t.Errorf("hooks in state %v: allow %s, deny %s, %v", state, texts(p.Allow), texts(p.Deny), err)
		}
	}
}

// A rule that denies or asks counts although its parenthesis is not closed.
func TestUnclosedRulesRestrict(t *testing.T) {
	_, dir, from := places(t)
	write(t, dir, "settings.json", `{"permissions": {"deny": ["Bash(git push *", "(x"], "ask": ["Read(a) ", "Edit(b"], "allow": ["Bash(ls", "Read(c)"]}}`)
	p, err := ReadPermissions(from, trustAll)
	if err != nil || texts(p.Deny) != "Bash(git push *)" || texts(p.Ask) != "Read(a) Edit(b)" || p.Allow != nil {
		t.Errorf("deny %s, ask %s, allow %s, %v", texts(p.Deny), texts(p.Ask), texts(p.Allow), err)
	}
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{"it counts as Bash(git push *)", "it counts as Edit(b)", `"(x" does not start with`, `"Bash(ls" has no closing`} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in %s", want, notes)
		}
	}
}

func TestUntrustedFilesTightenAndNeverLoosen(t *testing.T) {
	_, dir, from := places(t)
	path := write(t, dir, "settings.json", `{"permissions": {"deny": ["A"], "ask": ["B"], "allow": ["C"], "additionalDirectories": ["/"], "defaultMode": "acceptEdits"}}`)
	var asked trust.Item
	p, err := ReadPermissions(from, func(i trust.Item) trust.State { asked = i; return trust.Untrusted })
	if err != nil {
		t.Fatal(err)
	}
	if asked.Dir != dir || asked.Name != ".claude/settings.json permissions" || asked.Text != `{"additionalDirectories":["/"],"allow":["C"],"defaultMode":["acceptEdits"]}` {
		t.Errorf("the item is %+v", asked)
	}
	if texts(p.Deny) != "A" || texts(p.Ask) != "B" || p.Allow != nil || p.Dirs != nil || p.Mode.Value != "" {
		t.Errorf("the permissions are %+v", p)
	}
	want := path + ": these are left out until you trust the directory (swarm trust): allow C; additionalDirectories /; defaultMode acceptEdits; its deny and ask rules hold"
	if len(p.Notes) != 1 || p.Notes[0] != want {
		t.Errorf("the notes are %q, want %q", p.Notes, want)
	}
	if len(p.LeftOut) != 3 || p.LeftOut[0] != (LeftOut{"allow", "C", path + ":1", "until you trust the directory (swarm trust)"}) {
		t.Errorf("left out are %+v", p.LeftOut)
	}
	from.Trusted = func(string) bool { return false }
	if p, err := ReadPermissions(from, trustAll); err != nil || p.Allow != nil {
		t.Errorf("the user has refused to trust the directory: %+v, %v", p, err)
	}
	write(t, dir, "settings.json", `{"permissions": {"defaultMode": "dontAsk"}}`)
	if p, err := ReadPermissions(from, trustAll); err != nil || p.Mode.Value != "dontAsk" || len(p.Notes) > 0 {
		t.Errorf("a stricter mode: %+v, %v", p, err)
	}
}

// A rule whose text looks like several, or like another key, is recorded as what it is.
func TestTwoFilesNeverHaveTheSameTrustText(t *testing.T) {
	_, dir, from := places(t)
	seen := map[string]string{}
	for _, text := range []string{
		`{"allow": ["Bash(a), Read"]}`, `{"allow": ["Bash(a)", "Read"]}`, `{"allow": ["Bash(a); defaultMode acceptEdits)"]}`,
		`{"allow": ["Bash(a)"], "defaultMode": "acceptEdits"}`, `{"allow": ["Bash(a\", \"b)"]}`, `{"allow": ["Bash(a)", "Bash(b)"]}`,
	} {
		write(t, dir, "settings.json", `{"permissions": `+text+`}`)
		if _, err := ReadPermissions(from, func(i trust.Item) trust.State {
			if other, twice := seen[i.Text]; twice {
				t.Errorf("%s and %s are both recorded as %s", other, text, i.Text)
			}
			seen[i.Text] = text
			return trust.Untrusted
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFileWithAMistakeOnlyTightens(t *testing.T) {
	_, dir, from := places(t)
	for _, x := range []struct{ text, note string }{
		{"{\"permissions\": {\"allow\": [\"C\"], \"ask\": [\"B\"], \"deny\": [\"A\",\n]}}", ""}, // reported with the definitions
		{"{\"permissions\": {\"allow\": [\"C\"], \"ask\": [\"B\"], \"deny\": [\"A\",\n\"(x\"]}}", ":2: permissions.deny: permission rule"},
		{"{\"permissions\": {\"allow\": [\"C\", 7], \"ask\": [\"B\"], \"deny\": \"A\"}}", ":1: permissions.allow: 7 is not a list of strings"},
		{"{\"permissions\": {\"allow\": [\"C\"], \"ask\": [\"B\"], \"deny\": [\"A\"], \"defaultMode\": \"brave\"}}", ":1: permissions.defaultMode: unknown permission mode"},
	} {
		path := write(t, dir, "settings.json", x.text)
		p, err := ReadPermissions(from, trustAll)
		if err != nil || texts(p.Deny) != "A" || texts(p.Ask) != "B" || p.Allow != nil {
			t.Errorf("%s: %+v, %v", x.text, p, err)
		}
		if x.note != "" && !strings.HasPrefix(p.Notes[0], path+x.note) {
			t.Errorf("%s: the notes are %q", x.text, p.Notes)
		}
	}
	write(t, dir, "settings.json", `{"permissions": {"dney": ["A"], "allow": ["C"]}}`)
	if p, err := ReadPermissions(from, trustAll); err != nil || texts(p.Allow) != "C" || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "permissions.dney is not in force") {
		t.Errorf("an unknown key: %+v, %v", p, err)
	}
}

func TestBytesThatAreNotUTF8AreNamed(t *testing.T) {
	_, _, from := places(t)
	from.ManagedDir, from.Simple = t.TempDir(), true
	path := filepath.Join(from.ManagedDir, "managed-settings.json")
	writeFile(t, path, "{\"permissions\": {\n\"deny\": [\"Read(caf\xe9)\"]}}")
	p, err := ReadPermissions(from, trustAll)
	if err != nil || texts(p.Deny) != "Read(café)" || len(p.Notes) != 1 || !strings.HasPrefix(p.Notes[0], path+":2: not UTF-8; ") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestManagedSettingsFailClosed(t *testing.T) {
	_, _, from := places(t)
	from.ManagedDir, from.Simple = t.TempDir(), true
	for _, text := range []string{`{`, `[]`, `{"permissions": {"deny": "A"}}`, `{"permissions": {"deny": ["Bash("]}}`, `{"permissions": []}`} {
		path := filepath.Join(from.ManagedDir, "managed-settings.json")
		writeFile(t, path, text)
		var managed *ManagedError
		if _, err := ReadPermissions(from, trustAll); !errors.As(err, &managed) || !strings.Contains(err.Error(), path+":1") {
			t.Errorf("%s: %v", text, err)
		}
	}
	writeFile(t, filepath.Join(from.ManagedDir, "managed-settings.json"), `{"permissions": {"deny": ["A"]}}`)
	if p, err := ReadPermissions(from, trustAll); err != nil || texts(p.Deny) != "A" {
		t.Errorf("in simple mode: %+v, %v", p, err)
	}
}

func TestSettingsOfTheFlagMustBeRight(t *testing.T) {
	_, _, from := places(t)
	for _, from.Settings = range []string{"nowhere.json", "{", `{"permissions": {"deny": ["Bash("]}}`} {
		if _, err := ReadPermissions(from, trustAll); err == nil || !strings.HasPrefix(err.Error(), "--settings cannot be used: ") {
			t.Errorf("%s: %v", from.Settings, err)
		}
	}
}

// Whatever stands in a file, its whole deny rules hold, and an allow rule holds only if
// there is no mistake.
func FuzzPermissions(f *testing.F) {
	for _, s := range []string{"", `, "allow": ["B"]`, `, "allow": [}`, `, "defaultMode": 7`, `}, "x": {`, `, "deny": ["`} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, rest string) {
		path := filepath.Join(dir, ".claude", "settings.json")
		write(t, dir, "settings.json", fmt.Sprintf(`{"permissions": {"deny": ["Bash(rm:*)"]%s}}`, rest))
		p, err := ReadPermissions(defs.Options{Cwd: dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(texts(p.Deny), "Bash(rm:*)") {
			t.Errorf("the deny rule of %s is missing: %+v", path, p)
		}
	})
}

func TestFilesThatOthersCanWriteOnlyTighten(t *testing.T) {
	home, _, from := places(t)
	path := write(t, home, "settings.json", `{"permissions": {"allow": ["A"], "deny": ["B"]}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}`)
	for _, x := range []struct {
		mode fs.FileMode
		uid  int
		why  string
	}{{0o646, 0, "while everybody can write the file (chmod o-w)"}, {0o644, 12345, "while the file belongs to another user (12345)"}, {0o644, 0, ""}} {
		if x.uid != 0 && os.Geteuid() != 0 {
			continue // only root gives files away
		}
		if err := os.Chmod(path, x.mode); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(path, x.uid, 0); err != nil {
				t.Fatal(err)
			}
		}
		p, err := ReadPermissions(from, trustAll)
		if err != nil || texts(p.Deny) != "B" || (texts(p.Allow) == "A") != (x.why == "") {
			t.Errorf("%v: %+v, %v", x, p, err)
		}
		if x.why != "" && (len(p.Notes) != 1 || p.Notes[0] != path+": these are left out "+x.why+": allow A; its deny and ask rules hold") {
			t.Errorf("%v: the notes are %q", x, p.Notes)
		}
		files, problems := HookFiles(from, trustAll)
		if len(files) != 1 || (files[0].Hooks == nil) != (x.why != "") || (len(problems) == 1) != (x.why != "") {
			t.Errorf("%v: the hooks are %s, problems %v", x, files[0].Hooks, problems)
		}
	}
}
