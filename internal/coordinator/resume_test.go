package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

func again(id, who, prompt string, background bool) model.Block {
	return agentCall(id, map[string]any{"description": "d", "prompt": prompt, "resume": who, "run_in_background": background})
}

// repeat answers with the question, and with the number of its answers before.
func repeat(_ context.Context, step int, r *model.Request) *model.Answer {
	return say(fmt.Sprintf("answer %d to %s", step, r.Messages[len(r.Messages)-1].Blocks()[0].Text))
}

func TestACallGoesOnWithAnAgentThatHasEnded(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprint("background ", background), func(t *testing.T) {
			var id string
			n := (*coordinatortest.Node)(nil)
			m := by(answers{
				agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
					switch step {
					case 0:
						return use(agentCall("c1", task(nil)))
					case 1:
						id = string(childOf(t, n, agent.LeadID).ID())
						return use(again("c2", strings.ToUpper(id), "more", background))
					}
					return say("ok")
				},
				"general-purpose": repeat,
			})
			n = coordinatortest.Start(t, m, nodeOptions{})
			n.Say(t, "go")
			heard := heardIn(t, n.Lead)
			if strings.Count(heard, "answer 0 to the task") != 1 || strings.Count(heard, "answer 1 to more") != 1 || len(n.Status()) != 2 {
				t.Errorf("the lead heard %s", heard)
			}
			if strings.Contains(heard, "task-notification>") != background {
				t.Errorf("the second end was told in the wrong way: %s", heard)
			}
		})
	}
}

// A crash between the waking and the prompt, or later, makes no second turn.
func TestACallThatWakesIsFinishedAfterACrash(t *testing.T) {
	for _, prompted := range []bool{false, true} {
		t.Run(fmt.Sprint("prompted ", prompted), func(t *testing.T) {
			m := by(answers{agent.LeadName: lead(), "general-purpose": repeat})
			n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{})
			a := member(t, n, "a", agent.Foreground, agent.LeadID)
			must(t, a.Prompt("parent", "first"))
			_, _, err := a.Request(turn.Frame)
			must(t, err)
			must(t, a.Answer(say("said")))
			must(t, a.End(agent.Completed, "", "said", ""))
			must(t, a.Close("", nil))
			must(t, n.Lead.Prompt("user", "go"))
			_, _, err = n.Lead.Request(turn.Frame)
			must(t, err)
			must(t, n.Lead.Answer(use(again("c1", "a", "more", false))))
			must(t, n.Lead.StartCall("c1", true))
			must(t, a.Reopen(agent.Foreground, agent.Waking{By: agent.LeadID, Answer: n.Lead.Record().Steps, Call: "c1"}))
			if prompted {
				must(t, a.Prompt("parent", "more"))
			}
			// What a restart finds: the index is made anew.
			n = reopened(t, n, m)
			n.Begin(t)
			n.AwaitRest(t)
			a, _ = n.Store.Get("a")
			heard := heardIn(t, n.Lead)
			if l := a.Record(); l.Turns != 2 || !l.Closed || strings.Count(heard, "to more") != 1 {
				t.Errorf("a is %+v; the lead heard %s", l, heard)
			}
		})
	}
}

func reopened(t *testing.T, n *coordinatortest.Node, m model.Model) *coordinatortest.Node {
	t.Helper()
	dir := n.Lead.Spec().Dir
	must(t, n.Store.Close())
	return coordinatortest.New(t, dir, m, nodeOptions{})
}

func TestACallSaysWhyItCannotGoOnWithAnAgent(t *testing.T) {
	var results []model.Block
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return use(again("c1", "anna", "p", false), again("c2", "works", "p", false), again("c3", "killed", "p", false),
					again("c4", "once", "p", false), again("c5", "team-lead", "p", false), again("c6", "ended", " ", false))
			}
			results = r.Messages[len(r.Messages)-1].Blocks()
			return say("ok")
		},
	})
	n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{})
	member(t, n, "ann", agent.Background, agent.LeadID)
	member(t, n, "works", agent.Teammate, agent.LeadID)
	must(t, member(t, n, "ended", agent.Background, agent.LeadID).Close("", nil))
	must(t, member(t, n, "killed", agent.Background, agent.LeadID).Close(turn.ErrKilled.Error(), nil))
	spec := n.Lead.Spec()
	spec.ID, spec.Name, spec.Role, spec.Parent, spec.OneShot, spec.Type = "once", "once", agent.Foreground, agent.LeadID, true, "Explore"
	once, _, err := n.Store.Create(spec)
	must(t, err)
	must(t, once.Close("", nil))
	n.Begin(t)
	n.Say(t, "go")
	for i, want := range []string{"did you mean ann?", "works has not ended", "killed cannot be woken again", "once cannot be woken again (Explore agents answer once)", "is not an agent that you can go on with", "no prompt"} {
		if len(results) <= i || !results[i].IsError || !strings.Contains(results[i].Content, want) {
			t.Errorf("call %d: want %q in %+v", i+1, want, results)
		}
	}
}

// What a call asks of an agent that it goes on with is not passed over.
func TestACallGoesOnWithAnAgentAsItWas(t *testing.T) {
	var results []model.Block
	ask := func(id string, more map[string]any) model.Block {
		call := map[string]any{"description": "d", "prompt": "p", "resume": "ended"}
		maps.Copy(call, more)
		return agentCall(id, call)
	}
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return use(ask("c1", map[string]any{"mode": "plan", "cwd": "sub", "max_turns": 3}),
					ask("c2", map[string]any{"model": "other", "isolation": "worktree", "on_parent_end": "stop"}))
			}
			if step == 1 {
				results = r.Messages[len(r.Messages)-1].Blocks()
				return use(ask("c3", map[string]any{"mode": "default", "name": "Ended", "team_name": "session", "model": "m", "subagent_type": "General Purpose"}))
			}
			results = append(results, r.Messages[len(r.Messages)-1].Blocks()...)
			return say("ok")
		},
		"ended": repeat,
	})
	n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{})
	must(t, member(t, n, "ended", agent.Foreground, agent.LeadID).Close("", nil))
	n.Begin(t)
	n.Say(t, "go")
	for i, want := range []string{"ended goes on as it was: leave out mode, cwd, max_turns, or", "leave out model, isolation, on_parent_end, or", "answer 0 to p"} {
		if len(results) <= i || results[i].IsError != (i < 2) || !strings.Contains(results[i].Content, want) {
			t.Errorf("call %d: want %q in %+v", i+1, want, results)
		}
	}
}

// A link below the parent's directory that leads out of it gives no more power.
func TestADirectoryIsWhereItsLinksLead(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	must(t, os.Symlink(out, filepath.Join(dir, "out")))
	must(t, os.Mkdir(filepath.Join(dir, "in"), 0o700))
	var results []model.Block
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return use(agentCall("c1", task(map[string]any{"cwd": "out"})), agentCall("c2", task(map[string]any{"cwd": "none"})), agentCall("c3", task(map[string]any{"cwd": "in"})))
			}
			results = r.Messages[len(r.Messages)-1].Blocks()
			return say("ok")
		},
		"general-purpose": repeat,
	})
	n := coordinatortest.New(t, dir, m, nodeOptions{})
	n.Begin(t)
	n.Say(t, "go")
	if !strings.Contains(results[0].Content, "not a directory in which you work") || !results[1].IsError || results[2].IsError {
		t.Errorf("the results are %+v", results)
	}
	if got := childOf(t, n, agent.LeadID).Spec().Dir; got != filepath.Join(dir, "in") {
		t.Errorf("it works in %s", got)
	}
}

// What a message cuts is fetched by id, to the last byte.
func TestEveryByteOfALongReportCanBeFetched(t *testing.T) {
	long := strings.Repeat("0123456789", 12_000) + "the end."
	var got strings.Builder
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			const page = 48 << 10
			pages := strings.Count(userText(r.Messages), "Its last text, bytes")
			switch {
			case step == 0:
				return use(behind("c1", "leaf"))
			case !strings.Contains(userText(r.Messages), "task-notification>"):
				return say("waiting")
			case pages*page >= len(long):
				return say("done")
			}
			return use(coordinatortest.Call(fmt.Sprint("f", step), "TaskOutput", map[string]any{"task_id": taskID(r), "offset": pages * page}))
		},
		"leaf": func(context.Context, int, *model.Request) *model.Answer { return say(long) },
	})
	n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{Agents: kinds})
	sub := n.Bus.Subscribe()
	defer sub.Close()
	n.Begin(t)
	must(t, n.Lead.Prompt("user", "go"))
	n.Wake(agent.LeadID)
	for got.Len() < len(long) {
		e, err := sub.Next(t.Context())
		must(t, err)
		if f, ok := finished(e, "TaskOutput"); ok {
			var d struct{ Task struct{ Output string } }
			must(t, json.Unmarshal(f.Detail, &d))
			got.WriteString(d.Task.Output)
			if d.Task.Output == "" {
				t.Fatalf("nothing was fetched at %d: %s", got.Len(), f.Text)
			}
		}
	}
	n.AwaitRest(t)
	if got.String() != long {
		t.Errorf("%d of %d bytes came back", got.Len(), len(long))
	}
	if heard := heardIn(t, n.Lead); !strings.Contains(heard, "TaskOutput with task_id") {
		t.Error("the message does not say how to fetch the rest")
	}
}

// An agent reads the results of those below it; the lead those of all. A wait
// for one that works ends in time.
func TestAResultIsForThoseAbove(t *testing.T) {
	l := newLeaf()
	var results []model.Block
	look := func(id, who string, ms int) model.Block {
		return coordinatortest.Call(id, "TaskOutput", map[string]any{"task_id": who, "timeout": ms})
	}
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			switch step {
			case 0:
				return use(behind("c1", "leaf"))
			case 1:
				<-l.begun
				return use(look("o1", taskID(r), 1), look("o2", "nobody", 1), look("o3", "other", 1))
			case 2:
				results = r.Messages[len(r.Messages)-1].Blocks()
				close(l.gate)
				return use(look("o4", taskID(r), 60_000))
			case 3:
				results = append(results, r.Messages[len(r.Messages)-1].Blocks()...)
			}
			return say("ok")
		},
		"leaf": l.answer,
	})
	n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{Agents: kinds})
	must(t, member(t, n, "other", agent.Background, "elsewhere").Close("", nil))
	n.Begin(t)
	n.Say(t, "go")
	for i, want := range []string{"running", "there is no agent named", "Agent other (general-purpose)", "the leaf's report"} {
		if len(results) <= i || !strings.Contains(results[i].Content, want) {
			t.Errorf("result %d: want %q in %+v", i+1, want, results)
		}
	}
}

// taskID is the id of the first agent that the calls of a conversation made.
func taskID(r *model.Request) string {
	text := userText(r.Messages)
	_, rest, _ := strings.Cut(text, "Agent ")
	id, _, _ := strings.Cut(rest, " ")
	return id
}

// A one-shot agent cannot be continued, so its report does not mention that.
func TestTheReportOfAOneShotAgentHasNoTrailer(t *testing.T) {
	m := by(answers{
		agent.LeadName: lead(agentCall("c1", task(map[string]any{"subagent_type": "explore"})), agentCall("c2", task(nil))),
		"Explore":      repeat, "general-purpose": func(context.Context, int, *model.Request) *model.Answer { return say("") },
	})
	read := coordinatortest.Unit{Is: tool.Spec{Name: "Read"}}
	n := coordinatortest.Start(t, m, nodeOptions{Tools: []tool.Tool{read}})
	n.Say(t, "go")
	msgs, err := n.Lead.Messages()
	must(t, err)
	got := msgs[2].Blocks()
	if strings.Contains(got[0].Content, "<usage>") || strings.Contains(got[0].Content, "agentId") || !strings.Contains(got[1].Content, "<usage>") {
		t.Errorf("the lead saw %+v", got)
	}
}

func TestErrorsOfACallHaveTypes(t *testing.T) {
	set, err := defs.Load(defs.Options{})
	must(t, err)
	_, err = spawn.Policy{}.Plan(set, spawn.Call{Prompt: "p", Team: "x"}, agent.Spec{}, nil)
	if e := (&spawn.UnknownTeamError{}); !errors.As(err, &e) || e.Own != "session" {
		t.Errorf("the error is %v", err)
	}
	for _, name := range []string{"#(touch x)", "a;b", "a b", "a/b", "*", "user", "\x1b]52;c;eA==\a", strings.Repeat("n", 65)} {
		_, err = spawn.Policy{}.Plan(set, spawn.Call{Prompt: "p", Name: name}, agent.Spec{}, nil)
		if !errors.As(err, new(*spawn.BadNameError)) {
			t.Errorf("an agent may be named %q: %v", name, err)
		}
	}
	_, err = spawn.Policy{}.Plan(set, spawn.Call{Prompt: "p", Dir: "/x"}, agent.Spec{Dir: "/y"}, nil)
	if !errors.As(err, new(*spawn.OutsideError)) {
		t.Errorf("the error is %v", err)
	}
}

// Mail may arrive before the agents are started: until then a process is not quiet.
func TestAProcessIsNotQuietBeforeItsAgentsStart(t *testing.T) {
	n := coordinatortest.New(t, t.TempDir(), by(answers{agent.LeadName: repeat}), nodeOptions{})
	if quiet, _ := n.IsQuiet(); quiet {
		t.Error("it is quiet before the start")
	}
	n.Begin(t)
	if quiet, _ := n.IsQuiet(); !quiet {
		t.Error("it is not quiet although nobody has work")
	}
}

// An agent whose turns fail before they read its mail tries ever less often, reads the
// mail once it can, and reads new mail at once.
func TestMailOnWhichTurnsFailIsTriedEverLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		var tries atomic.Int32
		o := nodeOptions{NoModel: func() error {
			if !broken.Load() {
				return nil
			}
			tries.Add(1)
			return errors.New("there is no key")
		}}
		broken.Store(true)
		n := coordinatortest.New(t, t.TempDir(), by(answers{agent.LeadName: repeat}), o)
		n.Begin(t)
		peer, _, err := n.Store.Create(agent.Spec{ID: "peer", Role: agent.User, Born: time.Now()})
		must(t, err)
		tell := func(text string) {
			_, durable, err := peer.Send(mailbox.Envelope{To: mailbox.Address{Agent: agent.LeadID}, FromName: "peer", Kind: mailbox.KindText, Body: text})
			must(t, err)
			must(t, durable())
		}
		tell("first")
		time.Sleep(time.Hour)
		if got := tries.Load(); got < 10 || got > 25 {
			t.Errorf("%d tries in an hour", got)
		}
		before := tries.Load()
		tell("second")
		time.Sleep(time.Second)
		if got := tries.Load() - before; got != 1 {
			t.Errorf("new mail was tried %d times at once", got)
		}
		broken.Store(false)
		time.Sleep(6 * time.Minute)
		if unread := n.Lead.Unread(); len(unread) != 0 || n.Lead.Record().Outcome != agent.Completed {
			t.Errorf("unread: %v, %s", unread, n.Lead.Record().Outcome)
		}
	})
}
