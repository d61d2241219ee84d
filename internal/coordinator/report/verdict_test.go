package report

import (
	"strings"
	"testing"

	"github.com/actorswarm/swarm/agent"
)

func TestReportOfAVerificationKeepsItsVerdict(t *testing.T) {
	for name, x := range map[string]struct {
		life  agent.Record
		ends  string
		found string
	}{
		"given":      {agent.Record{Result: "fine\nVERDICT: PASS"}, "VERDICT: PASS", `"verdict":"PASS"`},
		"none":       {agent.Record{Result: "fine, I think"}, "without a verdict: the work is not verified)", ""},
		"cut off":    {agent.Record{Result: strings.Repeat("x", MaxBytes) + "\nVERDICT: FAIL"}, "(the verdict is FAIL)", `"verdict":"FAIL"`},
		"not ended":  {agent.Record{Result: "VERDICT: PASS", Outcome: agent.MaxTurns}, "VERDICT: PASS", ""},
		"other type": {agent.Record{Result: "none", Spec: agent.Spec{Type: "Explore"}}, "none", ""},
	} {
		l := x.life
		if l.Spec.Type == "" {
			l.Spec.Type = verifierType
		}
		if l.Outcome == "" {
			l.Outcome = agent.Completed
		}
		if body := Body(l); !strings.HasSuffix(body, x.ends) {
			t.Errorf("%s: the report ends in %q", name, body[max(0, len(body)-80):])
		}
		if got := string(Completed(l, "p").Detail); !strings.Contains(got, x.found) || x.found == "" && strings.Contains(got, "verdict\":") {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}
