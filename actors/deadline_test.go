package actors_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/actorstest"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// halting is a model whose agents of type staller begin an answer and say no more.
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
		calls = append(calls, spawn(fmt.Sprint("c", i), task(map[string]any{"subagent_type": kind, "run_in_background": background})))
	}
	return halting{by(answers{
		actors.LeadName: lead(calls...),
		"silent":        untilCut,
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

// ended tells when which of the lead's children's ends was told.
type ended struct {
	after time.Duration
	text  string
}

// ends collects what the lead is told of its children, by their type.
func ends(ctx context.Context, n *actorstest.Node, sub *event.Subscription, begun time.Time) (map[string][]ended, error) {
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
			if e.Agent.ID != actors.LeadID || strings.Contains(f.Text, "at work in the background") {
				continue
			}
			id, _ = n.MadeBy(actors.LeadID, 1, f.Call.ID)
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

func checkNine(t *testing.T, n *actorstest.Node, all map[string][]ended) {
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
		if l := a.Life(); l.Spec.Parent != "" && l.Outcome != transcript.TimedOut && l.Outcome != transcript.Completed {
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
				hang := actorstest.Unit{Is: tool.Spec{Name: "Bash"}, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					<-ctx.Done()
					return tool.Errorf("cut"), nil
				}}
				n := newNode(t, t.TempDir(), nine(background, model.ToolUse("h", "Bash", []byte(`{}`)), work), nodeOptions{
					Agents: ninesTypes, Tools: []tool.Tool{hang},
					Policy: actors.Policy{Deadlines: actors.Deadlines{Start: 30 * time.Second, Gap: 20 * time.Second, Tool: 40 * time.Second}},
				})
				defer n.End(t)
				n.Begin(t)
				sub := n.Bus.Subscribe()
				defer sub.Close()
				begun := time.Now()
				must(t, n.Lead.Prompt("user", "go"))
				n.Look(actors.LeadID)
				all, err := ends(t.Context(), n, sub, begun)
				must(t, err)
				n.Settle(t)
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
