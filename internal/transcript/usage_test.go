package transcript_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
)

func said(id string, in, out int64) *model.Answer {
	return &model.Answer{Model: id, Message: model.AssistantMessage(model.Text("x")), Usage: model.Usage{InputTokens: in, OutputTokens: out}}
}

func TestUseIsKeptByModelAndSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	begin := func() *transcript.Store {
		s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{Prices: price.List()})
		must(t, err)
		return s
	}
	s := begin()
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "go"))
	for _, answer := range []*model.Answer{said("claude-opus-5", 1000, 100), said("llama", 7, 1), said("claude-opus-5", 1000, 0)} {
		_, _, err := a.Request(frame)
		must(t, err)
		before := a.Record()
		must(t, a.Answer(answer))
		if len(before.Models) == 1 && before.Models[0].Usage.InputTokens != 1000 {
			t.Error("a copy of the record has changed")
		}
	}
	must(t, a.Compact(transcript.Compaction{Summary: []model.Block{model.Text("x")}, Usage: model.Usage{InputTokens: 1000}}))
	want := []agent.ModelUse{
		{Model: "claude-opus-5", Usage: model.Usage{InputTokens: 3000, OutputTokens: 100}, Known: budget.Cost{USD: budget.Dollar * 175 / 10_000}},
		{Model: "llama", Usage: model.Usage{InputTokens: 7, OutputTokens: 1}, Unpriced: model.Usage{InputTokens: 7, OutputTokens: 1}},
	}
	check := func(when string, l agent.Record) {
		t.Helper()
		if d := cmp.Diff(want, l.Models); d != "" || l.Usage.Total() != 3108 || l.TurnSteps != 3 || l.AnsweredBy != "claude-opus-5" {
			t.Errorf("%s: %+v: %s", when, l, d)
		}
		if c := l.Cost(nil); !c.Unknown || c.USD != want[0].Known.USD {
			t.Errorf("%s: it has cost %+v; the llama has no price", when, c)
		}
	}
	check("at once", a.Record())
	must(t, s.Sync())
	for _, when := range []string{"from the records", "from the checkpoint"} {
		must(t, s.Close())
		s = begin()
		a, _ = s.Get("alice")
		check(when, a.Record())
	}
	must(t, s.Close())
}

func TestTheTimeOfTurnsIsCountedWithoutTheTimeBetweenRuns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		a := born(t, s, "alice")
		step := func(a *transcript.Transcript) {
			_, _, err := a.Request(frame)
			must(t, err)
			time.Sleep(10 * time.Second)
			must(t, a.Answer(said("m", 1, 1)))
		}
		must(t, a.Prompt("user", "go"))
		step(a)
		must(t, s.Close())
		time.Sleep(time.Hour)
		s = open(t, dir)
		a, _ = s.Get("alice")
		must(t, a.Prompt("user", "more"))
		_, err := a.Wake()
		must(t, err)
		step(a)
		must(t, a.End(agent.Completed, "", "", ""))
		time.Sleep(time.Hour)
		must(t, a.Prompt("user", "again"))
		if l := a.Record(); l.Worked != 20*time.Second || l.TurnSteps != 0 || l.Steps != 2 {
			t.Errorf("worked for %v, %d steps in this turn", l.Worked, l.TurnSteps)
		}
		must(t, s.Close())
	})
}
