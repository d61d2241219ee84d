package sandbox

import (
	"os"
	"strings"
	"testing"
)

// TestACredentialThatAUserNamesIsShown: a root to read that names one shows it and no other,
// unless it is hidden besides.
func TestACredentialThatAUserNamesIsShown(t *testing.T) {
	home := real(t.TempDir())
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
