package swarm

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
)

// BenchmarkSendToIdleProcess measures from the accept of a message until the
// request of a teammate in a process of its own has reached the model's endpoint.
// Limit: p50 15 ms.
func BenchmarkSendToIdleProcess(b *testing.B) {
	heard := make(chan time.Time, 16)
	server := modeltest.NewServer(b, modeltest.Anthropic, func(n int, r modeltest.Recorded) modeltest.Reply {
		if n == 0 { // the lead's first
			return modeltest.Reply{Blocks: []model.Block{model.ToolUse("1", "Agent", []byte(`{"name":"ben","description":"d","prompt":"wait"}`))}}
		}
		if bytes.Contains(r.Body, []byte("are you there?")) {
			heard <- time.Now()
		}
		return modeltest.Say("heard")
	})
	b.Setenv("ANTHROPIC_API_KEY", "test")
	b.Setenv("ANTHROPIC_BASE_URL", server.URL)
	s := apart(b, "", "  - say: {text: unused}\n", func(o *Options) { o.Model = "" })
	if _, err := s.Run(b.Context(), "begin"); err != nil {
		b.Fatal(err)
	}
	quiet(b, s)
	var took []float64
	for b.Loop() {
		begun := time.Now()
		if _, err := s.Send("ben", "are you there?"); err != nil {
			b.Fatal(err)
		}
		took = append(took, float64((<-heard).Sub(begun).Microseconds())/1000)
		quiet(b, s)
		if len(heard) > 0 {
			b.Fatal("the message was asked about twice")
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
	b.ReportMetric(took[len(took)/2]/15, "x-15ms-limit")
}

// quiet returns when no agent of any process runs.
func quiet(tb testing.TB, s *Session) {
	tb.Helper()
	if err := s.Quiet(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}
