package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/actorswarm/swarm/tool"
)

// classed records the arrival of a message of a class.
func (b *bench) classed(t *testing.T, text string, c mailbox.Class) {
	b.mails++
	a, err := b.store.Arrive(mailbox.Envelope{
		ID: mailbox.ID(fmt.Sprint("m", b.mails)), From: mailbox.Address{Agent: "lead", Incarnation: 1}, To: mailbox.Address{Agent: "alice"},
		Seq: b.mails, Kind: mailbox.KindText, Class: c, FromName: "team-lead", Body: text, Sent: time.Now(),
	}, mailbox.Cursor{Stream: 1, Seq: b.mails})
	must(t, err)
	must(t, a.Durable())
}

func (b *bench) controlled() bool {
	return slices.ContainsFunc(b.log.Unread(), func(e mailbox.Envelope) bool { return e.EffectiveClass() == mailbox.ClassControl })
}

func TestControlMessageCutsTheStepNotTheTurn(t *testing.T) {
	var b *bench
	m := modeltest.Script(
		func(ctx context.Context, _ *model.Request) (*model.Answer, error) { // a stream that is cut
			b.classed(t, "steer", mailbox.ClassSteer)
			b.classed(t, "look up", mailbox.ClassControl)
			b.turn.Preempt(b.controlled)
			return nil, model.Cancelled(ctx)
		},
		modeltest.Blocks(model.ToolUse("c1", "Wait", json.RawMessage(`{}`)), model.ToolUse("c2", "Wait", json.RawMessage(`{}`))),
		modeltest.Text("done"))
	wait := unit{tool.Spec{Name: "Wait"}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		b.classed(t, "and again", mailbox.ClassControl)
		b.turn.Preempt(b.controlled)
		return tool.Result{}, context.Cause(ctx)
	}}
	b = newBench(t, t.TempDir(), m, wait)
	must(t, b.log.Prompt("user", "go"))
	end, err := b.turn.Run(t.Context())
	must(t, err)
	requests := m.Requests()
	if end.Outcome != agent.Completed || end.Text != "done" || end.Steps != 2 || len(requests) != 3 {
		t.Fatalf("end is %+v after %d requests", end, len(requests))
	}
	if got := last(requests[1]); strings.Index(got, "look up") > strings.Index(got, "steer") || !strings.Contains(got, "look up") {
		t.Errorf("the control message is not first: %s", got)
	}
	got := last(requests[2])
	if strings.Count(got, "cut off: a control message") != 1 || strings.Count(got, "not run: a control message") != 1 || !strings.Contains(got, "and again") {
		t.Errorf("the cut calls and the message: %s", got)
	}
	if life := b.log.Record(); life.Turns != 1 {
		t.Errorf("%d turns", life.Turns)
	}
}

func TestMailWaitsForTheNextTurnUnlessThereIsNone(t *testing.T) {
	for _, only := range []bool{false, true} {
		var b *bench
		m := modeltest.Script(
			func(context.Context, *model.Request) (*model.Answer, error) {
				b.classed(t, "the newsletter", mailbox.ClassMail)
				return modeltest.Answer(model.Text("done")), nil
			},
			modeltest.Text("read it"))
		b = newBench(t, t.TempDir(), m)
		b.turn.LastTurn = only
		must(t, b.log.Prompt("user", "go"))
		end, err := b.turn.Run(t.Context())
		must(t, err)
		want := "done"
		if only {
			want = "read it"
		}
		if end.Text != want || b.log.HasWork() == only {
			t.Errorf("only=%v: end is %+v, work %v", only, end, b.log.HasWork())
		}
	}
}

// Preempt may run while the message enters a request.
func TestNoMessageCutsTheRequestThatCarriesIt(t *testing.T) {
	const messages = 300
	var b *bench
	pause := func() {
		for range 100 {
			runtime.Gosched()
		}
	}
	slowly := func() bool {
		defer pause()
		return b.controlled()
	}
	looks, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		for range looks {
			b.turn.Preempt(slowly)
		}
	}()
	n := 0
	step := func(ctx context.Context, _ *model.Request) (*model.Answer, error) {
		pause()
		if ctx.Err() != nil && !b.controlled() {
			t.Errorf("request %d was cut by what it carries", n)
		}
		if n++; n > messages {
			return modeltest.Answer(model.Text("done")), nil
		}
		b.classed(t, "look up", mailbox.ClassControl)
		select {
		case looks <- struct{}{}:
		default:
		}
		return modeltest.Answer(model.ToolUse(fmt.Sprint("c", n), "Now", json.RawMessage(`{}`))), nil
	}
	m := modeltest.Script(slices.Repeat([]modeltest.Turn{step}, 2*messages)...)
	b = newBench(t, t.TempDir(), m, unit{tool.Spec{Name: "Now"}, func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }})
	must(t, b.log.Prompt("user", "go"))
	end, err := b.turn.Run(t.Context())
	must(t, err)
	close(looks)
	<-done
	if end.Outcome != agent.Completed || n <= messages {
		t.Errorf("end is %+v after %d requests", end, n)
	}
}
