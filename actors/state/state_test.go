package state

import (
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/model"
)

func called(id, name string) event.CallStarted {
	return event.CallStarted{Call: model.Call{ID: id, Name: name}}
}

func answered(id string) event.CallFinished { return event.CallFinished{Call: model.Call{ID: id}} }

func moved(name, detail string) event.StateChanged {
	return event.StateChanged{To: name, Reason: detail}
}

func waited(status int, reason string) event.BackingOff {
	return event.BackingOff{Backoff: model.Backoff{Status: status, Reason: reason}}
}

func TestStateFollowsFromTheFacts(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts []event.Fact
		lasts bool
		want  string
	}{
		{"born", nil, false, "resolving"},
		{"over the limit", []event.Fact{moved("queued", "")}, false, "queued"},
		{"let in", []event.Fact{moved("queued", ""), moved("starting", "")}, false, "starting"},
		{"asked", []event.Fact{event.Requested{}}, false, "thinking"},
		{"answering", []event.Fact{event.Requested{}, event.Delta{Text: "x"}, event.Answered{}}, false, "thinking"},
		{"rate limit", []event.Fact{event.Requested{}, waited(429, "too many")}, false, "backing_off 429"},
		{"overload", []event.Fact{event.Requested{}, waited(529, "busy")}, false, "backing_off 529"},
		{"no answer", []event.Fact{event.Requested{}, waited(0, "silent")}, false, "backing_off silent"},
		{"goes on after a back-off", []event.Fact{waited(429, ""), event.Delta{}}, false, "thinking"},
		{"in a tool", []event.Fact{event.Requested{}, called("a", "Bash")}, false, "in_tool Bash"},
		{"out of it", []event.Fact{called("a", "Bash"), answered("a")}, false, "thinking"},
		{"one of two done", []event.Fact{called("a", "Read"), called("b", "Grep"), answered("b")}, false, "in_tool Read"},
		{"waits for a child", []event.Fact{called("a", "Agent"), moved("waiting", "child")}, false, "waiting child"},
		{"one of two children done", []event.Fact{
			called("a", "Agent"), moved("waiting", "child"), called("b", "Agent"), moved("waiting", "child"), answered("a"),
		}, false, "waiting child"},
		{"both done", []event.Fact{
			called("a", "Agent"), called("b", "Agent"), moved("waiting", "child"), answered("b"), answered("a"),
		}, false, "thinking"},
		{"a place again after the child", []event.Fact{
			called("a", "Agent"), called("b", "Read"), moved("waiting", "child"), moved("queued", ""), moved("starting", ""), answered("a"),
		}, false, "in_tool Read"},
		{"asks", []event.Fact{moved("waiting", "permission")}, false, "waiting permission"},
		{"asks while another call ends", []event.Fact{called("a", "Read"), moved("waiting", "permission"), answered("a")}, false, "waiting permission"},
		{"may", []event.Fact{moved("waiting", "permission"), called("a", "Bash")}, false, "in_tool Bash"},
		{"may not", []event.Fact{moved("waiting", "permission"), event.Denied{}, answered("a")}, false, "thinking"},
		{"may not, beside a call", []event.Fact{called("b", "Read"), moved("waiting", "permission"), event.Denied{}}, false, "in_tool Read"},
		{"compacts", []event.Fact{moved("compacting", "")}, false, "compacting"},
		{"mail says nothing of work", []event.Fact{event.Requested{}, event.MailArrived{}, event.Warning{}}, false, "thinking"},
		{"completed", []event.Fact{event.Requested{}, event.TurnEnded{Outcome: "completed"}}, false, "completed"},
		{"failed", []event.Fact{event.TurnEnded{Outcome: "failed", Reason: "broke"}}, false, "failed broke"},
		{"timed out", []event.Fact{called("a", "Bash"), event.TurnEnded{Outcome: "timed_out", Reason: "x"}}, false, "timed_out x"},
		{"rests", []event.Fact{event.TurnEnded{Outcome: "completed"}}, true, "idle"},
		{"the next turn has no calls of the last", []event.Fact{
			called("a", "Bash"), event.TurnEnded{}, event.Requested{}, called("b", "Read"), answered("b"),
		}, true, "thinking"},
	} {
		s := State{Name: Resolving}
		for _, f := range c.facts {
			s = s.Next(f, c.lasts, time.Unix(1, 0))
		}
		if got := strings.TrimSpace(s.Name + " " + s.Detail); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestProgressIsWorkNotTime(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	s := State{Name: Resolving}.Next(event.Requested{}, false, at(1)).Next(event.Delta{}, false, at(5))
	if !s.Since.Equal(at(1)) || !s.Progress.Equal(at(5)) {
		t.Errorf("an answer that grows: %+v", s)
	}
	s = s.Next(event.MailArrived{}, false, at(6)).Next(waited(429, ""), false, at(7)).Next(waited(429, ""), false, at(8))
	if !s.Since.Equal(at(7)) || !s.Progress.Equal(at(5)) {
		t.Errorf("a wait is no progress: %+v", s)
	}
}

func TestRestingStateSaysByWhomAndWhy(t *testing.T) {
	for want, l := range map[string]agent.Record{
		"idle":                       {},
		"idle interrupted":           {Outcome: agent.Interrupted, Reason: "interrupted"},
		"paused":                     {TurnOpen: true},
		"stopped by ann":             {Closed: true, Outcome: agent.Stopped, Reason: "stopped by ann"},
		"failed no money":            {Closed: true, Outcome: agent.Failed, Reason: "no money"},
		"timed_out no token":         {Closed: true, Outcome: agent.TimedOut, Reason: "timed out: no token"},
		"parked a bug":               {Outcome: agent.Failed, Reason: "given up: a bug"},
		"idle no money":              {Outcome: agent.Failed, Reason: "no money"},
		"completed":                  {Closed: true, Outcome: agent.Completed},
		"over_budget of 200k tokens": {Closed: true, Outcome: agent.OverBudget, Reason: "of 200k tokens"},
	} {
		s := Resting(l)
		if got := strings.TrimSpace(s.Name + " " + s.Detail); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Calls of one answer begin in any order; what the agent waits for must not be
// hidden by one that came and went meanwhile.
func TestAParentWaitsForItsChildWhateverElseBeginsAndEnds(t *testing.T) {
	front, back := model.Call{ID: "f", Name: "Agent"}, model.Call{ID: "b", Name: "Agent"}
	var s State
	for _, f := range []event.Fact{
		event.CallStarted{Call: front},
		event.StateChanged{To: Waiting, Reason: WaitsForChild},
		event.CallStarted{Call: back},
		event.CallFinished{Call: back},
	} {
		s = s.Next(f, true, time.Now())
	}
	if s.Name != Waiting || s.Detail != WaitsForChild {
		t.Errorf("it is %s %s", s.Name, s.Detail)
	}
}
