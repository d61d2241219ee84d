package sandbox

import (
	"os"
	"strings"
	"testing"
)

// TestEachSecretIsHidden reads a canary at or below each name that holds credentials.
func TestEachSecretIsHidden(t *testing.T) {
	needs(t, "find", "cat")
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			for _, name := range secretNames() {
				if _, err := os.Lstat(l.home + "/" + name); err == nil {
					continue // the lab has it
				}
				if strings.Contains(name[1:], ".") {
					write(t, l.home+"/"+name, canary+" "+name)
				} else {
					write(t, l.home+"/"+name+"/file", canary+" "+name)
				}
			}
			script := "find ~ -path ~/.swarm -prune -o -type f -exec cat {} + ; true"
			if out := l.bare(script); strings.Count(out, canary) < len(secretNames()) {
				t.Fatalf("without a sandbox not all is read: %s", out)
			}
			for _, n := range m.names() {
				if out := l.run(t, m, l.profile(n), script); strings.Contains(out, canary) {
					t.Errorf("under %s: %s", n, out)
				}
			}
		})
	}
}

// TestACredentialThatAUserNamesIsShown: a root to read that names one shows it and no other,
// unless it is hidden besides.
func TestACredentialThatAUserNamesIsShown(t *testing.T) {
	home := real(t.TempDir())
	write(t, home+"/.config/gh/hosts.yml", canary)
	write(t, home+"/.ssh/known_hosts", visible)
	write(t, home+"/.npmrc", canary)
	pl := Place{Dirs: []string{home + "/project"}, Home: home, Reads: []string{home + "/.config/gh", home + "/.ssh/known_hosts", home + "/.npmrc", home}, Hidden: []string{home + "/.npmrc"}}
	for _, n := range Names() {
		p := pl.Profile(n)
		for path, want := range map[string]bool{".config/gh/hosts.yml": true, ".ssh/known_hosts": true, ".ssh/id": false, ".npmrc": false, ".aws/credentials": false} {
			if got := p.MayRead(home + "/" + path); got != want {
				t.Errorf("%s, under %s: %v, want %v", path, n, got, want)
			}
		}
	}
}

// TestEachSecretIsDocumented compares the list of the manual.
func TestEachSecretIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range secretNames() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/sandbox.md does not name %s", name)
		}
	}
}
