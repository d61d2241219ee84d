package builtin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestCommandsReachListedHosts: under edit a command reaches what is listed, by the proxy
// that its environment names, and is told what it was not connected with.
func TestCommandsReachListedHosts(t *testing.T) {
	b, _ := confined(t)
	m := sandbox.Probe()
	if err := m.Networks(); err != nil || m.Enforces(sandbox.Edit) != nil {
		t.Skip("no network for a command:", err)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the command of the test needs bash:", err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "it answers") }))
	defer s.Close()
	at := s.Listener.Addr().String()
	env := b.env
	env.Network = func() Network { return Network{Allowed: []string{at}} }
	env.Sandboxed, env.Unsandboxed = true, true
	b = newBash(env)
	defer b.Close()
	ask := func(host string) string {
		return says(t, b, "edit", `to=${HTTP_PROXY#http://}; exec 3<>"/dev/tcp/${to%:*}/${to#*:}" && printf 'GET http://`+host+`/ HTTP/1.0\r\n\r\n' >&3 && cat <&3`)
	}
	if got := ask(at); !strings.Contains(got, "it answers") {
		t.Errorf("a listed host: %s", got)
	}
	got := ask("127.0.0.1:1")
	for _, want := range []string{"403", "The profile edit denied the network to 127.0.0.1:1: sandbox.network.allowedDomains does not list it", "dangerouslyDisableSandbox"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if got := says(t, b, "edit", `exec 3<>/dev/tcp/`+strings.Replace(at, ":", "/", 1)); !strings.Contains(got, "refused") {
		t.Errorf("without the proxy: %s", got)
	}
	env.Network = func() Network { return Network{Allowed: []string{at}, Denied: []string{"not a host"}} }
	b = newBash(env)
	defer b.Close()
	if got := ask(at); strings.Contains(got, "it answers") {
		t.Errorf("a host is reached although what is denied cannot be understood: %s", got)
	}
}

// TestTheSandboxIsDescribed, with the parameter that asks for more, to models whose
// commands it holds, and to nobody else.
func TestTheSandboxIsDescribed(t *testing.T) {
	for _, c := range []struct{ on, more bool }{{false, true}, {true, false}, {true, true}} {
		b := newBash(Env{Dir: t.TempDir(), Sandboxed: c.on, Unsandboxed: c.more})
		s := b.Spec()
		if got := strings.Contains(s.Description, "HTTPS_PROXY"); got != c.on {
			t.Errorf("%+v: described %t", c, got)
		}
		if got := strings.Contains(string(s.Schema), "dangerouslyDisableSandbox"); got != (c.on && c.more) {
			t.Errorf("%+v: the parameter is there %t: %s", c, got, s.Schema)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
