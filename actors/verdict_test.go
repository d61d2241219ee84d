package actors

import (
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/transcript"
)

func TestReportOfAVerificationKeepsItsVerdict(t *testing.T) {
	for name, x := range map[string]struct {
		life  transcript.Life
		ends  string
		found string
	}{
		"given":      {transcript.Life{Result: "fine\nVERDICT: PASS"}, "VERDICT: PASS", `"verdict":"PASS"`},
		"none":       {transcript.Life{Result: "fine, I think"}, "without a verdict: the work is not verified)", ""},
		"cut off":    {transcript.Life{Result: strings.Repeat("x", maxReport) + "\nVERDICT: FAIL"}, "(the verdict is FAIL)", `"verdict":"FAIL"`},
		"not ended":  {transcript.Life{Result: "VERDICT: PASS", Outcome: transcript.MaxTurns}, "VERDICT: PASS", ""},
		"other type": {transcript.Life{Result: "none", Spec: transcript.Spec{Type: "Explore"}}, "none", ""},
	} {
		l := x.life
		if l.Spec.Type == "" {
			l.Spec.Type = verifierType
		}
		if l.Outcome == "" {
			l.Outcome = transcript.Completed
		}
		if body := reportBody(l); !strings.HasSuffix(body, x.ends) {
			t.Errorf("%s: the report ends in %q", name, body[max(0, len(body)-80):])
		}
		if got := string(completed(l, "p").Detail); !strings.Contains(got, x.found) || x.found == "" && strings.Contains(got, "verdict\":") {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}
