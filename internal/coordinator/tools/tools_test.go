package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
	"github.com/actorswarm/swarm/tool"
)

// run returns the text of a call with an input, and whether it is an error.
func run(t *testing.T, unit tool.Tool, input any) (string, bool) {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	r, err := unit.Run(t.Context(), tool.Call{ID: "c1", Name: unit.Spec().Name, Input: raw})
	if err != nil {
		t.Fatal(err)
	}
	return r.Text, r.IsError
}

// tree is a Stopper over agents by id.
type tree struct {
	me      mailbox.AgentID
	agents  map[mailbox.AgentID]agent.Spec
	stopped []mailbox.AgentID
}

func newTree(me mailbox.AgentID) *tree {
	tr := &tree{me: me, agents: map[mailbox.AgentID]agent.Spec{}}
	for id, parent := range map[mailbox.AgentID]mailbox.AgentID{"lead": "", "ann": "lead", "ben": "ann", "cat": "ben", "dan": "lead"} {
		tr.agents[id] = agent.Spec{ID: id, Name: string(id), Parent: parent, Role: agent.Background}
	}
	tr.agents["lead"] = agent.Spec{ID: "lead", Name: "lead", Role: agent.Lead}
	return tr
}

func (tr *tree) Spec() agent.Spec   { return tr.agents[tr.me] }
func (tr *tree) Tools() []tool.Tool { return nil }
func (tr *tree) Running() []string  { return nil }

func (tr *tree) Find(name string) (agent.Spec, bool) {
	s, ok := tr.agents[mailbox.AgentID(name)]
	return s, ok
}

func (tr *tree) Parent(s agent.Spec) (agent.Spec, bool) {
	up, ok := tr.agents[s.Parent]
	return up, ok
}

func (tr *tree) Stop(_ context.Context, id mailbox.AgentID) ([]actors.Orphan, error) {
	tr.stopped = append(tr.stopped, id)
	return []actors.Orphan{{Name: "cat", Link: agent.StopWith}}, nil
}

func TestACallStopsOnlyAgentsBelowItsCaller(t *testing.T) {
	for _, x := range []struct {
		me, target mailbox.AgentID
		may        bool
	}{
		{"ann", "ben", true},
		{"ann", "cat", true},
		{"lead", "cat", true},
		{"ann", "dan", false},
		{"ben", "ann", false},
		{"ann", "ann", false},
		{"ann", "lead", false},
		{"ann", "eve", false},
	} {
		tr := newTree(x.me)
		text, bad := run(t, NewStop(tr), stopInput{Task: string(x.target)})
		if bad == x.may || len(tr.stopped) > 0 != x.may {
			t.Errorf("%s stops %s: %q, stopped %q", x.me, x.target, text, tr.stopped)
		}
		if x.may && text != string(x.target)+" is stopped.\ncat is stopped with it." {
			t.Errorf("%s stops %s: %q", x.me, x.target, text)
		}
	}
}

// user is an Asker and a Planner whose user answers at once.
type user struct {
	away  bool // nobody can be asked
	lead  string
	lost  error // why no message reaches the lead
	asked []Prompt
	told  transcript.Consent
	plan  protocol.Plan
}

func (u *user) Attended() bool                             { return !u.away }
func (u *user) Consent(string) (transcript.Consent, error) { return transcript.Consent{}, nil }
func (u *user) Record() agent.Record                       { return agent.Record{Spec: agent.Spec{ID: "ann"}, Plan: u.plan} }

func (u *user) Lead() (agent.Spec, bool) {
	return agent.Spec{ID: mailbox.AgentID(u.lead), Name: u.lead}, u.lead != ""
}
func (u *user) Publish(protocol.Plan)          {}
func (u *user) Send(mailbox.Envelope) error    { return u.lost }
func (u *user) OpenQuestion()                  {}
func (u *user) Mode() (permission.Mode, error) { return permission.Default, nil }

func (u *user) Ask(_ context.Context, _ tool.Call, p Prompt) (transcript.Consent, error) {
	u.asked = append(u.asked, p)
	return u.told, nil
}

func (u *user) Next(e protocol.PlanEvent) (p protocol.Plan, err error) {
	u.plan, _, err = u.plan.Next(e)
	return u.plan, err
}

func TestAQuestionThatCannotBeAskedIsRefused(t *testing.T) {
	option := map[string]string{"label": "a", "description": "b"}
	ask := func(question string, options int) any {
		var all []any
		for range options {
			all = append(all, option)
		}
		return map[string]any{"questions": []any{map[string]any{"question": question, "header": "h", "options": all}}}
	}
	for name, x := range map[string]struct {
		away  bool
		input any
		says  string
	}{
		"empty":      {input: ask(" ", 2), says: "question 1 is empty"},
		"one option": {input: ask("Which?", 1), says: "question 1 offers 1 options"},
		"none":       {input: map[string]any{"questions": []any{}}, says: "ask one to four at a time"},
		"unattended": {input: ask("Which?", 2), away: true, says: "unattended: nobody can be asked here"},
	} {
		u := &user{away: x.away}
		text, bad := run(t, NewQuestion(u), x.input)
		if !bad || !strings.Contains(text, x.says) || len(u.asked) > 0 {
			t.Errorf("%s: %q, asked %v", name, text, u.asked)
		}
	}
	u := &user{told: transcript.Consent{State: transcript.ConsentAllowed, Answer: json.RawMessage(`{"choices":[["a"]]}`)}}
	if text, bad := run(t, NewQuestion(u), ask("Which?", 2)); bad || text != "The user answered:\nWhich?\n  a" || len(u.asked) != 1 {
		t.Errorf("%q, asked %v", text, u.asked)
	}
}

func TestAPlanThatDoesNotReachTheLeadIsWithdrawn(t *testing.T) {
	u := &user{lead: "lead", lost: errors.New("the mailbox is full"), plan: protocol.Plan{Phase: protocol.PlanDrafting}}
	text, bad := run(t, NewExitPlan(u), exitPlanInput{Plan: "change it"})
	if want := "the plan could not be shown to lead: the mailbox is full; try again"; !bad || text != want {
		t.Errorf("%q, not %q", text, want)
	}
	if u.plan.Phase != protocol.PlanDrafting {
		t.Errorf("the plan is %s", u.plan.Phase)
	}
	u.lost = nil
	if text, bad := run(t, NewExitPlan(u), exitPlanInput{Plan: "change it"}); bad || u.plan.Phase != protocol.PlanPending {
		t.Errorf("%q, the plan is %s", text, u.plan.Phase)
	}
}

func TestAnOutputCallWaitsAsLongAsItSays(t *testing.T) {
	no, ms := false, func(n int64) *int64 { return &n }
	for want, in := range map[time.Duration]outputInput{
		0:                    {Block: &no, Timeout: ms(5)},
		usualOutputWait:      {},
		5 * time.Millisecond: {Timeout: ms(5)},
		maxOutputWait:        {Timeout: ms(1 << 40)},
	} {
		if got := in.wait(); got != want {
			t.Errorf("%+v waits %v, not %v", in, got, want)
		}
	}
}
