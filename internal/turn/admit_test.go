package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/actorswarm/swarm/tool"
)

func TestRefusedRequestIsNotSent(t *testing.T) {
	m := modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
		if r.MaxTokens != 77 {
			t.Errorf("the request has %d tokens for its answer", r.MaxTokens)
		}
		return modeltest.Answer(model.Text("at it"), model.ToolUse("c1", "Look", nil)), nil
	})
	var b *bench
	look := unit{tool.Spec{Name: "Look"}, func(context.Context, tool.Call) (tool.Result, error) {
		b.mail(t, "more to do")
		return tool.Result{}, nil
	}}
	b = newBench(t, t.TempDir(), m, look)
	asked, answers, requested := 0, 0, 0
	b.turn.Admit = func(_ context.Context, r *model.Request) (func(*model.Answer), error) {
		if asked++; asked == 2 {
			return nil, fmt.Errorf("%w: all is spent", turn.ErrOverBudget)
		}
		r.MaxTokens = 77
		return func(a *model.Answer) {
			if answers++; a == nil || a.Requested != "m" {
				t.Errorf("settled with %+v", a)
			}
		}, nil
	}
	b.turn.OnRead = func(mail []mailbox.Envelope) { t.Errorf("%v is said to be read", mail) }
	b.turn.Emit = func(f event.Fact) {
		if _, ok := f.(event.Requested); ok {
			requested++
		}
	}
	must(t, b.log.Prompt("user", "go"))
	end, err := b.turn.Run(t.Context())
	must(t, err)
	if len(m.Requests()) != 1 || asked != 2 || answers != 1 || requested != 1 {
		t.Errorf("%d requests were sent, %d told of, %d asked for, %d settled", len(m.Requests()), requested, asked, answers)
	}
	if end.Outcome != agent.OverBudget || end.Text != "at it" || !strings.Contains(end.Reason, "all is spent") {
		t.Errorf("the end is %+v", end)
	}
	if b.log.HasWork() {
		t.Error("the turn is still open")
	}
	b.turn.Admit = nil
	m2 := modeltest.Script(modeltest.Text("done"))
	b.turn.Model, b.turn.OnRead = m2, nil
	must(t, b.log.Prompt("user", "go on"))
	end, err = b.turn.Run(t.Context())
	must(t, err)
	if end.Outcome != agent.Completed || !strings.Contains(last(m2.Requests()[0]), "go on") {
		t.Errorf("after the refusal: %+v", end)
	}
}

func TestFailedRequestReleasesItsReservation(t *testing.T) {
	b := newBench(t, t.TempDir(), modeltest.Script(modeltest.Fail(errors.New("no"))))
	settled := 0
	b.turn.Admit = func(context.Context, *model.Request) (func(*model.Answer), error) {
		return func(a *model.Answer) {
			if settled++; a != nil {
				t.Errorf("settled with %+v", a)
			}
		}, nil
	}
	must(t, b.log.Prompt("user", "go"))
	end, err := b.turn.Run(t.Context())
	must(t, err)
	if settled != 1 || end.Outcome != agent.Failed {
		t.Errorf("settled %d times, end %+v", settled, end)
	}
}

func TestStepLimitCountsAcrossACrash(t *testing.T) {
	n := 0
	m := modeltest.Each(func(context.Context, *model.Request) (*model.Answer, error) {
		n++
		return modeltest.Answer(model.Text("at it"), model.ToolUse(fmt.Sprint("c", n), "Look", nil)), nil
	})
	dir := t.TempDir()
	for run := range 4 {
		ctx, crash := context.WithCancelCause(t.Context())
		look := unit{tool.Spec{Name: "Look", ReadOnly: true}, func(context.Context, tool.Call) (tool.Result, error) {
			if n == 3*(run+1) {
				crash(turn.ErrShutdown)
			}
			return tool.Result{}, nil
		}}
		b := newBench(t, dir, m, look)
		b.turn.MaxSteps, b.turn.StepsBefore = 10, b.log.Record().TurnSteps
		if run == 0 {
			must(t, b.log.Prompt("user", "go"))
		}
		end, err := b.turn.Run(ctx)
		must(t, err)
		if end.Open != (run < 3) || run == 3 && (end.Outcome != agent.MaxTurns || end.Steps != 10) {
			t.Errorf("run %d ended with %+v", run, end)
		}
		must(t, b.store.Close())
	}
	if len(m.Requests()) != 10 {
		t.Errorf("%d requests were sent", len(m.Requests()))
	}
}
