package swarm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/anthropic"
	"github.com/actorswarm/swarm/model/modeltest"
)

// session opens a session whose models are found by name.
func session(tb testing.TB, models map[string]model.Model, o swarm.Options) *swarm.Session {
	tb.Helper()
	o.Dir, o.StateDir, o.Home = tb.TempDir(), tb.TempDir(), tb.TempDir()
	if o.Mode == "" {
		o.Mode = "bypassPermissions"
	}
	o.Models = func(name string) (model.Model, string, error) {
		if m := models[name]; m != nil {
			return m, name, nil
		}
		return models[""], name, nil
	}
	s, err := swarm.Open(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func run(tb testing.TB, s *swarm.Session, prompt string) swarm.Result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	r, err := s.Run(ctx, prompt)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// BenchmarkTurns20Agents lets 20 agents work side by side against an instant
// local endpoint, with a Read call in each turn. Limit: 1,000 turns/s in all.
func BenchmarkTurns20Agents(b *testing.B) {
	file := filepath.Join(b.TempDir(), "read.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("a line of text\n", 40)), 0o600); err != nil {
		b.Fatal(err)
	}
	instant := modeltest.NewInstant(b, modeltest.Anthropic, modeltest.ToolCall("call", "Read", fmt.Sprintf(`{"file_path":%q}`, file)))
	client, err := anthropic.New(anthropic.Options{APIKey: "test", BaseURL: instant.URL})
	if err != nil {
		b.Fatal(err)
	}
	const agents, turns = 20, 100
	lead := coordinatortest.By(coordinatortest.Answers{agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
		if step > 0 {
			return coordinatortest.Say("done")
		}
		var calls []model.Block
		for i := range agents {
			calls = append(calls, coordinatortest.Spawn(fmt.Sprint("c", i), map[string]any{
				"description": "d", "prompt": "p", "model": "instant", "max_turns": turns,
			}))
		}
		return coordinatortest.Use(calls...)
	}})
	var rates []float64
	for b.Loop() {
		s := session(b, map[string]model.Model{"": lead, "instant": client}, swarm.Options{})
		begun := time.Now()
		run(b, s, "go")
		rates = append(rates, agents*turns/time.Since(begun).Seconds())
		for _, a := range s.Agents() {
			if a.Record.Spec.Depth == 1 && a.Record.Steps != turns {
				b.Fatalf("%s made %d turns: %+v", a.Record.Spec.ID, a.Record.Steps, a.Record)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(median(rates), "turns/s")
	b.ReportMetric(median(rates)/1000, "x-1000-limit(more-is-better)")
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkSendToIdleTeammate measures from SendMessage until the receiver's
// request leaves. Limit: p50 5 ms.
func BenchmarkSendToIdleTeammate(b *testing.B) {
	heard := make(chan time.Time, 1)
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(crowdMate("ann"))
			}
			return coordinatortest.Say("ok")
		},
		"ann": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step > 0 {
				heard <- time.Now()
			}
			return coordinatortest.Say("heard")
		},
	})
	s := session(b, map[string]model.Model{"": m}, swarm.Options{})
	run(b, s, "go")
	var took []float64
	for b.Loop() {
		begun := time.Now()
		if _, err := s.Send("ann", "are you there?"); err != nil {
			b.Fatal(err)
		}
		took = append(took, float64((<-heard).Sub(begun).Microseconds())/1000)
		waitIdle(b, s)
	}
	b.ReportMetric(median(took), "p50-ms")
	b.ReportMetric(median(took)/5, "x-5ms-limit")
}

// waitIdle returns when no agent runs, so that the next message wakes one.
func waitIdle(tb testing.TB, s *swarm.Session) {
	tb.Helper()
	if err := s.Quiet(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkHundredMessagesInOneAnswer measures from the answer until all tool
// results are back. Limit: 100 ms.
func BenchmarkHundredMessagesInOneAnswer(b *testing.B) {
	var begun, back time.Time
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			switch step {
			case 0:
				return coordinatortest.Use(crowdMate("ann"))
			case 1:
				var calls []model.Block
				for i := range 100 {
					calls = append(calls, coordinatortest.Call(fmt.Sprint("s", i), "SendMessage", map[string]any{"to": "ann", "message": fmt.Sprint("number ", i)}))
				}
				begun = time.Now()
				return coordinatortest.Use(calls...)
			case 2:
				back = time.Now()
				if n := strings.Count(string(r.Messages[len(r.Messages)-1].Raw()), "queued for ann"); n != 100 {
					b.Errorf("%d messages were accepted", n)
				}
			}
			return coordinatortest.Say("ok")
		},
		"ann": func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("heard") },
	})
	var took []float64
	for b.Loop() {
		s := session(b, map[string]model.Model{"": m}, swarm.Options{})
		run(b, s, "go")
		took = append(took, float64(back.Sub(begun).Microseconds())/1000)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(median(took), "ms")
	b.ReportMetric(median(took)/100, "x-100ms-limit")
}

// BenchmarkTenTeammatesToTheLead has 10 teammates write 20 messages each to the
// lead at once; all 200 must be in its transcript.
func BenchmarkTenTeammatesToTheLead(b *testing.B) {
	say := coordinatortest.Answers{agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
		if step > 0 {
			return coordinatortest.Say("ok")
		}
		var calls []model.Block
		for i := range 10 {
			calls = append(calls, crowdMate(fmt.Sprint("mate", i)))
		}
		return coordinatortest.Use(calls...)
	}}
	for i := range 10 {
		say[fmt.Sprint("mate", i)] = func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step > 0 {
				return coordinatortest.Say("done")
			}
			var calls []model.Block
			for k := range 20 {
				calls = append(calls, coordinatortest.Call(fmt.Sprint("s", k), "SendMessage", map[string]any{"to": "team-lead", "message": fmt.Sprintf("line %d of mate %d.", k, i)}))
			}
			return coordinatortest.Use(calls...)
		}
	}
	for b.Loop() {
		s := session(b, map[string]model.Model{"": coordinatortest.By(say)}, swarm.Options{})
		run(b, s, "go")
		got := 0
		for _, line := range conversation(b, s.Info().Path, agent.LeadName) {
			got += strings.Count(line, "of mate ")
		}
		b.ReportMetric(float64(got), "of-200-arrived")
		if got != 200 {
			b.Errorf("%d of 200 messages arrived", got)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// program builds the swarm command once for all benchmarks of the process.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "swarm-bench")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, "swarm")
	out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", exe, "./cmd/swarm").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return exe, nil
})

// command prepares a run of the program against an endpoint.
func command(b *testing.B, state, endpoint string, args ...string) *exec.Cmd {
	b.Helper()
	exe, err := program()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), exe, args...)
	cmd.Dir = state
	cmd.Env = append(os.Environ(), "SWARM_HOME="+state, "HOME="+state, "ANTHROPIC_API_KEY=test", "ANTHROPIC_BASE_URL="+endpoint)
	cmd.Stderr = os.Stderr
	return cmd
}

// BenchmarkStartToFirstRequest measures from the start of the process until its
// first model request arrives. Limit: 60 ms.
func BenchmarkStartToFirstRequest(b *testing.B) {
	first := make(chan time.Time, 16)
	server := modeltest.NewServer(b, modeltest.Anthropic, func(int, modeltest.Recorded) modeltest.Reply {
		first <- time.Now()
		return modeltest.Say("done")
	})
	var took []float64
	for b.Loop() {
		cmd := command(b, b.TempDir(), server.URL, "run", "say done")
		begun := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		took = append(took, float64((<-first).Sub(begun).Microseconds())/1000)
	}
	b.ReportMetric(median(took), "ms")
	b.ReportMetric(median(took)/60, "x-60ms-limit")
}

// BenchmarkStartToFirstAccept measures a whole process that accepts one message
// durably, on a new session and on one with 1,000,000 old messages. Limits:
// 25 ms and 60 ms.
func BenchmarkStartToFirstAccept(b *testing.B) {
	for _, c := range []struct {
		name  string
		old   int
		limit float64
	}{{"empty", 0, 25}, {"million-old", 1_000_000, 60}} {
		b.Run(c.name, func(b *testing.B) {
			state := b.TempDir()
			id := oldSession(b, state, c.old)
			var took []float64
			for b.Loop() {
				cmd := command(b, state, "http://127.0.0.1:1", "send", "--session", id, "ann", "are you there?")
				begun := time.Now()
				out, err := cmd.Output()
				if err != nil || !strings.Contains(string(out), "queued for ann") {
					b.Fatalf("%v: %s", err, out)
				}
				took = append(took, float64(time.Since(begun).Microseconds())/1000)
			}
			b.ReportMetric(median(took), "ms")
			b.ReportMetric(median(took)/c.limit, fmt.Sprintf("x-%.0fms-limit", c.limit))
		})
	}
}

// oldSession makes a session with a teammate that has read n messages.
func oldSession(b *testing.B, state string, n int) string {
	b.Helper()
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(crowdMate("ann"))
			}
			return coordinatortest.Say("ok")
		},
		"ann": func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("ok") },
	})
	s, err := swarm.Open(b.Context(), swarm.Options{
		Dir: state, StateDir: state, Home: state,
		Models: func(name string) (model.Model, string, error) { return m, name, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	run(b, s, "go")
	info := s.Info()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	if n > 0 {
		age(b, info, n)
	}
	return info.ID
}

// age writes n messages into a session's journal as having arrived and been read.
func age(b *testing.B, info swarm.Info, n int) {
	b.Helper()
	store, err := transcript.Open(b.Context(), info.Path, info.ID, transcript.Options{NoLines: true})
	if err != nil {
		b.Fatal(err)
	}
	var ann *transcript.Transcript
	for _, t := range store.All() {
		if t.Spec().Name == "ann" {
			ann = t
		}
	}
	for i := 1; i <= n; i++ {
		_, err := store.Arrive(mailbox.Envelope{
			ID: mailbox.ID(fmt.Sprint("old", i)), From: mailbox.Address{Agent: "peer", Incarnation: 1}, To: mailbox.Address{Agent: ann.ID()},
			Seq: uint64(i), Kind: mailbox.KindText, FromName: "peer", Sent: time.Now(), Body: strings.Repeat("x", 200),
		}, mailbox.Cursor{Stream: 1, Seq: uint64(i)})
		if err != nil {
			b.Fatal(err)
		}
		if i%200 == 0 || i == n {
			if _, _, err := ann.Request(func([]mailbox.Envelope) []model.Block { return []model.Block{model.Text("read")} }); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := ann.End(agent.Completed, "", "", ""); err != nil {
		b.Fatal(err)
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkMemoryWith20Agents measures the resident size of the whole process
// while 20 agents are in a turn. Limit: 64 MiB.
func BenchmarkMemoryWith20Agents(b *testing.B) {
	var sizes []float64
	for b.Loop() {
		sizes = append(sizes, memoryWith20(b))
	}
	b.ReportMetric(median(sizes), "MiB")
	b.ReportMetric(median(sizes)/64, "x-64MiB-limit")
}

func memoryWith20(b *testing.B) (mib float64) {
	var waiting atomic.Int32
	all, measured := make(chan struct{}), make(chan struct{})
	server := modeltest.NewServer(b, modeltest.Anthropic, func(n int, r modeltest.Recorded) modeltest.Reply {
		switch {
		case n == 0:
			var calls []model.Block
			for i := range 20 {
				calls = append(calls, coordinatortest.Spawn(fmt.Sprint("c", i), map[string]any{"description": "d", "prompt": "child"}))
			}
			return modeltest.Reply{Blocks: calls}
		case strings.Contains(string(r.Body), "tool_result"):
			return modeltest.Say("done")
		}
		if waiting.Add(1) == 20 {
			close(all)
		}
		<-measured
		return modeltest.Say("report")
	})
	defer server.Close()
	cmd := command(b, b.TempDir(), server.URL, "run", "go")
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	<-all
	mib = float64(residentKiB(b, cmd.Process.Pid)) / 1024
	close(measured)
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return mib
}

func residentKiB(b *testing.B, pid int) int {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("no /proc here:", err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
