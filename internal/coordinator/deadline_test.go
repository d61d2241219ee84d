package coordinator_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// halting is a model whose agents of type staller begin an answer and send no more.
type halting struct{ model.Model }

func (h halting) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	if r.Caller.Type != "staller" {
		return h.Model.Stream(ctx, r)
	}
	return func(yield func(model.Event, error) bool) {
		if yield(model.Event{Kind: model.TextDelta, Text: "half of what "}, nil) &&
			yield(model.Event{Kind: model.TextDelta, Text: "I found"}, nil) {
			<-ctx.Done()
			yield(model.Event{}, model.Cancelled(ctx))
		}
	}
}

func untilCut(ctx context.Context, _ int, _ *model.Request) *model.Answer {
	<-ctx.Done()
	return nil
}

const ninesTypes = `{"silent":{"description":"s","prompt":"s"},"staller":{"description":"s","prompt":"s"},"hanger":{"description":"h","prompt":"h"}}`

// nine lets the lead start six children that answer after a while, one that
// never begins to, one that stalls and one that hangs in a tool.
func nine(background bool, hang model.Block, work func(ctx context.Context)) model.Model {
	var calls []model.Block
	for i, kind := range []string{"silent", "staller", "hanger", "", "", "", "", "", ""} {
		calls = append(calls, agentCall(fmt.Sprint("c", i), task(map[string]any{"subagent_type": kind, "run_in_background": background})))
	}
	return halting{by(answers{
		agent.LeadName: lead(calls...),
		"silent":       untilCut,
		"hanger": func(_ context.Context, n int, _ *model.Request) *model.Answer {
			if n == 0 {
				return use(hang)
			}
			return say("it came back")
		},
		"general-purpose": func(ctx context.Context, _ int, _ *model.Request) *model.Answer {
			work(ctx)
			return say("done")
		},
	})}
}

// ended is a report of one of the lead's children, with its time.
type ended struct {
	after time.Duration
	text  string
}

// ends collects the reports to the lead of its children, by their type.
func ends(ctx context.Context, n *coordinatortest.Node, sub *event.Subscription, begun time.Time) (map[string][]ended, error) {
	all := map[string][]ended{}
	for got := 0; got < 9; {
		e, err := sub.Next(ctx)
		if err != nil {
			return all, err
		}
		id, text := mailbox.AgentID(""), ""
		switch f := e.Fact.(type) {
		case event.MailArrived:
			if id = f.Envelope.From.Agent; f.Envelope.Kind != mailbox.KindAgentReport {
				continue
			}
			text = f.Envelope.Summary + "\n" + f.Envelope.Body
		case event.CallFinished:
			if e.Agent.ID != agent.LeadID || strings.Contains(f.Text, "at work in the background") {
				continue
			}
			id, _ = n.MadeBy(agent.LeadID, 1, f.Call.ID)
			text = f.Text
		default:
			continue
		}
		t, _ := n.Store.Get(id)
		all[t.Spec().Type] = append(all[t.Spec().Type], ended{time.Since(begun), text})
		got++
	}
	return all, nil
}

func checkNine(t *testing.T, n *coordinatortest.Node, all map[string][]ended) {
	t.Helper()
	if len(all["general-purpose"]) != 6 {
		t.Errorf("%d results, want 6", len(all["general-purpose"]))
	}
	for kind, want := range map[string][]string{
		"silent":  {"timed_out", "no first token for"},
		"staller": {"timed_out", "the answer stood still for", "half of what I found", "(partial: the answer broke off here)"},
		"hanger":  {"timed_out", "had no result for"},
	} {
		if len(all[kind]) != 1 {
			t.Errorf("the end of %s was told %d times", kind, len(all[kind]))
			continue
		}
		for _, w := range want {
			if !strings.Contains(all[kind][0].text, w) {
				t.Errorf("of %s is told %q, without %q", kind, all[kind][0].text, w)
			}
		}
	}
	for _, a := range n.Store.All() {
		if l := a.Record(); l.Spec.Parent != "" && l.Outcome != agent.TimedOut && l.Outcome != agent.Completed {
			t.Errorf("%s ended as %s (%s)", l.Spec.ID, l.Outcome, l.Reason)
		}
	}
}

func TestOfNineChildrenThreeTimeOutAndSixAreHeardAtOnce(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprintf("background=%v", background), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				work := func(ctx context.Context) {
					select {
					case <-time.After(7 * time.Second):
					case <-ctx.Done():
					}
				}
				hang := coordinatortest.Unit{Is: tool.Spec{Name: "Bash"}, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					<-ctx.Done()
					return tool.Errorf("cut"), nil
				}}
				n := coordinatortest.New(t, t.TempDir(), nine(background, model.ToolUse("h", "Bash", []byte(`{}`)), work), nodeOptions{
					Agents: ninesTypes, Tools: []tool.Tool{hang},
					Policy: spawn.Policy{Deadlines: agent.Deadlines{Start: 30 * time.Second, Gap: 20 * time.Second, Tool: 40 * time.Second}},
				})
				defer n.End(t)
				n.Begin(t)
				sub := n.Bus.Subscribe()
				defer sub.Close()
				begun := time.Now()
				must(t, n.Lead.Prompt("user", "go"))
				n.Wake(agent.LeadID)
				all, err := ends(t.Context(), n, sub, begun)
				must(t, err)
				n.AwaitRest(t)
				checkNine(t, n, all)
				for kind, want := range map[string]time.Duration{
					"general-purpose": 7 * time.Second, "silent": 30 * time.Second, "staller": 20 * time.Second, "hanger": 40 * time.Second,
				} {
					for _, e := range all[kind] {
						if late := e.after - want; late < 0 || late > 2*time.Second {
							t.Errorf("the end of %s was told after %v, want %v", kind, e.after, want)
						}
					}
				}
			})
		})
	}
}

// after answers when the given seconds of its prompt are over.
func after(ctx context.Context, _ int, r *model.Request) *model.Answer {
	var seconds int
	if _, err := fmt.Sscanf(r.Messages[0].Blocks()[0].Text, "wait %d", &seconds); err != nil {
		return say(err.Error())
	}
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
		return say(fmt.Sprint("waited ", seconds))
	case <-ctx.Done():
		return nil
	}
}

func TestOf27ChildrenThreeFailAndNoneWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []model.Block
		for i := range 24 {
			calls = append(calls, agentCall(fmt.Sprint("c", i+1), task(map[string]any{"prompt": fmt.Sprint("wait ", i+1)})))
		}
		for i, kind := range []string{"failing", "forbidden", "crashing"} {
			calls = slices.Insert(calls, 8*i, agentCall(kind, task(map[string]any{"subagent_type": kind})))
		}
		crashing := func(context.Context, int, *model.Request) *model.Answer { panic("the executor broke") }
		m := failing{by(answers{agent.LeadName: lead(calls...), "general-purpose": after, "crashing": crashing})}
		deny, err := permission.ParseRule("Agent(forbidden)")
		must(t, err)
		n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{
			Agents: `{"failing":{"description":"f","prompt":"f"},"forbidden":{"description":"f","prompt":"f"},"crashing":{"description":"c","prompt":"c"}}`,
			Policy: spawn.Policy{MaxConcurrent: 27},
			Permission: func(agent.Spec) permission.Policy {
				return permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{deny}}
			},
		})
		defer n.End(t)
		n.Begin(t)
		sub := n.Bus.Subscribe()
		defer sub.Close()
		begun := time.Now()
		must(t, n.Lead.Prompt("user", "go"))
		n.Wake(agent.LeadID)
		completed, failed := 0, map[string]string{}
		for completed+len(failed) < 27 {
			e, err := sub.Next(t.Context())
			must(t, err)
			f, ok := e.Fact.(event.CallFinished)
			switch {
			case !ok || e.Agent.ID != agent.LeadID:
			case f.IsError:
				failed[f.Call.ID] = f.Text
			default:
				completed++
				var want int
				if _, err := fmt.Sscanf(f.Call.ID, "c%d", &want); err != nil || time.Since(begun).Round(time.Second) != time.Duration(want)*time.Second {
					t.Errorf("the result of %s came after %v", f.Call.ID, time.Since(begun))
				}
			}
		}
		n.AwaitRest(t)
		for id, want := range map[string]string{
			"failing": "ended early (failed): model: the API does not accept the request (no such thing)", "forbidden": "permission denied: ", "crashing": "ended early (failed): ",
		} {
			if !strings.Contains(failed[id], want) {
				t.Errorf("of %s is told %q, want %q", id, failed[id], want)
			}
		}
		if completed != 24 {
			t.Errorf("%d completed", completed)
		}
	})
}

// failing is a model that refuses what agents of type failing ask.
type failing struct{ model.Model }

func (f failing) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	if r.Caller.Type != "failing" {
		return f.Model.Stream(ctx, r)
	}
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{}, &model.Error{Kind: model.Invalid, Message: "no such thing"})
	}
}

func stateOf(n *coordinatortest.Node, id mailbox.AgentID) state.State {
	for _, s := range n.Status() {
		if s.Record.Spec.ID == id {
			return s.State
		}
	}
	return state.State{}
}

// A person who is away costs an agent no time.
func TestWaitingForAPersonIsNoStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		n := coordinatortest.New(t, t.TempDir(), by(answers{agent.LeadName: echo}), g.options(spawn.Policy{
			Attended: true, Deadlines: agent.Deadlines{Tool: time.Minute, Run: time.Hour},
		}))
		defer n.End(t)
		n.Begin(t)
		begin(t, n)
		q := asked(t, n, 1)[0]
		time.Sleep(8 * time.Hour)
		if s := stateOf(n, agent.LeadID); s.Name != "waiting" || s.Detail != "permission" || time.Since(s.Progress) < 8*time.Hour {
			t.Errorf("the lead is %+v", s)
		}
		must(t, n.Answer(q.ID, event.Answer{Allow: true}))
		if l := n.AwaitRest(t); l.Outcome != agent.Completed || g.count() != 1 {
			t.Errorf("the lead is %+v", l)
		}
	})
}

// An agent that is stopped with another reports by whom, and why.
func TestAnEndSaysByWhom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds := `{"outer":{"description":"o","prompt":"o"},"inner":{"description":"i","prompt":"i"}}`
		m := by(answers{
			agent.LeadName: lead(agentCall("a", task(map[string]any{"subagent_type": "outer", "run_in_background": true}))),
			"outer": func(_ context.Context, step int, _ *model.Request) *model.Answer {
				if step > 0 {
					return say("ok")
				}
				time.Sleep(time.Minute)
				return use(agentCall("b", task(map[string]any{"subagent_type": "inner"})))
			},
			"inner": untilCut,
		})
		n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{Agents: kinds, Policy: spawn.Policy{
			AutoBackground: -1, Deadlines: agent.Deadlines{Start: -1, Run: time.Hour},
		}})
		defer n.End(t)
		n.Begin(t)
		begin(t, n)
		time.Sleep(time.Hour + 2*time.Second)
		outer := childOf(t, n, agent.LeadID)
		inner := childOf(t, n, outer.ID())
		if l := outer.Record(); l.Outcome != agent.TimedOut || !l.Closed || !strings.HasPrefix(l.Reason, "the turn had no end for 1h0m0s") {
			t.Errorf("outer is %+v", l)
		}
		want := "stopped by " + string(outer.ID()) + ", which was cut: the turn had no end "
		if l := inner.Record(); l.Outcome != agent.Stopped || !strings.HasPrefix(l.Reason, want) {
			t.Errorf("inner is %+v, want %q", l, want)
		}
		for id, want := range map[mailbox.AgentID]string{outer.ID(): "timed_out the turn had no end", inner.ID(): "stopped by " + string(outer.ID())} {
			if s := stateOf(n, id); !strings.HasPrefix(s.Name+" "+s.Detail, want) {
				t.Errorf("%s is %+v", id, s)
			}
		}
	})
}

// A turn that timed out is not the end of who lives on: the next prompt is
// worked on.
func TestATimedOutTurnDoesNotEndATeammate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := by(answers{
			agent.LeadName: lead(agentCall("a", task(map[string]any{"name": "ann"}))),
			"ann": func(ctx context.Context, _ int, r *model.Request) *model.Answer {
				if !strings.Contains(lastOf(r), "again") {
					return untilCut(ctx, 0, r)
				}
				return say("now it works")
			},
		})
		n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{Policy: spawn.Policy{Deadlines: agent.Deadlines{Start: time.Minute}}})
		defer n.End(t)
		n.Begin(t)
		begin(t, n)
		time.Sleep(2 * time.Minute)
		ann, _ := n.Find("ann")
		if l := ann.Record(); l.Closed || l.Outcome != agent.TimedOut {
			t.Fatalf("ann is %+v", l)
		}
		if s := stateOf(n, ann.ID()); s.Name != "idle" || !strings.HasPrefix(s.Detail, "no first token for 1m0s") {
			t.Errorf("ann is %+v", s)
		}
		write(t, n.Lead, ann, "again")
		n.AwaitRest(t)
		if l := ann.Record(); l.Result != "now it works" {
			t.Errorf("ann is %+v", l)
		}
	})
}

// answering is a model made of what each attempt comes to.
type answering func(ctx context.Context, attempt int) error

func (a answering) under(g *model.Governor) model.Model {
	return g.Govern(&attempts{do: a})
}

type attempts struct {
	do answering
	n  atomic.Int32
}

func (a *attempts) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		switch err := a.do(ctx, int(a.n.Add(1))); {
		case ctx.Err() != nil:
			yield(model.Event{}, model.Cancelled(ctx))
		case err != nil:
			yield(model.Event{}, err)
		default:
			yield(model.Event{Kind: model.Finished, Answer: say("at last")}, nil)
		}
	}
}

// The deadline is for the request with all its retries, and a rate limit costs
// it nothing.
func TestADeadlineHoldsOverRetriesAndNotForRateLimits(t *testing.T) {
	pause := func(ctx context.Context, d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	for name, c := range map[string]struct {
		model answering
		want  agent.Outcome
		after time.Duration // and a little
	}{
		"silent attempts": {func(ctx context.Context, _ int) error {
			pause(ctx, 2*time.Minute)
			return &model.Error{Kind: model.Network, Message: "nothing came for too long"}
		}, agent.TimedOut, 5 * time.Minute},
		"rate limits": {func(_ context.Context, attempt int) error {
			if attempt < 4 {
				return model.NewError(429, "rate_limit_error", "", 10*time.Minute)
			}
			return nil
		}, agent.Completed, 30 * time.Minute},
		"overload and then silence": {func(ctx context.Context, attempt int) error {
			if attempt == 1 {
				return model.NewError(529, "overloaded_error", "", 10*time.Minute)
			}
			pause(ctx, time.Hour)
			return nil
		}, agent.TimedOut, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := coordinatortest.New(t, t.TempDir(), c.model.under(model.NewGovernor(model.GovernorOptions{})), nodeOptions{})
				defer n.End(t)
				n.Begin(t)
				begin(t, n)
				time.Sleep(time.Hour + time.Minute)
				l := n.Lead.Record()
				if took := l.Active.Sub(l.Spec.Born); l.TurnOpen || l.Outcome != c.want || took < c.after || took > c.after+4*time.Minute {
					t.Errorf("after %v: %+v", took, l)
				}
			})
		})
	}
}
