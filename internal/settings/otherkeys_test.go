package settings

import (
	"strings"
	"testing"
)

// TestKeysThatMayBeReliedOnAreNamed: a key that is near to one that guards, or that would
// run something elsewhere, is a note; any other without effect is named apart.
func TestKeysThatMayBeReliedOnAreNamed(t *testing.T) {
	for key, want := range map[string]string{
		"permission": "did you mean permissions?", "permisions": "did you mean permissions?", "Permissions": "did you mean permissions?",
		"premissions": "did you mean permissions?", "sanbox": "did you mean sandbox?", "Sandbox": "did you mean sandbox?",
		"hook": "did you mean hooks?", "Hooks": "did you mean hooks?", "disable_auto_mode": "did you mean disableAutoMode?",
		"deny": "it belongs into permissions", "Allow": "it belongs into permissions", "ask": "it belongs into permissions",
		"defaultMode": "it belongs into permissions", "additionalDirectories": "it belongs into permissions",
		"env": "set the variables", "apiKeyHelper": "no command is run", "model": "", "statusLine": "", "maxTurns": "",
	} {
		_, dir, from := places(t)
		path := write(t, dir, "settings.json", `{"$schema": "x", "sandbox": {}, "`+key+`": {}}`)
		p, err := ReadPermissions(from, trustAll)
		if err != nil {
			t.Fatal(err)
		}
		notes, unused := strings.Join(p.Notes, "\n"), strings.Join(p.Unused, "\n")
		if want == "" && (notes != "" || unused != path+": these keys have no effect here: "+key) {
			t.Errorf("%s: the notes are %q, unused is %q", key, notes, unused)
		}
		if want != "" && (!strings.HasPrefix(notes, path+":1: "+key+" is not in force: "+want) || unused != "") {
			t.Errorf("%s: the notes are %q, unused is %q, want %q", key, notes, unused, want)
		}
	}
}

// TestModesAreDisabledAtTheTopToo: it makes no difference where the keys stand.
func TestModesAreDisabledAtTheTopToo(t *testing.T) {
	_, dir, from := places(t)
	path := write(t, dir, "settings.json", "{\"disableAutoMode\": \"disable\",\n\"disableBypassPermissionsMode\": true}")
	p, err := ReadPermissions(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.NoAuto != path+":1" || p.NoBypass != path+":2" || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "disableBypassPermissionsMode: true is not a string") {
		t.Errorf("disabled by %q and %q, the notes are %q", p.NoAuto, p.NoBypass, p.Notes)
	}
}
