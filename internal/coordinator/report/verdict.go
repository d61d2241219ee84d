package report

import (
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
)

// verifierType is the type whose reports end in a verdict.
const verifierType = "verification"

// verdict returns what a verification found; ok is false for other agents and
// for one that did not come to its end.
func verdict(l agent.Record) (v defs.Verdict, ok bool) {
	if l.Spec.Type != verifierType || l.Outcome != agent.Completed {
		return defs.NoVerdict, false
	}
	return defs.ParseVerdict(l.Result), true
}

// verdictNote says what the last line of a verification's report does not: that
// there is no verdict in it, or what it was if the report is cut.
func verdictNote(l agent.Record, isCut bool) string {
	v, ok := verdict(l)
	switch {
	case !ok:
		return ""
	case v == defs.NoVerdict:
		return "\n(the report ends without a verdict: the work is not verified)"
	case isCut:
		return "\n(the verdict is " + string(v) + ")"
	}
	return ""
}
