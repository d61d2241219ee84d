package settings

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestADirectoryOnlyTightensTheSandbox: each key of its files applies in the direction in
// which it tightens, and what does not apply is named.
func TestADirectoryOnlyTightensTheSandbox(t *testing.T) {
	if err := sandbox.Probe().Enforces(sandbox.Edit); err != nil {
		t.Skip(err)
	}
	type result struct{ on, auto, fail, more bool }
	for _, c := range []struct {
		user, project string
		want          result
		note          string
	}{
		{`{}`, `{}`, result{fail: true, more: true}, ""},
		{`{"enabled": true}`, `{}`, result{true, true, true, true}, ""},
		{`{"enabled": true}`, `{"enabled": false}`, result{true, true, true, true}, "sandbox.enabled is not in force"},
		{`{"enabled": false}`, `{"enabled": true}`, result{true, false, true, true}, "lets no command run without a question"},
		{`{"enabled": true, "autoAllowBashIfSandboxed": false}`, `{"autoAllowBashIfSandboxed": true}`, result{true, false, true, true}, "autoAllowBashIfSandboxed is not in force"},
		{`{"enabled": true}`, `{"autoAllowBashIfSandboxed": false, "allowUnsandboxedCommands": false}`, result{true, false, true, false}, ""},
		{`{"allowUnsandboxedCommands": false}`, `{"allowUnsandboxedCommands": true, "failIfUnavailable": false}`, result{fail: true}, "failIfUnavailable is not in force"},
		{`{"failIfUnavailable": false}`, `{"failIfUnavailable": true}`, result{fail: true, more: true}, ""},
		{`{"enabled": "yes"}`, `{}`, result{on: true, fail: true, more: true}, `"yes" is neither true nor false, and counts as true`},
		{`{}`, `{"enabled": 1}`, result{on: true, fail: true, more: true}, "1 is neither true nor false, and counts as true"},
		{`{"failIfUnavailable": null}`, `{}`, result{fail: true, more: true}, "counts as true"},
		{`{"allowUnsandboxedCommands": "no"}`, `{}`, result{fail: true}, "counts as false"},
		{`true`, `{}`, result{on: true, fail: true, more: true}, "counts as enabled"},
	} {
		s, _, _ := sandboxOf(t, c.user, c.project)
		if got := (result{s.Enabled, s.AutoAllow, s.FailIfUnavailable, s.Unsandboxed}); got != c.want {
			t.Errorf("%s and %s: %+v, want %+v", c.user, c.project, got, c.want)
		}
		if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s and %s: the notes are %q, want %q", c.user, c.project, notes, c.note)
		}
	}
}

// TestDenialsThatCannotBeReadClose: what a list of denials can be understood to say holds,
// and one of which nothing can be read refuses the session.
func TestDenialsThatCannotBeReadClose(t *testing.T) {
	s, _, _ := sandboxOf(t, `{}`, `{"filesystem": {"denyRead": "a", "denyWrite": ["b", 7]}, "network": {"deniedDomains": "c.test"}}`)
	if len(s.DenyRead) != 1 || len(s.DenyWrite) != 1 || !slices.Equal(s.Network.Denied, []string{"c.test"}) ||
		strings.Count(strings.Join(s.Notes, "\n"), "is not a list of strings; its texts are denied") != 3 {
		t.Errorf("%+v", s)
	}
	for _, text := range []string{
		`{"filesystem": {"denyRead": {"a": true}}}`, `{"filesystem": {"denyWrite": 7}}`, `{"network": {"deniedDomains": {}}}`,
		`{"filesystem": ["/a"]}`, `{"filesystem": "/a"}`, `{"network": false}`, `{"network": {"deniedDomains": ["http://a/b c"]}}`,
	} {
		_, dir, from := places(t)
		write(t, dir, "settings.json", `{"sandbox": `+text+`}`)
		if _, err := ReadSandbox(from); err == nil || !strings.Contains(err.Error(), "correct the file") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestPatternsThatDenyClose: they cannot be applied, and the error says what to write.
func TestPatternsThatDenyClose(t *testing.T) {
	for text, want := range map[string]string{
		`{"filesystem": {"denyRead": ["a", "**/.env"]}}`: `write "Read(**/.env)" into permissions.deny instead`,
		`{"filesystem": {"denyWrite": ["x/*"]}}`:         `write "Edit(x/*)" into permissions.deny instead`,
	} {
		_, dir, from := places(t)
		write(t, dir, "settings.json", `{"sandbox": `+text+`}`)
		if _, err := ReadSandbox(from); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestHostsOfADirectoryOnlyDeny(t *testing.T) {
	net := `{"excludedCommands": ["docker *"], "network": {"allowedDomains": ["a.test", "*.b.test"], "deniedDomains": ["c.test"], "httpProxyPort": 8080, "allowAllUnixSockets": true}}`
	s, _, _ := sandboxOf(t, net, `{"network": {"deniedDomains": ["d.test"]}}`)
	if n := s.Network; !slices.Equal(n.Allowed, []string{"a.test", "*.b.test"}) || !slices.Equal(n.Denied, []string{"c.test", "d.test"}) ||
		n.ProxyPort != 8080 || !n.Sockets || !slices.Equal(s.Excluded, []string{"docker *"}) || len(s.Notes) > 0 {
		t.Errorf("of the user's file %+v", s)
	}
	s, _, _ = sandboxOf(t, `{}`, net)
	if n := s.Network; n.Used() || n.Sockets || len(s.Excluded) > 0 || !slices.Equal(n.Denied, []string{"c.test"}) {
		t.Errorf("of a directory's file %+v", s)
	}
	for _, key := range []string{"excludedCommands", "network.allowedDomains", "network.httpProxyPort", "network.allowAllUnixSockets"} {
		if !strings.Contains(strings.Join(s.Notes, "\n"), "sandbox."+key+" is not in force: it counts in your own settings only") {
			t.Errorf("%s is not named in %q", key, s.Notes)
		}
	}
	s, _, _ = sandboxOf(t, `{"network": {"allowedDomains": ["a.test", "https://b.test"]}}`, `{}`)
	if s.Network.Used() || !strings.Contains(strings.Join(s.Notes, "\n"), `"https://b.test" is no host`) {
		t.Errorf("a file with a wrong host allows %v, and the notes are %q", s.Network.Allowed, s.Notes)
	}
}

// TestKeysWithoutEffectAreNamed, each with the reason.
func TestKeysWithoutEffectAreNamed(t *testing.T) {
	for key, why := range without {
		text := `{"` + key + `": 1}`
		if outer, inner, ok := strings.Cut(key, "."); ok {
			text = `{"` + outer + `": {"` + inner + `": 1}}`
		}
		s, _, _ := sandboxOf(t, text, `{}`)
		if len(s.Notes) != 1 || !strings.HasSuffix(s.Notes[0], "sandbox."+key+" is not in force: "+why) {
			t.Errorf("%s: the notes are %q", key, s.Notes)
		}
	}
}

// TestRulesForWebFetchAreHosts, unless managed settings let only their own hosts
// count.
func TestRulesForWebFetchAreHosts(t *testing.T) {
	rule := func(spec string) []permission.Rule { return []permission.Rule{{Tool: "WebFetch", Specifier: spec}} }
	p := permission.Policy{Allow: rule("domain:a.test"), Deny: rule("domain:b.test"), Ask: rule("domain:c.test")}
	s := Sandbox{Network: Network{Allowed: []string{"x.test"}, Denied: []string{"y.test"}}}
	allowed, denied := s.Hosts(p)
	if !slices.Equal(allowed, []string{"x.test", "a.test"}) || !slices.Equal(denied, []string{"y.test", "b.test", "c.test"}) {
		t.Errorf("allowed are %v, denied %v", allowed, denied)
	}
	s.Network.OnlyManaged, s.managedHosts = true, []string{"m.test"}
	if err := s.finish(nil); err != nil {
		t.Fatal(err)
	}
	if allowed, _ := s.Hosts(p); !slices.Equal(allowed, []string{"m.test"}) {
		t.Errorf("besides what managed settings allow: %v", allowed)
	}
}

// TestAnUnenforcedSandboxFails, or is named where the user wants to work without.
func TestAnUnenforcedSandboxFails(t *testing.T) {
	no := &sandbox.UnenforcedError{Profile: sandbox.Edit}
	s := Sandbox{Enabled: true, AutoAllow: true, loosely: true, FailIfUnavailable: true, From: map[string]string{"enabled": "/f:3"}}
	if err := s.finish(no); !errors.As(err, new(*sandbox.UnenforcedError)) || !strings.Contains(err.Error(), "/f:3") {
		t.Errorf("it ends with %v", err)
	}
	s.FailIfUnavailable = false
	if err := s.finish(no); err != nil || s.Enabled || s.AutoAllow || len(s.Notes) != 1 {
		t.Errorf("%v, %+v", err, s)
	}
}

func TestLinesNameTheFile(t *testing.T) {
	text := map[string]any{"enabled": true, "excludedCommands": []string{"docker"}, "allowUnsandboxedCommands": false, "network": map[string]any{"allowedDomains": []string{"a.test"}}}
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Probe().Enforces(sandbox.Edit); err != nil {
		t.Skip(err)
	}
	s, home, _ := sandboxOf(t, string(raw), `{}`)
	lines := strings.Join(s.Lines(sandbox.Probe()), "\n")
	for _, want := range []string{"under the profile edit at most (sandbox.enabled, " + home, "docker", "a.test (sandbox.network.allowedDomains, " + home, "cannot have a person asked"} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is not in\n%s", want, lines)
		}
	}
}
