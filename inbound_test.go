package swarm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The strictest of the option and the settings counts, and the option alone is kept.
func TestTheStrictestSettingSaysWhatComesIn(t *testing.T) {
	for _, c := range []struct {
		home, local string
		option      Inbound
		want        Inbound
	}{
		{"", "", "", ""},
		{`"accept"`, "", "", InboundAccept},
		{`"refuse"`, `"accept"`, InboundHold, InboundRefuse},
		{`"accept"`, `"hold"`, "", InboundHold},
		{`"hold"`, "", InboundRefuse, InboundRefuse},
		{`"hold"`, `"maybe"`, "", InboundHold},
	} {
		dir := t.TempDir()
		o := Options{
			Dir: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home"), StateDir: filepath.Join(dir, "state"), Inbound: c.option,
			Getenv: func(string) string { return "" },
		}
		for path, said := range map[string]string{
			filepath.Join(o.Home, ".claude/settings.json"): c.home, filepath.Join(o.Dir, ".claude/settings.local.json"): c.local,
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if said == "" {
				continue
			}
			if err := os.WriteFile(path, []byte(`{"crossSessionInbound": `+said+`}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		noted := strings.Contains(strings.Join(s.Problems(), "\n"), "settings.local.json: crossSessionInbound is \"maybe\"")
		if got := s.opts.Inbound; got != c.want || s.Info().Inbound != c.option || noted != (c.local == `"maybe"`) {
			t.Errorf("%+v: %s, kept %s, %v", c, got, s.Info().Inbound, s.Problems())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
