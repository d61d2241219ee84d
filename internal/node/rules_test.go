package node

import (
	"errors"
	"testing"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/settings"
)

func decide(r *Rules, tool, input string) permission.Behavior {
	p := r.Fill(permission.Policy{Mode: permission.Default, Dirs: []string{"/w"}})
	return permission.Decide(p, permission.Request{Tool: tool, Input: []byte(input)}).Behavior
}

func TestGrantIsRecordedBeforeItApplies(t *testing.T) {
	full := errors.New("the disk is full")
	var recorded []string
	var refuse error
	r, err := NewRules(RulesOptions{Record: func(texts []string) error {
		recorded = append(recorded, texts...)
		return refuse
	}})
	if err != nil {
		t.Fatal(err)
	}
	call := `{"command":"make deploy"}`
	if got := decide(r, "Bash", call); got != permission.Ask {
		t.Fatalf("before the grant the call is answered %v, want ask", got)
	}
	refuse = full
	if err := r.Grant([]string{"Bash(make deploy)"}); !errors.Is(err, full) {
		t.Errorf("Grant returned %v, want the error of the record", err)
	}
	if got := decide(r, "Bash", call); got != permission.Ask {
		t.Errorf("a rule that could not be recorded makes the call %v, want ask", got)
	}
	refuse = nil
	if err := r.Grant([]string{"Bash(make deploy)"}); err != nil {
		t.Fatal(err)
	}
	if got := decide(r, "Bash", call); got != permission.Allow {
		t.Errorf("after the grant the call is %v, want allow", got)
	}
	if len(recorded) != 2 {
		t.Errorf("recorded %q, want both grants", recorded)
	}
}

func TestInvalidRuleIsNamed(t *testing.T) {
	if _, err := NewRules(RulesOptions{Deny: []string{"Bash(rm"}}); err == nil {
		t.Error("a rule without its end is accepted")
	}
	r, err := NewRules(RulesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Grant([]string{"Bash(rm"}); err == nil {
		t.Error("a granted rule without its end is accepted")
	}
}

func TestDeniedToolIsNotOffered(t *testing.T) {
	r, err := NewRules(RulesOptions{Deny: []string{"Write", "Bash(rm:*)", "Task"}})
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]bool{"Write": true, "Bash": false, "Agent": true, "Read": false} {
		if got := r.Denies(tool); got != want {
			t.Errorf("Denies(%s) is %t, want %t", tool, got, want)
		}
	}
}

func TestAnAnswerIsSavedWhereThePersonChooses(t *testing.T) {
	var recorded, saved []string
	r, err := NewRules(RulesOptions{
		Record: func(texts []string) error { recorded = append(recorded, texts...); return nil },
		Save: func(s settings.Scope, rule permission.Rule) (string, error) {
			saved = append(saved, string(s)+" "+rule.String())
			return "settings.json:1", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Allow([]string{"Bash(a)"}, ""); err != nil || len(recorded) != 1 || saved != nil {
		t.Errorf("for the session: recorded %q, saved %q, %v", recorded, saved, err)
	}
	if err := r.Allow([]string{"Bash(b)"}, "user"); err != nil || len(saved) != 1 || saved[0] != "user Bash(b)" {
		t.Errorf("for good: recorded %q, saved %q, %v", recorded, saved, err)
	}
	if got := decide(r, "Bash", `{"command":"b"}`); got != permission.Allow {
		t.Errorf("a rule that its file does not put in force makes the call %v, want allow for the session", got)
	}
}
